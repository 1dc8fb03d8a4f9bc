"""The compiled inner loops, where they were built; numpy does the same without them."""

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from rejoinder.runtime.networks.pairs import Ids, Matrix

LIBRARY = Path(__file__).with_name("_kernel.so")
VERSION = 1


class Kernel:
    """The functions of kernel.c, with arrays instead of pointers."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._pool = library.pool_texts
        self._recur = library.run_recurrence
        self._pool.restype = self._recur.restype = None
        library.kernel_max_width.restype = ctypes.c_int64
        self.max_width = int(library.kernel_max_width())

    def pool_texts(
        self, products: Matrix, words: Ids, related: Matrix, lengths: Ids, by_related: Matrix
    ) -> Matrix:
        """Return the max-pooled convolution of texts, shape (texts, channels)."""
        width = by_related.shape[1]
        pooled = np.empty((len(lengths), width), dtype=np.float32)
        self._pool(
            _pointer(products),
            _pointer(words),
            _pointer(related),
            _pointer(lengths),
            ctypes.c_int64(len(lengths)),
            ctypes.c_int64(width),
            _pointer(by_related),
            _pointer(pooled),
        )
        return pooled

    def run_recurrence(self, inputs: Matrix, states: Matrix, transposed: Matrix) -> None:
        """Fill `states` from `inputs`, row by row; both may be views that run backwards."""
        steps, width = inputs.shape
        assert inputs.strides[1] == states.strides[1] == 4, "a row must be contiguous"
        self._recur(
            _pointer(inputs, contiguous=False),
            _pointer(states, contiguous=False),
            ctypes.c_int64(steps),
            ctypes.c_int64(width),
            ctypes.c_int64(inputs.strides[0] // 4),
            ctypes.c_int64(states.strides[0] // 4),
            _pointer(transposed),
        )


@cache
def load_kernel() -> Kernel | None:
    """Return the kernel, or None where it was not built for this machine."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.kernel_version.restype = ctypes.c_int64
        return Kernel(library) if library.kernel_version() == VERSION else None
    except (OSError, AttributeError):
        return None


def _pointer(array: Matrix | Ids, *, contiguous: bool = True) -> ctypes.c_void_p:
    assert not contiguous or array.flags.c_contiguous, "the kernel reads contiguous arrays"
    return ctypes.c_void_p(array.ctypes.data)
