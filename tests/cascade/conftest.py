"""Scorers that count their work, and a clock that only they move."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import to_candidates


@dataclass
class Clock:
    """Seconds that pass only when somebody works."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Slow:
    """Scores by a function of the text, and takes its time for every candidate."""

    name: str
    measure: Callable[[str], float]
    clock: Clock = field(default_factory=Clock)
    candidate_ms: float = 0.0
    is_pointwise: bool = True
    calls: list[list[str]] = field(default_factory=list)

    def score(self, question: str, candidates: Candidates) -> Scores:
        texts = [candidate.text for candidate in to_candidates(candidates)]
        self.calls.append(texts)
        self.clock.now += self.candidate_ms * len(texts) / 1000
        return np.array([self.measure(text) for text in texts], dtype=np.float64)

    @property
    def scored(self) -> int:
        return sum(map(len, self.calls))


def count_a(text: str) -> float:
    return text.count("a")


@pytest.fixture
def clock() -> Clock:
    return Clock()
