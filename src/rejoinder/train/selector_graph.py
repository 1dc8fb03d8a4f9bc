"""A selector's network as an ONNX graph, in fp32 or int8.

Written node by node instead of traced: the three projections of attention are one product, so
its input is quantised once, and only the standard's own operators are used, which
onnxruntime fuses when it opens the file.

int8: each column of a weight, each row of the embedding and each token's states have a scale of
their own.  ONNX's own DynamicQuantizeLinear has one scale for all that is in a call; one large
state then costs all others their digits, and a pair's score depends on its batch
(docs/decisions/0009).

Axes: P pairs, L tokens, E width, A heads, D = E / A.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, load_model_from_string, numpy_helper

from rejoinder.errors import BundleError
from rejoinder.train.models.selector import Selector

OPSET = 20
IR_VERSION = 9
"""The oldest that has this opset: readers refuse newer ones than they know."""
INPUTS = ("ids", "mask", "kinds")
HIDDEN = -1e9
"""Added to attention on padding."""
LIMIT = 127
JOINT = "+"
"""Between the names of weights that stand side by side in one constant."""
LEAST_GELU = -0.17
"""The activation is never lower."""
SMALLEST = 1e-12
"""What torch's normalize divides by at least."""

Array = NDArray[Any]


def build_graph(model: Selector, rows: Sequence[int], *, precision: str) -> bytes:
    """Return an ONNX file that scores inputs (P, L) as the model does.

    Args:
        rows: for each piece of the bundle's vocabulary, its row of the model's embedding.
        precision: fp32, or int8 for the embedding and the weights of products.

    Raises:
        BundleError: the encoder has another activation than BERT's.
    """
    config = model.encoder.config
    if config.hidden_act != "gelu":
        raise BundleError(f"an encoder with activation {config.hidden_act!r} is not exported")
    state = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    graph = Graph(state, is_small=precision == "int8", epsilon=config.layer_norm_eps)
    states = graph.embed(np.asarray(rows), model.config.max_tokens)
    hidden = graph.hide_padding()
    for layer in range(len(model.encoder.encoder.layer)):
        place = f"encoder.encoder.layer.{layer}."
        states = graph.attend(place, states, hidden, heads=config.num_attention_heads)
        states = graph.feed_forward(place, states)
    graph.score(states)
    return graph.to_bytes()


