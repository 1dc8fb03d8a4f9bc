"""Sends HTTP requests to the nodes of a cluster, and to another node where one fails."""

import threading
import time
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
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

    def __init__(
        self,
        addresses: Sequence[str],
        headers: Mapping[str, str],
        *,
        engine: str,
        busy: Collection[int] = BUSY,
    ) -> None:
        """Open a pool of connections; nothing is sent yet.

        Args:
            addresses: the base URL of each node.
            headers: sent with each request.
            engine: named where the extra for it is missing.
            busy: the statuses that another attempt may not have.
        """
        try:
            import urllib3
        except ImportError as error:
            raise MissingExtraError(engine, extra=engine.lower()) from error
        self._urllib3 = urllib3
        self._addresses = list(addresses)
        self._headers = {"connection": "keep-alive", **headers}
        self._busy = busy
        self._pool = urllib3.PoolManager(len(self._addresses), maxsize=CONNECTIONS, retries=False)
        self._lock = threading.Lock()
        self._next = 0
        self._failed: dict[str, float] = {}
        """When each node has failed last."""

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        kind: str = "json",
        seconds: float,
        is_repeatable: bool = True,
    ) -> Reply:
        """Send a request to a node, and to another one if it fails or is busy.

        A node may hang, so where another one is left that has not failed of late, a node gets half
        of the time that is left.

        Args:
            kind: the type of the body: `json` or `x-ndjson`.
            seconds: for all attempts together.
            is_repeatable: whether to send it again after a node that did not answer in time, and
                may still be working on it.

        Raises:
            NoAnswerError: no node has answered in time.
        """
        end = time.monotonic() + seconds
        headers = {**self._headers, "content-type": f"application/{kind}"}
        reason, busy = f"no answer within {1000 * seconds:.0f} ms", None
        for address, takes_all in self._choose(end):
            left = end - time.monotonic()
            if left <= 0:
                break
            share = left if takes_all or not is_repeatable else left / 2
            try:
                reply = self._send(method, address + path, body, headers, share)
            except self._urllib3.exceptions.HTTPError as error:
                self._failed[address] = time.monotonic()
                is_late = isinstance(error, self._urllib3.exceptions.ReadTimeoutError)
                what = f"no answer within {1000 * seconds:.0f} ms" if is_late else _describe(error)
                reason, busy = f"{address}: {what}", None
                if is_late and not is_repeatable:
                    break
                continue
            if reply.status not in self._busy:
                self._failed.pop(address, None)
                return reply
            busy = reply
        if busy is not None:
            return busy
        raise NoAnswerError(reason)

    def _choose(self, end: float) -> Iterator[tuple[str, bool]]:
        """Yield the nodes in turn, those that failed of late last, and whether to leave no time."""
        with self._lock:
            self._next = (self._next + 1) % len(self._addresses)
            first = self._next
        order = self._addresses[first:] + self._addresses[:first]
        since = time.monotonic() - AVOID_SECONDS
        avoided = {address for address in order if self._failed.get(address, 0.0) > since}
        order.sort(key=avoided.__contains__)
        last = {order[-1], *order[: len(order) - len(avoided)][-1:]}
        for round_ in range(ROUNDS):
            if round_:
                time.sleep(max(0.0, min(round_ * PAUSE_SECONDS, end - time.monotonic())))
            for address in order:
                yield address, address in last

    def _send(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> Reply:
        timeout = self._urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        reply = self._pool.request(
            method, url, body=body or None, headers=headers, timeout=timeout, redirect=False
        )
        return Reply(reply.status, reply.data)


def make_basic(user: str, password: str) -> dict[str, str]:
    """Return the header that names a user; none where there is no user."""
    if not user:
        return {}
    return {"authorization": f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"}


def _describe(error: Exception) -> str:
    """Return what has happened, without the names of a library's classes."""
    name = type(error).__name__
    if name == "ConnectTimeoutError":
        return "does not accept connections"
    if name == "NewConnectionError":
        return f"cannot be reached: {shorten(error).rpartition(': ')[2]}"
    return shorten(error)
