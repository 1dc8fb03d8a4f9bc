"""Builds an ONNX graph node by node, with products in fp32 or int8.

Only standard operators are used, which onnxruntime fuses when it opens the file.

int8: each column of a weight, each row of the embedding and each token's states have their own
scale.  ONNX's DynamicQuantizeLinear has one scale per call; one large state then costs all
others their precision, and a pair's score depends on its batch (docs/decisions/0009).

Axes: P pairs, L tokens, E width.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, load_model_from_string, numpy_helper

OPSET = 20
IR_VERSION = 9
"""The oldest that supports this opset: readers refuse newer ones than they know."""
LIMIT = 127
JOINT = "+"
"""Between the names of weights that are concatenated in one constant."""
SMALLEST = 1e-12
"""The smallest divisor, as in torch's normalize."""

Array = NDArray[Any]
Input = tuple[int, Sequence[int | str]]
"""An input's element type, and the names or sizes of its axes."""


class Graph:
    """Nodes and constants; methods add some and return the name of the result."""

    def __init__(
        self,
        state: Mapping[str, Array],
        *,
        is_int8: bool,
        epsilon: float,
        prefix: str = "",
        opset: int = OPSET,
    ) -> None:
        self.state = state
        self._prefix = prefix
        self._opset = opset
        self._is_int8 = is_int8
        self._epsilon = epsilon
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def to_bytes(self, inputs: Mapping[str, Input], result: str, shape: Sequence[Any]) -> bytes:
        """Return the ONNX file."""
        given = [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()]
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "selector", given, [output], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString(deterministic=True))

    def embed(self, name: str, rows: Array, ids: str) -> str:
        """Return the embeddings of ids; `rows` are those of the embedding that the file keeps."""
        matrix = self.state[f"{name}.weight"][rows]
        if not self._is_int8:
            return self.add("Gather", self.constant(matrix, f"{name}.weight"), ids)
        return self.embed_int8(matrix, name, ids)

    def embed_int8(self, matrix: Array, name: str, ids: str, *, result: str | None = None) -> str:
        """Return the rows of a table with these ids; the table is stored in int8."""
        whole, scales = quantise_weight(matrix, axis=1, limit=LIMIT)
        states = self.to_float(self.add("Gather", self.constant(whole, f"{name}.int8"), ids))
        scale = self.add("Gather", self.constant(scales, f"{name}.scale"), ids)
        return self.add("Mul", states, scale, result=result)

    def linear(self, states: str, *names: str, lowest: float = 0.0) -> str:
        """Return one or more linear layers of the same states, concatenated.

        Args:
            lowest: the minimum of states that are hardly ever negative, so that int8 need not
                cover negative values.
        """
        name = JOINT.join(names)
        weight = np.concatenate([self.state[f"{part}.weight"] for part in names]).T
        biases = np.concatenate([self.state[f"{part}.bias"] for part in names])
        bias = self.constant(biases, f"{name}.bias")
        if not self._is_int8:
            kept = self.constant(weight, f"{name}.weight")
            return self.add("Add", self.add("MatMul", states, kept), bias)
        return self.add("Add", self.multiply_int8(states, weight, name, lowest=lowest), bias)

    def multiply_int8(
        self,
        states: str,
        weight: Array,
        name: str,
        *,
        lowest: float = 0.0,
        result: str | None = None,
    ) -> str:
        """Return the product of states with a weight (E, columns), both in int8."""
        whole, scales = quantise_weight(weight, axis=0, limit=LIMIT)
        if lowest:
            states = self.add("Sub", states, self.scalar(lowest))
        given, step, zero = self._quantise_rows(states, is_signed=not lowest)
        product = self.add("MatMulInteger", given, self.constant(whole, f"{name}.int8"), zero)
        columns = self.add("Mul", self.to_float(product), self.constant(scales[0], f"{name}.scale"))
        if not lowest:
            return self.add("Mul", columns, step, result=result)
        rows = self.add("Mul", columns, step)
        shift = lowest * (whole * scales).sum(axis=0)  # undo it, the same for all rows
        return self.add("Add", rows, self.constant(shift), result=result)

    def _quantise_rows(self, states: str, *, is_signed: bool) -> tuple[str, str, str]:
        """Return each row in uint8, its scale, and its zero point."""
        size = self.add("Abs", states) if is_signed else states
        if self._opset < 18:  # axes are an input only since then
            largest = self.add("ReduceMax", size, axes=[-1])  # (P, L, 1)
        else:
            largest = self.add("ReduceMax", size, self.constant([-1]))
        largest = self.add("Max", largest, self.scalar(SMALLEST))
        steps, zero_point = (127, 128) if is_signed else (255, 0)
        zero = self.constant(np.uint8(zero_point))
        scaled = self.add("Div", states, largest)
        given = self.add("QuantizeLinear", scaled, self.scalar(1 / steps), zero)
        return given, self.add("Mul", largest, self.scalar(1 / steps)), zero

    def linear_fp32(self, states: str, name: str) -> str:
        """Return a small linear layer, in fp32 whatever the precision."""
        weight = self.constant(self.state[f"{name}.weight"].T, f"{name}.weight")
        return self.add("Add", self.add("MatMul", states, weight), self.constant(f"{name}.bias"))

    def normalise(self, name: str, states: str) -> str:
        """Return states after a layer's LayerNorm."""
        weight, bias = self.constant(f"{name}.weight"), self.constant(f"{name}.bias")
        return self.add("LayerNormalization", states, weight, bias, epsilon=self._epsilon)

    def to_float(self, name: str) -> str:
        """Cast integers to floats."""
        return self.add("Cast", name, to=TensorProto.FLOAT)

    def scalar(self, value: float) -> str:
        """Return a constant number."""
        return self.constant(np.float32(value))

    def constant(self, value: Any, name: str = "") -> str:
        """Add a constant: an array, integers, or a weight by its name."""
        if isinstance(value, str):
            name = value
        array = self.state[value] if isinstance(value, str) else np.asarray(value)
        name = name or f"{self._prefix}c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def add(self, operator: str, *inputs: str, result: str | None = None, **settings: Any) -> str:
        """Add a node; return the name of its result."""
        name = result or f"{self._prefix}n{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **settings))
        return name

    def add_several(self, operator: str, *inputs: str, count: int, **settings: Any) -> list[str]:
        """Add a node with several results."""
        names = [f"n{len(self._nodes)}.{at}" for at in range(count)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, **settings))
        return names

    def keep(self, node: NodeProto) -> None:
        """Add a node as it is."""
        self._nodes.append(node)

    def take(self) -> tuple[list[NodeProto], list[TensorProto]]:
        """Return the nodes and the constants."""
        return self._nodes, self._constants


