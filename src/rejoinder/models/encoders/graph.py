"""An ONNX graph that is written node by node, with products in fp32 or int8.

Only the standard's own operators are used, which onnxruntime fuses when it opens the file.

int8: each column of a weight, each row of the embedding and each token's states have a scale of
their own.  ONNX's own DynamicQuantizeLinear has one scale for all that is in a call; one large
state then costs all others their digits, and a pair's score depends on its batch
(docs/decisions/0009).

Axes: P pairs, L tokens, E width.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, load_model_from_string, numpy_helper

OPSET = 20
IR_VERSION = 9
"""The oldest that has this opset: readers refuse newer ones than they know."""
LIMIT = 127
JOINT = "+"
"""Between the names of weights that stand side by side in one constant."""
SMALLEST = 1e-12
"""What torch's normalize divides by at least."""

Array = NDArray[Any]
Input = tuple[int, Sequence[int | str]]
"""An input's element type, and the names or lengths of its axes."""


class Graph:
    """Nodes and constants; every method adds some, and returns the name of the result."""

    def __init__(self, state: Mapping[str, Array], *, is_small: bool, epsilon: float) -> None:
        self.state = state
        self._is_small = is_small
        self._epsilon = epsilon
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def to_bytes(self, inputs: Mapping[str, Input], result: str, shape: Sequence[Any]) -> bytes:
        """Return the file."""
        given = [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()]
        found = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "selector", given, [found], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString(deterministic=True))

    def look_up(self, name: str, rows: Array, ids: str) -> str:
        """Return the rows of an embedding; `rows` says which of them the file keeps."""
        matrix = self.state[f"{name}.weight"][rows]
        if not self._is_small:
            return self.add("Gather", self.keep(matrix, f"{name}.weight"), ids)
        whole, scales = quantise(matrix, axis=1, limit=LIMIT)
        found = self.to_float(self.add("Gather", self.keep(whole, f"{name}.int8"), ids))
        return self.add("Mul", found, self.add("Gather", self.keep(scales, f"{name}.scale"), ids))

    def multiply(self, states: str, *names: str, lowest: float = 0.0) -> str:
        """Return the product with weights side by side, and their biases added.

        Args:
            lowest: the least that a state can be, where it can hardly be negative: then all
                bytes are there for what is above.
        """
        name = JOINT.join(names)
        weight = np.concatenate([self.state[f"{part}.weight"] for part in names]).T
        biases = np.concatenate([self.state[f"{part}.bias"] for part in names])
        bias = self.keep(biases, f"{name}.bias")
        if not self._is_small:
            kept = self.keep(weight, f"{name}.weight")
            return self.add("Add", self.add("MatMul", states, kept), bias)
        whole, scales = quantise(weight, axis=0, limit=LIMIT)
        if lowest:
            states = self.add("Sub", states, self.number(lowest))
        given, step, zero = self._quantise_rows(states, is_signed=not lowest)
        product = self.add("MatMulInteger", given, self.keep(whole, f"{name}.int8"), zero)
        columns = self.add("Mul", self.to_float(product), self.keep(scales[0], f"{name}.scale"))
        rows = self.add("Mul", columns, step)
        if lowest:  # taken back, the same for all rows
            rows = self.add("Add", rows, self.keep(lowest * (whole * scales).sum(axis=0)))
        return self.add("Add", rows, bias)

    def _quantise_rows(self, states: str, *, is_signed: bool) -> tuple[str, str, str]:
        """Return each row in bytes, what one step of its bytes is worth, and what stands for 0."""
        size = self.add("Abs", states) if is_signed else states
        largest = self.add("ReduceMax", size, self.keep([-1]))  # (P, L, 1)
        largest = self.add("Max", largest, self.number(SMALLEST))
        steps, middle = (127, 128) if is_signed else (255, 0)
        zero = self.keep(np.uint8(middle))
        scaled = self.add("Div", states, largest)
        given = self.add("QuantizeLinear", scaled, self.number(1 / steps), zero)
        return given, self.add("Mul", largest, self.number(1 / steps)), zero

    def apply(self, states: str, name: str) -> str:
        """Return a linear layer in fp32, whatever the precision: for what is small."""
        weight = self.keep(self.state[f"{name}.weight"].T, f"{name}.weight")
        return self.add("Add", self.add("MatMul", states, weight), self.keep(f"{name}.bias"))

    def normalise(self, name: str, states: str) -> str:
        """Return states after a layer's LayerNorm."""
        weight, bias = self.keep(f"{name}.weight"), self.keep(f"{name}.bias")
        return self.add("LayerNormalization", states, weight, bias, epsilon=self._epsilon)

    def to_float(self, name: str) -> str:
        """Return whole numbers as floats."""
        return self.add("Cast", name, to=TensorProto.FLOAT)

    def number(self, value: float) -> str:
        """Return a number that has no name."""
        return self.keep(np.float32(value))

    def keep(self, value: Any, name: str = "") -> str:
        """Return the name of a constant: an array, whole numbers, or a weight by its name."""
        if isinstance(value, str):
            name = value
        array = self.state[value] if isinstance(value, str) else np.asarray(value)
        name = name or f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def add(self, operator: str, *inputs: str, result: str | None = None, **settings: Any) -> str:
        """Add a node; return the name of its result."""
        name = result or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **settings))
        return name

    def add_several(self, operator: str, *inputs: str, count: int, **settings: Any) -> list[str]:
        """Add a node that has several results."""
        names = [f"n{len(self._nodes)}.{at}" for at in range(count)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, **settings))
        return names


def read_state(content: bytes) -> dict[str, Array]:
    """Return the weights of an ONNX file that was written so, by the model's own names.

    Rows of the embedding stand in the order of the bundle's vocabulary, and are what the runtime
    looks up.  Other weights that were int8 get back a random remainder, of less than half a step:
    training moves them by less than a step, and what begins on a step would be rounded
    back to where it was (docs/decisions/0016).
    """
    graph = load_model_from_string(content).graph
    constants = {
        item.name: numpy_helper.to_array(item)
        for item in graph.initializer
        if not _is_plain(item.name)
    }
    rng = np.random.default_rng(0)
    for name in [name for name in constants if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        whole, scales = constants.pop(name).astype(np.float32), constants.pop(f"{stem}.scale")
        if "embeddings" not in stem:  # those are not trained
            # The largest of a column stays, and with it the scale of all.
            remainder = rng.uniform(-0.5, 0.5, whole.shape) * (np.abs(whole) < LIMIT)
            whole = np.asarray(whole + remainder, dtype=np.float32)
        constants[f"{stem}.weight"] = whole * scales
    state = {}
    for name, value in constants.items():
        stem, _, kind = name.rpartition(".")
        parts = stem.split(JOINT)
        # The graph multiplies from the left, torch from the right.
        laid = value.T if kind == "weight" and "embeddings" not in stem else value
        for part, piece in zip(parts, np.split(laid, len(parts)), strict=True):
            state[f"{part}.{kind}" if stem else name] = np.array(piece, order="C")
    return state


def _is_plain(name: str) -> bool:
    """Return whether a constant has no name of its own: numbers and shapes."""
    return name[0] == "c" and name[1:].isdigit()


def quantise(matrix: Array, *, axis: int, limit: int) -> tuple[NDArray[np.int8], Array]:
    """Return whole numbers up to the limit, and the scales along the axis, kept as one."""
    scales = np.abs(matrix).max(axis=axis, keepdims=True) / limit
    divisors = np.where(scales > 0, scales, 1)
    return np.round(matrix / divisors).astype(np.int8), scales.astype(np.float32)
