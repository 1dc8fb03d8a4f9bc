"""A selector's network as an ONNX graph: its encoder, and how a score is read from the states.

Axes: P pairs, L tokens, N tokens or vectors of a part, E width.
"""

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from rejoinder.models.encoders.onnx_bert import (
    add_encoder,
    attention_mask,
    float_mask,
    get_inputs,
    l2_normalise,
    masked_mean,
)
from rejoinder.models.encoders.onnx_graph import Graph, Input
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.ensemble import AnySelector, Ensemble
from rejoinder.models.selector.module.selector import Selector
from rejoinder.models.selector.pair_reader import CANDIDATE, LOCAL, PAGE, QUESTION, SECOND


def build_graph(model: AnySelector, rows: Sequence[int], *, precision: str) -> bytes:
    """Return an ONNX file that scores inputs as the model does; its encoder has BERT's layers.

    Args:
        rows: for each id of the bundle's tokenizer, its row of the model's embedding.
        precision: fp32, or int8 for the embedding and the weights of products.
    """
    state = {name: value.numpy(force=True) for name, value in model.state_dict().items()}
    encoder = (model.local if isinstance(model, Ensemble) else model).encoder
    epsilon = encoder.config.layer_norm_eps
    graph = Graph(state, is_int8=precision == "int8", epsilon=epsilon)
    inputs: dict[str, Input] = {}
    if isinstance(model, Ensemble):
        local = _add_selector(graph, model.local, rows, "local.", "", inputs)
        page = _add_selector(graph, model.page, rows, "page.", SECOND, inputs)
        score = _join(graph, [local, page])
    elif isinstance(model, Classifier):
        score = _classify(graph, model, rows, inputs)
    else:
        score, _ = _add_selector(graph, model, rows, "", "", inputs)
    graph.add("Reshape", score, graph.constant([-1]), result="scores")
    return graph.to_bytes(inputs, "scores", ["pairs"])


def _add_selector(
    graph: Graph,
    model: Selector,
    rows: Sequence[int],
    place: str,
    prefix: str,
    inputs: dict[str, Input],
) -> tuple[str, str]:
    """Return the scores (P, 1) of a selector, and their encodings, (P, 2E)."""
    inputs |= get_inputs(prefix)
    states = add_encoder(
        graph,
        model.encoder,
        np.asarray(rows),
        model.config.max_tokens,
        scope=f"{place}encoder.",
        prefix=prefix,
    )
    score, encoding = _judge(graph, states, place, prefix)
    if model.ways is not None:
        width = model.config.context.vector_width
        for name in ("near", "page") if width else ():
            inputs[name] = (TensorProto.FLOAT, ("pairs", f"{name} sentences", width))
        score = graph.add("Add", score, _add_ways(graph, states, has_vectors=bool(width)))
    return score, encoding


def _classify(
    graph: Graph, model: Classifier, rows: Sequence[int], inputs: dict[str, Input]
) -> str:
    """Return the scores (P, 1) of an architecture's own head."""
    inputs |= get_inputs()
    scope = f"model.{model.model.base_model_prefix}."
    tokens = model.config.max_tokens
    states = add_encoder(graph, model.encoder, np.asarray(rows), tokens, scope=scope)
    first = graph.add("Gather", states, graph.constant(0), axis=1)  # (P, E)
    has_pooler = f"{scope}pooler.dense.weight" in graph.state
    hidden = f"{scope}pooler.dense" if has_pooler else "model.classifier.dense"
    output = "model.classifier" if has_pooler else "model.classifier.out_proj"
    return graph.linear_fp32(graph.add("Tanh", graph.linear_fp32(first, hidden)), output)


def _judge(graph: Graph, states: str, place: str, prefix: str) -> tuple[str, str]:
    """Return the score of the two sides and of the first state, (P, 1), and their encodings."""
    sides = [
        l2_normalise(graph, masked_mean(graph, states, _read_part(graph, kind, prefix)))
        for kind in (QUESTION, CANDIDATE)
    ]
    product = graph.add("Mul", *sides)
    weights = graph.state[f"{place}alike"]
    column = graph.constant(weights[:, None], f"{place}alike")
    alike = graph.add("MatMul", product, column)
    first = graph.add("Gather", states, graph.constant(0), axis=1)  # (P, E)
    score = graph.add("Add", alike, graph.linear_fp32(first, f"{place}first"))
    larger = graph.add("Mul", product, graph.scalar(len(weights)))
    return score, graph.add("Concat", first, larger, axis=1)


def _add_ways(graph: Graph, states: str, *, has_vectors: bool) -> str:
    """Return the addition of multi-way attention to the scores, (P, 1)."""
    parts = [(states, _read_part(graph, kind)) for kind in (CANDIDATE, LOCAL, PAGE)]
    if has_vectors:
        parts[1:] = [_project(graph, name) for name in ("near", "page")]
    is_question = _read_part(graph, QUESTION)
    question = masked_mean(graph, states, is_question)
    scales = graph.constant("ways.scales")
    read = []
    for number, (others, mask) in enumerate(parts):
        query = graph.add("Mul", states, graph.add("Gather", scales, graph.constant(number)))
        width = graph.state["ways.scales"].shape[1]
        read.append(masked_mean(graph, _attend(graph, query, others, mask, width), is_question))
    products = [graph.add("Mul", question, part) for part in read]
    joined = graph.add("Concat", question, *read, *products, axis=1)
    return graph.linear_fp32(
        graph.add("Gelu", graph.linear_fp32(joined, "ways.hidden")), "ways.output"
    )


def _attend(graph: Graph, query: str, states: str, mask: str, width: int) -> str:
    """Return the attended states of a part, (P, L, E); zeros where it is empty."""
    there = graph.add("Unsqueeze", mask, graph.constant([1]))  # (P, 1, N)
    turned = graph.add("Transpose", states, perm=[0, 2, 1])
    alike = graph.add("Mul", graph.add("MatMul", query, turned), graph.scalar(width**-0.5))
    weights = graph.add("Softmax", graph.add("Add", alike, attention_mask(graph, there)), axis=-1)
    return graph.add("MatMul", graph.add("Mul", weights, there), states)


def _project(graph: Graph, name: str) -> tuple[str, str]:
    """Return vectors as states, and where there is one: zeros are none."""
    width = graph.state["ways.project.weight"].shape[1]
    states = graph.linear_fp32(graph.add("Mul", name, graph.scalar(width**0.5)), "ways.project")
    largest = graph.add("ReduceMax", graph.add("Abs", name), graph.constant([2]), keepdims=0)
    return states, graph.to_float(graph.add("Greater", largest, graph.scalar(0)))


def _join(graph: Graph, judged: Sequence[tuple[str, str]]) -> str:
    """Return the scores of an ensemble, (P, 1)."""
    total = graph.add("Add", *(score for score, _ in judged))
    joined = graph.add("Concat", *(encoding for _, encoding in judged), axis=1)
    more = graph.linear_fp32(graph.add("Gelu", graph.linear_fp32(joined, "hidden")), "output")
    return graph.add("Add", graph.add("Mul", total, graph.scalar(0.5)), more)


def _read_part(graph: Graph, kind: int, prefix: str = "") -> str:
    """Return 1 where there is a token of this kind, else 0, (P, L)."""
    is_kind = graph.to_float(graph.add("Equal", f"{prefix}kinds", graph.constant(np.int64(kind))))
    return graph.add("Mul", float_mask(graph, prefix), is_kind)
