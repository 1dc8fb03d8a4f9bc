"""Convolutions of several widths with max-pooling, over rows that have a gradient themselves.

`convolution.py` is for frozen word vectors; here the rows come out of other layers, so every
position has to be computed.  What is saved is the way back: the gradient of max-pooling
reaches one window per text and channel, so both gradients are sums over P windows, not N.

A text is padded with K - 1 rows of zeros, K // 2 of them behind it, as `padding="same"` of
`nn.Conv1d` does; so it has as many windows as rows, whatever the width.

Axes: N rows of all texts, P texts, E row width, K width of a window, C channels,
M rows that the widest window reads around and with the middle one.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from rejoinder.models.ranker.module.convolution import find_windows


class PooledConvolutions(nn.Module):
    """max over positions of one convolution for each width, joined.

    A convolution of width K is a linear layer over windows of K rows; the parameters are
    those of `nn.Conv1d(width, channels, K)`, as a matrix of shape (C, K * E).
    """

    def __init__(self, width: int, *, channels: int, kernels: Sequence[int]) -> None:
        super().__init__()
        self.span = max(kernels) // 2 * 2 + 1
        self.convolutions = nn.ModuleList(nn.Linear(kernel * width, channels) for kernel in kernels)

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Convolve and pool P texts.

        Args:
            rows: one row per word, shape (N, E).
            lengths: words of each text, at least 1, shape (P,).

        Returns:
            Shape (P, number of widths * C).
        """
        places = find_windows(lengths, self.span)  # (N, M)
        padded = functional.pad(rows, (0, 0, 0, 1))
        windows = padded.index_select(0, places.flatten()).view(len(rows), -1)  # (N, M * E)
        weights = [layer.get_parameter("weight") for layer in self.convolutions]
        starts = lengths.cumsum(0) - lengths
        pooled: Tensor = _Pooled.apply(windows, rows.shape[1], starts, *weights)
        return pooled + torch.cat([layer.get_parameter("bias") for layer in self.convolutions])


def _cut(windows: Tensor, width: int, weights: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield, for each weight, the middle of the windows that it reads, shape (N, K * E)."""
    middle = (windows.shape[1] // width) // 2
    for weight in weights:
        kernel = weight.shape[1] // width
        start = middle - (kernel - 1) // 2
        yield windows[:, start * width : (start + kernel) * width]


class _Pooled(torch.autograd.Function):
    """The pooled products of windows and weights, and their gradients at the maxima alone."""

    @staticmethod
    def forward(
        ctx: Any,
        windows: Tensor,  # (N, M * E)
        width: int,
        starts: Tensor,  # (P,)
        *weights: Tensor,  # (C, K * E) each
    ) -> Tensor:
        rows = torch.arange(len(windows))
        pooled, maxima = [], []
        for part, weight in zip(_cut(windows, width, weights), weights, strict=True):
            # Max-pooling of runs of rows that tells where the maxima are.
            best, _, _, places = torch.ops.aten._embedding_bag(
                part @ weight.t(), rows, starts, False, 2
            )
            pooled.append(best)
            maxima.append(places)  # (P, C)
        ctx.width = width
        ctx.save_for_backward(windows, *weights, *maxima)
        return torch.cat(pooled, dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        windows, *rest = ctx.saved_tensors
        weights, maxima = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        by_window = torch.zeros_like(windows)
        by_weight = []
        for part, target, weight, places, slope in zip(
            _cut(windows, ctx.width, weights),
            _cut(by_window, ctx.width, weights),
            weights,
            maxima,
            gradient.split([len(weight) for weight in weights], dim=1),
            strict=True,
        ):
            by_weight.append(_sum_rows(part, places.t(), slope.t()))
            target += _sum_weights(weight, places, slope, len(windows))
        return by_window, None, None, *by_weight


def _sum_rows(rows: Tensor, places: Tensor, factors: Tensor) -> Tensor:
    """Return, for each bag of places, the weighted sum of its rows."""
    return functional.embedding_bag(
        places.contiguous(), rows, per_sample_weights=factors.contiguous(), mode="sum"
    )


def _sum_weights(weight: Tensor, places: Tensor, slope: Tensor, windows: int) -> Tensor:
    """Return, for each window, the weighted sum over the channels whose maximum it is.

    Shape (windows, K * E).
    """
    owners, order = places.flatten().sort()
    return functional.embedding_bag(
        order % len(weight),
        weight,
        torch.searchsorted(owners, torch.arange(windows)),
        per_sample_weights=slope.flatten()[order],
        mode="sum",
    )
