"""HTTP request bodies, handled by the application and a worker as on a real server."""

import asyncio
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError
from rejoinder.server.app import Server
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.jobs import JobRunner
from tests.reliability.asgi import Reply, post
from tests.server.local import LocalBackend, make_index, write_documents

UPLOADS = "/v1/documents"
RATED = ("/v1/highlight", "/opensearch/highlight")
"""Routes that need a cascade with a calibration for sentences."""
CASCADE = """name = "rated"
[[stage]]
scorer = "jaccard"
[sentences]
stages = { jaccard = { intercept = -1.0, score = 4.0, lead = 0.5 } }
floor = 0.01
keep = 64
threshold = 0.3
pruning = 0.05
"""


def make_reader(folder: Path, path: str) -> Callable[[bytes], object]:
    """Return a function that posts a body to a path; it creates the application on first use."""
    get_app = cache(lambda: _make_app(folder / path.strip("/"), path))

    def read(raw: bytes) -> object:
        return _check(asyncio.run(post(get_app(), path, raw)))

    return read


def make_upload_reader(folder: Path) -> Callable[[bytes], object]:
    """Return a function that uploads a file; the first line of its input is the query string."""
    get_app = cache(lambda: _make_app(folder / "uploads", UPLOADS))

    def read(raw: bytes) -> object:
        query, _, body = raw.partition(b"\n")
        event = _check(asyncio.run(post(get_app(), UPLOADS, body, query=query)))
        if event["what"] == "skipped":
            raise InputError(event["reason"])
        return event

    return read


def _make_app(folder: Path, path: str) -> Any:
    index = make_index(folder, write_documents(folder / "documents"))
    scorer = "jaccard"
    if path in RATED:
        scorer = str(folder / "rated.toml")
        Path(scorer).write_text(CASCADE, encoding="utf-8")
    backend = LocalBackend(JobRunner(index, scorer))
    return Server(Settings(), backend, Metrics()).make_app()


def _check(reply: Reply) -> Any:
    """Return the value of a reply; a refusal is an InputError."""
    assert reply.status < 500, reply.body
    value = json.loads(reply.body)
    if reply.status != 200:
        raise InputError(f"status {reply.status}: {value}")
    return value
