"""A contender's reply to one question."""

from typing import NamedTuple

FOUND = 100
"""Sentences that are looked at to find a right one."""
ANSWERS = 5


class Reply(NamedTuple):
    """Sentences that were found, and answers."""

    found: list[str]
    """The best first."""
    answers: list[str]
    """The best first, also where no answer is given."""
    shown: list[str]
    """The passage around each answer."""
    abstains: bool | None
    """Whether no answer is given; None if the contender always gives one."""
    milliseconds: float
