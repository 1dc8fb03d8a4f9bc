"""Workers of a server, killed while they rank, and while they answer lists of questions."""

import os
import random
import signal
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import httpx2 as httpx

from rejoinder.index.index import Index
from rejoinder.types import Document
from tests.reliability.case import Outcome
from tests.server.load import ask_for_one, loading
from tests.server.running import MAX_SECONDS, Running, serving

OPTIONS = ("--scorer", "bm25", "--workers", "2", "--timeout", str(MAX_SECONDS))
POTS = 60
QUESTIONS = 12
"""Questions of a list: of six for each worker, a kill hits some that run and some that wait."""

_starts = count()


def kill_workers(folder: Path, kills: int) -> Outcome:
    """Kill workers with -9, one after the other; no request fails."""
    return _kill(folder, kills, OPTIONS, ask_for_one)


def kill_workers_of_lists(folder: Path, kills: int) -> Outcome:
    """Kill workers that answer lists of questions; each question is answered once, and right."""
    with Index(folder / "index", create=True) as index:
        documents = (Document(str(pot), text=_describe_pot(pot)) for pot in range(POTS))
        index.add_documents(documents)
    return _kill(folder, kills, (str(folder / "index"), *OPTIONS), ask_list)


def ask_list(client: httpx.Client) -> None:
    """Ask a list of questions, another one each time, to detect mixed-up replies."""
    first = next(_starts)
    pots = [(first + place) % POTS for place in range(QUESTIONS)]
    questions = [f"who gets the tea of pot number{pot}?" for pot in pots]
    reply = client.post("/v1/answer", json={"question": questions, "top": 1})
    assert reply.status_code == 200, reply.text
    results = reply.json()["results"]
    assert [result["question"] for result in results] == questions, "other questions are answered"
    answers = [[item["sentence"] for item in result["answers"]] for result in results]
    assert answers == [[_describe_pot(pot)] for pot in pots], f"answers {answers} to pots {pots}"


def _describe_pot(pot: int) -> str:
    return f"Guest number{pot} gets the tea of pot number{pot}."


def _kill(
    folder: Path, kills: int, options: tuple[str, ...], ask: Callable[[httpx.Client], object]
) -> Outcome:
    rng = random.Random(0)
    with serving(folder, *options) as running, loading(running.address, ask=ask) as load:
        for number in range(kills):
            load.wait_for(10)
            os.kill(rng.choice(running.list_workers()), signal.SIGKILL)
            running.wait_until(partial(_has_replaced, running, number + 1), "another worker")
        retried = running.read_metric("jobs_retried_total")
    load.check()
    note = f"{load.answered:,} requests; {retried:.0f} jobs were retried by another worker"
    return Outcome(kills, 0, note)


def _has_replaced(running: Running, workers: int) -> bool:
    restarts = running.read_metric("worker_restarts_total")
    return restarts >= workers and running.read_metric("workers_ready") == 2
