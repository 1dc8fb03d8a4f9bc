"""How a candidate's document stands: which of them the question is about.

A sentence often leaves out what its document is about: "it opened in 1889" answers a question
about any tower.  A scorer that reads the sentence alone cannot tell them apart, but the other
sentences of the document can: what a cheap stage thinks of the best of them says whether the
question is about it.
"""

from collections.abc import Sequence

import numpy as np

from rejoinder.models.scorer import Scores
from rejoinder.types import Candidate


def rate_documents(scores: Scores, candidates: Sequence[Candidate]) -> Scores:
    """Return for each candidate the best score in its document, in standard deviations.

    Candidates without a document count as one document, so that where there is but one, or
    none is known, nobody stands above another.

    >>> from rejoinder.types import Document
    >>> one, two = Document("1"), Document("2")
    >>> given = [Candidate("a", "", one), Candidate("b", "", one), Candidate("c", "", two)]
    >>> rate_documents(np.array([0.0, 3.0, 1.0]), given).round(2).tolist()
    [0.71, 0.71, -1.41]
    """
    numbers: dict[str | None, int] = {}
    places = [
        numbers.setdefault(item.document.id if item.document else None, len(numbers))
        for item in candidates
    ]
    if len(numbers) < 2:
        return np.zeros(len(candidates))
    best = np.full(len(numbers), -np.inf)
    np.maximum.at(best, places, scores)
    return standardise(best[places])


def standardise(scores: Scores) -> Scores:
    """Return the scores in standard deviations above their mean; zeros where all are equal."""
    if not len(scores) or np.ptp(scores) == 0:
        return np.zeros(len(scores))
    return np.asarray((scores - scores.mean()) / scores.std(), dtype=np.float64)
