"""Heads in torch: they relate a pair to its neighbours in the list.

A recurrent head reads the pairs of one segment in order; its state is reset at the next
(Bonadiman & Moschitti 2020, section 3.2).

Axes: P pairs, S segments, T pairs of the longest segment, D directions, F pair width, H hidden.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_sequence, unpack_sequence


def make_head_module(name: str, width: int, hidden: int) -> nn.Module:
    """Return the head; `hidden` is the width of its output, both directions together."""
    if name == "none":
        return NoHeadModule()
    directions = 2 if name.startswith("bi") else 1
    kind = LstmModule if name.endswith("lstm") else RnnModule
    return kind(width, hidden // directions, directions)


class NoHeadModule(nn.Module):
    """Leaves every pair as it is."""

    def forward(self, pairs: Tensor, segment_lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Return the pairs as they are."""
        return pairs


class LstmModule(nn.Module):
    """A long short-term memory, LSTM, over each segment."""

    def __init__(self, width: int, hidden: int, directions: int) -> None:
        super().__init__()
        self.network = nn.LSTM(width, hidden, bidirectional=directions == 2)

    def forward(self, pairs: Tensor, segment_lengths: Tensor) -> Tensor:
        """Read pairs of shape (P, F); return shape (P, D * H)."""
        segments = pairs.split(segment_lengths.tolist())
        packed, _ = self.network(pack_sequence(list(segments), enforce_sorted=False))
        return torch.cat(unpack_sequence(packed))


class RnnModule(nn.Module):
    """A plain recurrent network over each segment; its parameters are those of `nn.RNN`."""

    def __init__(self, width: int, hidden: int, directions: int) -> None:
        super().__init__()
        self.network = nn.RNN(width, hidden, bidirectional=directions == 2)
        self._suffixes = ["", "_reverse"][:directions]

    def forward(self, pairs: Tensor, segment_lengths: Tensor) -> Tensor:
        """Read pairs of shape (P, F); return shape (P, D * H)."""
        hidden: Tensor = _Recurrence.apply(
            pairs,
            torch.cat(self._get("weight_ih")),  # (D * H, F)
            torch.stack(self._get("weight_hh")),  # (D, H, H)
            torch.cat(self._get("bias_ih")) + torch.cat(self._get("bias_hh")),
            *_plan_steps(segment_lengths, len(self._suffixes)),
        )
        return hidden

    def _get(self, name: str) -> list[Tensor]:
        return [getattr(self.network, f"{name}_l0{suffix}") for suffix in self._suffixes]


def _plan_steps(lengths: Tensor, directions: int) -> tuple[Tensor, Tensor, int]:
    """Return the pairs by step (T, D, S), flattened, the indices into that by pair (D, P), and S.

    Both directions run side by side: step t reads pair t of a segment forwards and pair
    length - 1 - t backwards.  Pairs of the backward direction are numbered from P on.  A
    finished segment reads pair 0, and the result is not used.
    """
    starts = lengths.cumsum(0) - lengths
    steps = torch.arange(int(lengths.max()), device=lengths.device)[:, None]
    is_running = steps < lengths
    numbers = torch.arange(len(lengths), device=lengths.device)
    segment = torch.repeat_interleave(numbers, lengths)
    total = len(segment)
    inside = torch.arange(total, device=lengths.device) - starts[segment]
    reads = [torch.where(is_running, starts + steps, 0)]
    read_at = [(inside * directions) * len(lengths) + segment]
    if directions == 2:
        reads.append(torch.where(is_running, starts + lengths - 1 - steps, 0) + total)
        backwards = lengths[segment] - 1 - inside
        read_at.append((backwards * 2 + 1) * len(lengths) + segment)
    return torch.stack(reads, dim=1).flatten(), torch.cat(read_at), len(lengths)


class _Recurrence(torch.autograd.Function):
    """h_t = tanh(W x_t + U h_{t-1} + b), all segments and directions of a step at once.

    Its gradient is written out because autograd's overhead per step exceeds the step.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pairs: Tensor,  # (P, F)
        input_weight: Tensor,  # (D * H, F)
        hidden_weight: Tensor,  # (D, H, H)
        bias: Tensor,  # (D * H,)
        reads: Tensor,  # (T * D * S,)
        read_at: Tensor,  # (D * P,)
        segments: int,
    ) -> Tensor:
        directions, hidden, _ = hidden_weight.shape
        projected = torch.addmm(bias, pairs, input_weight.t())  # (P, D * H)
        by_direction = _split_directions(projected, directions)  # (D * P, H)
        inputs = by_direction[reads].view(-1, directions, segments, hidden)  # (T, D, S, H)
        states = torch.empty_like(inputs)
        transposed = hidden_weight.transpose(1, 2).contiguous()
        torch.tanh(inputs[0], out=states[0])
        for step in range(1, len(inputs)):
            torch.tanh(torch.baddbmm(inputs[step], states[step - 1], transposed), out=states[step])
        ctx.save_for_backward(pairs, input_weight, hidden_weight, states, read_at)
        return _join_directions(states.view(-1, hidden)[read_at], directions)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        pairs, input_weight, hidden_weight, states, read_at = ctx.saved_tensors
        steps, directions, _, hidden = states.shape
        back = torch.zeros_like(states)
        back.view(-1, hidden)[read_at] = _split_directions(gradient, directions)
        slope = 1 - states * states
        back[-1].mul_(slope[-1])
        for step in range(steps - 2, -1, -1):
            back[step].baddbmm_(back[step + 1], hidden_weight).mul_(slope[step])
        later = back[1:].permute(1, 3, 0, 2).reshape(directions, hidden, -1)
        earlier = states[:-1].transpose(0, 1).reshape(directions, -1, hidden)
        inputs = _join_directions(back.view(-1, hidden)[read_at], directions)  # (P, D * H)
        by_hidden = torch.bmm(later, earlier)
        return inputs @ input_weight, inputs.t() @ pairs, by_hidden, inputs.sum(0), None, None, None


def _split_directions(rows: Tensor, directions: int) -> Tensor:
    return rows.view(len(rows), directions, -1).transpose(0, 1).flatten(0, 1)


def _join_directions(rows: Tensor, directions: int) -> Tensor:
    return rows.view(directions, len(rows) // directions, -1).transpose(0, 1).flatten(1)
