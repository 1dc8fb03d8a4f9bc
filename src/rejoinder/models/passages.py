"""Scores candidates by their passages.

A sentence seldom holds all words of the question; the paragraph around it does.  A cross-encoder
that reads passages tells which of them are about the question, and one that reads sentences then
finds the answer in them.
"""

from dataclasses import replace

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Scorer, Scores, is_pointwise
from rejoinder.types import Candidate, to_candidates

Passage = tuple[str | None, tuple[str, ...], str]
"""What is read of a passage: its document, its headings and its text."""
PASSAGES = " (passages)"
"""Follows the name of a scorer that reads passages."""


class PassageScorer:
    """Gives each candidate the score of its passage; candidates of one passage get the same score.

    A candidate without a passage is scored by its own text.
    """

    is_pointwise = True
    reads_passages = True

    def __init__(self, scorer: Scorer) -> None:
        """Take the scorer that reads the passages in place of candidates.

        Raises:
            InputError: it compares the candidates of a list with each other.
        """
        if not is_pointwise(scorer):
            raise InputError(
                f"{scorer.name} compares the candidates of a list, so it cannot read passages,"
                " which are shared; use a selector"
            )
        self.name = scorer.name + PASSAGES
        self.scorer = scorer
        self._known: dict[Passage, float] | None = None

    def remember(self) -> "PassageScorer":
        """Return a scorer that reads no passage twice, for the batches of one question."""
        copy = PassageScorer(self.scorer)
        copy._known = {}
        return copy

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        passages = [_to_passage(item) for item in to_candidates(candidates)]
        keys = [_get_key(item) for item in passages]
        by_key = {} if self._known is None else self._known
        new = {key: item for key, item in zip(keys, passages, strict=True) if key not in by_key}
        if new:
            scores = self.scorer.score(question, list(new.values()))
            by_key.update(zip(new, scores.tolist(), strict=True))
        return np.array([by_key[key] for key in keys], dtype=np.float64)


def _to_passage(candidate: Candidate) -> Candidate:
    """Return a candidate's passage as a candidate; one without a passage as it is."""
    if candidate.passage is None:
        return candidate
    return replace(candidate, text=candidate.passage, position=None, tokens=None, passage=None)


def _get_key(passage: Candidate) -> Passage:
    """Return what is read of a passage."""
    document = passage.document.id if passage.document else None
    return document, passage.headings, passage.text
