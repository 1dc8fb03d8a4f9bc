"""The search that found the candidates, as a scorer."""

import numpy as np

from rejoinder.models.lexical.bm25 import Bm25
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.text.words import WordSplitter, split_words
from rejoinder.types import to_candidates


class RetrievalOrder:
    """Scores as the search did; where none found the candidates, as BM25 does over the list.

    A search over documents knows what a list does not: how rare a word is among all of them,
    and what stands around a sentence.
    """

    name = "retrieval-order"

    def __init__(self, cut: WordSplitter = split_words) -> None:
        self._bm25 = Bm25(cut)

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        given = to_candidates(candidates)
        scores = [item.retrieval_score for item in given if item.retrieval_score is not None]
        if len(scores) < len(given):
            return self._bm25.score(question, given)
        return np.array(scores, dtype=np.float64)
