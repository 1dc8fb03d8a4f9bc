"""Until when an answer is wanted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

from rejoinder.errors import InputError


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, in seconds of its clock."""

    at: float
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(
        cls, milliseconds: float, *, clock: Callable[[], float] = time.perf_counter
    ) -> "Deadline":
        """Return the moment so many milliseconds from now.

        Raises:
            InputError: the number is negative, or none at all.
        """
        if isnan(milliseconds) or milliseconds < 0:
            raise InputError(f"a budget must be 0 or more milliseconds, found {milliseconds:g}")
        return cls(clock() + milliseconds / 1000, clock)

    @property
    def left_ms(self) -> float:
        """The milliseconds that are left; 0 once it has passed."""
        return max(0.0, 1000 * (self.at - self.clock()))
