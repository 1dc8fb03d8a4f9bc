"""Kills what exports or answers, by SIGKILL, and counts what is lost."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.retrieval.proxy import Wire, wire_to
from tests.retrieval.search_servers import LIGHT, Node, search_nodes
from tests.retrieval.servers import qdrant_peers

from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.models.staged import Deadline
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import RecordReader, export_index
from rejoinder.retrieval.open_search import OpenSearchIndex
from rejoinder.retrieval.qdrant import QdrantIndex
from rejoinder.retrieval.record import SentenceRecord
from rejoinder.retrieval.remote import RemoteIndex, take_batches
from rejoinder.types import Document

SECONDS = 60.0
DOCUMENTS = 300
CHANGED = 100
LONGEST = 6
"""Sentences of a document."""
THREADS = 4
BUDGET_MS = 10_000
QUESTIONS = tuple(f"what does page {number} say?" for number in range(40, 80))


def read_expected(index: Index) -> dict[str, SentenceRecord]:
    """Return the records that an engine should have, as it returns them."""
    store, vectors = index.store, index.vectors
    reader = RecordReader(store, vectors, vectors.find_encoder())
    checksums = store.get_checksums()
    return {
        record.id: record._replace(terms=None, vector=None)
        for document in store.get_documents()
        for record in reader.read(document, checksums[document.id])
    }


def check_holds(url: str, index: Index, *, longest: int = 40, is_of_table: bool = False) -> None:
    """Check that an engine has every sentence once, as it is, and no others.

    Args:
        longest: more sentences than any document has ever had.
        is_of_table: the engine was loaded from a table, whose documents have other revisions.
    """
    expected = read_expected(index)
    with open_retriever(url) as remote:
        # Positions behind the end, and copies, would show what was left of earlier versions.
        names = [item.id for item in index.documents()]
        ids = [f"{name}#{place}" for name in names for place in range(longest)]
        found = [
            each for own in take_batches(ids, 2_000) for each in remote.fetch(own, [], SECONDS)
        ]
        if is_of_table:
            assert all(record.revision for record in found)
            found = [record._replace(revision="") for record in found]
            expected = {key: own._replace(revision="") for key, own in expected.items()}
        digests = sorted({record.digest for record in expected.values()})
        copies = [
            each for own in take_batches(digests, 100) for each in remote.fetch([], own, SECONDS)
        ]
        assert {item.id: item for item in found} == expected
        assert {item.id for item in copies} == {
            item.id for item in expected.values() if item.may_answer
        }
        assert len(found) == len(expected)
        assert set(remote.get_revisions()) == set(names)


def kill_exports(folder: Path, pattern: str, kills: int, *, seed: int = 0) -> int:
    """Kill `rejoinder index export --to` at random moments, while documents change.

    Returns how many sentences the engine has in the end, each once.
    """
    rng = random.Random(seed)
    with Index(folder / "index", create=True) as index:
        index.drop_vectors()
        write_pages(index, rng, range(DOCUMENTS), version=0)
        url = pattern.format(name=f"killed-{seed}-{os.getpid()}")
        with wire_to(url) as (wire, wired):
            assert not run_export(index, wired, wire, None)
            whole, killed, version = wire.passed, 0, 0
            while killed < kills:
                version += 1
                assert version < 4 * kills + 20, "most exports ended before they were killed"
                changed = rng.sample(range(DOCUMENTS + version), CHANGED)
                write_pages(index, rng, changed, version=version)
                for item in rng.sample(index.documents(), 3):
                    index.remove_document(item.id)
                limit = wire.passed + int(rng.uniform(0, whole * CHANGED / DOCUMENTS))
                killed += run_export(index, wired, wire, limit)
            assert not run_export(index, wired, wire, None)
        check_holds(url, index, longest=LONGEST + 1)
        return index.count().sentences


def write_pages(
    index: Index, rng: random.Random, numbers: "range | list[int]", *, version: int
) -> None:
    index.add_documents(
        Document(
            f"page-{number}",
            f"Page {number}",
            tuple(
                f"Page {number} says in version {version} that {place} comes before {place + 1}."
                for place in range(rng.randint(1, LONGEST))
            ),
        )
        for number in numbers
    )


def run_export(index: Index, url: str, wire: Wire, limit: int | None) -> bool:
    """Run an export, and return whether it was killed.

    Args:
        limit: kill it once so many bytes have passed.
    """
    command = [sys.executable, "-m", "rejoinder", "index", "export"]
    process = subprocess.Popen(
        [*command, "--index", str(index.folder), "--to", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        while limit is not None and process.poll() is None and wire.passed < limit:
            time.sleep(0.0005)
        if limit is not None:
            process.kill()
        output, _ = process.communicate()
    assert process.returncode in (0, -9), output
    return process.returncode == -9


class Load(NamedTuple):
    """What became of questions while a node was killed."""

    asked: int
    failed: list[str]
    wrong: list[str]


@contextmanager
def qdrant_load(folder: Path) -> Iterator[tuple[RemoteIndex, Callable[[], None]]]:
    """Give two peers of Qdrant with pages, and what kills one that is asked."""
    with (
        qdrant_peers() as (pattern, peers),
        exported(folder, pattern.format(name="docs")) as remote,
    ):
        assert isinstance(remote, QdrantIndex)
        for name in ("docs", "docs-documents"):
            own = remote._ask("GET", f"/collections/{name}/cluster")
            shards = [*own["local_shards"], *own["remote_shards"]]
            assert len(own["local_shards"]) == 2  # each peer has both
            assert [shard["state"] for shard in shards] == 4 * ["Active"]
        yield remote, peers[1].kill


@contextmanager
def opensearch_load(folder: Path) -> Iterator[tuple[RemoteIndex, Callable[[], None]]]:
    """Give two nodes of OpenSearch with pages, and what kills the one that is not the leader.

    Of two nodes, the cluster manager has no quorum without itself: a cluster that is to outlive
    any of its nodes needs three.
    """
    with opensearch_pair(folder) as (remote, nodes):
        yield remote, nodes[1].kill


@contextmanager
def opensearch_pair(folder: Path) -> Iterator[tuple[OpenSearchIndex, list[Node]]]:
    """Give two nodes of OpenSearch that have the same pages, the leader first."""
    with search_nodes(LIGHT, 2, heap=256) as nodes:
        hosts = ",".join(node.host for node in nodes)
        with exported(folder, f"opensearch://{hosts}/docs") as remote:
            assert isinstance(remote, OpenSearchIndex)
            path = "/_cluster/health/docs?wait_for_status=green&timeout=60s"
            _, health = remote._ask("GET", path, what="waiting for the replica", seconds=60)
            assert (health["status"], health["active_shards"]) == ("green", 2)
            yield remote, nodes


@contextmanager
def exported(folder: Path, url: str) -> Iterator[RemoteIndex]:
    """Give an engine with pages, for questions."""
    with Index(folder / "index", create=True) as index:
        index.drop_vectors()
        write_pages(index, random.Random(0), range(120), version=0)
        export_index(index, url)
    with open_retriever(url) as remote:
        yield remote


def kill_under_load(remote: RemoteIndex, kill: Callable[[], None], rounds: int) -> Load:
    """Ask from several threads, kill a node in the middle, and count what goes wrong."""
    expected = {question: find_texts(remote, question) for question in QUESTIONS}
    assert all(expected.values())
    failed: list[str] = []
    wrong: list[str] = []
    asked = 0
    lock, is_dead = threading.Lock(), threading.Event()

    def ask(seed: int) -> None:
        nonlocal asked
        rng, left = random.Random(seed), rounds
        while left:
            left -= is_dead.is_set()
            question = rng.choice(QUESTIONS)
            try:
                texts = find_texts(remote, question)
            except StoreError as error:
                failed.append(str(error))
            else:
                if texts != expected[question]:
                    wrong.append(question)
            with lock:
                asked += 1

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    kill()
    is_dead.set()
    for thread in threads:
        thread.join()
    return Load(asked, failed, wrong)


def find_texts(remote: RemoteIndex, question: str) -> list[str]:
    """Return the sentences of the page that a question names."""
    page = question.removeprefix("what does ").removesuffix(" say?").capitalize()
    hits = remote.search(question, 20, deadline=Deadline.after(BUDGET_MS))
    texts = [hit.candidate.text for hit in hits]
    return [text for text in texts if text.startswith(f"{page} says")]
