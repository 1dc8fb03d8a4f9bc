"""Small ONNX networks that an attacker could have written."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

LARGE = 100_000
"""The square of it is a shape that fits no memory."""


def node(operator: str, inputs: Sequence[str], *outputs: str, **settings: Any) -> NodeProto:
    return helper.make_node(operator, list(inputs), list(outputs), **settings)


CAST = node("Cast", ["input_ids"], "floats", to=TensorProto.FLOAT)
SUM = node("ReduceSum", ["floats"], "logits")
ADD = node("Add", ["floats", "w"], "added")


def make(
    *nodes: NodeProto,
    output: tuple[str, int] = ("logits", TensorProto.FLOAT),
    weights: Sequence[TensorProto] = (),
    domains: Sequence[str] = (),
    **parts: Any,
) -> ModelProto:
    """Return a network that reads `input_ids`."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
    result = helper.make_tensor_value_info(*output, None)
    functions = parts.pop("functions", [])
    graph = helper.make_graph(list(nodes), "network", [ids], [result], list(weights), **parts)
    opsets = [helper.make_opsetid("", 20)]
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)


def add_up(**parts: Any) -> ModelProto:
    """Return a network that adds the weight `w` to each id, and all up."""
    added = node("ReduceSum", ["added"], "logits")
    return make(CAST, ADD, added, **parts)


def weight(*sizes: int, content: bytes = b"") -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, raw_data=content)
    tensor.dims.extend(sizes)
    return tensor


def outside(location: str) -> TensorProto:
    """Return a weight of 4 numbers that are in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1, 4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def sparse() -> ModelProto:
    """Return a network with a weight of 2^31 numbers, of which the file has one."""
    value = numpy_helper.from_array(np.ones(1, dtype=np.float32), "w")
    place = numpy_helper.from_array(np.zeros(1, dtype=np.int64), "places")
    tensor = helper.make_sparse_tensor(value, place, [1 << 31])
    return add_up(sparse_initializer=[tensor])


def loop() -> ModelProto:
    """Return a network whose loop does not end."""
    body = make_graph(
        [node("Identity", ["go"], "goes"), node("Identity", ["kept"], "keeps")],
        [("turn", TensorProto.INT64), ("go", TensorProto.BOOL), ("kept", TensorProto.FLOAT)],
        [("goes", TensorProto.BOOL), ("keeps", TensorProto.FLOAT)],
    )
    turns = node("Constant", [], "turns", value=to_tensor(np.int64(2**62)))
    always = node("Constant", [], "always", value=to_tensor(np.bool_(True)))
    repeated = node("Loop", ["turns", "always", "floats"], "logits", body=body)
    return make(CAST, turns, always, repeated)


def make_graph(
    nodes: list[NodeProto], inputs: list[tuple[str, int]], outputs: list[tuple[str, int]]
) -> GraphProto:
    def describe(given: list[tuple[str, int]]) -> list[Any]:
        shapes: dict[str, list[int]] = {"turn": [], "go": [], "goes": []}
        return [helper.make_tensor_value_info(name, kind, shapes.get(name)) for name, kind in given]

    return helper.make_graph(nodes, "inside", describe(inputs), describe(outputs))


def in_branch(hidden: NodeProto) -> ModelProto:
    """Return a network with a node in a branch that is never taken."""
    taken = make_graph([node("Identity", ["floats"], "y")], [], [("y", TensorProto.FLOAT)])
    left = make_graph([hidden], [], [("y", TensorProto.FLOAT)])
    never = node("Constant", [], "never", value=to_tensor(np.bool_(False)))
    branch = node("If", ["never"], "chosen", then_branch=left, else_branch=taken)
    total = node("ReduceSum", ["chosen"], "logits")
    return make(CAST, never, branch, total, domains=["evil"])


def doubling_functions(count: int) -> ModelProto:
    """Return a network whose functions each call the next one twice."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    functions = []
    for number in range(count):
        is_last = number == count - 1
        name, domain = ("Identity", "") if is_last else (f"f{number + 1}", "own")
        calls = [
            node(name, ["x"], "y", domain=domain),
            node(name, ["y"], "z", domain=domain),
        ]
        functions.append(helper.make_function("own", f"f{number}", ["x"], ["z"], calls, opsets))
    call = node("f0", ["floats"], "grown", domain="own")
    total = node("ReduceSum", ["grown"], "logits")
    return make(CAST, call, total, domains=["own"], functions=functions)


def huge_at_run() -> ModelProto:
    """Return a network that opens, and then asks for 40 GB."""
    sizes = node("Constant", [], "sizes", value=to_tensor(np.array([LARGE, LARGE])))
    many = node("ConstantOfShape", ["sizes"], "many")
    total = node("ReduceSum", ["many"], "w", keepdims=0)
    added = node("ReduceSum", ["added"], "logits")
    return make(CAST, sizes, many, total, ADD, added)


def to_tensor(value: Any) -> TensorProto:
    return numpy_helper.from_array(np.asarray(value))
