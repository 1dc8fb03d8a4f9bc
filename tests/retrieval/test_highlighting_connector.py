"""The connector of docs/highlighting.md: its script in OpenSearch, its body for the route."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient
from tests.server.conftest import make_client

from rejoinder.server.workers.jobs import JobRunner

PAGE = Path(__file__).parents[2] / "docs/highlighting.md"
QUESTION = "how are caves formed?"
CAVES = "# Caves\n\nCaves are cold. 🧊 Most caves are formed by meltwater.\n\nNobody goes in."
QUOTED = '"Caves" is a \\ path.\n\tMost "caves" are formed by meltwater, in C:\\ice\\new.'


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    runner = JobRunner(None, "default")
    yield make_client(runner)
    runner.close()


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = json.loads(block)["actions"]
    return dict(found)


def fill(action: dict[str, Any], parameters: dict[str, str]) -> str:
    """Return the body, as HttpConnector and ConnectorUtils of ml-commons make it."""

    def replace(match: re.Match[str]) -> str:
        value = parameters.get(match[1], match[2])
        is_json = value[:1] in ("[", "{")
        return value if is_json else json.dumps(value)[1:-1]

    return re.sub(r"\$\{parameters\.(\w+):-(.*?)\}", replace, action["request_body"])


@pytest.mark.parametrize("context", [CAVES, QUOTED])
def test_a_document_is_sent_by_the_script(
    opensearch: str, client: TestClient, action: dict[str, Any], context: str
) -> None:
    host = opensearch.removeprefix("opensearch://").rpartition("/")[0]
    params = {"algorithm": "QUESTION_ANSWERING", "question": QUESTION, "context": context}
    script = {"source": action["pre_process_function"], "params": params}

    ran = httpx.post(f"http://{host}/_scripts/painless/_execute", json={"script": script})

    assert ran.status_code == 200, ran.text
    # Gson, which reads it there, takes line breaks in strings as they are.
    parameters = json.loads(ran.json()["result"], strict=False)["parameters"]
    assert parameters == {"question": QUESTION, "context": context}
    body = fill(action, parameters)
    assert json.loads(body) == {"question": QUESTION, "context": context, "inputs": []}
    reply = client.post(action["url"].partition("8080")[2], content=body)
    (span,) = reply.json()["highlights"]
    assert span["end"] > span["start"] >= 0


def test_a_batch_is_sent_as_it_is(client: TestClient, action: dict[str, Any]) -> None:
    inputs = [{"question": QUESTION, "context": context} for context in (CAVES, QUOTED)]

    body = fill(action, {"inputs": json.dumps(inputs)})
    reply = client.post(action["url"].partition("8080")[2], content=body)

    assert reply.status_code == 200
    assert [len(spans) for spans in reply.json()["highlights"]] == [1, 1]
