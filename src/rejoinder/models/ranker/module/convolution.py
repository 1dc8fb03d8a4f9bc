"""Max-pooled convolutions over texts of different lengths, without wasted work.

`PooledConvolution` is for frozen word vectors:

- a convolution is linear, so each distinct word of the batch is multiplied with each slice of
  the kernel once, and a position is the sum of five rows of that table;
- a feature of one word (its relatedness) is a rank-one update;
- in training, the one large product is computed in the type that `set_product_type` chose:
  bfloat16 where it is native, at twice the speed and other last digits (docs/decisions/0008).

`PooledConvolutions` has several widths and is for the output of other layers, where every
position has to be computed.  In both, the gradient of max-pooling reaches one position per text
and channel, so gradients are sums over P windows, not N.

A text is padded with K - 1 rows of zeros, K // 2 of them behind it, as `padding="same"` of
`nn.Conv1d` does, so it has as many windows as words.

Axes: W distinct words, E vector width, K width of a window, F features, C channels, N words,
P texts, M words of the widest window.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from rejoinder.models.ranker.module.pairs import join_ranges, start_offsets


class PooledConvolution(nn.Module):
    """A max-pooled convolution over [word vector; features], padded by K // 2.

    The parameters are those of `nn.Conv1d(width + features, channels, kernel)`.
    """

    product_type = torch.float32

    def __init__(self, width: int, *, features: int, channels: int, kernel: int = 5) -> None:
        super().__init__()
        self.width = width
        self.convolution = nn.Conv1d(width + features, channels, kernel, padding=kernel // 2)
        # Store the slices of the kernel one after another, as they are used and as their
        # gradient is computed, so that no step has to transpose them.
        slices = self.convolution.weight.detach().permute(2, 0, 1).contiguous()
        self.convolution.weight = nn.Parameter(slices.permute(1, 2, 0))

    def forward(self, vectors: Tensor, words: Tensor, features: Tensor, lengths: Tensor) -> Tensor:
        """Convolve and pool P texts; return shape (P, C).

        Args:
            vectors: shape (W, E); row 0 must be zeros.
            words: rows of `vectors`, shape (N,).
            features: shape (N, F); they get no gradient.
            lengths: words of each text, at least 1, shape (P,).
        """
        kernel = self.convolution.kernel_size[0]
        windows = window_indices(lengths, kernel).t()  # (K, N)
        pooled: Tensor = _PooledWords.apply(
            vectors,
            functional.pad(words, (0, 1))[windows],
            functional.pad(features, (0, 0, 0, 1))[windows],
            start_offsets(lengths),
            self.convolution.weight,
            self.product_type
            if self.training and vectors.dtype == torch.float32
            else vectors.dtype,
        )
        assert self.convolution.bias is not None
        return pooled + self.convolution.bias


class PooledConvolutions(nn.Module):
    """Max-pooled convolutions of several widths over rows with a gradient, concatenated.

    A convolution of width K is a linear layer over windows of K rows; the parameters are
    those of `nn.Conv1d(width, channels, K)`, as a matrix of shape (C, K * E).
    """

    product_type = torch.float32

    def __init__(self, width: int, *, channels: int, kernels: Sequence[int]) -> None:
        super().__init__()
        self.span = max(kernels) // 2 * 2 + 1
        self.convolutions = nn.ModuleList(nn.Linear(kernel * width, channels) for kernel in kernels)

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Convolve and pool P texts of N rows (N, E); return shape (P, number of widths * C)."""
        indices = window_indices(lengths, self.span)  # (N, M)
        padded = functional.pad(rows, (0, 0, 0, 1))
        windows = padded.index_select(0, indices.flatten()).view(len(rows), -1)  # (N, M * E)
        weights = [layer.get_parameter("weight") for layer in self.convolutions]
        pooled: Tensor = _PooledRows.apply(
            windows,
            rows.shape[1],
            start_offsets(lengths),
            self.product_type if self.training and rows.dtype == torch.float32 else rows.dtype,
            *weights,
        )
        return pooled + torch.cat([layer.get_parameter("bias") for layer in self.convolutions])


def set_product_type(model: nn.Module, dtype: torch.dtype) -> None:
    """Set the type in which convolutions multiply in training."""
    for module in model.modules():
        if isinstance(module, PooledConvolution | PooledConvolutions):
            module.product_type = dtype


def window_indices(lengths: Tensor, kernel: int) -> Tensor:
    """Return the positions in the window around each word, shape (N, K); N for padding."""
    total = int(lengths.sum())
    inside = join_ranges(torch.zeros_like(lengths), lengths)  # position in its text
    length = torch.repeat_interleave(lengths, lengths)
    offsets = torch.arange(kernel, device=lengths.device) - kernel // 2
    shifted = inside[:, None] + offsets
    exists = (shifted >= 0) & (shifted < length[:, None])
    words = torch.arange(total, device=lengths.device)
    return torch.where(exists, words[:, None] + offsets, total)


