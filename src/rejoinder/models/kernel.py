"""The compiled kernel, if it was built; without it numpy computes the same.

Axes: as in kernel.c; widths are padded to whole lines of `Kernel.line` floats.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.sidecar import StoredRows

LIBRARY = Path(__file__).with_name("_kernel.so")
VERSION = 6
HALF = 2
BITS, VALUES = 4, 16
"""A lookup in a bit table reads four bits, which have 16 values."""
PLANES = 3
"""Bits of the weights by which a question compares rows of bits."""

Matrix = NDArray[np.float32]
Ids = NDArray[np.int64]


class Kernel:
    """The functions of kernel.c for this processor, with arrays instead of pointers."""

    def __init__(self, library: ctypes.CDLL) -> None:
        level = bind_function(library, "kernel_level", "")()

        def bind(name: str, signature: str) -> Callable[..., int]:
            return bind_function(library, f"{name}_{level}", signature)

        self._pool_texts = bind("pool_texts", "ppppiippp")
        self._pool_related = bind("pool_related", "pipiipp")
        self._relate = bind("relate", "pipippipppp")
        self._multiply = bind("multiply", "piipipp")
        self._recur = bind("run_recurrence", "pppiiiipi")
        self._attend_bits = bind("attend_bits", "pppiiipippppp")
        self._choose_rows = bind("choose_rows", "ppiipipppipip")
        self._score_rows = bind("score_rows", "pipipip")
        self.max_width = bind_function(library, "kernel_max_width", "")()
        self.line = bind("kernel_line", "")()
        self.strip = bind("kernel_strip", "")()

    def convolve_texts(
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
        lines = len(bias) // self.line
        self._pool_texts(
            products, words, related, lengths, len(lengths), lines, by_related, bias, pooled
        )
        return pooled

    def convolve_question(self, base: Matrix, related: Matrix, by_related: Matrix) -> Matrix:
        """Return the max-pooled convolution of one text, once per row of relatedness.

        Args:
            base: the convolution without relatedness, shape (words, width in lines).
            related: shape (times, HALF + words + HALF), zeros at both ends.
            by_related: shape (kernel, width in lines).
        """
        pooled = np.empty((len(related), base.shape[1]), dtype=np.float32)
        assert related.shape[1] == len(base) + 2 * HALF, "relatedness needs both of its margins"
        lines = base.shape[1] // self.line
        self._pool_related(base, len(base), related, len(related), lines, by_related, pooled)
        return pooled

    def max_relatedness(
        self, vectors: Matrix, question: Ids, words: Ids, lengths: Ids
    ) -> tuple[Matrix, Matrix]:
        """Return what `relatedness.max_relatedness` returns, without the matrix of cosines."""
        queries = vectors[question]
        slots = np.zeros(len(vectors), dtype=np.int32)
        cosines = np.empty((min(len(words), len(vectors)), len(queries)), dtype=np.float32)
        of_words = np.empty(len(words), dtype=np.float32)
        of_question = np.empty((len(lengths), len(queries)), dtype=np.float32)
        outputs = (slots, cosines, of_words, of_question)
        width = vectors.shape[1]
        self._relate(vectors, width, queries, len(queries), words, lengths, len(lengths), *outputs)
        return of_words, of_question

    def multiply(
        self, rows: Matrix, panels: Matrix, bias: Matrix, out: Matrix | None = None
    ) -> Matrix:
        """Return rows times a matrix in panels (`to_panels`), plus a bias in lines."""
        shape = (len(rows), len(bias))
        product = np.empty(shape, dtype=np.float32) if out is None else out
        assert rows.shape[1] == panels.shape[1], "rows and matrix must fit"
        assert product.shape == shape, "the result must have whole lines"
        assert product.dtype == np.float32, "the result must be of floats"
        self._multiply(rows, len(rows), rows.shape[1], panels, len(panels), bias, product)
        return product

    def to_panels(self, matrix: Matrix) -> Matrix:
        """Return a matrix (depth, columns) in the layout of `multiply`, (lines, depth, line)."""
        padded = pad_columns(matrix, self.line)
        return np.ascontiguousarray(padded.reshape(len(matrix), -1, self.line).swapaxes(0, 1))

    def run_recurrence(
        self, inputs: Matrix, states: Matrix, lengths: Ids, transposed: Matrix
    ) -> None:
        """Fill `states` from `inputs` row by row, starting from zeros in each segment.

        Args:
            inputs: shape (steps, width); both may be views that run backwards.
            lengths: steps of each segment, shape (segments,).
            transposed: the weights with columns in whole strips, shape (width, strips * strip).
        """
        width = inputs.shape[1]
        assert inputs.strides[1] == states.strides[1] == 4, "a row must be contiguous"
        assert width <= self.max_width, "the state is wider than the kernel supports"
        rows, strides = (inputs.ctypes.data, states.ctypes.data), (inputs.strides, states.strides)
        steps, strips = [stride[0] // 4 for stride in strides], transposed.shape[1] // self.strip
        self._recur(*rows, lengths, len(lengths), width, *steps, transposed, strips)

    def attend_bits(
        self,
        answers: StoredRows,
        width: int,
        tables: Matrix,
        by_question: Matrix,
        weights: Matrix,
        question: Matrix,
    ) -> Matrix:
        """Return the cosine of a question to each answer, whose words it attends over.

        Args:
            answers: rows of bits, one per word.
            width: used bits of a row.
            tables: the bit tables of `to_bit_tables`.
            by_question: the question's part of the hidden sums, in lines.
            weights: of the hidden sums' tangents in a logit, in lines.
            question: its vector, of length 1, shape (width,).
        """
        assert width <= self.max_width, "the rows have more bits than the kernel supports"
        logits = np.empty(int(answers.lengths.sum()), dtype=np.float32)
        scores = np.empty(len(answers.lengths), dtype=np.float32)
        self._attend_bits(
            *(answers.data, answers.starts, answers.lengths, len(scores), answers.row_bytes),
            *(width, tables, len(tables), by_question, weights, question, logits, scores),
        )
        return scores

    def to_bit_tables(self, matrix: Matrix) -> Matrix:
        """Return the term that each value of four bits adds to each column's sum.

        Args:
            matrix: shape (bits, columns); a 1 adds its bit's row, a 0 subtracts it.

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

    def choose_rows(
        self,
        bits: NDArray[np.uint64],
        places: NDArray[np.uint32],
        allowed: NDArray[np.bool_],
        planes: NDArray[np.uint64],
        largest: int,
        keep: int,
    ) -> Ids:
        """Return the rows of bits nearest to a question, in the order of rows.

        Args:
            bits: the signs of each vector, shape (rows, words).
            places: document number and position of each row, shape (rows, 2).
            allowed: which documents may be chosen, by number.
            planes: the question's signs, then the bits of its weights, shape (1 + PLANES, words).
            largest: the largest distance.
            keep: choose at most so many.
        """
        counts = np.zeros(largest + 1, dtype=np.int64)
        chosen = np.empty(min(keep, len(bits)), dtype=np.int64)
        self._compare_rows(bits, places, allowed, planes, counts, keep, chosen)
        return chosen[: counts.sum()]

    def measure_rows(
        self,
        bits: NDArray[np.uint64],
        places: NDArray[np.uint32],
        allowed: NDArray[np.bool_],
        planes: NDArray[np.uint64],
        largest: int,
    ) -> tuple[NDArray[np.uint16], Ids]:
        """Return the distance of each row, and how many allowed rows have each distance.

        Rows that are not allowed are at a distance above the largest.  For other arguments see
        `choose_rows`.
        """
        counts = np.zeros(largest + 1, dtype=np.int64)
        none = np.empty(0, dtype=np.int64)
        return self._compare_rows(bits, places, allowed, planes, counts, 0, none), counts

    def _compare_rows(
        self,
        bits: NDArray[np.uint64],
        places: NDArray[np.uint32],
        allowed: NDArray[np.bool_],
        planes: NDArray[np.uint64],
        counts: Ids,
        keep: int,
        chosen: Ids,
    ) -> NDArray[np.uint16]:
        """Fill counts and chosen rows; return the distances."""
        rows, words = bits.shape
        assert planes.shape == (1 + PLANES, words), "a question needs one sign per bit"
        distances = np.empty(rows, dtype=np.uint16)
        question = (planes[0], planes[1:], counts, len(counts) - 1)
        documents = (allowed, len(allowed))
        self._choose_rows(bits, places, rows, words, *documents, *question, distances, keep, chosen)
        return distances

    def score_rows(
        self, data: NDArray[np.uint8], chosen: Ids, question: Matrix
    ) -> NDArray[np.float32]:
        """Return the dot products of chosen rows, which are int8 with a float scale behind.

        Args:
            data: all rows, shape (rows, bytes).
            question: its width is a multiple of 64.
        """
        scores = np.empty(len(chosen), dtype=np.float32)
        assert len(question) % 64 == 0, "a question must have whole parts"
        self._score_rows(data, data.shape[1], chosen, len(chosen), question, len(question), scores)
        return scores


