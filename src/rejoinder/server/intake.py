"""Limits the memory for bodies that are arriving, of all requests together.

Each body has a limit of its own, and the queue one for requests that have arrived.  Without this
one, many slow clients could each fill the server's memory with a body that never ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rejoinder.server.problems import Problem


class Intake:
    """Counts the bytes of all bodies that are arriving."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.bytes = 0
        """How many bytes have arrived of bodies that are not complete."""

    @contextmanager
    def receiving(self) -> Iterator["Arriving"]:
        """Yield the count of one body, which ends with it."""
        arriving = Arriving(self)
        try:
            yield arriving
        finally:
            self.bytes -= arriving.bytes

    def check(self) -> None:
        """Refuse more bytes than there is room for."""
        if self.bytes > self._max_bytes:
            message = "too many bodies are arriving; retry in a second"
            raise Problem(503, message, headers={"retry-after": "1", "connection": "close"})


@dataclass(slots=True)
class Arriving:
    """The bytes of one body."""

    intake: Intake
    bytes: int = 0

    def add(self, count: int) -> None:
        """Count bytes that have arrived; refuse the body if there is no room for them."""
        self.bytes += count
        self.intake.bytes += count
        self.intake.check()
