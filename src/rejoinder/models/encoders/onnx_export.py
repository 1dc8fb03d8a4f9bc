"""Exports a network by the framework's own exporter, and quantises products of any ONNX graph.

For encoders that onnx_bert.py does not write by hand.  Weights keep the names of the network's
state, so that training can continue from the file.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from onnx import ModelProto, NodeProto, TensorProto, load_model_from_string, numpy_helper
from torch import Tensor, nn

from rejoinder.errors import BundleError
from rejoinder.models.encoders.onnx_graph import OPSET, Array, Graph, read_int8

LOCAL = "int8_"
"""The prefix of names that quantising adds."""
MIN_COLUMNS = 16
"""A product with fewer columns, such as a scoring head, stays in fp32."""
MIN_ROWS = 1000
"""A table with fewer rows, such as that of positions, stays in fp32."""


def export_network(network: nn.Module, inputs: Mapping[str, Tensor], result: str) -> bytes:
    """Return an ONNX file in fp32 that computes as a network does.

    Args:
        inputs: examples of its inputs by name, of at least 2 pairs and 2 tokens.

    Raises:
        BundleError: the exporter cannot export the network.
    """
    network.zero_grad()  # gradients would be exported, too
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                network.eval(),
                kwargs=dict(inputs),
                input_names=list(inputs),
                output_names=[result],
                dynamic_shapes=dict.fromkeys(inputs, dynamic),
                opset_version=OPSET,
                dynamo=True,
                optimize=False,  # onnxruntime optimises when it opens the file
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        reason = (str(error.__cause__ or error).splitlines() or [type(error).__name__])[0]
        raise BundleError(f"torch cannot export this network: {reason}") from error
    model: ModelProto = program.model_proto
    _strip(model)
    return bytes(model.SerializeToString(deterministic=True))


def quantise_network(content: bytes) -> bytes:
    """Return an ONNX file with int8 weights in its products and its large tables."""
    model = load_model_from_string(content)
    graph = model.graph
    weights = {
        item.name: item
        for item in graph.initializer
        if item.data_type == TensorProto.FLOAT and len(item.dims) == 2
    }
    turned = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Transpose" and node.input[0] in weights
    }
    added = Graph({}, is_int8=True, epsilon=0.0, prefix=LOCAL)
    for node in graph.node:
        _quantise_node(added, node, weights, turned)
    nodes, constants = added.take()
    used = {name for node in nodes for name in node.input} | {item.name for item in graph.output}
    nodes = [node for node in nodes if used.intersection(node.output)]
    used = {name for node in nodes for name in node.input}
    kept = [item for item in graph.initializer if item.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend([*kept, *constants])
    return bytes(model.SerializeToString(deterministic=True))


def read_exported(content: bytes) -> dict[str, Array]:
    """Return the weights of a file of `export_network`, quantised or not, by name."""
    graph = load_model_from_string(content).graph
    constants = {item.name: np.array(numpy_helper.to_array(item)) for item in graph.initializer}
    rng = np.random.default_rng(0)
    for name in [name for name in constants if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        scales = constants.pop(f"{stem}.scale")
        whole = constants.pop(name).astype(np.float32)
        is_table = scales.ndim == 2
        constants[stem] = whole * scales if is_table else read_int8(whole, scales, rng).T.copy()
    return constants


def _quantise_node(
    added: Graph,
    node: NodeProto,
    weights: Mapping[str, TensorProto],
    turned: Mapping[str, str],
) -> None:
    """Add a node, in int8 where it multiplies by a weight or reads a large table."""
    if node.op_type == "MatMul":
        name = turned.get(node.input[1], node.input[1])
        if name in weights:
            matrix = numpy_helper.to_array(weights[name])
            matrix = matrix.T if node.input[1] in turned else matrix
            if matrix.shape[1] >= MIN_COLUMNS:
                added.multiply_int8(node.input[0], matrix, name, result=node.output[0])
                return
    if node.op_type == "Gather" and node.input[0] in weights and not _get_axis(node):
        matrix = numpy_helper.to_array(weights[node.input[0]])
        if len(matrix) >= MIN_ROWS:
            added.embed_int8(matrix, node.input[0], node.input[1], result=node.output[0])
            return
    added.keep(node)


def _get_axis(node: NodeProto) -> int:
    return next((item.i for item in node.attribute if item.name == "axis"), 0)


def _strip(model: ModelProto) -> None:
    """Remove what the exporter notes of the source: stack traces name files of this machine."""
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        item.doc_string = ""
        del item.metadata_props[:]
    del graph.value_info[:]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter, which logs what it lacks for other networks."""
    previous = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)