class Graph:
    """Nodes and constants; every method adds some, and returns the name of the result."""

    def __init__(self, state: Mapping[str, Array], *, is_small: bool, epsilon: float) -> None:
        self._state = state
        self._is_small = is_small
        self._epsilon = epsilon
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def embed(self, rows: Array, max_tokens: int) -> str:
        """Return the sum of piece, position and kind, normalised, (P, L, E)."""
        place = "encoder.embeddings."
        pieces = self._look_up(f"{place}word_embeddings", rows)
        name = f"{place}position_embeddings.weight"
        positions = self._keep(self._state[name][:max_tokens], name)
        length = self._add("Shape", "ids", start=1)
        known = self._add("Slice", positions, self._keep([0]), length)
        kinds = self._keep(f"{place}token_type_embeddings.weight")
        states = self._add("Add", pieces, self._add("Gather", kinds, "kinds"))
        return self._normalise(f"{place}LayerNorm", self._add("Add", states, known))

    def hide_padding(self) -> str:
        """Return what is added to attention: 0, or very little on padding, (P, 1, 1, L)."""
        mask = self._add("Unsqueeze", self._to_float("mask"), self._keep([1, 2]))
        return self._add("Mul", self._add("Sub", self._number(1), mask), self._number(HIDDEN))

    def attend(self, place: str, states: str, hidden: str, *, heads: int) -> str:
        """Return the states after a layer's attention, (P, L, E)."""
        names = [f"{place}attention.self.{name}" for name in ("query", "key", "value")]
        projected = self._multiply(states, *names)  # (P, L, 3E)
        query, key, value = (
            self._add("Transpose", self._split_heads(part, heads), perm=axes)
            for part, axes in zip(
                self._split(projected, 3), ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True
            )
        )
        width = self._state[f"{names[0]}.weight"].shape[0]
        scale = self._number((width // heads) ** -0.5)
        alike = self._add("Mul", self._add("MatMul", query, key), scale)  # (P, A, L, L)
        weights = self._add("Softmax", self._add("Add", alike, hidden), axis=-1)
        read = self._add("Transpose", self._add("MatMul", weights, value), perm=[0, 2, 1, 3])
        joined = self._add("Reshape", read, self._keep([0, 0, width]))
        out = self._multiply(joined, f"{place}attention.output.dense")
        return self._normalise(f"{place}attention.output.LayerNorm", self._add("Add", out, states))

    def feed_forward(self, place: str, states: str) -> str:
        """Return the states after a layer's two products, (P, L, E)."""
        wide = self._add("Gelu", self._multiply(states, f"{place}intermediate.dense"))
        out = self._multiply(wide, f"{place}output.dense", lowest=LEAST_GELU)
        return self._normalise(f"{place}output.LayerNorm", self._add("Add", out, states))

    def score(self, states: str) -> None:
        """End with the scores (P,): how alike the two sides are, and the first state."""
        mask, kinds = self._to_float("mask"), self._to_float("kinds")
        given = self._add("Mul", mask, kinds)
        asked = self._add("Sub", mask, given)
        sides = self._add("Mul", self._point(states, asked), self._point(states, given))
        alike = self._add("MatMul", sides, self._keep(self._state["alike"][:, None], "alike"))
        first = self._add("Gather", states, self._keep(0), axis=1)  # (P, E)
        weight = self._keep(self._state["first.weight"].T, "first.weight")
        read = self._add("MatMul", first, weight)  # (P, 1)
        scores = self._add("Add", self._add("Add", alike, read), self._keep("first.bias"))
        self._add("Reshape", scores, self._keep([-1]), result="scores")

    def to_bytes(self) -> bytes:
        """Return the file."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
            for name in INPUTS
        ]
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["pairs"])
        graph = helper.make_graph(self._nodes, "selector", inputs, [scores], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString(deterministic=True))

    def _point(self, states: str, weights: str) -> str:
        """Return the direction of a side's mean state, (P, E)."""
        row = self._add("Unsqueeze", weights, self._keep([1]))  # (P, 1, L)
        total = self._add("Squeeze", self._add("MatMul", row, states), self._keep([1]))
        count = self._add("ReduceSum", weights, self._keep([1]))
        mean = self._add("Div", total, self._add("Max", count, self._number(1)))
        length = self._add("ReduceL2", mean, self._keep([1]))
        return self._add("Div", mean, self._add("Max", length, self._number(SMALLEST)))

    def _look_up(self, name: str, rows: Array) -> str:
        matrix = self._state[f"{name}.weight"][rows]
        if not self._is_small:
            return self._add("Gather", self._keep(matrix, f"{name}.weight"), "ids")
        whole, scales = quantise(matrix, axis=1, limit=LIMIT)
        found = self._to_float(self._add("Gather", self._keep(whole, f"{name}.int8"), "ids"))
        return self._add(
            "Mul", found, self._add("Gather", self._keep(scales, f"{name}.scale"), "ids")
        )

    def _multiply(self, states: str, *names: str, lowest: float = 0.0) -> str:
        """Return the product with weights side by side, and their biases added.

        Args:
            lowest: the least that a state can be, where it can hardly be negative: then all
                bytes are there for what is above.
        """
        name = JOINT.join(names)
        weight = np.concatenate([self._state[f"{part}.weight"] for part in names]).T
        biases = np.concatenate([self._state[f"{part}.bias"] for part in names])
        bias = self._keep(biases, f"{name}.bias")
        if not self._is_small:
            kept = self._keep(weight, f"{name}.weight")
            return self._add("Add", self._add("MatMul", states, kept), bias)
        whole, scales = quantise(weight, axis=0, limit=LIMIT)
        if lowest:
            states = self._add("Sub", states, self._number(lowest))
        given, step, zero = self._quantise_rows(states, is_signed=not lowest)
        product = self._add("MatMulInteger", given, self._keep(whole, f"{name}.int8"), zero)
        columns = self._add("Mul", self._to_float(product), self._keep(scales[0], f"{name}.scale"))
        rows = self._add("Mul", columns, step)
        if lowest:  # taken back, the same for all rows
            rows = self._add("Add", rows, self._keep(lowest * (whole * scales).sum(axis=0)))
        return self._add("Add", rows, bias)

    def _quantise_rows(self, states: str, *, is_signed: bool) -> tuple[str, str, str]:
        """Return each row in bytes, what one step of its bytes is worth, and what stands for 0."""
        size = self._add("Abs", states) if is_signed else states
        largest = self._add("ReduceMax", size, self._keep([-1]))  # (P, L, 1)
        largest = self._add("Max", largest, self._number(SMALLEST))
        steps, middle = (127, 128) if is_signed else (255, 0)
        zero = self._keep(np.uint8(middle))
        scaled = self._add("Div", states, largest)
        given = self._add("QuantizeLinear", scaled, self._number(1 / steps), zero)
        return given, self._add("Mul", largest, self._number(1 / steps)), zero

    def _normalise(self, name: str, states: str) -> str:
        weight, bias = self._keep(f"{name}.weight"), self._keep(f"{name}.bias")
        return self._add("LayerNormalization", states, weight, bias, epsilon=self._epsilon)

    def _split(self, states: str, count: int) -> list[str]:
        return self._add_several("Split", states, count=count, axis=2, num_outputs=count)

    def _split_heads(self, states: str, heads: int) -> str:
        return self._add("Reshape", states, self._keep([0, 0, heads, -1]))  # (P, L, A, D)

    def _to_float(self, name: str) -> str:
        return self._add("Cast", name, to=TensorProto.FLOAT)

    def _number(self, value: float) -> str:
        return self._keep(np.float32(value))

    def _keep(self, value: Any, name: str = "") -> str:
        """Return the name of a constant: an array, whole numbers, or a weight by its name."""
        if isinstance(value, str):
            name = value
        array = self._state[value] if isinstance(value, str) else np.asarray(value)
        name = name or f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def _add(self, operator: str, *inputs: str, result: str | None = None, **settings: Any) -> str:
        name = result or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **settings))
        return name

    def _add_several(self, operator: str, *inputs: str, count: int, **settings: Any) -> list[str]:
        names = [f"n{len(self._nodes)}.{at}" for at in range(count)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, **settings))
        return names


