"""Heads without torch: they read the pairs of a list in order; module/heads.py has the formulas.

The input projection is one matrix product for all pairs.  The recurrence runs step by step:
step t reads pair t of every segment that has one, forwards, and pair t from the end, backwards.
Segments are sorted by length, so the segments of a step are the first ones of the step before.

Axes: P pairs, S segments, D directions, F pair width, H hidden width of a direction, G numbers
of all gates of a direction.
"""

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.models.kernel import Ids, Kernel, Linear, Matrix, pad_columns
from rejoinder.models.parallel import spread
from rejoinder.models.ranker.network import Weights

HEADS = ("none", "rnn", "birnn", "lstm", "bilstm")


class Head:
    """Leaves every pair as it is; other heads relate a pair to its neighbours."""

    def project(self, rows: Matrix) -> Matrix:
        """Return the part that depends on a pair alone, for pairs of shape (rows, F)."""
        return rows

    def read(self, projected: Matrix, segment_lengths: Ids, *, threads: int = 1) -> Matrix:  # noqa: ARG002
        """Return one row per pair, from P rows of `project`, segment after segment.

        A segment has at least one pair.  The result does not depend on the number of threads.
        """
        return projected


def make_head(name: str, weights: Weights, kernel: Kernel | None = None) -> Head:
    """Return the head with these weights, which have the names of torch's state.

    Raises:
        UnknownNameError: no head has this name.
    """
    if name not in HEADS:
        raise UnknownNameError("head", name, HEADS)
    if name == "none":
        return Head()
    kind = LstmHead if name.endswith("lstm") else RnnHead
    return kind(weights, 2 if name.startswith("bi") else 1, kernel)


class RecurrentHead(Head):
    """Reads each segment forwards, or forwards and backwards."""

    def __init__(self, weights: Weights, directions: int, kernel: Kernel | None = None) -> None:
        def stack(name: str) -> Matrix:
            suffixes = ["", "_reverse"][:directions]
            return np.stack([weights[f"network.{name}_l0{suffix}"] for suffix in suffixes])

        arrays = (stack("weight_ih"), stack("weight_hh"), stack("bias_ih") + stack("bias_hh"))
        by_input, by_state, biases = map(self._order_gates, arrays)  # (D, G, F), (D, G, H), (D, G)
        if by_input.shape[:2] != biases.shape or by_state.shape[:2] != biases.shape:
            raise ValueError("the weights of the head do not fit together")
        if by_state.ndim != 3 or biases.shape[1] % by_state.shape[2]:
            raise ValueError("the state of the head has another width than its gates")
        self._shape = biases.shape
        self._multiply = Linear(by_input.reshape(biases.size, -1).T, biases.ravel(), kernel)
        self._hidden = np.ascontiguousarray(by_state.transpose(0, 2, 1))  # (D, H, G)

    @staticmethod
    def _order_gates(stacked: Matrix) -> Matrix:
        """Return weights (D, G, …) with their gates in the order of `_advance`."""
        return stacked

    @staticmethod
    def _advance(gate: Matrix, memory: Matrix, state: Matrix) -> None:
        """Fill the state (…, H) from the gates (…, G), which may be overwritten, and the memory."""
        raise NotImplementedError

    def project(self, rows: Matrix) -> Matrix:
        """Return the inputs of the gates, shape (rows, D, G), for rows of shape (rows, F)."""
        return self._multiply(rows).reshape(len(rows), *self._shape)

    def read(self, projected: Matrix, segment_lengths: Ids, *, threads: int = 1) -> Matrix:  # noqa: ARG002
        """Read P projected pairs; return shape (P, D * H)."""
        return self.run(projected, np.arange(len(projected)), segment_lengths)

    def run(self, projected: Matrix, row_ids: Ids, lengths: Ids) -> Matrix:
        """Read segments of distinct projected rows, `row_ids` (P,); return shape (P, D * H)."""
        *orders, running = _plan_steps(lengths)
        directions, width, _ = self._hidden.shape
        inputs = np.empty((len(row_ids), *self._shape), dtype=np.float32)
        for direction, order in enumerate(orders[:directions]):
            inputs[:, direction] = projected[:, direction][row_ids[order]]
        states = self._recur(inputs, running.tolist())
        read = np.empty_like(states)
        for direction, order in enumerate(orders[:directions]):
            read[order, direction] = states[:, direction]
        return read.reshape(len(row_ids), directions * width)

    def _recur(self, inputs: Matrix, running: list[int]) -> Matrix:
        """Return the states (P, D, H) for inputs (P, D, G) in order of steps; overwrites inputs."""
        directions, width, gates = self._hidden.shape
        states = np.empty((len(inputs), directions, width), dtype=np.float32)
        if not running:
            return states
        size = running[0]
        memory = np.zeros((directions, size, width), dtype=np.float32)
        by_direction, projected = states.swapaxes(0, 1), inputs.swapaxes(0, 1)
        self._advance(projected[:, :size], memory, by_direction[:, :size])
        gate = np.empty((directions, max(running[1:], default=0), gates), dtype=np.float32)
        before, start = 0, size
        several = sum(size > 1 for size in running)
        for size in running[1:several]:
            now = gate[:, :size]
            np.matmul(by_direction[:, before : before + size], self._hidden, out=now)
            now += projected[:, start : start + size]
            self._advance(now, memory[:, :size], by_direction[:, start : start + size])
            before, start = start, start + size
        self._recur_alone(states[before], inputs[start:], memory[:, 0], states[start:])
        return states

    def _recur_alone(self, state: Matrix, inputs: Matrix, memory: Matrix, states: Matrix) -> None:
        """Continue with the one segment that is left: the same with less overhead per step."""
        advance, dot, add = self._advance, np.dot, np.add
        gate = np.empty(inputs.shape[1:], dtype=np.float32)
        products = list(zip(self._hidden, gate, strict=True))
        for projected, after in zip(inputs, states, strict=True):
            for one, (weight, product) in zip(state, products, strict=True):
                dot(one, weight, out=product)
            add(gate, projected, out=gate)
            advance(gate, memory, after)
            state = after


