"""A convolution over frozen word vectors with max-pooling, without the work that is wasted.

Three facts make it fast without changing a number:

- vectors are frozen and a convolution is linear, so for each distinct word of the batch and
  each kernel offset the product with the kernel is made once, and a position is the sum of
  five rows of that table;
- a feature of one word (how related it is) is a rank-one update;
- the gradient of max-pooling reaches one position per pair and channel, so the kernel's
  gradient is a sum over those, not over all positions.

A fourth changes the last digits, in training alone: where the processor multiplies bfloat16
natively, the one large product is made in it, at twice the speed (docs/decisions/0008).

Axes: W distinct words, E vector width, K kernel, F features, C channels, N words, P pairs.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from rejoinder.models.ranker.module.pairs import join_ranges

IN_BFLOAT16 = torch.cpu._is_avx512_bf16_supported()


class PooledConvolution(nn.Module):
    """max over positions of a convolution over [word vector; features], padded by K // 2.

    The parameters are those of `nn.Conv1d(width + features, channels, kernel)`.
    """

    def __init__(self, width: int, *, features: int, channels: int, kernel: int = 5) -> None:
        super().__init__()
        self.width = width
        self.convolution = nn.Conv1d(width + features, channels, kernel, padding=kernel // 2)
        # In memory the slices of the kernel stand one after another, as they are used and as
        # their gradient comes: no step has to turn them around.
        slices = self.convolution.weight.detach().permute(2, 0, 1).contiguous()
        self.convolution.weight = nn.Parameter(slices.permute(1, 2, 0))

    def forward(self, vectors: Tensor, words: Tensor, features: Tensor, lengths: Tensor) -> Tensor:
        """Convolve and pool P texts.

        Args:
            vectors: shape (W, E); row 0 must be zeros.
            words: rows of `vectors`, shape (N,).
            features: shape (N, F); they get no gradient.
            lengths: words of each text, at least 1, shape (P,).

        Returns:
            Shape (P, C).
        """
        kernel = self.convolution.kernel_size[0]
        places = find_windows(lengths, kernel).t()  # (K, N)
        pooled: Tensor = _Pooled.apply(
            vectors,
            functional.pad(words, (0, 1))[places],
            functional.pad(features, (0, 0, 0, 1))[places],
            lengths.cumsum(0) - lengths,
            self.convolution.weight,
            self.training and IN_BFLOAT16 and vectors.dtype == torch.float32,
        )
        assert self.convolution.bias is not None
        return pooled + self.convolution.bias


def find_windows(lengths: Tensor, kernel: int) -> Tensor:
    """Return, for each word, the places of the words in its window; N where there is none.

    Shape (N, K).
    """
    total = int(lengths.sum())
    inside = join_ranges(torch.zeros_like(lengths), lengths)  # place inside the text
    length = torch.repeat_interleave(lengths, lengths)
    offsets = torch.arange(kernel) - kernel // 2
    shifted = inside[:, None] + offsets
    exists = (shifted >= 0) & (shifted < length[:, None])
    return torch.where(exists, torch.arange(total)[:, None] + offsets, total)


class _Pooled(torch.autograd.Function):
    """The pooled sum of table rows and features, and its gradient at the maxima alone."""

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,  # (W, E)
        words: Tensor,  # (K, N)
        features: Tensor,  # (K, N, F)
        starts: Tensor,  # (P,)
        weight: Tensor,  # (C, E + F, K)
        in_bfloat16: bool,
    ) -> Tensor:
        channels, _, kernel = weight.shape
        width = vectors.shape[1]
        slices = weight.permute(2, 0, 1).reshape(kernel * channels, -1)  # (K * C, E + F)
        table = _multiply(vectors, slices[:, :width], in_bfloat16).view(-1, channels)  # (W * K, C)
        rows = words.t() * kernel + torch.arange(kernel)
        positions = functional.embedding_bag(rows, table, mode="sum")  # (N, C)
        by_feature = weight[:, width:].permute(2, 1, 0).reshape(-1, channels)  # (K * F, C)
        positions.addmm_(features.transpose(0, 1).flatten(1), by_feature)
        # Max-pooling of runs of rows; unlike the public function, it tells where the maxima are.
        pooled, _, _, maxima = torch.ops.aten._embedding_bag(
            positions, torch.arange(len(positions)), starts, False, 2
        )
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


def _multiply(vectors: Tensor, slices: Tensor, in_bfloat16: bool) -> Tensor:
    if in_bfloat16:
        return (vectors.bfloat16() @ slices.bfloat16().t()).float()
    return vectors @ slices.t()
