"""A mix of all requests: every dialect, valid and invalid."""

import json
import random
from typing import Any

import httpx2 as httpx

from tests.server.bodies import GOOD

GETS = ("/", "/health", "/ready", "/info", "/metrics", "/openapi.json", "/v1/documents?limit=10")
WORDS = ("tea", "water", "glacier", "honey", "leaf", "dance", "queen", "valley", "stone", "river")
MAX_UPLOADS = 50

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
        _expect(client.post(f"/v1/documents?name={name}", content=_draw_text(300)), 200)
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
    _expect(client.post(path, json=body), 200, *([422] if path == "/v1/feedback" else []))


def _post_badly(client: httpx.Client) -> None:
    path = _rng.choice(list(GOOD))
    raw = json.dumps(GOOD[path][0]).encode()
    _expect(client.post(path, content=raw[: _rng.randrange(len(raw))]), 400)


def _remove(client: httpx.Client) -> None:
    name = f"{_rng.randrange(MAX_UPLOADS)}.txt"
    listed = client.get("/v1/documents", params={"contains": name, "limit": 1})
    _expect(listed, 200)
    for document in listed.json()["documents"]:
        # Another client may have removed it first.
        _expect(client.delete(f"/v1/documents/{document['id']}"), 200, 404)


def _draw_text(words: int) -> str:
    drawn = " ".join(_rng.choices(WORDS, k=words))
    return f"{drawn.capitalize()} {_rng.randrange(10**6)}. It rained."


def _expect(reply: httpx.Response, *statuses: int) -> None:
    assert reply.status_code in statuses, f"{reply.request.url.path}: {reply.text[:200]}"
