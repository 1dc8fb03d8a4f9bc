"""The one thing that a ranking model must be able to do."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate

Scores = NDArray[np.float64]
Candidates = Sequence[str | Candidate]
"""Candidates, or plain strings, whose order then says nothing (`records.to_candidates`)."""


class Scorer(Protocol):
    """Scores the candidates of one question; higher is better, the scale is its own."""

    @property
    def name(self) -> str:
        """The name shown in reports and traces."""
        ...

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        ...


def is_pointwise(scorer: Scorer) -> bool:
    """Whether a candidate's score depends on nothing but the question and the candidate.

    Only then may a list be scored in parts, and only scorers that say so
    (`is_pointwise = True`) are believed.
    """
    return bool(getattr(scorer, "is_pointwise", False))