def read_state(content: bytes) -> dict[str, Array]:
    """Return the weights of an ONNX file that `build_graph` wrote, by the model's own names.

    Rows of the embedding stand in the order of the bundle's vocabulary; what was int8 is what
    the runtime multiplies with.
    """
    graph = load_model_from_string(content).graph
    constants = {
        item.name: numpy_helper.to_array(item)
        for item in graph.initializer
        if not _is_plain(item.name)
    }
    for name in [name for name in constants if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        whole, scales = constants.pop(name), constants.pop(f"{stem}.scale")
        constants[f"{stem}.weight"] = whole.astype(np.float32) * scales
    state = {}
    for name, value in constants.items():
        stem, _, kind = name.rpartition(".")
        parts = stem.split(JOINT)
        # The graph multiplies from the left, torch from the right.
        laid = value.T if kind == "weight" and "embeddings" not in stem else value
        for part, piece in zip(parts, np.split(laid, len(parts)), strict=True):
            state[f"{part}.{kind}" if stem else name] = np.array(piece, order="C")
    state["alike"] = state["alike"].ravel()
    return state


def _is_plain(name: str) -> bool:
    """Return whether a constant has no name of its own: numbers and shapes."""
    return name[0] == "c" and name[1:].isdigit()


def quantise(matrix: Array, *, axis: int, limit: int) -> tuple[NDArray[np.int8], Array]:
    """Return whole numbers up to the limit, and the scales along the axis, kept as one."""
    scales = np.abs(matrix).max(axis=axis, keepdims=True) / limit
    divisors = np.where(scales > 0, scales, 1)
    return np.round(matrix / divisors).astype(np.int8), scales.astype(np.float32)
