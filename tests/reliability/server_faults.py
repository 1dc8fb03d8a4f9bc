"""Clients that are slow, never finish, or disconnect, over plain sockets."""

import asyncio
import json
import random
import socket
import struct
from urllib.parse import urlsplit

from tests.server.load import TEXTS

PARTS = 20
RESET = struct.pack("ii", 1, 0)


def make_request(path: str, body: object) -> bytes:
    """Return a complete request."""
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


RANK = make_request("/v2/rerank", {"query": "is tea hot?", "documents": TEXTS * 10})
LARGE = make_request(
    "/v1/rerank",
    {
        "query": "tea?",
        "documents": [{"text": "Tea.", "more": "a" * 7_000_000}],
        "return_documents": True,
    },
)
"""A request whose reply is larger than the socket buffers."""


async def ask_slowly(address: str, *, seconds: float) -> bool:
    """Send a request in parts, read the reply slowly, and return whether it was complete."""
    reader, writer = await asyncio.open_connection(sock=_open(address))
    try:
        size = len(RANK) // PARTS + 1
        for start in range(0, len(RANK), size):
            writer.write(RANK[start : start + size])
            await writer.drain()
            await asyncio.sleep(seconds / PARTS)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        received = b""
        while len(received) < length:
            received += await reader.readexactly(min(100, length - len(received)))
            await asyncio.sleep(0)
        is_complete: bool = head.startswith(b"HTTP/1.1 200") and "results" in json.loads(received)
        return is_complete
    except (ConnectionError, asyncio.IncompleteReadError):
        return False
    finally:
        writer.close()


def begin(address: str, number: int) -> socket.socket:
    """Send a request up to the middle of the head or of the body, or never read the reply."""
    connection = _open(address)
    connection.sendall([RANK[:30], RANK[:-30], LARGE][number % 3])
    return connection


def disconnect(address: str, rng: random.Random) -> None:
    """Send part or all of a request, and close or reset the connection."""
    with _open(address) as connection:
        if rng.random() < 0.5:
            connection.sendall(RANK[: rng.randrange(len(RANK))])
        else:
            connection.sendall(RANK)
            if rng.random() < 0.3:
                connection.recv(50)
        if rng.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def _open(address: str) -> socket.socket:
    url = urlsplit(address)
    return socket.create_connection((url.hostname or "", url.port or 0))
