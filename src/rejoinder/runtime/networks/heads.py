"""Heads over the list without torch: see train/models/heads.py for the formulas.

What depends on a pair alone is one matrix product for all pairs.  The rest runs step by step:
step t reads pair t of every segment that has one, forwards, and pair t from the end backwards.
Segments are sorted by length, so those still running are the first ones of the step before.

Axes: P pairs, S segments, T pairs of the longest segment, R segments running at a step,
D directions, F pair width, H hidden width of a direction, G numbers of all gates of a direction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.runtime.kernel import Kernel
from rejoinder.runtime.networks.pairs import Ids, Matrix, Weights

HEADS = ("none", "rnn", "birnn", "lstm", "bilstm")
Advance = Callable[[Matrix, Matrix, Matrix], object]
"""Works one step: from gates (…, G), which it may overwrite, and the memory (…, H), which it
changes, to the state (…, H), which it fills."""


class Head(Protocol):
    """Turns a pair's vector into one that knows its neighbours."""

    def read(self, pairs: Matrix, segment_lengths: Ids) -> Matrix:
        """Return one row per pair.

        Args:
            pairs: segment after segment, shape (P, F).
            segment_lengths: pairs of each segment, at least 1, shape (S,).
        """
        ...


def make_head(name: str, weights: Weights, kernel: Kernel | None = None) -> Head:
    """Return the head; `weights` are those of its network, by the names of their state.

    Raises:
        UnknownNameError: no head has this name.
    """
    if name not in HEADS:
        raise UnknownNameError("head", name, HEADS)
    if name == "none":
        return NoHead()
    directions = 2 if name.startswith("bi") else 1
    if name.endswith("lstm"):
        return LstmHead(weights, directions)
    return RnnHead(weights, directions, kernel)


class NoHead:
    """Every pair by itself."""

    def read(self, pairs: Matrix, segment_lengths: Ids) -> Matrix:  # noqa: ARG002
        """Return the pairs as they are."""
        return pairs


class RecurrentHead:
    """Reads each segment forwards, or forwards and backwards."""

    def __init__(
        self, input_weights: Matrix, hidden_weights: Matrix, biases: Matrix, advance: Advance
    ) -> None:
        """Take weights of shapes (D, G, F) and (D, G, H), and biases of shape (D, G)."""
        self._shape = biases.shape
        self._input = np.ascontiguousarray(input_weights.reshape(biases.size, -1).T)  # (F, D * G)
        self._bias = biases.ravel()
        self._hidden = np.ascontiguousarray(hidden_weights.transpose(0, 2, 1))  # (D, H, G)
        self._advance = advance

    def read(self, pairs: Matrix, segment_lengths: Ids) -> Matrix:
        """Read pairs of shape (P, F); return shape (P, D * H)."""
        return self.run(self.project(pairs), np.arange(len(pairs)), segment_lengths)

    def project(self, rows: Matrix) -> Matrix:
        """Return what rows, of shape (rows, F), say to the gates, shape (rows, D, G)."""
        projected = rows @ self._input
        projected += self._bias
        return projected.reshape(len(rows), *self._shape)

    def run(self, projected: Matrix, places: Ids, lengths: Ids) -> Matrix:
        """Read segments of rows that are projected already.

        Args:
            projected: what `project` gave.
            places: the row at each place of the segments, one segment after another, shape (P,).
            lengths: rows of each segment, at least 1, shape (S,).

        Returns:
            Shape (P, D * H).
        """
        steps = _find_steps(lengths)
        directions, width, _ = self._hidden.shape
        orders = (steps.forwards, steps.backwards)[:directions]
        inputs = np.empty((len(places), *self._shape), dtype=np.float32)
        for direction, order in enumerate(orders):
            inputs[:, direction] = projected[:, direction][places[order]]
        states = self._recur(inputs, steps.running)
        read = np.empty_like(states)
        for direction, order in enumerate(orders):
            read[order, direction] = states[:, direction]
        return read.reshape(len(places), directions * width)

    def _recur(self, inputs: Matrix, running: list[int]) -> Matrix:
        """Take inputs step after step, shape (P, D, G); return states, shape (P, D, H).

        Inputs may be overwritten.
        """
        directions, width, gates = self._hidden.shape
        states = np.empty((len(inputs), directions, width), dtype=np.float32)
        if not running:
            return states
        size = running[0]
        memory = np.zeros((directions, size, width), dtype=np.float32)
        by_direction, said = states.swapaxes(0, 1), inputs.swapaxes(0, 1)
        self._advance(said[:, :size], memory, by_direction[:, :size])
        gate = np.empty((directions, max(running[1:], default=0), gates), dtype=np.float32)
        before, start = 0, size
        several = sum(size > 1 for size in running)
        for size in running[1:several]:
            now = gate[:, :size]
            np.matmul(by_direction[:, before : before + size], self._hidden, out=now)
            now += said[:, start : start + size]
            self._advance(now, memory[:, :size], by_direction[:, start : start + size])
            before, start = start, start + size
        self._recur_alone(states[before], inputs[start:], memory[:, 0], states[start:])
        return states

    def _recur_alone(self, state: Matrix, inputs: Matrix, memory: Matrix, states: Matrix) -> None:
        """Go on with the one segment that is left: the same with less to do between products."""
        advance, dot, add = self._advance, np.dot, np.add
        gate = np.empty(inputs.shape[1:], dtype=np.float32)
        products = list(zip(self._hidden, gate, strict=True))
        for said, after in zip(inputs, states, strict=True):
            for one, (weight, product) in zip(state, products, strict=True):
                dot(one, weight, out=product)
            add(gate, said, out=gate)
            advance(gate, memory, after)
            state = after


