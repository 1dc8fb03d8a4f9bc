"""The compiled inner loops, where they were built; numpy does the same without them.

Axes: as in kernel.c; widths are padded to whole lines, of `Kernel.line` floats.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.ranker.pairs import Ids, Matrix
from rejoinder.models.stored_rows import StoredRows

LIBRARY = Path(__file__).with_name("_kernel.so")
VERSION = 3
HALF = 2
BITS, VALUES = 4, 16
"""Of one look-up in tables of bits."""


class Kernel:
    """The functions of kernel.c for this processor, with arrays instead of pointers."""

    def __init__(self, library: ctypes.CDLL) -> None:
        def get(name: str) -> Callable[..., None]:
            function = library[f"{name}_{level}"]
            function.restype = None
            return function

        def ask(name: str) -> int:
            function = library[name]
            function.restype = ctypes.c_int64
            return int(function())

        level = ask("kernel_level")
        self._pool_texts = get("pool_texts")
        self._pool_related = get("pool_related")
        self._relate = get("relate")
        self._multiply = get("multiply")
        self._recur = get("run_recurrence")
        self._attend_bits = get("attend_bits")
        self.max_width = ask("kernel_max_width")
        self.line = ask(f"kernel_line_{level}")
        self.strip = ask(f"kernel_strip_{level}")

    def pool_texts(
        self,
        products: Matrix,
        words: Ids,
        related: Matrix,
        lengths: Ids,
        by_related: Matrix,
        bias: Matrix,
    ) -> Matrix:
        """Return the max-pooled convolution of texts, shape (texts, width in lines)."""
        pooled = np.empty((len(lengths), len(bias)), dtype=np.float32)
        self._pool_texts(
            *(_pointer(array) for array in (products, words, related, lengths)),
            _number(len(lengths)),
            _number(len(bias) // self.line),
            *(_pointer(array) for array in (by_related, bias, pooled)),
        )
        return pooled

    def pool_related(self, base: Matrix, related: Matrix, by_related: Matrix) -> Matrix:
        """Return the same of one text many times, where only its relatedness differs.

        Args:
            base: the sums without relatedness, shape (words, width in lines).
            related: shape (times, HALF + words + HALF), zeros at both ends.
            by_related: shape (kernel, width in lines).
        """
        pooled = np.empty((len(related), base.shape[1]), dtype=np.float32)
        assert related.shape[1] == len(base) + 2 * HALF, "relatedness needs both of its margins"
        self._pool_related(
            _pointer(base),
            _number(len(base)),
            _pointer(related),
            _number(len(related)),
            _number(base.shape[1] // self.line),
            _pointer(by_related),
            _pointer(pooled),
        )
        return pooled

    def relate(
        self, vectors: Matrix, question: Ids, words: Ids, lengths: Ids
    ) -> tuple[Matrix, Matrix]:
        """Return the largest similarity of each word to the other side, as `take_closest` does."""
        asked = vectors[question]
        slots = np.zeros(len(vectors), dtype=np.int32)
        cosines = np.empty((min(len(words), len(vectors)), len(asked)), dtype=np.float32)
        closest = np.empty(len(words), dtype=np.float32)
        closest_asked = np.empty((len(lengths), len(asked)), dtype=np.float32)
        self._relate(
            _pointer(vectors),
            _number(vectors.shape[1]),
            _pointer(asked),
            _number(len(asked)),
            _pointer(words),
            _pointer(lengths),
            _number(len(lengths)),
            *(_pointer(array) for array in (slots, cosines, closest, closest_asked)),
        )
        return closest, closest_asked

    def multiply(self, rows: Matrix, panels: Matrix, bias: Matrix) -> Matrix:
        """Return rows times a matrix that `cut_panels` cut, plus a bias in lines."""
        product = np.empty((len(rows), len(bias)), dtype=np.float32)
        assert rows.shape[1] == panels.shape[1], "rows and matrix must fit"
        self._multiply(
            _pointer(rows),
            _number(len(rows)),
            _number(rows.shape[1]),
            _pointer(panels),
            _number(len(panels)),
            _pointer(bias),
            _pointer(product),
        )
        return product

    def cut_panels(self, matrix: Matrix) -> Matrix:
        """Return a matrix (depth, columns) as `multiply` reads it, (lines, depth, line)."""
        padded = pad_columns(matrix, self.line)
        return np.ascontiguousarray(padded.reshape(len(matrix), -1, self.line).swapaxes(0, 1))

    def run_recurrence(
        self, inputs: Matrix, states: Matrix, lengths: Ids, transposed: Matrix
    ) -> None:
        """Fill `states` from `inputs`, row by row, anew for each segment.

        Args:
            inputs: shape (steps, width); a view that may run backwards, as `states` may.
            lengths: steps of each segment, shape (segments,).
            transposed: the weights with columns in whole strips, shape (width, strips * strip).
        """
        width = inputs.shape[1]
        assert inputs.strides[1] == states.strides[1] == 4, "a row must be contiguous"
        assert width <= self.max_width, "the kernel has no room for so wide a state"
        self._recur(
            _pointer(inputs, contiguous=False),
            _pointer(states, contiguous=False),
            _pointer(lengths),
            _number(len(lengths)),
            _number(width),
            _number(inputs.strides[0] // 4),
            _number(states.strides[0] // 4),
            _pointer(transposed),
            _number(transposed.shape[1] // self.strip),
        )

    def attend_bits(
        self,
        answers: StoredRows,
        width: int,
        tables: Matrix,
        asked: Matrix,
        weights: Matrix,
        question: Matrix,
    ) -> Matrix:
        """Return the cosine of a question to each answer, whose words it attends over.

        Args:
            answers: rows of bits, one per word.
            width: how many bits of a row count.
            tables: what `cut_tables` returned.
            asked: what the question adds to the hidden sums, in lines.
            weights: of the hidden sums' tangents in a logit, in lines.
            question: its vector, of length 1, shape (width,).
        """
        assert width <= self.max_width, "the kernel has no room for so many bits"
        logits = np.empty(int(answers.lengths.sum()), dtype=np.float32)
        scores = np.empty(len(answers.lengths), dtype=np.float32)
        self._attend_bits(
            *(_pointer(array) for array in (answers.data, answers.starts, answers.lengths)),
            _number(len(scores)),
            _number(answers.row_bytes),
            _number(width),
            _pointer(tables),
            _number(len(tables)),
            *(_pointer(array) for array in (asked, weights, question, logits, scores)),
        )
        return scores

    def cut_tables(self, matrix: Matrix) -> Matrix:
        """Return what each value of four bits adds to each column's sum.

        Args:
            matrix: shape (bits, columns); a bit adds its row where it is 1, and takes it off
                where it is 0.

        Returns:
            Shape (lines, nibbles, values, line); bits are padded to whole 64s.
        """
        padded = pad_columns(np.pad(matrix, [(0, -len(matrix) % 64), (0, 0)]), self.line)
        values = np.arange(VALUES)[:, None] >> np.arange(BITS) & 1  # low bit first
        signs = (2 * values - 1).astype(np.float32)  # (values, 4)
        by_nibble = padded.reshape(-1, BITS, padded.shape[1])
        tables = np.einsum("vb,nbc->nvc", signs, by_nibble).reshape(len(by_nibble), VALUES, -1)
        split = tables.reshape(len(by_nibble), VALUES, -1, self.line)
        return np.ascontiguousarray(split.transpose(2, 0, 1, 3))


@cache
def load_kernel() -> Kernel | None:
    """Return the kernel, or None where it was not built for this machine."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        version = library.kernel_version()
    except (OSError, AttributeError):
        return None
    return Kernel(library) if version == VERSION else None


def pad_columns(matrix: Matrix, multiple: int) -> Matrix:
    """Return a matrix, contiguous, with zeros added to make its last axis a multiple."""
    missing = -matrix.shape[-1] % multiple
    return np.ascontiguousarray(np.pad(matrix, [(0, 0)] * (matrix.ndim - 1) + [(0, missing)]))


def _number(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(value)


def _pointer(array: NDArray[np.generic], *, contiguous: bool = True) -> ctypes.c_void_p:
    assert not contiguous or array.flags.c_contiguous, "the kernel reads contiguous arrays"
    return ctypes.c_void_p(array.ctypes.data)
