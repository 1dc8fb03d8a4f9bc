"""Makes the OpenAPI 3.1 document from the table of routes."""

import ast
import inspect
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, get_args

import msgspec

from rejoinder.server.api import cohere, information, native, tei, v1
from rejoinder.server.problems import name_status
from rejoinder.server.routes import Operation
from rejoinder.server.workers import messages

MODULES = (messages, native, information, cohere, v1, tei)
"""Where the shapes are."""
REFERENCE = "#/components/schemas/{name}"

Json = dict[str, Any]


def make_openapi(operations: Sequence[Operation], version: str) -> Json:
    """Return the document."""
    types = list(_list_types(operations))
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    _add_field_docs(components)
    by_type = dict(zip(map(_key, types), schemas, strict=True))
    paths: dict[str, Json] = {}
    for operation in operations:
        described = _describe(operation, by_type)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rejoinder",
            "version": version,
            "description": "Answers a question with the one sentence that answers it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _add_field_docs(components: dict[str, Json]) -> None:
    """Say of each field what stands below it in the source."""
    for module in MODULES:
        for name, fields in read_field_docs(inspect.getsource(module)).items():
            for field, what in fields.items():
                if name in components:
                    _describe_field(components[name]["properties"], field, what)


def _describe_field(properties: Json, field: str, what: str) -> None:
    # Beside a reference, so that the reference's own words stay where they are.
    properties[field] = {**properties[field], "description": what}


def read_field_docs(source: str) -> dict[str, dict[str, str]]:
    """Return the strings that stand below the fields of classes, by class and field."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            for before, after in pairwise(node.body):
                if (
                    isinstance(before, ast.AnnAssign)
                    and isinstance(before.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                ):
                    words = " ".join(str(after.value.value).split())
                    found.setdefault(node.name, {})[before.target.id] = words
    return found


def _list_types(operations: Iterable[Operation]) -> Iterable[Any]:
    seen = set()
    for operation in operations:
        for kind in (operation.takes, operation.gives, operation.error):
            for part in _split(kind):
                if _is_json(part) and _key(part) not in seen:
                    seen.add(_key(part))
                    yield part


def _describe(operation: Operation, by_type: dict[str, Any]) -> Json:
    described: Json = {
        "summary": operation.what,
        "operationId": _name(operation),
        "responses": {"200": _describe_reply(operation, by_type)},
    }
    if operation.parameters:
        described["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.where,
                "description": parameter.what,
                "required": parameter.is_required,
                "schema": parameter.schema,
            }
            for parameter in operation.parameters
        ]
    if operation.takes is bytes:
        content: Json = {"application/octet-stream": {"schema": {}}}
        described["requestBody"] = {"required": True, "content": content}
    elif operation.takes is not None:
        content = {"application/json": {"schema": _refer(operation.takes, by_type)}}
        described["requestBody"] = {"required": True, "content": content}
    for status in operation.statuses:
        error = {"application/json": {"schema": _refer(operation.error, by_type)}}
        described["responses"][str(status)] = {
            "description": name_status(status),
            "content": error,
        }
    if not operation.is_public:
        described["security"] = [{}, {"key": []}]
    return described


def _describe_reply(operation: Operation, by_type: dict[str, Any]) -> Json:
    if operation.gives is str:
        return {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}
    schema = _refer(operation.gives, by_type)
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _name(operation: Operation) -> str:
    words = operation.path.replace("{", "").replace("}", "").replace(".", "/").split("/")
    return "_".join([operation.method.lower(), *filter(None, words)])


def _refer(kind: Any, by_type: dict[str, Any]) -> Json:
    found = [by_type[_key(part)] for part in _split(kind)]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _split(kind: Any) -> Iterable[Any]:
    """Return the parts of a union, or the one type that it is."""
    is_union = getattr(kind, "__args__", None) and type(kind).__name__ == "UnionType"
    return get_args(kind) if is_union else (kind,)


def _is_json(kind: Any) -> bool:
    return kind is not None and kind not in (bytes, str)


def _key(kind: Any) -> str:
    return str(kind)
