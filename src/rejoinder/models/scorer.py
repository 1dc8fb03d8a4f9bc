"""The protocol that every scorer implements, and the segments that a scorer may read in order.

A segment holds the candidates of one document, in document order.  Candidates with a position
but no document are in the order of their list, and form one segment.  A candidate without a
position is a segment of its own.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate

Scores = NDArray[np.float64]
Places = NDArray[np.int64]
"""Indices into a list."""
Candidates = Sequence[str | Candidate]
"""Candidates, or plain strings, whose order then has no meaning (`types.to_candidates`)."""


class Scorer(Protocol):
    """Scores the candidates of one question; higher is better, on a scale of its own."""

    @property
    def name(self) -> str:
        """The name shown in reports and traces."""
        ...

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        ...


def is_pointwise(scorer: Scorer) -> bool:
    """Whether a candidate's score depends on nothing but the question and the candidate.

    Only then may a list be scored in parts.  A scorer declares it with `is_pointwise = True`.
    """
    return bool(getattr(scorer, "is_pointwise", False))


def reads_passages(scorer: Scorer | None) -> bool:
    """Whether a scorer, or a stage of it, reads `Candidate.passage`."""
    return bool(getattr(scorer, "reads_passages", False))


def find_segments(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the segments as lists of indices into `candidates`.

    Candidates of a segment are sorted by position; equal positions keep their list order.
    """
    segments: dict[object, list[int]] = {}
    for place, candidate in enumerate(candidates):
        key: object = place
        if candidate.position is not None:
            key = ("document", candidate.document.id) if candidate.document else "list"
        segments.setdefault(key, []).append(place)
    positions = [candidate.position or 0 for candidate in candidates]
    for places in segments.values():
        places.sort(key=positions.__getitem__)
    return list(segments.values())


def find_orders(candidates: Sequence[Candidate]) -> Places:
    """Return how many candidates of its segment precede each candidate."""
    orders = np.zeros(len(candidates), dtype=np.int64)
    for places in find_segments(candidates):
        orders[places] = np.arange(len(places))
    return orders