@cache
def load_library() -> ctypes.CDLL | None:
    """Return the compiled library, or None if it was not built for this machine."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        version = library.kernel_version()
    except (OSError, AttributeError):
        return None
    return library if version == VERSION else None


@cache
def load_kernel() -> Kernel | None:
    """Return the kernel, or None if it was not built for this machine."""
    library = load_library()
    return None if library is None else Kernel(library)


def bind_function(library: ctypes.CDLL, name: str, signature: str) -> Callable[..., int]:
    """Return a function of pointers (p) and integers (i) that takes arrays for pointers."""
    function = library[name]
    function.restype = ctypes.c_int64  # of functions that return nothing it is ignored
    function.argtypes = [ctypes.c_void_p if c == "p" else ctypes.c_int64 for c in signature]
    return lambda *arguments: function(
        *[_get_address(a) if isinstance(a, np.ndarray) else a for a in arguments]
    )


class Linear:
    """Multiplies rows by a fixed matrix and adds a bias, with the kernel if there is one.

    numpy's BLAS spreads even small products over all cores, and waits for busy ones.
    """

    def __init__(
        self, matrix: Matrix, bias: Matrix | None = None, kernel: Kernel | None = None
    ) -> None:
        """Take a matrix of shape (depth, columns) and a bias of shape (columns,)."""
        self._columns = matrix.shape[1]
        self._kernel = kernel
        bias = np.zeros(self._columns, dtype=np.float32) if bias is None else bias
        # The compiled kernel does not check shapes.
        if matrix.ndim != 2 or bias.shape != (self._columns,) or not matrix.size:
            raise ValueError(f"matrix {matrix.shape} and bias {bias.shape} do not fit")
        self._bias = pad_columns(bias, kernel.line) if kernel else bias
        self._matrix = kernel.to_panels(matrix) if kernel else np.ascontiguousarray(matrix)

    def __call__(self, rows: Matrix, out: Matrix | None = None) -> Matrix:
        """Return shape (len(rows), columns); `out` has whole lines of columns."""
        if self._kernel is None:
            product: Matrix = np.matmul(rows, self._matrix, out=out)
            product += self._bias
            return product
        contiguous = np.ascontiguousarray(rows)
        product = self._kernel.multiply(contiguous, self._matrix, self._bias, out)
        return product[:, : self._columns]


def pad_columns(matrix: Matrix, multiple: int) -> Matrix:
    """Pad the last axis with zeros to a multiple; return a contiguous matrix."""
    missing = -matrix.shape[-1] % multiple
    return np.ascontiguousarray(np.pad(matrix, [(0, 0)] * (matrix.ndim - 1) + [(0, missing)]))


def _get_address(array: NDArray[np.generic]) -> int:
    assert array.flags.c_contiguous, "the kernel reads contiguous arrays"
    return array.ctypes.data
