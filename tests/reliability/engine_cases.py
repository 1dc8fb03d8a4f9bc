"""Engine faults: exports and nodes of real search engines, killed in the middle."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from rejoinder.retrieval.remote import RemoteIndex
from tests.reliability.case import Case, Outcome
from tests.retrieval.killing import (
    THREADS,
    kill_exports,
    kill_under_load,
    opensearch_load,
    qdrant_load,
)
from tests.retrieval.search_servers import LIGHT, search_server
from tests.retrieval.servers import postgres_server, qdrant_server

AFTER = 200
"""Questions of each thread after the kill."""


def kill_export(
    start: Callable[[], AbstractContextManager[str]], folder: Path, kills: int
) -> Outcome:
    """Kill exports of an index that changes, and compare what the engine has in the end."""
    with start() as pattern:
        sentences = kill_exports(folder, pattern, kills)
    return Outcome(kills, 0, f"{sentences:,} sentences at the end, each once and as it is")


def kill_node(
    start: Callable[[Path], AbstractContextManager[tuple[RemoteIndex, Callable[[], None]]]],
    folder: Path,
    rounds: int,
) -> Outcome:
    """Kill one of two nodes while questions are asked."""
    asked = losses = 0
    for number in range(rounds):
        with start(folder / str(number)) as (remote, kill):
            load = kill_under_load(remote, kill, AFTER)
        asked += load.asked
        losses += len(load.failed) + len(load.wrong)
    return Outcome(rounds, losses, f"{asked:,} questions from {THREADS} threads")


EXPORTED = "sentences that are missing, double or stale after the next export"
ANSWERED = "questions that fail or have another answer"
SERVERS: Mapping[str, Callable[[], AbstractContextManager[str]]] = {
    "OpenSearch": partial(search_server, LIGHT),
    "PostgreSQL": postgres_server,
    "Qdrant": qdrant_server,
}
CASES = [
    Case("engine", f"{engine}: export killed with -9", partial(kill_export, start), 0, 20, EXPORTED)
    for engine, start in SERVERS.items()
]
CASES += [
    Case("engine", f"{engine}: one of two nodes killed", partial(kill_node, start), 0, 3, ANSWERED)
    for engine, start in {"OpenSearch": opensearch_load, "Qdrant": qdrant_load}.items()
]
"""The short form is in `tests/retrieval`, on the servers of its fixtures."""
