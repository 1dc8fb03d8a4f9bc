"""Clients that send requests in a loop, and their results."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2 as httpx

from tests.server.running import MAX_SECONDS

TEXTS = [f"Sentence {number} says that tea is hot. It rains." for number in range(20)]

_numbers = count()


@dataclass
class Load:
    """The results so far."""

    ask: Callable[[httpx.Client], object]
    failed: list[str] = field(default_factory=list)
    may_be_refused: bool = False
    """Whether connections may fail from now on."""
    is_over: bool = False
    _answered: list[None] = field(default_factory=list)  # threads append to a list safely

    @property
    def answered(self) -> int:
        """How many requests succeeded."""
        return len(self._answered)

    def wait_for(self, more: int) -> None:
        """Wait for so many more answers."""
        target = self.answered + more
        end = time.monotonic() + MAX_SECONDS
        while self.answered < target:
            assert not self.failed, self.failed[0]
            assert time.monotonic() < end, f"no {more} answers within {MAX_SECONDS} s"
            time.sleep(0.02)

    def check(self) -> None:
        """Fail with the reasons if any request failed."""
        reasons = sorted(set(self.failed))[:3]
        assert not reasons, f"{len(self.failed)} requests failed: {reasons}"

    def run_client(self, address: str) -> None:
        """Ask until the load ends."""
        with httpx.Client(base_url=address, timeout=MAX_SECONDS) as client:
            while not self.is_over:
                try:
                    self.ask(client)
                    self._answered.append(None)
                except httpx.ConnectError as error:
                    if self.may_be_refused:
                        return
                    self.failed.append(repr(error))
                    time.sleep(0.1)
                except (httpx.HTTPError, AssertionError) as error:
                    self.failed.append(repr(error))
                    time.sleep(0.1)


def ask_for_one(client: httpx.Client) -> None:
    """Ask a question that one document answers, another each time, to detect mixed-up replies."""
    number = next(_numbers)
    place = number % len(TEXTS)
    documents = [*TEXTS]
    documents[place] = f"Pot {number} holds the tea that was made for guest number {number}."
    request: dict[str, Any] = {"query": f"who gets pot {number}?", "documents": documents}
    reply = client.post("/v2/rerank", json=request)
    assert reply.status_code == 200, reply.text
    best = reply.json()["results"][0]["index"]
    assert best == place, f"document {best} instead of {place}"


@contextmanager
def loading(
    address: str, *, clients: int = 8, ask: Callable[[httpx.Client], object] = ask_for_one
) -> Iterator[Load]:
    """Run clients until the end of the block."""
    load = Load(ask)
    threads = [threading.Thread(target=load.run_client, args=(address,)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.is_over = True
        for thread in threads:
            thread.join()
