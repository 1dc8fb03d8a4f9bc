"""BERT's encoder as part of an ONNX graph, and a sentence encoder made of it alone.

The three projections of attention are one product, so that its input is quantised once.

Axes: P pairs, L tokens, E width, A heads, D = E / A.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from rejoinder.errors import BundleError
from rejoinder.models.encoders.graph import SMALLEST, Array, Graph, Input

HIDDEN = -1e9
"""Added to attention on padding."""
LEAST_GELU = -0.17
"""The activation is never lower."""
INPUTS = ("ids", "mask", "kinds")


def encode(
    graph: Graph, encoder: Any, rows: Array, max_tokens: int, *, place: str, prefix: str = ""
) -> str:
    """Add an encoder; return its last states (P, L, E).

    Args:
        rows: for each piece of the bundle's vocabulary, its row of the embedding.
        place: what the names of its weights begin with.
        prefix: what the names of its inputs begin with.

    Raises:
        BundleError: the encoder has another activation than BERT's.
    """
    config = encoder.config
    if config.hidden_act != "gelu":
        raise BundleError(f"an encoder with activation {config.hidden_act!r} is not exported")
    states = _embed(graph, f"{place}embeddings.", rows, max_tokens, prefix)
    hidden = hide(graph, graph.add("Unsqueeze", read_mask(graph, prefix), graph.keep([1, 2])))
    for layer in range(len(encoder.encoder.layer)):
        name = f"{place}encoder.layer.{layer}."
        states = _attend(graph, name, states, hidden, heads=config.num_attention_heads)
        states = _feed_forward(graph, name, states)
    return states


def build_sentence_encoder(encoder: Any, rows: Sequence[int], *, max_tokens: int) -> bytes:
    """Return an ONNX file, in int8, that gives the mean state of texts, of length 1."""
    state = {name: value.detach().cpu().numpy() for name, value in encoder.state_dict().items()}
    graph = Graph(state, is_small=True, epsilon=encoder.config.layer_norm_eps)
    states = encode(graph, encoder, np.asarray(rows), max_tokens, place="")
    result = to_length_1(graph, take_mean(graph, states, read_mask(graph)))
    return graph.to_bytes(name_inputs(), result, ["pairs", encoder.config.hidden_size])


def name_inputs(prefix: str = "") -> dict[str, Input]:
    """Return the inputs of an encoder; those of a second one have lengths of their own."""
    axes = ("pairs", f"{prefix}tokens")
    return {f"{prefix}{name}": (TensorProto.INT64, axes) for name in INPUTS}


def read_mask(graph: Graph, prefix: str = "") -> str:
    """Return 1 where there is a token, else 0, (P, L)."""
    return graph.to_float(f"{prefix}mask")


def hide(graph: Graph, mask: str) -> str:
    """Return what is added to attention: 0, or very little where the mask is 0."""
    return graph.add("Mul", graph.add("Sub", graph.number(1), mask), graph.number(HIDDEN))


def take_mean(graph: Graph, states: str, weights: str) -> str:
    """Return the mean of the states (P, L, E) that have a weight of 1, (P, E)."""
    row = graph.add("Unsqueeze", weights, graph.keep([1]))  # (P, 1, L)
    total = graph.add("Squeeze", graph.add("MatMul", row, states), graph.keep([1]))
    count = graph.add("ReduceSum", weights, graph.keep([1]))
    return graph.add("Div", total, graph.add("Max", count, graph.number(1)))


def to_length_1(graph: Graph, vectors: str) -> str:
    """Return the directions of vectors (P, E)."""
    length = graph.add("ReduceL2", vectors, graph.keep([1]))
    return graph.add("Div", vectors, graph.add("Max", length, graph.number(SMALLEST)))


def _embed(graph: Graph, place: str, rows: Array, max_tokens: int, prefix: str) -> str:
    """Return the sum of piece, position and kind, normalised, (P, L, E)."""
    pieces = graph.look_up(f"{place}word_embeddings", rows, f"{prefix}ids")
    name = f"{place}position_embeddings.weight"
    positions = graph.keep(graph.state[name][:max_tokens], name)
    length = graph.add("Shape", f"{prefix}ids", start=1)
    known = graph.add("Slice", positions, graph.keep([0]), length)
    kinds = graph.keep(f"{place}token_type_embeddings.weight")
    states = graph.add("Add", pieces, graph.add("Gather", kinds, f"{prefix}kinds"))
    return graph.normalise(f"{place}LayerNorm", graph.add("Add", states, known))


def _attend(graph: Graph, place: str, states: str, hidden: str, *, heads: int) -> str:
    """Return the states after a layer's attention, (P, L, E)."""
    names = [f"{place}attention.self.{name}" for name in ("query", "key", "value")]
    projected = graph.multiply(states, *names)  # (P, L, 3E)
    parts = graph.add_several("Split", projected, count=3, axis=2, num_outputs=3)
    split = graph.keep([0, 0, heads, -1])  # (P, L, A, D)
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", part, split), perm=axes)
        for part, axes in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    )
    width = graph.state[f"{names[0]}.weight"].shape[0]
    scale = graph.number((width // heads) ** -0.5)
    alike = graph.add("Mul", graph.add("MatMul", query, key), scale)  # (P, A, L, L)
    weights = graph.add("Softmax", graph.add("Add", alike, hidden), axis=-1)
    read = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", read, graph.keep([0, 0, width]))
    out = graph.multiply(joined, f"{place}attention.output.dense")
    return graph.normalise(f"{place}attention.output.LayerNorm", graph.add("Add", out, states))


def _feed_forward(graph: Graph, place: str, states: str) -> str:
    """Return the states after a layer's two products, (P, L, E)."""
    wide = graph.add("Gelu", graph.multiply(states, f"{place}intermediate.dense"))
    out = graph.multiply(wide, f"{place}output.dense", lowest=LEAST_GELU)
    return graph.normalise(f"{place}output.LayerNorm", graph.add("Add", out, states))