def read_state(content: bytes) -> dict[str, Array]:
    """Return the weights of an ONNX file of this module, by the names of the model's state.

    The embedding's rows are in the order of the bundle's vocabulary, as stored.
    """
    named = [
        item
        for item in load_model_from_string(content).graph.initializer
        if not re.fullmatch(r"c\d+", item.name)  # a number or a shape
    ]
    constants = {item.name: numpy_helper.to_array(item) for item in named}
    rng = np.random.default_rng(0)
    for name in [name for name in constants if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        whole, scales = constants.pop(name).astype(np.float32), constants.pop(f"{stem}.scale")
        is_table = "embeddings" in stem  # it is not trained
        constants[f"{stem}.weight"] = whole * scales if is_table else read_int8(whole, scales, rng)
    state = {}
    for name, value in constants.items():
        stem, _, kind = name.rpartition(".")
        parts = stem.split(JOINT)
        # torch stores the weights of linear layers transposed.
        array = value.T if kind == "weight" and "embeddings" not in stem else value
        for part, weight in zip(parts, np.split(array, len(parts)), strict=True):
            state[f"{part}.{kind}" if stem else name] = np.array(weight, order="C")
    return state


def read_int8(whole: Array, scales: Array, rng: np.random.Generator) -> Array:
    """Return int8 weights as floats, with a random remainder of less than half a step.

    Training moves them by less than a step, and weights that begin on a step would be rounded
    back to it (docs/decisions/0016).
    """
    # The largest of a column keeps its value, so that the scale stays.
    remainder = rng.uniform(-0.5, 0.5, whole.shape) * (np.abs(whole) < LIMIT)
    return np.asarray(np.asarray(whole + remainder, dtype=np.float32) * scales)


def quantise_weight(matrix: Array, *, axis: int, limit: int) -> tuple[NDArray[np.int8], Array]:
    """Return int8 numbers up to the limit, and the scales along the axis, which is kept."""
    scales = np.abs(matrix).max(axis=axis, keepdims=True) / limit
    divisors = np.where(scales > 0, scales, 1)
    return np.round(matrix / divisors).astype(np.int8), scales.astype(np.float32)
