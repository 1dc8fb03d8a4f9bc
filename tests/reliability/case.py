"""What a case of the suite is: a fault that is made so many times, and what was lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

Area = Literal["index", "input", "batch", "server"]


class Found(NamedTuple):
    """What came of a case; nothing may be lost."""

    tried: int
    lost: int
    note: str = ""


class Case(NamedTuple):
    """A fault, how it is made, how often in the short form and in the long one."""

    area: Area
    fault: str
    run: Callable[[Path, int], Found]
    """Makes the fault so many times in a folder of its own."""
    short: int
    long: int
    lost: str
    """What is counted as lost."""

    @property
    def name(self) -> str:
        """How the case is called on the command line and where findings are kept."""
        return f"{self.area}: {self.fault}"


class CannotRunError(Exception):
    """This machine cannot make the fault; the report says why."""