class _PooledWords(torch.autograd.Function):
    """The pooled sum of table rows and features, with gradients at the maxima alone."""

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,  # (W, E)
        words: Tensor,  # (K, N)
        features: Tensor,  # (K, N, F)
        starts: Tensor,  # (P,)
        weight: Tensor,  # (C, E + F, K)
        product_type: torch.dtype,
    ) -> Tensor:
        channels, _, kernel = weight.shape
        width = vectors.shape[1]
        slices = weight.permute(2, 0, 1).reshape(kernel * channels, -1)  # (K * C, E + F)
        table = _multiply(vectors, slices[:, :width], product_type).view(-1, channels)  # (W * K, C)
        rows = words.t() * kernel + torch.arange(kernel, device=words.device)
        positions = functional.embedding_bag(rows, table, mode="sum")  # (N, C)
        by_feature = weight[:, width:].permute(2, 1, 0).reshape(-1, channels)  # (K * F, C)
        positions.addmm_(features.transpose(0, 1).flatten(1), by_feature)
        pooled, maxima = _max_pool(positions, starts)
        ctx.save_for_backward(vectors, words, features, maxima.t())
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        vectors, words, features, maxima = ctx.saved_tensors  # maxima: (C, P)
        kernel, channels = len(words), len(maxima)
        slope = gradient.t().contiguous()  # (C, P)
        chosen = words[:, maxima].reshape(kernel * channels, -1)  # (K * C, P)
        by_word = functional.embedding_bag(
            chosen, vectors, per_sample_weights=slope.repeat(kernel, 1), mode="sum"
        )
        by_feature = (features[:, maxima] * slope[:, :, None]).sum(dim=2)  # (K, C, F)
        joined = torch.cat([by_word.view(kernel, channels, -1), by_feature], dim=2)
        return None, None, None, None, joined.permute(1, 2, 0), None


def _multiply(vectors: Tensor, weights: Tensor, product_type: torch.dtype) -> Tensor:
    """Return the products of all pairs of rows; the type is that of the vectors."""
    return (vectors.to(product_type) @ weights.to(product_type).t()).to(vectors.dtype)


def _max_pool(positions: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the maxima of runs of rows and their positions, (P, C) each."""
    # Unlike the public `embedding_bag`, the operator returns the positions.
    pooled, _, _, maxima = torch.ops.aten._embedding_bag(
        positions, torch.arange(len(positions), device=positions.device), starts, False, 2
    )
    return pooled, maxima


class _PooledRows(torch.autograd.Function):
    """The pooled products of windows and weights, with gradients at the maxima alone."""

    @staticmethod
    def forward(
        ctx: Any,
        windows: Tensor,  # (N, M * E)
        width: int,
        starts: Tensor,  # (P,)
        product_type: torch.dtype,
        *weights: Tensor,  # (C, K * E) each
    ) -> Tensor:
        parts = zip(_narrow(windows, width, weights), weights, strict=True)
        results = [
            _max_pool(_multiply(part, weight, product_type), starts) for part, weight in parts
        ]
        ctx.width = width
        ctx.save_for_backward(windows, *weights, *(maxima for _, maxima in results))
        return torch.cat([pooled for pooled, _ in results], dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        windows, *rest = ctx.saved_tensors
        weights, maxima = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        by_window = torch.zeros_like(windows)
        by_weight = []
        for part, target, weight, positions, slope in zip(
            _narrow(windows, ctx.width, weights),
            _narrow(by_window, ctx.width, weights),
            weights,
            maxima,  # (P, C) each
            gradient.split([len(weight) for weight in weights], dim=1),
            strict=True,
        ):
            chosen, weighted = positions.t().contiguous(), slope.t().contiguous()
            by_weight.append(
                functional.embedding_bag(chosen, part, per_sample_weights=weighted, mode="sum")
            )
            target += _sum_weights(weight, positions, slope, len(windows))
        return by_window, None, None, None, *by_weight


def _narrow(windows: Tensor, width: int, weights: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield, for each weight, the middle of the windows that it reads, shape (N, K * E)."""
    middle = (windows.shape[1] // width) // 2
    for weight in weights:
        kernel = weight.shape[1] // width
        start = middle - (kernel - 1) // 2
        yield windows[:, start * width : (start + kernel) * width]


def _sum_weights(weight: Tensor, maxima: Tensor, slope: Tensor, windows: int) -> Tensor:
    """Return the weighted sum over the channels whose maximum is a window, (windows, K * E)."""
    owners, order = maxima.flatten().sort()
    return functional.embedding_bag(
        order % len(weight),
        weight,
        torch.searchsorted(owners, torch.arange(windows, device=owners.device)),
        per_sample_weights=slope.flatten()[order],
        mode="sum",
    )
