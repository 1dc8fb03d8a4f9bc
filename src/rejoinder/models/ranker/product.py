"""Rows times a fixed matrix, compiled where that was built.

Without the compiled kernel numpy multiplies; its library spreads even small products over all
cores, and waits for those that others use.
"""

import numpy as np

from rejoinder.models.kernel import Kernel, pad_columns
from rejoinder.models.ranker.pairs import Matrix


class Product:
    """Multiplies rows by a matrix, and adds a bias."""

    def __init__(
        self, matrix: Matrix, bias: Matrix | None = None, kernel: Kernel | None = None
    ) -> None:
        """Take a matrix of shape (depth, columns) and a bias of shape (columns,)."""
        self._columns = matrix.shape[1]
        self._kernel = kernel
        bias = np.zeros(self._columns, dtype=np.float32) if bias is None else bias
        # The compiled kernel believes what it is told: here is where shapes are looked at.
        if matrix.ndim != 2 or bias.shape != (self._columns,) or not matrix.size:
            raise ValueError(f"matrix {matrix.shape} and bias {bias.shape} do not fit")
        self._bias = pad_columns(bias, kernel.line) if kernel else bias
        self._matrix = kernel.cut_panels(matrix) if kernel else np.ascontiguousarray(matrix)

    def __call__(self, rows: Matrix) -> Matrix:
        """Return shape (len(rows), columns)."""
        if self._kernel is not None:
            contiguous = np.ascontiguousarray(rows)
            return self._kernel.multiply(contiguous, self._matrix, self._bias)[:, : self._columns]
        product: Matrix = rows @ self._matrix
        product += self._bias
        return product
