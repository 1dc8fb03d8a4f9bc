"""Says which extra a framework's adapter needs."""

from collections.abc import Iterator
from contextlib import contextmanager

from rejoinder.errors import MissingExtraError


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Import a framework in here; where it is not installed, the error says how it gets there.

    Raises:
        MissingExtraError: something that the framework needs is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"rejoinder's adapter ({error})", extra=extra) from error
