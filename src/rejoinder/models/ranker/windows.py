"""Convolutions over the words of many texts: what a window reads, and the sum over it.

A convolution is linear, so each distinct row meets each slice of the kernel once, whether it
stands at one place or at a hundred; a place is then the sum of as many products as its
window has rows.  A text is padded with K - 1 rows of zeros, K // 2 of them behind it, so it
has as many windows as words.

Axes: N words of all texts one after another, T texts, M rows, E row width, K width of a window,
H channels.
"""

from collections.abc import Iterator

import numpy as np

from rejoinder.models.ranker.pairs import Ids, Matrix


def cut_texts(lengths: Ids, most: int) -> Iterator[slice]:
    """Yield runs of texts that have at most so many words together, or are one text.

    >>> [(run.start, run.stop) for run in cut_texts(np.array([2, 3, 9, 1]), most=5)]
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(lengths)
    first = 0
    while first < len(ends):
        limit = ends[first] - lengths[first] + most
        last = max(first + 1, int(np.searchsorted(ends, limit, side="right")))
        yield slice(first, last)
        first = last


def find_starts(lengths: Ids) -> Ids:
    """Return the place of each text's first word."""
    return np.cumsum(lengths) - lengths


def find_windows(lengths: Ids, width: int) -> Ids:
    """Return the places that the window around each word reads; N where there is no word.

    Shape (K, N).  An even window reads one word more behind its middle than before it.

    >>> find_windows(np.array([2, 1]), width=3)
    array([[3, 0, 3],
           [0, 1, 2],
           [1, 3, 3]])
    """
    ends = np.cumsum(lengths)
    first = np.repeat(ends - lengths, lengths)
    end = np.repeat(ends, lengths)
    offsets = np.arange(width) - (width - 1) // 2
    places = np.arange(len(end)) + offsets[:, None]
    return np.where((places >= first) & (places < end), places, len(end))


def find_rows(windows: Ids, places: Ids, rows: int) -> Ids:
    """Return the rows that windows read; one past the last row where there is no word.

    Args:
        windows: places of words, as `find_windows` gives them, shape (K, N).
        places: the row at each place, shape (N,).
        rows: how many rows there are.

    Returns:
        Shape (K, N).
    """
    return np.append(places, rows)[windows]


def sum_windows(rows: Matrix, read: Ids, kernel: Matrix) -> Matrix:
    """Return the convolution at each word.

    Args:
        rows: shape (M, E).
        read: rows that the window around each word reads, M where there is none, shape (K, N).
        kernel: shape (K, E, H).

    Returns:
        Shape (N, H).
    """
    channels = kernel.shape[2]
    products = np.empty((len(rows) + 1, channels), dtype=np.float32)
    products[-1] = 0
    sums = np.empty((read.shape[1], channels), dtype=np.float32)
    part = np.empty_like(sums)
    for offset, piece in enumerate(kernel):
        np.dot(rows, piece, out=products[:-1])
        target = part if offset else sums
        # Without a mode, `take` fills a copy of the target first.
        products.take(read[offset], axis=0, out=target, mode="clip")
        if offset:
            sums += part
    return sums


def pool_texts(positions: Matrix, lengths: Ids, out: Matrix) -> None:
    """Fill `out`, shape (T, H), with the maximum over the words of each text.

    Args:
        positions: shape (N, H).
    """
    # `np.maximum.reduceat` takes 0.76 ms where this takes 0.26: 100 texts of 25 words, H = 300.
    ends = np.cumsum(lengths)
    for pooled, start, end in zip(out, (ends - lengths).tolist(), ends.tolist(), strict=True):
        np.maximum.reduce(positions[start:end], out=pooled)
