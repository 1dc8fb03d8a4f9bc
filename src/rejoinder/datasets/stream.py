"""Examples that are read again for each pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class ExampleStream:
    """Examples that are read again for each pass, so that they are never all in memory."""

    open: Callable[[], Iterator[Example]]

    def __iter__(self) -> Iterator[Example]:
        return self.open()
