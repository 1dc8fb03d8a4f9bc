"""Generate docs/server.md from the server's operations and types.

Usage: python docs/make_server.py [--check]
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejoinder import __version__
from rejoinder.server.openapi import make_openapi
from rejoinder.server.routes import OPERATIONS

PAGE = Path(__file__).with_name("server.md")
INTRODUCTION = PAGE.with_name("server.head.md")

EXAMPLES: dict[str, Any] = {
    "post_v1_answer": {"question": "how are glacier caves formed?", "top": 2, "explain": True},
    "post_v1_rank": {
        "question": "who wrote it?",
        "documents": ["It rained.", {"id": "b", "text": "Nobody read it. Ada wrote it."}],
    },
    "post_v1_highlight": {
        "question": "who wrote it?",
        "documents": ["It rained. Nobody read it. Ada Byron wrote it."],
        "prune": True,
    },
    "post_opensearch_highlight": {
        "question": "who wrote it?",
        "context": "It rained. Nobody read it. Ada Byron wrote it.",
    },
    "post_v1_cite": {
        "answer": "Tea is served hot. It is blue.",
        "sources": ["Tea is served hot in China.", {"id": "b", "text": "Ice is cold."}],
    },
    "post_v1_feedback": {
        "question": "how hot is green tea brewed?",
        "sentence": "Green tea should be brewed at about 75 °C,"
        " because boiling water makes it bitter.",
        "right": True,
    },
    "post_v2_rerank": {
        "model": "any",
        "query": "who wrote it?",
        "documents": ["It rained.", "Nobody read it. Ada wrote it."],
        "top_n": 1,
        "relevant_spans": {"mode": "enabled", "threshold": 0.1, "max_spans": 2},
    },
    "post_v1_rerank": {
        "query": "who wrote it?",
        "documents": ["It rained.", {"text": "Ada wrote it."}],
        "return_documents": True,
    },
    "post_rerank": {"query": "who wrote it?", "texts": ["It rained.", "Ada wrote it."]},
}


def make_page() -> str:
    """Return the page: the hand-written introduction, then every route and type."""
    document = make_openapi(OPERATIONS, __version__)
    return "\n".join(
        [
            INTRODUCTION.read_text(encoding="utf-8"),
            "## Routes\n",
            *(
                line
                for path, methods in document["paths"].items()
                for method, operation in methods.items()
                for line in render_operation(path, method, operation)
            ),
            "## Types\n",
            "In a request, fields that are not *required* may be absent or null.\n",
            *(
                line
                for name, schema in sorted(document["components"]["schemas"].items())
                for line in render_schema(name, schema)
            ),
        ]
    )


def render_operation(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one route."""
    yield f"### {method.upper()} {path}\n"
    yield f"{operation['summary']}\n"
    if operation["operationId"] in EXAMPLES:
        body = json.dumps(EXAMPLES[operation["operationId"]], ensure_ascii=False)
        yield f"```console\n$ curl localhost:8080{path} -d '{body}'\n```\n"
    for parameter in operation.get("parameters", ()):
        needed = ", required" if parameter["required"] else ""
        yield (
            f"- `{parameter['name']}` (in the {parameter['in']}{needed}): "
            + parameter["description"]
        )
    content = operation.get("requestBody", {}).get("content", {})
    for kind, media in content.items():
        yield f"- request: {render_type(media['schema']) or kind}"
    replies = operation["responses"]
    yield f"- reply: {' '.join(render_content(replies['200']))}"
    errors = [status for status in replies if status != "200"]
    if errors:
        shape = " ".join(render_content(replies[errors[0]]))
        yield f"- errors {', '.join(errors)}: {shape}"
    yield ""


def render_content(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the types of a reply."""
    for kind, media in reply["content"].items():
        yield render_type(media["schema"]) if kind == "application/json" else "plain text"


def render_schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one type."""
    yield f"### {name}\n"
    yield f"{' '.join(schema.get('description', '').split())}\n"
    yield "| field | type | |"
    yield "|---|---|---|"
    for field, described in schema.get("properties", {}).items():
        needed = "required. " if field in schema.get("required", ()) else ""
        text = needed + described.get("description", "")
        yield f"| `{field}` | {render_type(described)} | {text} |"
    yield ""


def render_type(schema: dict[str, Any]) -> str:
    """Return a JSON schema in short form."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(render_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        if pair := schema.get("prefixItems"):
            return f"[{', '.join(map(render_type, pair))}]"
        return f"list of {render_type(schema.get('items', {})) or 'anything'}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        of = f" of {render_type(inner)}" if isinstance(inner, dict) and inner else ""
        return f"object{of}"
    return str(schema.get("type", ""))


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(make_page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != make_page():
        sys.exit(f"{PAGE.name} is out of date: run 'make format'")
