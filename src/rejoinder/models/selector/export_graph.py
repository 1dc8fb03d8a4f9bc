"""A selector's network as an ONNX graph: its encoder, and how a score is read from the states.

Axes: P pairs, E width.
"""

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from rejoinder.models.encoders.onnx_bert import (
    add_encoder,
    get_inputs,
    l2_normalise,
    masked_mean,
)
from rejoinder.models.encoders.onnx_graph import Graph, Input
from rejoinder.models.selector.export_ways import add_ways, mask_kind
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.ensemble import AnySelector, Ensemble
from rejoinder.models.selector.module.selector import Selector
from rejoinder.models.selector.pair_reader import CANDIDATE, QUESTION, SECOND


def build_graph(model: AnySelector, rows: Sequence[int], *, precision: str) -> bytes:
    """Return an ONNX file that scores inputs as the model does; its encoder has BERT's layers.

    Args:
        rows: for each id of the bundle's tokenizer, its row of the model's embedding.
        precision: fp32, or int8 for the embedding and the weights of products.
    """
    state = {name: value.numpy(force=True) for name, value in model.state_dict().items()}
    encoder = model.local if isinstance(model, Ensemble) else model.encoder
    epsilon = encoder.config.layer_norm_eps
    graph = Graph(state, is_int8=precision == "int8", epsilon=epsilon)
    inputs: dict[str, Input] = {}
    if isinstance(model, Ensemble):
        score = _join(graph, model, rows, inputs)
    elif isinstance(model, Classifier):
        score = _classify(graph, model, rows, inputs)
    else:
        score = _add_selector(graph, model, rows, inputs)
    graph.add("Reshape", score, graph.constant([-1]), result="scores")
    return graph.to_bytes(inputs, "scores", ["pairs"])


def _add_selector(
    graph: Graph, model: Selector, rows: Sequence[int], inputs: dict[str, Input]
) -> str:
    """Return the scores (P, 1) of a selector: of the two sides, of the first state, and ways."""
    inputs |= get_inputs()
    states = add_encoder(
        graph, model.encoder, np.asarray(rows), model.config.max_tokens, scope="encoder."
    )
    column = graph.constant(graph.state["alike"][:, None], "alike")
    alike = graph.add("MatMul", _multiply_sides(graph, states), column)
    first = graph.add("Gather", states, graph.constant(0), axis=1)  # (P, E)
    score = graph.add("Add", alike, graph.linear_fp32(first, "first"))
    return _add_ways(graph, model, states, score, inputs)


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
    score = graph.linear_fp32(graph.add("Tanh", graph.linear_fp32(first, hidden)), output)
    return _add_ways(graph, model, states, score, inputs)


def _add_ways(
    graph: Graph,
    model: Selector | Classifier,
    states: str,
    score: str,
    inputs: dict[str, Input],
) -> str:
    """Return the scores (P, 1) with those of multi-way attention, if there is any."""
    if model.ways is None:
        return score
    width = model.config.context.vector_width
    for name in ("near", "page") if width else ():
        inputs[name] = (TensorProto.FLOAT, ("pairs", f"{name} sentences", width))
    return graph.add("Add", score, add_ways(graph, model.ways, states))


def _join(graph: Graph, model: Ensemble, rows: Sequence[int], inputs: dict[str, Input]) -> str:
    """Return the scores of an ensemble, (P, 1)."""
    encodings = []
    for encoder, scope, prefix in ((model.local, "local.", ""), (model.page, "page.", SECOND)):
        inputs |= get_inputs(prefix)
        tokens = model.config.max_tokens
        states = add_encoder(graph, encoder, np.asarray(rows), tokens, scope=scope, prefix=prefix)
        encodings.append(graph.add("Gather", states, graph.constant(0), axis=1))
        if model.has_sides:
            width = graph.scalar(encoder.config.hidden_size)
            encodings.append(graph.add("Mul", _multiply_sides(graph, states, prefix), width))
    joined = graph.linear_fp32(graph.add("Concat", *encodings, axis=1), "joint")
    return graph.linear_fp32(graph.add("Gelu", joined), "relevance")


def _multiply_sides(graph: Graph, states: str, prefix: str = "") -> str:
    """Return the product of the mean states of question and candidate, of length 1, (P, E)."""
    sides = [
        l2_normalise(graph, masked_mean(graph, states, mask_kind(graph, kind, prefix)))
        for kind in (QUESTION, CANDIDATE)
    ]
    return graph.add("Mul", *sides)
