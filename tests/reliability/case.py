"""Cases of the suite: a fault, how to inject it, and how often."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

Area = Literal["index", "input", "batch", "server", "engine"]


class Outcome(NamedTuple):
    """The result of a case; losses must be 0."""

    attempts: int
    losses: int
    note: str = ""


class Case(NamedTuple):
    """A fault, how to inject it, and how often in the short and the long form."""

    area: Area
    fault: str
    run: Callable[[Path, int], Outcome]
    """Injects the fault this often, in the given folder."""
    short: int
    long: int
    loss: str
    """The definition of a loss, for the report."""

    @property
    def name(self) -> str:
        """The name on the command line and in the journal."""
        return f"{self.area}: {self.fault}"


class CannotRunError(Exception):
    """This machine cannot inject the fault; the report gives the reason."""
