"""Generate the OpenAPI 3.1 document from the operations and their types."""

import ast
import inspect
from collections.abc import Sequence
from dataclasses import is_dataclass
from http import HTTPStatus
from itertools import pairwise
from types import UnionType
from typing import Any, get_args

import msgspec

from rejoinder import types
from rejoinder.cascade import file as cascade_file
from rejoinder.engine import highlight, texts
from rejoinder.index import report
from rejoinder.index.sqlite import documents
from rejoinder.server import problems
from rejoinder.server.api import cohere, open_search, rerank, status, tei, v1
from rejoinder.server.operation import WORKER_STATUSES, Json, Operation
from rejoinder.server.workers import messages

REPLIES = (types, texts, highlight, report, documents, cascade_file)
MODULES = (*REPLIES, messages, status, rerank, cohere, v1, tei, open_search, problems)
"""Where the types of requests and replies are defined."""
BODY_STATUSES = (400, 408, 413, *WORKER_STATUSES)
"""The errors of an operation that reads a body; all of these need a worker."""


def make_openapi(operations: Sequence[Operation], version: str) -> Json:
    """Return the document."""
    used = [kind for item in operations for kind in (item.takes, item.gives, item.error)]
    parts = dict.fromkeys(part for kind in used for part in _split(kind))
    kinds = [part for part in parts if part not in (None, bytes, str)]
    template = "#/components/schemas/{name}"
    schemas, components = msgspec.json.schema_components(kinds, ref_template=template)
    docs = {
        name: fields
        for module in MODULES
        for name, fields in read_field_docs(inspect.getsource(module)).items()
    }
    for module in MODULES:
        for name in components.keys() & vars(module).keys():
            _complete(components[name], vars(module)[name], docs)
    by_type = dict(zip(kinds, schemas, strict=True))
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


def _complete(schema: Json, kind: type, docs: dict[str, dict[str, str]]) -> None:
    """Describe the fields of a type, own and inherited, and require all of a reply's."""
    properties = schema["properties"]
    for base in reversed(kind.__mro__):
        for field, text in docs.get(base.__name__, {}).items():
            if field in properties:
                # Beside a reference, so that the description of its target stays.
                properties[field] = {**properties[field], "description": text}
    if is_dataclass(kind):  # requests are structs, with optional fields
        schema["required"] = list(properties)


def read_field_docs(source: str) -> dict[str, dict[str, str]]:
    """Return the docstrings below the fields of each class, by class and field."""
    docs: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            docs[node.name] = {
                before.target.id: " ".join(str(after.value.value).split())
                for before, after in pairwise(node.body)
                if isinstance(before, ast.AnnAssign)
                and isinstance(before.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            }
    return docs


def _describe(operation: Operation, by_type: dict[Any, Any]) -> Json:
    statuses = set(operation.statuses)
    described: Json = {"summary": operation.summary, "operationId": _name(operation)}
    if operation.parameters:
        described["parameters"] = operation.parameters
    if operation.takes is not None:
        statuses.update(BODY_STATUSES)
        content = _describe_content(operation.takes, by_type)
        described["requestBody"] = {"required": True, "content": content}
    if not operation.is_public:
        statuses.update({401, 403})
        described["security"] = [{}, {"key": []}]
    kinds = {200: operation.gives} | dict.fromkeys(sorted(statuses), operation.error)
    described["responses"] = {
        str(status_): {
            "description": HTTPStatus(status_).phrase,
            "content": _describe_content(kind, by_type),
        }
        for status_, kind in kinds.items()
    }
    return described


def _describe_content(kind: Any, by_type: dict[Any, Any]) -> Json:
    if kind is bytes:
        return {"application/octet-stream": {"schema": {}}}
    if kind is str:
        return {"text/plain": {"schema": {"type": "string"}}}
    schemas = [by_type[part] for part in _split(kind)]
    return {"application/json": {"schema": {"anyOf": schemas} if schemas[1:] else schemas[0]}}


def _name(operation: Operation) -> str:
    words = operation.path.replace("{", "").replace("}", "").replace(".", "/").split("/")
    return "_".join([operation.method.lower(), *filter(None, words)])


def _split(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the one type that it is."""
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)
