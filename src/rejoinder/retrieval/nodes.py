"""Sends HTTP requests to the nodes of a cluster, and to another node where one fails."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rejoinder.errors import MissingExtraError, shorten

CONNECT_SECONDS = 1.0
"""How long a node may take to accept a connection."""
AVOID_SECONDS = 5.0
"""How long a node that failed is asked last."""
CONNECTIONS = 32
"""Connections to each node that are kept open."""
BUSY = (429, 502, 503, 504)
"""A node that answers so may answer the same request later, and another one may now."""
PAUSE_SECONDS = 0.1
"""Between two rounds over all nodes."""
ROUNDS = 3


class Reply(NamedTuple):
    """The answer of a node."""

    status: int
    body: bytes


class NoAnswerError(Exception):
    """No node has answered in time; the message says why."""


class Nodes:
    """The nodes of one cluster.  Thread-safe.  Requests must do no harm when they are repeated."""

    def __init__(self, addresses: Sequence[str], user: str = "", password: str = "") -> None:
        """Open a pool of connections; nothing is sent yet.

        Args:
            addresses: the base URL of each node.
        """
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtraError("OpenSearch", extra="opensearch") from error
        self._urllib3 = urllib3
        self._addresses = list(addresses)
        basic = f"{user}:{password}" if user else None
        self._headers = urllib3.make_headers(keep_alive=True, basic_auth=basic)
        self._pool = urllib3.PoolManager(len(self._addresses), maxsize=CONNECTIONS, retries=False)
        self._lock = threading.Lock()
        self._next = 0
        self._failed: dict[str, float] = {}
        """When each node has failed last."""

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def request(
        self, method: str, path: str, body: bytes = b"", *, kind: str = "json", seconds: float
    ) -> Reply:
        """Send a request to a node, and to another one if it fails or is busy.

        Args:
            kind: the type of the body: `json` or `x-ndjson`.
            seconds: for all attempts together.

        Raises:
            NoAnswerError: no node has answered in time.
        """
        end = time.monotonic() + seconds
        headers = {**self._headers, "content-type": f"application/{kind}"}
        reason, busy = "no time was left", None
        for address, is_last in self._choose():
            left = end - time.monotonic()
            if left <= 0:
                break
            share = left if is_last else left / 2  # a node may hang: leave time for another
            try:
                reply = self._send(method, address + path, body, headers, share)
            except self._urllib3.exceptions.HTTPError as error:
                self._failed[address] = time.monotonic()
                reason, busy = f"{address}: {_describe(error)}", None
                continue
            if reply.status not in BUSY:
                self._failed.pop(address, None)
                return reply
            busy = reply
        if busy is not None:
            return busy
        raise NoAnswerError(reason)

    def _choose(self) -> Iterator[tuple[str, bool]]:
        """Yield the nodes in turn, those that failed of late last, and whether none follows."""
        with self._lock:
            self._next = (self._next + 1) % len(self._addresses)
            first = self._next
        order = self._addresses[first:] + self._addresses[:first]
        since = time.monotonic() - AVOID_SECONDS
        order.sort(key=lambda address: self._failed.get(address, 0.0) > since)
        for round_ in range(ROUNDS):
            if round_:
                time.sleep(round_ * PAUSE_SECONDS)
            for address in order:
                yield address, round_ == ROUNDS - 1 and address == order[-1]

    def _send(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> Reply:
        timeout = self._urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        reply = self._pool.request(
            method, url, body=body or None, headers=headers, timeout=timeout, redirect=False
        )
        return Reply(reply.status, reply.data)


def _describe(error: Exception) -> str:
    """Return what has happened, without the names of a library's classes."""
    name = type(error).__name__
    if name == "ReadTimeoutError":
        return "did not answer in time"
    if name == "ConnectTimeoutError":
        return "does not accept connections"
    if name == "NewConnectionError":
        return "no server is there"
    return shorten(error)
