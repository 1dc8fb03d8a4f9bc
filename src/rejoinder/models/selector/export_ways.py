"""Multi-way attention as part of an ONNX graph (module/multiway.py is the same in torch).

Axes: P pairs, L tokens, Q tokens of the question, N tokens or vectors of a part, E width,
A attention width.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import TensorProto

from rejoinder.models.encoders.onnx_bert import attention_mask, float_mask, masked_mean
from rejoinder.models.encoders.onnx_graph import Graph
from rejoinder.models.selector.module.multiway import PARTS, WEIGHED, MultiWay
from rejoinder.models.selector.pair_reader import QUESTION

Compare = Callable[..., str]
"""Adds how alike tokens are, (P, Q, N), from a question, states, and a function's weights."""


def add_ways(graph: Graph, ways: MultiWay, states: str) -> str:
    """Return the addition of multi-way attention to the scores, (P, 1)."""
    parts = [(states, mask_kind(graph, kind)) for kind in PARTS]
    if ways.project is not None:
        parts[1:] = [_project(graph, name) for name in ("near", "page")]
    is_question = mask_kind(graph, QUESTION)
    question = masked_mean(graph, states, is_question)
    asked, is_asked = (_keep_question(graph, name, is_question) for name in (states, is_question))
    constants = {name: graph.constant(f"ways.{name}") for name in ways.list_weights()}
    read = []
    for number, part in enumerate(parts):
        own = {
            name: graph.add("Gather", constant, graph.constant(number))
            for name, constant in constants.items()
        }
        read.append(masked_mean(graph, _read(graph, ways, asked, part, own), is_asked))
    products = [graph.add("Mul", question, part) for part in read]
    joined = graph.add("Concat", question, *read, *products, axis=1)
    hidden = graph.add("Gelu", graph.linear_fp32(joined, "ways.hidden"))
    return graph.linear_fp32(hidden, "ways.output")


def mask_kind(graph: Graph, kind: int, prefix: str = "") -> str:
    """Return 1 where there is a token of this kind, else 0, (P, L)."""
    is_kind = graph.to_float(graph.add("Equal", f"{prefix}kinds", graph.constant(np.int64(kind))))
    return graph.add("Mul", float_mask(graph, prefix), is_kind)


def _keep_question(graph: Graph, name: str, is_question: str) -> str:
    """Return the first columns of (P, L, ...), as many as the longest question has tokens."""
    counts = graph.add("ReduceSum", is_question, graph.constant([1]), keepdims=0)
    longest = graph.add("ReduceMax", counts, graph.constant([0]))
    count = graph.add("Cast", longest, to=TensorProto.INT64)
    return graph.add("Slice", name, graph.constant([0]), count, graph.constant([1]))


def _read(
    graph: Graph, ways: MultiWay, question: str, part: tuple[str, str], weights: Mapping[str, str]
) -> str:
    """Return what the question reads of a part, (P, Q, E); zeros where it is empty."""
    states, mask = part
    there = graph.add("Unsqueeze", mask, graph.constant([1]))  # (P, 1, N)
    masked = attention_mask(graph, there)
    read = []
    for name, function in ways.functions.items():
        own = [weights[weight] for weight in function.weights]
        alike = COMPARE[name](graph, question, states, *own)
        shares = graph.add("Softmax", graph.add("Add", alike, masked), axis=-1)
        read.append(graph.add("MatMul", graph.add("Mul", shares, there), states))
    return read[0] if len(read) == 1 else _mix(graph, read, *(weights[name] for name in WEIGHED))


def _mix(graph: Graph, read: Sequence[str], weight: str, output: str) -> str:
    """Return the weighted sum (P, Q, E) of what several functions read."""
    column = graph.add("Unsqueeze", output, graph.constant([1]))
    rated = [
        graph.add("MatMul", graph.add("Tanh", graph.add("MatMul", states, weight)), column)
        for states in read
    ]
    shares = graph.add("Softmax", graph.add("Concat", *rated, axis=2), axis=-1)
    count = len(read)
    split = graph.add_several("Split", shares, count=count, axis=2, num_outputs=count)
    weighted = (graph.add("Mul", *both) for both in zip(read, split, strict=True))
    return graph.add("Sum", *weighted)


def _project(graph: Graph, name: str) -> tuple[str, str]:
    """Return vectors as states, and where there is one: zeros are none."""
    width = graph.state["ways.project.weight"].shape[1]
    states = graph.linear_fp32(graph.add("Mul", name, graph.scalar(width**0.5)), "ways.project")
    largest = graph.add("ReduceMax", graph.add("Abs", name), graph.constant([2]), keepdims=0)
    return states, graph.to_float(graph.add("Greater", largest, graph.scalar(0)))


def _compare_scaled(graph: Graph, question: str, states: str, scales: str) -> str:
    width = graph.state["ways.scales"].shape[1]
    scaled = graph.add("Mul", question, scales)
    return graph.add("Mul", _compare_plain(graph, scaled, states), graph.scalar(width**-0.5))


def _compare_concat(
    graph: Graph, question: str, states: str, to_question: str, to_part: str, output: str
) -> str:
    asked = graph.add("Unsqueeze", graph.add("MatMul", question, to_question), graph.constant([2]))
    part = graph.add("Unsqueeze", graph.add("MatMul", states, to_part), graph.constant([1]))
    return graph.add("MatMul", graph.add("Tanh", graph.add("Add", asked, part)), output)


def _compare_bilinear(graph: Graph, question: str, states: str, weight: str) -> str:
    return _compare_plain(graph, graph.add("MatMul", question, weight), states)


def _compare_dot(graph: Graph, question: str, states: str, weight: str, output: str) -> str:
    rows = graph.add("Unsqueeze", question, graph.constant([2]))  # (P, Q, 1, E)
    scaled = graph.add("Mul", rows, graph.add("Transpose", weight, perm=[1, 0]))  # (P, Q, A, E)
    turned = graph.add("Transpose", states, perm=[0, 2, 1])
    products = graph.add("MatMul", scaled, graph.add("Unsqueeze", turned, graph.constant([1])))
    by_token = graph.add("Transpose", products, perm=[0, 1, 3, 2])  # (P, Q, N, A)
    return graph.add("MatMul", graph.add("Tanh", by_token), output)


def _compare_minus(graph: Graph, question: str, states: str, weight: str, output: str) -> str:
    return _compare_concat(graph, question, states, weight, graph.add("Neg", weight), output)


def _compare_plain(graph: Graph, question: str, states: str) -> str:
    """Return the dot products of tokens, (P, Q, N)."""
    return graph.add("MatMul", question, graph.add("Transpose", states, perm=[0, 2, 1]))


COMPARE: Mapping[str, Compare] = {
    "scaled": _compare_scaled,
    "concat": _compare_concat,
    "bilinear": _compare_bilinear,
    "dot": _compare_dot,
    "minus": _compare_minus,
}
"""By the names of `multiway.FUNCTIONS`."""
