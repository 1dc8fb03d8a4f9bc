"""How an answer's words become stored rows, and rows a score.

Xu & Li 2020, "Hashing based Answer Selection", Table 5, has three compositions over the same
encoder: words as bits with attention (HAS), words as floats with attention, and one pooled
vector.  The question's vector u is the maximum of each number over its words.  A word v of an
answer has the weight that a softmax over the answer's words gives

    m · tanh(W1 v + W2 u)

and the answer's score is the cosine of u and the weighted mean of its words.

As bits, a word is D numbers ±1.  Most of the work is W1 b, the product with such a word.  W1 does
not depend on the question, so the sums of each four of its columns are a table that is computed
once at load: a word takes D/4 look-ups instead of D products.

Axes: N words of all answers one after another, A answers, D width, M attention width.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rejoinder.models.kernel import Ids, Linear, Matrix, load_kernel, pad_columns
from rejoinder.models.sidecar import Bytes, StoredRows

Weights = Mapping[str, Matrix]
UNPACKED_ANSWERS = 64
"""Answers that numpy unpacks together."""


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """W1 of a word and W2 of the question, both (M, D), and m of the hidden layer, (M,)."""

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
        multiply: returns W1 times each word; numpy multiplies by default.
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


def pack(states: Matrix) -> Bytes:
    """Return the signs of states (N, D) as bits, low bit first; 0 counts as positive."""
    return np.packbits(states >= 0, axis=1, bitorder="little")


def unpack(rows: Bytes, width: int) -> Matrix:
    """Return bits as the numbers 1 and -1, shape (N, width)."""
    bits = np.unpackbits(rows, axis=1, count=width, bitorder="little")
    return bits.astype(np.float32) * 2 - 1


class Composition(Protocol):
    """Stores an answer as rows of bytes, and scores such answers."""

    row_bytes: int

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the stored rows of an answer's words (N, D), at least one."""
        ...

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers for a question's vector (D,)."""
        ...


class Hashed:
    """A bit per number of a word; attention from the packed bits, where possible in the kernel."""

    def __init__(self, weights: AttentionWeights, width: int) -> None:
        self.row_bytes = -(-width // 8)
        self._weights = weights
        self._width = weights.of_word.shape[1]
        kernel = load_kernel()
        self._kernel = kernel if kernel and self._width <= kernel.max_width else None
        if self._kernel:
            self._tables = self._kernel.to_bit_tables(weights.of_word.T)
            self._hidden = pad_columns(weights.of_hidden, self._kernel.line)

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the signs of the words' numbers, packed."""
        return pack(states)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers."""
        size = float(np.linalg.norm(question))
        if not self._kernel or not size:
            return self._score_unpacked(question, answers)
        question = np.asarray(question, dtype=np.float32)
        projected = pad_columns(self._weights.of_question @ question, self._kernel.line)
        direction = question / np.float32(size)
        return self._kernel.attend_bits(
            answers, self._width, self._tables, projected, self._hidden, direction
        )

    def _score_unpacked(self, question: Matrix, answers: StoredRows) -> Matrix:
        scores = []
        places = np.arange(len(answers.lengths))
        for first in range(0, len(places), UNPACKED_ANSWERS):
            part = answers.take(places[first : first + UNPACKED_ANSWERS])
            words = unpack(part.gather(), self._width)
            scores.append(attend(self._weights, question, words, part.lengths))
        return np.concatenate([np.empty(0, np.float32), *scores])


class Attended:
    """A float per number of a word; attention over the floats."""

    def __init__(self, weights: AttentionWeights, width: int) -> None:
        self.row_bytes = 4 * width
        self._weights = weights
        self._multiply = Linear(self._weights.of_word.T, kernel=load_kernel())

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the words as they are."""
        return np.ascontiguousarray(states, dtype="<f4").view(np.uint8)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers."""
        words: Matrix = answers.gather().view("<f4")
        return attend(self._weights, question, words, answers.lengths, multiply=self._multiply)


class Pooled:
    """One vector for the whole answer."""

    def __init__(self, width: int) -> None:
        self.row_bytes = 4 * width

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the maximum of each number over the words, as one row."""
        return np.ascontiguousarray(pool(states)[None], dtype="<f4").view(np.uint8)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the cosine (A,) of the two sides."""
        return take_cosines(question, answers.gather().view("<f4"))


COMPOSITIONS: dict[str, Callable[[Weights, int], Composition]] = {
    "has": lambda weights, width: Hashed(_read_attention(weights), width),
    "attention": lambda weights, width: Attended(_read_attention(weights), width),
    "pooling": lambda _, width: Pooled(width),
}


def pool(states: Matrix) -> Matrix:
    """Return the maximum of each number over words (N, D)."""
    return np.asarray(states.max(axis=0))


def _read_attention(weights: Weights) -> AttentionWeights:
    names = ("of_word.weight", "of_question.weight", "of_hidden.weight")
    of_word, of_question, of_hidden = (weights[f"attention.{name}"] for name in names)
    return AttentionWeights(of_word, of_question, of_hidden.ravel())
