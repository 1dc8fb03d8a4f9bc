"""Relatedness: the largest cosine of a word to the words of another text.

Bonadiman & Moschitti 2020, section 3.1.1: of all cosines between the words of the question
and of the candidate, each word keeps its largest.  Candidates of one question share words, so
each distinct word is compared with the question once.  The mean over the question's words is a
score by itself, and, of the texts around a candidate, a feature of a ranker.

Axes: Q words of the question, W distinct words of all candidates, N words of all candidates
one after another, C candidates.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from rejoinder.models.kernel import Ids, Matrix
from rejoinder.models.scorer import Candidates, Scorer, Scores
from rejoinder.models.selector.context import MAX_TITLE, get_place
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate, to_candidates

MAX_CELLS = 4_000_000
"""Similarities that are gathered for the candidates' words at a time (16 MB)."""
CONTEXT_FEATURES = {"none": 0, "neighbours": 3, "topic": 2}
"""How many features each form of context has: relatedness to the sentence before, the one after and
the title, or to the title and the headings."""
MAX_CONTEXT_WORDS = 64
"""Words of a question, neighbour, title or heading path that context features read."""
MAX_KNOWN_TEXTS = 1 << 14
"""Texts around candidates whose words are kept: titles and headings come again and again."""

Embed = Callable[[Sequence[str]], Matrix]
"""Returns one vector of length 1 per word."""
Relate = Callable[[Sequence[str], Sequence[Sequence[str]]], Matrix]
"""Returns the mean relatedness of the first text's words to each of the others, shape (texts,)."""


def max_relatedness(similarities: Matrix, words: Ids, lengths: Ids) -> tuple[Matrix, Matrix]:
    """Return the largest similarity of each word to the other side.

    Args:
        similarities: of question words to distinct words, shape (Q, W).
        words: the distinct word at each position of the candidates, shape (N,).
        lengths: words of each candidate, at least 1, shape (C,).

    Returns:
        For the candidates' words, shape (N,); for the question's words, once per
        candidate, shape (C, Q).
    """
    of_words = similarities.max(axis=0)[words]
    of_question = np.empty((len(lengths), len(similarities)), dtype=np.float32)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    step = max(1, MAX_CELLS // max(1, len(similarities)) // max(1, int(lengths.max(initial=1))))
    for first in range(0, len(lengths), step):
        last = min(first + step, len(lengths))
        gathered = similarities[:, words[starts[first] : ends[last - 1]]]
        bounds = starts[first:last] - starts[first]
        of_question[first:last] = np.maximum.reduceat(gathered, bounds, axis=1).T
    return of_words, of_question


def mean_relatedness(
    question: Sequence[str], texts: Sequence[Sequence[str]], embed: Embed
) -> Matrix:
    """Return the mean relatedness of the question's words to each text; none may be empty."""
    ids = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
    words = np.fromiter((ids[word] for text in texts for word in text), np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    _, of_question = max_relatedness(embed(question) @ embed(list(ids)).T, words, lengths)
    means: Matrix = of_question.mean(axis=1)
    return means


def get_context_features(
    question: str, candidates: Sequence[Candidate], relate: Relate, form: str
) -> Matrix:
    """Return how related the question is to each candidate's context.

    Shape (C, features of the form): the mean relatedness to each text; 0 where there is none.
    """
    get_texts = _get_topic if form == "topic" else _get_neighbours
    contexts = [get_texts(candidate) for candidate in candidates]
    distinct = dict.fromkeys(chain.from_iterable(contexts))
    words = {text: own for text in distinct if (own := _split(text))}
    asked = _split(question)
    related = dict.fromkeys(distinct, 0.0)
    if words and asked:
        means = relate(asked, list(words.values()))
        related |= zip(words, means.tolist(), strict=True)
    features = [[related[text] for text in texts] for texts in contexts]
    return np.array(features, dtype=np.float32).reshape(len(candidates), CONTEXT_FEATURES[form])


@lru_cache(MAX_KNOWN_TEXTS)
def _split(text: str) -> tuple[str, ...]:
    return tuple(pretokenize(text)[:MAX_CONTEXT_WORDS])


def _get_topic(candidate: Candidate) -> tuple[str, ...]:
    """Return the title and all headings; empty where there is none."""
    title = candidate.document.title[:MAX_TITLE] if candidate.document else ""
    return title, " ".join(heading[:MAX_TITLE] for heading in candidate.headings)


def _get_neighbours(candidate: Candidate) -> tuple[str, ...]:
    """Return the sentence before, the one after, and the title; empty where there is none."""
    document, place = candidate.document, get_place(candidate)
    title = document.title[:MAX_TITLE] if document else ""
    if document is None or place is None:
        return "", "", title
    before = document.sentences[place - 1] if place > 0 else ""
    after = document.sentences[place + 1] if place + 1 < len(document.sentences) else ""
    return before, after, title


class RelatednessScorer:
    """Cosinet's first step without its network: mean relatedness of the question's words."""

    name = "relatedness"
    is_pointwise = True

    def __init__(self, vectors: StaticVectors) -> None:
        self._vectors = vectors

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        words = list(dict.fromkeys(pretokenize(question)))
        texts = [pretokenize(item.text) or [""] for item in to_candidates(candidates)]
        if not words or not texts:
            return np.zeros(len(texts))
        return mean_relatedness(words, texts, self._vectors.embed).astype(np.float64)


class WeightedSum:
    """A scorer plus the weighted scores of another."""

    is_pointwise = True

    def __init__(self, first: Scorer, second: Scorer, weight: float) -> None:
        self.name = f"{first.name}+{second.name}"
        self._first, self._second, self._weight = first, second, weight

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        added = self._weight * self._second.score(question, candidates)
        return self._first.score(question, candidates) + added
