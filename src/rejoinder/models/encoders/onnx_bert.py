"""BERT's encoder as part of an ONNX graph, and a sentence encoder of mean states.

The three projections of attention are one product, so that its input is quantised once.

Axes: P pairs, L tokens, E width, A heads, D = E / A.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from rejoinder.models.encoders.architectures import get_offset
from rejoinder.models.encoders.onnx_graph import SMALLEST, Array, Graph, Input

MASKED = -1e9
"""Added to attention on padding."""
MIN_GELU = -0.17
"""The activation's minimum."""
INPUTS = ("ids", "mask", "kinds")


def add_encoder(
    graph: Graph, encoder: Any, rows: Array, max_tokens: int, *, scope: str, prefix: str = ""
) -> str:
    """Add an encoder; return its last states (P, L, E).

    Args:
        rows: for each piece of the bundle's vocabulary, its row of the embedding.
        scope: the prefix of its weights' names.
        prefix: the prefix of its inputs' names.
    """
    config = encoder.config
    offset = get_offset(config)
    states = _embed(graph, f"{scope}embeddings.", rows, offset, max_tokens, prefix)
    mask = graph.add("Unsqueeze", float_mask(graph, prefix), graph.constant([1, 2]))
    masked = attention_mask(graph, mask)
    for layer in range(len(encoder.encoder.layer)):
        name = f"{scope}encoder.layer.{layer}."
        states = _attend(graph, name, states, masked, heads=config.num_attention_heads)
        states = _feed_forward(graph, name, states)
    return states


def build_sentence_encoder(
    encoder: Any,
    rows: Sequence[int],
    *,
    max_tokens: int,
    pooling: str = "mean",
    is_int8: bool = True,
) -> bytes:
    """Return an ONNX file that encodes texts as vectors of length 1.

    Args:
        pooling: a text's vector is the `mean` of its states, or the `first` state.
    """
    state = {name: value.numpy(force=True) for name, value in encoder.state_dict().items()}
    graph = Graph(state, is_int8=is_int8, epsilon=encoder.config.layer_norm_eps)
    states = add_encoder(graph, encoder, np.asarray(rows), max_tokens, scope="")
    if pooling == "mean":
        pooled = masked_mean(graph, states, float_mask(graph))
    else:
        pooled = graph.add("Gather", states, graph.constant(np.int64(0)), axis=1)
    result = l2_normalise(graph, pooled)
    return graph.to_bytes(get_inputs(), result, ["pairs", encoder.config.hidden_size])


def get_inputs(prefix: str = "") -> dict[str, Input]:
    """Return the inputs of an encoder; a second one has its own prefix and lengths."""
    axes = ("pairs", f"{prefix}tokens")
    return {f"{prefix}{name}": (TensorProto.INT64, axes) for name in INPUTS}


def float_mask(graph: Graph, prefix: str = "") -> str:
    """Return 1 for a token and 0 for padding, (P, L)."""
    return graph.to_float(f"{prefix}mask")


def attention_mask(graph: Graph, mask: str) -> str:
    """Return the term that is added to attention: 0, or MASKED where the mask is 0."""
    return graph.add("Mul", graph.add("Sub", graph.scalar(1), mask), graph.scalar(MASKED))


def masked_mean(graph: Graph, states: str, weights: str) -> str:
    """Return the mean of the states (P, L, E) whose weight is 1, (P, E)."""
    row = graph.add("Unsqueeze", weights, graph.constant([1]))  # (P, 1, L)
    total = graph.add("Squeeze", graph.add("MatMul", row, states), graph.constant([1]))
    count = graph.add("ReduceSum", weights, graph.constant([1]))
    return graph.add("Div", total, graph.add("Max", count, graph.scalar(1)))


def l2_normalise(graph: Graph, vectors: str) -> str:
    """Scale vectors (P, E) to length 1."""
    length = graph.add("ReduceL2", vectors, graph.constant([1]))
    return graph.add("Div", vectors, graph.add("Max", length, graph.scalar(SMALLEST)))


def _embed(graph: Graph, scope: str, rows: Array, offset: int, max_tokens: int, prefix: str) -> str:
    """Return the sum of token, position and token type embeddings, normalised, (P, L, E)."""
    pieces = graph.embed(f"{scope}word_embeddings", rows, f"{prefix}ids")
    name = f"{scope}position_embeddings.weight"
    positions = graph.constant(graph.state[name][: offset + max_tokens], name)
    end = graph.add("Shape", f"{prefix}ids", start=1)
    if offset:
        end = graph.add("Add", end, graph.constant([offset]))
    known = graph.add("Slice", positions, graph.constant([offset]), end)
    name = f"{scope}token_type_embeddings.weight"
    types = graph.constant(name)
    if len(graph.state[name]) > 1:  # an encoder with one type gives it to every token
        types = graph.add("Gather", types, f"{prefix}kinds")
    states = graph.add("Add", pieces, types)
    return graph.normalise(f"{scope}LayerNorm", graph.add("Add", states, known))


def _attend(graph: Graph, scope: str, states: str, masked: str, *, heads: int) -> str:
    """Return the states after a layer's attention, (P, L, E)."""
    names = [f"{scope}attention.self.{name}" for name in ("query", "key", "value")]
    projected = graph.linear(states, *names)  # (P, L, 3E)
    parts = graph.add_several("Split", projected, count=3, axis=2, num_outputs=3)
    split = graph.constant([0, 0, heads, -1])  # (P, L, A, D)
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", part, split), perm=axes)
        for part, axes in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    )
    width = graph.state[f"{names[0]}.weight"].shape[0]
    scale = graph.scalar((width // heads) ** -0.5)
    similarities = graph.add("Mul", graph.add("MatMul", query, key), scale)  # (P, A, L, L)
    weights = graph.add("Softmax", graph.add("Add", similarities, masked), axis=-1)
    read = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", read, graph.constant([0, 0, width]))
    out = graph.linear(joined, f"{scope}attention.output.dense")
    return graph.normalise(f"{scope}attention.output.LayerNorm", graph.add("Add", out, states))


def _feed_forward(graph: Graph, scope: str, states: str) -> str:
    """Return the states after a layer's feed-forward block, (P, L, E)."""
    wide = graph.add("Gelu", graph.linear(states, f"{scope}intermediate.dense"))
    out = graph.linear(wide, f"{scope}output.dense", lowest=MIN_GELU)
    return graph.normalise(f"{scope}output.LayerNorm", graph.add("Add", out, states))
