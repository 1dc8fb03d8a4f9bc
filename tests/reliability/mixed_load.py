"""A mix of all requests: every dialect, lists of questions, uploads; valid and invalid.

Another process may write the index: then the server says so, and clients try again.
"""

import json
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx2 as httpx

from tests.server.bodies import GOOD

GETS = ("/", "/health", "/ready", "/info", "/metrics", "/openapi.json", "/v1/documents?limit=10")
WORDS = ("tea", "water", "glacier", "honey", "leaf", "dance", "queen", "valley", "stone", "river")
MAX_UPLOADS = 50
LOCKED = "another process is writing"
MAX_TRIES = 200
RETRY_SECONDS = 0.05

_rng = random.Random(0)


def ask_anything(client: httpx.Client) -> None:
    """Send one random request."""
    kind = _rng.random()
    if kind < 0.6:
        _post(client)
    elif kind < 0.7:
        _post_badly(client)
    elif kind < 0.8:
        _expect(client.get(_rng.choice(GETS)), 200)
    elif kind < 0.95:
        name = f"{_rng.randrange(MAX_UPLOADS)}.txt"
        text = _draw_text(300)
        _expect(_try(partial(client.post, f"/v1/documents?name={name}", content=text)), 200)
    else:
        _remove(client)


def _post(client: httpx.Client) -> None:
    path = _rng.choice(list(GOOD))
    body: dict[str, Any] = dict(_rng.choice(GOOD[path]))
    for name in ("documents", "texts"):
        if name in body:
            drawn = [_draw_text(_rng.randrange(60)) for _ in range(_rng.randrange(40))]
            body[name] = [*body[name], *drawn]
    # A mark that another client has removed cannot be removed.
    reply = _try(partial(client.post, path, json=body))
    _expect(reply, 200, *([422] if path == "/v1/feedback" else []))


def _post_badly(client: httpx.Client) -> None:
    path = _rng.choice(list(GOOD))
    raw = json.dumps(GOOD[path][0]).encode()
    _expect(client.post(path, content=raw[: _rng.randrange(len(raw))]), 400)


def _remove(client: httpx.Client) -> None:
    name = f"{_rng.randrange(MAX_UPLOADS)}.txt"
    listed = client.get("/v1/documents", params={"contains": name, "limit": 1})
    _expect(listed, 200)
    for document in listed.json()["documents"]:
        path = f"/v1/documents/{document['id']}"
        # Another client may have removed it first.
        _expect(_try(partial(client.delete, path)), 200, 404)


def _try(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Send a request again while another process writes the index."""
    for _ in range(MAX_TRIES):
        reply = send()
        if reply.status_code != 503 or LOCKED not in reply.text:
            break
        assert reply.headers["retry-after"]
        time.sleep(RETRY_SECONDS)
    return reply


def _draw_text(words: int) -> str:
    drawn = " ".join(_rng.choices(WORDS, k=words))
    return f"{drawn.capitalize()} {_rng.randrange(10**6)}. It rained."


def _expect(reply: httpx.Response, *statuses: int) -> None:
    assert reply.status_code in statuses, f"{reply.request.url.path}: {reply.text[:200]}"
