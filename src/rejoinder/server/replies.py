"""JSON out."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

_encoder = msgspec.json.Encoder()


def to_json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as a JSON response."""
    body = _encoder.encode(value)
    return Response(body, status, dict(headers or {}), media_type="application/json")
