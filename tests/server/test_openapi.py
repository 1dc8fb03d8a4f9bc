"""The OpenAPI document, and the docs page generated from it."""

import subprocess
import sys
from pathlib import Path

from starlette.testclient import TestClient

from rejoinder.server.openapi import read_field_docs

ROOT = Path(__file__).parents[2]


def test_every_route_is_described(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]["/v1/documents"]) == {"delete", "get", "post"}
    assert set(document["paths"]) >= {"/v1/answer", "/v1/rank", "/v2/rerank", "/rerank"}
    answer = document["paths"]["/v1/answer"]["post"]
    assert set(answer["responses"]) >= {"200", "400", "422", "429", "503"}


def test_every_reference_resolves(client: TestClient) -> None:
    reply = client.get("/openapi.json")
    schemas = reply.json()["components"]["schemas"]

    named = {part.split('"')[0] for part in reply.text.split("#/components/schemas/")[1:]}

    assert named <= set(schemas)


def test_fields_are_described_by_their_docstrings() -> None:
    source = 'class A:\n    """A."""\n    x: int\n    """Two\n    lines."""\n    y: int = 0\n'

    assert read_field_docs(source) == {"A": {"x": "Two lines."}}


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, "docs/make_server.py", "--check"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)

    assert result.returncode == 0, result.stderr
