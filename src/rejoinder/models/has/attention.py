"""Attention of a question over the words of answers, as plain sums over numbers.

Xu & Li 2020, "Hashing based Answer Selection".  With u the question's vector, a word v of an
answer weighs the softmax over the answer's words of

    m · tanh(W1 v + W2 u)

and the answer's score is the cosine of u and the weighted mean of its words.

Axes: N words of all answers one after another, A answers, D width, M attention width.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rejoinder.models.kernel import Ids, Matrix


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """W1 of a word, W2 of the question, both (M, D), and m of what is hidden, (M,)."""

    of_word: Matrix
    of_question: Matrix
    of_hidden: Matrix


def attend(
    weights: AttentionWeights,
    question: Matrix,
    words: Matrix,
    lengths: Ids,
    *,
    multiply: Callable[[Matrix], Matrix] | None = None,
) -> Matrix:
    """Return the score of each answer, shape (A,).

    Args:
        question: its vector, of any length, shape (D,).
        words: shape (N, D).
        lengths: how many words each answer has, at least 1, shape (A,).
        multiply: gives W1 times each word, where numpy is not to do it.
    """
    products = multiply(words) if multiply else words @ weights.of_word.T
    hidden = np.tanh(products + weights.of_question @ question)  # (N, M)
    shares = weigh(hidden @ weights.of_hidden, lengths)
    starts = np.cumsum(lengths) - lengths
    means = np.add.reduceat(words * shares[:, None], starts, axis=0)  # (A, D)
    return take_cosines(question, means)


def weigh(logits: Matrix, lengths: Ids) -> Matrix:
    """Return the softmax of logits (N,) over the words of each answer."""
    starts = np.cumsum(lengths) - lengths
    largest = np.repeat(np.maximum.reduceat(logits, starts), lengths)
    raised = np.exp(logits - largest)
    return np.asarray(raised / np.repeat(np.add.reduceat(raised, starts), lengths))


def take_cosines(question: Matrix, vectors: Matrix) -> Matrix:
    """Return the cosine of a question to each row of (A, D); 0 where one has no direction."""
    sizes = np.linalg.norm(vectors, axis=1) * np.linalg.norm(question)
    return np.asarray(vectors @ question / np.where(sizes > 0, sizes, 1))