class RnnHead(RecurrentHead):
    """h = tanh(W x + U h + b)."""

    def __init__(self, weights: Weights, directions: int, kernel: Kernel | None = None) -> None:
        super().__init__(weights, directions, kernel)
        self._kernel = kernel if kernel and self._shape[1] <= kernel.max_width else None
        if self._kernel is not None:
            self._strips = pad_columns(self._hidden, self._kernel.strip)

    @staticmethod
    def _advance(gate: Matrix, memory: Matrix, state: Matrix) -> None:  # noqa: ARG004
        np.tanh(gate, out=state)

    def read(self, projected: Matrix, segment_lengths: Ids, *, threads: int = 1) -> Matrix:
        """Read P projected pairs; return shape (P, D * H)."""
        if self._kernel is None:
            return super().read(projected, segment_lengths)
        kernel, states = self._kernel, np.empty(projected.shape, dtype=np.float32)

        def run(direction: int) -> None:
            order = slice(None, None, -1 if direction else 1)
            lengths = np.ascontiguousarray(segment_lengths[order])
            inputs, outputs = projected[order, direction], states[order, direction]
            kernel.run_recurrence(inputs, outputs, lengths, self._strips[direction])

        spread(run, range(len(self._strips)), threads=threads)
        return states.reshape(len(projected), -1)


class LstmHead(RecurrentHead):
    """A long short-term memory, LSTM."""

    @staticmethod
    def _order_gates(stacked: Matrix) -> Matrix:
        """Reorder torch's gates (input, forget, cell, output) so that the sigmoids are adjacent.

        Their rows are halved: sigmoid(x) = (1 + tanh(x / 2)) / 2, so one tanh computes all gates.
        """
        input_gate, forget, cell, output = np.split(stacked, 4, axis=1)
        return np.concatenate([input_gate / 2, forget / 2, output / 2, cell], axis=1)

    @staticmethod
    def _advance(gate: Matrix, memory: Matrix, state: Matrix) -> None:
        width = memory.shape[-1]
        np.tanh(gate, out=gate)
        sigmoids = gate[..., : 3 * width]
        sigmoids *= 0.5
        sigmoids += 0.5
        update = gate[..., :width]
        update *= gate[..., 3 * width :]
        memory *= gate[..., width : 2 * width]
        memory += update
        np.tanh(memory, out=state)
        state *= gate[..., 2 * width : 3 * width]


def _plan_steps(lengths: Ids) -> tuple[Ids, Ids, Ids]:
    """Return the positions read forwards and backwards, by step, and the segments of each step."""
    by_length = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[by_length]
    longest_first = lengths[by_length]
    # Segments running at step t: all but those of length t or less.
    steps = np.arange(longest_first.max(initial=0))
    running = len(lengths) - np.searchsorted(longest_first[::-1], steps, side="right")
    step = np.repeat(steps, running)
    segment = np.arange(len(step)) - np.repeat(np.cumsum(running) - running, running)
    forwards = starts[segment] + step
    backwards = (starts + longest_first - 1)[segment] - step
    return forwards, backwards, running
