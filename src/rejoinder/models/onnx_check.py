"""Checks an ONNX file before onnxruntime opens it, without onnx, whose package is not in the core.

A network is data that somebody else wrote, and onnxruntime is C++ in this process.  What a network
for text never needs is refused: weights in other files, operators that onnxruntime does not ship,
loops, sparse weights, shapes that are larger than the file, and functions that grow when they are
expanded.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import prod

from rejoinder.models.encoders.onnx_weights import DIMENSIONS, list_fields, read_varints

DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"})
"""The domains of the operators that onnxruntime ships for the CPU."""
REFUSED = frozenset(
    {
        *("Loop", "Scan", "SequenceMap"),  # need not end
        *("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"),  # generate text
        "EPContext",  # names another file
    }
)
"""Operators that no network for scores or vectors of texts needs."""
MAX_DEPTH = 50
"""Graphs within graphs."""
MAX_NODES = 50_000
"""Nodes once all functions are expanded."""

PARTS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
}
"""For each kind of message, the kinds of those in it, by the number of their field."""
FUNCTION, FUNCTION_NAME, FUNCTION_DOMAIN = 25, 1, 10
OPERATOR, OPERATOR_DOMAIN = 4, 7
EXTERNAL_DATA, DATA_LOCATION = 13, 14

Operator = tuple[str, str]
"""The domain and the name of an operator or a function."""


def check_network(content: bytes) -> None:
    """Refuse a network that does more than compute from its own weights.

    Raises:
        ValueError: it does, or the file is corrupt.
    """
    try:
        _check(memoryview(content))
    except (AttributeError, IndexError, OverflowError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"the file is truncated or corrupt: {error}") from error


def _check(model: memoryview) -> None:
    functions: dict[Operator, list[Operator]] = defaultdict(list)
    for number, function in list_fields(model):
        if number == FUNCTION:
            (name,), (domain,) = (
                _read_texts(function, field) or [""] for field in (FUNCTION_NAME, FUNCTION_DOMAIN)
            )
            functions[domain, name] += _list_operators(function, "function")
    domains = DOMAINS | {domain for domain, _ in functions}
    operators = _list_operators(model, "model")
    for domain, name in operators:
        if domain not in domains:
            raise ValueError(f"its operator {name!r:.60} is of {domain!r:.60}, not of onnxruntime")
        if name in REFUSED:
            raise ValueError(f"its operator {name} is not allowed in a network for text")
    _check_expanded(operators, functions)
    for kind, part in _walk("model", model):
        if kind == "sparse":
            raise ValueError("it has sparse weights, which are not supported")
        if kind == "tensor":
            _check_tensor(part, 2 * len(model))  # 4-bit weights are the smallest


def _check_tensor(tensor: memoryview, most: int) -> None:
    sizes: list[int] = []
    for number, value in list_fields(tensor):
        if number == EXTERNAL_DATA or (number == DATA_LOCATION and value):
            raise ValueError("it keeps weights in another file, which is not read")
        if number == DIMENSIONS:
            sizes += [value] if isinstance(value, int) else read_varints(value)
    if prod(sizes) > most:  # a negative size is a large number here
        raise ValueError(f"it declares weights of the shape {tuple(sizes)!s:.60}, and holds less")


def _check_expanded(
    operators: list[Operator], functions: Mapping[Operator, list[Operator]]
) -> None:
    """Refuse functions that call themselves, or each other so often that the graph explodes."""
    counts: dict[Operator, int] = {}

    def count(name: Operator, above: frozenset[Operator]) -> int:
        if name not in functions:
            return 1
        if name in above or len(above) > MAX_DEPTH:
            raise ValueError(f"its function {name[1]!r:.60} calls itself")
        if name not in counts:
            counts[name] = sum(count(called, above | {name}) for called in functions[name])
        return counts[name]

    total = sum(count(name, frozenset()) for name in operators)
    if total > MAX_NODES:
        raise ValueError(f"it has {total:,} nodes; the limit is {MAX_NODES:,}")


def _list_operators(content: memoryview, kind: str) -> list[Operator]:
    found = []
    for inside, node in _walk(kind, content):
        if inside == "node":
            names, domains = _read_texts(node, OPERATOR), _read_texts(node, OPERATOR_DOMAIN)
            # A field that is given twice counts as what it says last: look at all of it.
            found += [(domain, name) for name in names for domain in domains or [""]]
    return found


def _read_texts(content: memoryview, field: int) -> list[str]:
    return [bytes(value).decode() for number, value in list_fields(content) if number == field]


def _walk(kind: str, content: memoryview, depth: int = 0) -> Iterator[tuple[str, memoryview]]:
    """Yield all messages in one, however deep, each with its kind."""
    if depth > 3 * MAX_DEPTH:  # a graph is in an attribute of a node
        raise ValueError("its graphs are nested too deep")
    parts = PARTS.get(kind, {})
    for number, value in list_fields(content) if parts else ():
        inside = parts.get(number)
        if inside is not None:
            yield inside, value
            yield from _walk(inside, value, depth + 1)