class RnnHead(RecurrentHead):
    """h = tanh(W x + U h + b)."""

    def __init__(self, weights: Weights, directions: int, kernel: Kernel | None = None) -> None:
        super().__init__(*_stack(weights, directions), _advance_rnn)
        self._kernel = kernel if kernel and self._shape[1] <= kernel.max_width else None

    def read(self, pairs: Matrix, segment_lengths: Ids) -> Matrix:
        """Read pairs of shape (P, F); return shape (P, D * H)."""
        # Many short segments are quicker side by side; few long ones one after another.
        if self._kernel is None or len(segment_lengths) > segment_lengths.max(initial=0):
            return super().read(pairs, segment_lengths)
        projected = self.project(pairs)  # (P, D, H)
        states = np.empty_like(projected)
        ends = np.cumsum(segment_lengths)
        for start, end in zip((ends - segment_lengths).tolist(), ends.tolist(), strict=True):
            for direction, weight in enumerate(self._hidden):
                way = slice(None, None, -1 if direction else 1)
                self._kernel.run_recurrence(
                    projected[start:end, direction][way], states[start:end, direction][way], weight
                )
        return states.reshape(len(pairs), -1)


class LstmHead(RecurrentHead):
    """A long short-term memory."""

    def __init__(self, weights: Weights, directions: int) -> None:
        inputs, hidden, biases = map(_order_gates, _stack(weights, directions))
        super().__init__(inputs, hidden, biases, _advance_lstm)


def _stack(weights: Weights, directions: int) -> tuple[Matrix, Matrix, Matrix]:
    def get(name: str) -> Matrix:
        suffixes = ["", "_reverse"][:directions]
        return np.stack([weights[f"network.{name}_l0{suffix}"] for suffix in suffixes])

    return get("weight_ih"), get("weight_hh"), get("bias_ih") + get("bias_hh")


def _order_gates(stacked: Matrix) -> Matrix:
    """Put torch's gates (input, forget, cell, output) into an order where sigmoids stand together.

    Their rows are halved: sigmoid(x) = (1 + tanh(x / 2)) / 2, so one tanh does for all gates.
    """
    enter, forget, cell, leave = np.split(stacked, 4, axis=1)
    return np.concatenate([enter / 2, forget / 2, leave / 2, cell], axis=1)


def _advance_rnn(gate: Matrix, memory: Matrix, state: Matrix) -> None:  # noqa: ARG001
    np.tanh(gate, out=state)


def _advance_lstm(gate: Matrix, memory: Matrix, state: Matrix) -> None:
    width = memory.shape[-1]
    np.tanh(gate, out=gate)
    sigmoids = gate[..., : 3 * width]
    sigmoids *= 0.5
    sigmoids += 0.5
    entering = gate[..., :width]
    entering *= gate[..., 3 * width :]
    memory *= gate[..., width : 2 * width]
    memory += entering
    np.tanh(memory, out=state)
    state *= gate[..., 2 * width : 3 * width]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The places of P pairs in the order in which they are read, step after step."""

    forwards: Ids  # (P,)
    backwards: Ids  # (P,)
    running: list[int]  # (T,) segments of each step, never more than of the step before


def _find_steps(lengths: Ids) -> _Steps:
    by_length = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[by_length]
    longest_first = lengths[by_length]
    # Of S lengths, S minus those that are at most t are longer than t.
    steps = np.arange(longest_first.max(initial=0))
    running = len(lengths) - np.searchsorted(longest_first[::-1], steps, side="right")
    step = np.repeat(steps, running)
    segment = np.arange(len(step)) - np.repeat(np.cumsum(running) - running, running)
    forwards = starts[segment] + step
    backwards = (starts + longest_first - 1)[segment] - step
    return _Steps(forwards, backwards, running.tolist())
