"""Convolutions with max-pooling over the words of many texts.

A convolution is linear, so each distinct row is multiplied with each slice of the kernel once,
however often it occurs; a position is then the sum of K products.  A text is padded with K - 1
rows of zeros, K // 2 of them behind it, so it has as many windows as words.

Axes: N words of all texts one after another, T texts, M rows, E row width, K width of a window,
H channels.
"""

from collections.abc import Iterator

import numpy as np

from rejoinder.models.kernel import Ids, Matrix


def batch_texts(lengths: Ids, max_words: int) -> Iterator[slice]:
    """Yield slices of texts that have at most `max_words` words together, or are one text.

    >>> [(batch.start, batch.stop) for batch in batch_texts(np.array([2, 3, 9, 1]), 5)]
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(lengths)
    first = 0
    while first < len(ends):
        limit = ends[first] - lengths[first] + max_words
        last = max(first + 1, int(np.searchsorted(ends, limit, side="right")))
        yield slice(first, last)
        first = last


def start_offsets(lengths: Ids) -> Ids:
    """Return the position of each text's first word."""
    return np.cumsum(lengths) - lengths


def window_indices(lengths: Ids, width: int) -> Ids:
    """Return the positions in the window around each word; N for padding.

    Shape (K, N).  A window of even width has one word more behind its middle than before it.

    >>> window_indices(np.array([2, 1]), width=3)
    array([[3, 0, 3],
           [0, 1, 2],
           [1, 3, 3]])
    """
    ends = np.cumsum(lengths)
    first = np.repeat(ends - lengths, lengths)
    end = np.repeat(ends, lengths)
    offsets = np.arange(width) - (width - 1) // 2
    positions = np.arange(len(end)) + offsets[:, None]
    return np.where((positions >= first) & (positions < end), positions, len(end))


def window_rows(windows: Ids, row_ids: Ids, rows: int) -> Ids:
    """Return the rows in each window, shape (K, N); one past the last row for padding.

    Args:
        windows: positions, as `window_indices` returns them, shape (K, N).
        row_ids: the row at each position, shape (N,).
        rows: how many rows there are.
    """
    return np.append(row_ids, rows)[windows]


def convolve(rows: Matrix, windows: Ids, kernel: Matrix) -> Matrix:
    """Return the convolution at each word, shape (N, H).

    Args:
        rows: shape (M, E).
        windows: the rows in the window around each word, M for padding, shape (K, N).
        kernel: shape (K, E, H).
    """
    channels = kernel.shape[2]
    products = np.empty((len(rows) + 1, channels), dtype=np.float32)
    products[-1] = 0
    sums = np.empty((windows.shape[1], channels), dtype=np.float32)
    part = np.empty_like(sums)
    for offset, kernel_slice in enumerate(kernel):
        np.dot(rows, kernel_slice, out=products[:-1])
        target = part if offset else sums
        # Without a mode, `take` fills a copy of the target first.
        products.take(windows[offset], axis=0, out=target, mode="clip")
        if offset:
            sums += part
    return sums


def max_pool(positions: Matrix, lengths: Ids, out: Matrix) -> None:
    """Fill `out`, shape (T, H), with the maximum over the words of each text.

    Args:
        positions: shape (N, H).
    """
    # `np.maximum.reduceat` takes 0.76 ms, this 0.26 ms: 100 texts of 25 words, H = 300.
    ends = np.cumsum(lengths)
    for pooled, start, end in zip(out, (ends - lengths).tolist(), ends.tolist(), strict=True):
        np.maximum.reduce(positions[start:end], out=pooled)
