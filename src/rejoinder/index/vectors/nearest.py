"""Nearest neighbours in two passes: bits choose rows, int8 numbers score them.

The first pass compares the signs of each row with the question's, weighted by the question's
numbers, and keeps the nearest few per cent.  The second pass computes their cosines.  With
`KEPT`, at least 99 % of the exact nearest rows are found (docs/decisions/0032).
"""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from rejoinder.index.vectors.codes import MAX_WEIGHT, Bytes, Matrix, QuestionCode
from rejoinder.models.kernel import PLANES, Kernel, load_kernel
from rejoinder.models.parallel import count_cores, spread

KEPT = 5
"""The first pass keeps so many times √(limit · rows); the number needed grows with the root."""
BLOCK = 1 << 14
"""Rows that numpy compares at a time."""
PART = 1_000_000
"""The fewest rows for which it pays that the kernel compares them on a thread of their own."""

Ids = NDArray[np.int64]
_COUNTS = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)


def choose_rows(
    bits: NDArray[np.uint64],
    places: NDArray[np.uint32],
    allowed: NDArray[np.bool_],
    question: QuestionCode,
    limit: int,
    *,
    threads: int | None = None,
) -> Ids:
    """Return the rows whose bits are nearest to a question, in the order of rows.

    Args:
        bits: shape (rows, words).
        places: document number and position of each row, shape (rows, 2).
        allowed: which documents may be chosen, by number.
        limit: how many rows are wanted in the end.
        threads: how many compare rows in the kernel; by default one for each `PART` rows, and all
            cores but the one that searches by words meanwhile.
    """
    keep = KEPT * isqrt(max(limit, 100) * len(bits)) + 1
    kernel = load_kernel()
    if kernel:
        largest = MAX_WEIGHT * 64 * bits.shape[1]
        if threads is None:
            threads = min(count_cores() - 1, len(bits) // PART)
        if threads < 2:
            return kernel.choose_rows(bits, places, allowed, question.planes, largest, keep)
        return _choose_on_threads(kernel, bits, places, allowed, question, keep, threads)
    numbers = places[:, 0]
    rows = np.flatnonzero((numbers < len(allowed)) & allowed[np.minimum(numbers, len(allowed) - 1)])
    distances = _measure(bits, rows, question)
    # A stable order, so that the earlier of equal rows is chosen, as in the kernel.
    return np.sort(rows[np.argsort(distances, kind="stable")[:keep]])


def _choose_on_threads(
    kernel: Kernel,
    bits: NDArray[np.uint64],
    places: NDArray[np.uint32],
    allowed: NDArray[np.bool_],
    question: QuestionCode,
    keep: int,
    threads: int,
) -> Ids:
    """Return what the kernel chooses of all rows, each thread having compared a part of them."""
    largest = MAX_WEIGHT * 64 * bits.shape[1]
    size = -(-len(bits) // threads)

    def measure(first: int) -> tuple[NDArray[np.uint16], Ids]:
        own = slice(first, first + size)
        return kernel.measure_rows(bits[own], places[own], allowed, question.planes, largest)

    measured = spread(measure, range(0, len(bits), size), threads=threads)
    at_most = np.cumsum(sum(counts for _, counts in measured))
    # The rows nearer than this distance are fewer than `keep`; the earlier of its own fill up.
    limit = int(np.searchsorted(at_most, keep, side="right"))
    left = keep - (int(at_most[limit - 1]) if limit else 0)
    chosen = []
    for part, (distances, _) in enumerate(measured):
        is_near = distances < limit
        if limit <= largest:
            ties = np.flatnonzero(distances == limit)[:left]
            is_near[ties] = True
            left -= len(ties)
        chosen.append(np.flatnonzero(is_near) + part * size)
    return np.concatenate(chosen)


def score_rows(data: Bytes, rows: Ids, question: QuestionCode) -> Matrix:
    """Return the cosines of rows to a question.

    Args:
        data: of all rows the int8 numbers, the scale and the checksum, shape (all, bytes).
    """
    kernel: Kernel | None = load_kernel()
    if kernel:
        return kernel.score_rows(data, rows, question.rotated)
    width = len(question.rotated)
    chosen = data[rows]
    numbers = chosen[:, :width].view(np.int8).astype(np.float32)
    scales = np.ascontiguousarray(chosen[:, width : width + 4]).view("<f4")[:, 0]
    scores: Matrix = np.einsum("ij,j->i", numbers, question.rotated) * scales
    return scores


def _measure(bits: NDArray[np.uint64], rows: Ids, question: QuestionCode) -> NDArray[np.uint32]:
    """Return the weighted Hamming distance of rows to a question."""
    distances = np.zeros(len(rows), dtype=np.uint32)
    signs, *planes = question.planes
    for first in range(0, len(rows), BLOCK):
        difference = bits[rows[first : first + BLOCK]] ^ signs
        for plane in range(PLANES):
            counts = _COUNTS[(difference & planes[plane]).view(np.uint8)]
            own = counts.sum(axis=1, dtype=np.uint32)
            distances[first : first + BLOCK] += own << plane
    return distances
