"""Quantises the products of any ONNX graph to int8; without torch."""

from collections.abc import Mapping

from onnx import NodeProto, TensorProto, load_model_from_string, numpy_helper

from rejoinder.models.encoders.onnx_graph import OPSET, Graph

LOCAL = "int8_"
"""The prefix of names that quantising adds."""
MIN_COLUMNS = 16
"""A product with fewer columns, such as a scoring head, stays in fp32."""
MIN_ROWS = 1000
"""A table with fewer rows, such as that of positions, stays in fp32."""


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
    opset = next(
        (item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), OPSET
    )
    added = Graph({}, is_int8=True, epsilon=0.0, prefix=LOCAL, opset=opset)
    for node in graph.node:
        _quantise_node(added, node, weights, turned)
    nodes, constants = added.take()
    used = {name for node in nodes for name in node.input} | {item.name for item in graph.output}
    nodes = [node for node in nodes if used.intersection(node.output)]
    used = {name for node in nodes for name in node.input}
    kept = [item for item in graph.initializer if item.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    distinct = {item.name: item for item in constants}  # products may share a weight
    graph.initializer.extend([*kept, *distinct.values()])
    return bytes(model.SerializeToString(deterministic=True))


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
