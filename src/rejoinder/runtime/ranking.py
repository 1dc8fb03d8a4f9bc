"""Orders candidates by score: the one place where ties are broken."""

import numpy as np

from rejoinder.records import Ranking, ScoredCandidate, to_candidates
from rejoinder.runtime.scorer import Given, Scorer


def rank(question: str, candidates: Given, *, scorer: Scorer) -> Ranking:
    """Order candidates from best to worst; equal scores keep their input order."""
    given = to_candidates(candidates)
    if not given:
        return Ranking(question, scorer.name, ())
    scores = scorer.score(question, given)
    order = np.argsort(-scores, kind="stable")
    items = tuple(
        ScoredCandidate(given[place], float(scores[place]), rank_)
        for rank_, place in enumerate(order.tolist(), start=1)
    )
    return Ranking(question, scorer.name, items)
