"""Relatedness alone as a scorer, and beside another one.

Cosinet's first step without its network (Bonadiman & Moschitti 2020, section 3.1.1): each word
of the question keeps its largest cosine to a word of the candidate; the score is the mean.
"""

from itertools import chain

import numpy as np

from rejoinder.models.ranker.relatedness import take_closest
from rejoinder.models.scorer import Candidates, Scorer, Scores
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import to_candidates


class Related:
    """The mean over the question's words of how close the candidate comes to each."""

    name = "relatedness"
    is_pointwise = True

    def __init__(self, vectors: StaticVectors) -> None:
        self._vectors = vectors

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        items = to_candidates(candidates)
        asked = list(dict.fromkeys(pretokenize(question)))
        texts = [pretokenize(item.text) or [""] for item in items]
        if not asked or not texts:
            return np.zeros(len(items))
        places = {word: at for at, word in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        cosines = self._vectors.embed(asked) @ self._vectors.embed(list(places)).T
        words = np.fromiter((places[word] for text in texts for word in text), np.int64)
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        _, of_question = take_closest(cosines, words, lengths)
        return np.asarray(of_question.mean(axis=1), dtype=np.float64)


class Beside:
    """A scorer with a share of another one added."""

    is_pointwise = True

    def __init__(self, first: Scorer, second: Scorer, share: float) -> None:
        self.name = f"{first.name}+{second.name}"
        self._first, self._second, self._share = first, second, share

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        added = self._share * self._second.score(question, candidates)
        return self._first.score(question, candidates) + added
