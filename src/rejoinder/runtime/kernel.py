"""The compiled inner loops, where they were built; numpy does the same without them.

Axes: as in kernel.c; widths are padded to whole lines, of `Kernel.line` floats.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from rejoinder.runtime.networks.pairs import Ids, Matrix

LIBRARY = Path(__file__).with_name("_kernel.so")
VERSION = 2
HALF = 2


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


def _pointer(
    array: Matrix | Ids | np.ndarray[tuple[int], np.dtype[np.int32]], *, contiguous: bool = True
) -> ctypes.c_void_p:
    assert not contiguous or array.flags.c_contiguous, "the kernel reads contiguous arrays"
    return ctypes.c_void_p(array.ctypes.data)
