"""Attention over answers that are stored as bits, without unpacking them.

A word of an answer is D numbers ±1, a bit each (Xu & Li 2020).  Most of the work is W1 b, the
product with such a word.  W1 does not depend on the question, so what four bits add to it is
a table, made once at load: a word takes D/4 look-ups instead of D products.
"""

import numpy as np

from rejoinder.models.has.attention import AttentionWeights, attend
from rejoinder.models.kernel import Kernel, Matrix, load_kernel, pad_columns
from rejoinder.models.sidecar import Bytes, StoredRows

ANSWERS_AT_ONCE = 64
"""Answers that numpy unpacks together."""


def pack(states: Matrix) -> Bytes:
    """Return the signs of states (N, D) as bits, low bit first; 0 counts as positive."""
    return np.packbits(states >= 0, axis=1, bitorder="little")


def unpack(rows: Bytes, width: int) -> Matrix:
    """Return what bits stand for, 1 or -1, shape (N, width)."""
    bits = np.unpackbits(rows, axis=1, count=width, bitorder="little")
    return bits.astype(np.float32) * 2 - 1


class BitAttention:
    """Scores answers of packed bits, with the compiled kernel where there is one."""

    def __init__(self, weights: AttentionWeights, kernel: Kernel | None = None) -> None:
        self._weights = weights
        self._width = weights.of_word.shape[1]
        found = kernel or load_kernel()
        self._kernel = found if found and self._width <= found.max_width else None
        if self._kernel:
            self._tables = self._kernel.to_bit_tables(weights.of_word.T)
            self._hidden = pad_columns(weights.of_hidden, self._kernel.line)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score of each answer, shape (A,).

        Args:
            question: its vector, shape (D,).
            answers: rows of bits, at least one for each answer.
        """
        size = float(np.linalg.norm(question))
        if not self._kernel or not size:
            return self._score_unpacked(question, answers)
        question = np.asarray(question, dtype=np.float32)
        asked = pad_columns(self._weights.of_question @ question, self._kernel.line)
        direction = question / np.float32(size)
        return self._kernel.attend_bits(
            answers, self._width, self._tables, asked, self._hidden, direction
        )

    def _score_unpacked(self, question: Matrix, answers: StoredRows) -> Matrix:
        found = []
        for first in range(0, len(answers.lengths), ANSWERS_AT_ONCE):
            part = answers.take(
                np.arange(first, min(first + ANSWERS_AT_ONCE, len(answers.lengths)))
            )
            words = unpack(part.gather(), self._width)
            found.append(attend(self._weights, question, words, part.lengths))
        return np.concatenate([np.empty(0, np.float32), *found])
