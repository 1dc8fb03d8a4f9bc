"""OpenSearch and Elasticsearch, on real servers.

`make test` has the light OpenSearch, `make reliability` the others too.
"""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from tests.retrieval.proxy import Proxy, proxy_before
from tests.retrieval.search_servers import (
    ELASTICSEARCH,
    LIGHT,
    OPENSEARCH,
    Distribution,
    is_long,
    search_server,
)

from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.models.staged import Deadline
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.remote import RemoteIndex
from rejoinder.types import Document, ScoredCandidate

DOCS = Path(__file__).parents[2] / "docs"
QUESTIONS = (
    "how is a sentence encoder trained?",
    "what is the latency budget?",
    "which language are words stemmed in?",
    "who?",
    "how do I restrict an answer to a folder",
    "wich enigne retreives by meening",  # misspelt
)
DISTRIBUTIONS = [
    pytest.param(LIGHT, id="light"),
    pytest.param(OPENSEARCH, id="opensearch", marks=is_long),
    pytest.param(ELASTICSEARCH, id="elasticsearch", marks=is_long),
]


@pytest.fixture(scope="module", params=DISTRIBUTIONS)
def distribution(request: pytest.FixtureRequest) -> Distribution:
    chosen: Distribution = request.param
    return chosen


@pytest.fixture(scope="module")
def server(distribution: Distribution, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a server with `{name}` for the name of an index; ours are removed."""
    is_shared = distribution is LIGHT
    shared = nullcontext(request.getfixturevalue("opensearch")) if is_shared else None
    with shared or search_server(distribution) as url:
        yield url
        for name in NAMES:
            httpx.delete(f"{to_http(url)}/{name}", timeout=60)
        httpx.delete(f"{to_http(url)}/_index_template/rejoinder-test", timeout=60)


NAMES = ("rejoinder-test", "rejoinder-test-2", "rejoinder-test-3")
NAME, SHARDED, OTHER = NAMES


def to_http(url: str) -> str:
    """Return the base URL of the requests that a test sends itself."""
    return "http://" + url.split("/")[2]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, distribution: Distribution) -> Iterator[Index]:
    with Index(tmp_path_factory.mktemp("index"), create=True) as index:
        index.add([DOCS / "retrieval.md", DOCS / "models", DOCS / "engine.md", DOCS / "index.md"])
        index.add_documents([Document("notes/tea", "Tea", ("Tea is hot.", "Steep it briefly."))])
        if distribution is LIGHT:
            index.drop_vectors()
        yield index


@pytest.fixture(scope="module")
def exported(index: Index, server: str) -> str:
    """Return the URL of the index in the engine."""
    url = server.format(name=NAME)
    export_index(index, url)
    return url


@pytest.fixture
def remote(exported: str) -> Iterator[RemoteIndex]:
    with open_retriever(exported) as opened:
        yield opened


@pytest.fixture
def proxy(exported: str) -> Iterator[Proxy]:
    with proxy_before(exported.split("/")[2]) as proxy:
        yield proxy


def list_ids(found: list[ScoredCandidate]) -> list[str]:
    return [item.candidate.id for item in found]


def check_same(index: Index, remote: RemoteIndex) -> None:
    """Check that both find the same; equal scores may differ in order."""
    for question in QUESTIONS:
        own, there = index.search(question, 100), remote.search(question, 100)
        words = {item.candidate.id: item.candidate.retrieval for item in own}
        for item in there:
            mine, other = words.get(item.candidate.id), item.candidate.retrieval
            if mine and other and mine.words and other.words:
                assert other.words == pytest.approx(mine.words, rel=0.01)
        assert len(there) == len(own)
        assert len({*list_ids(own)} & {*list_ids(there)}) >= 0.95 * len(own), question
        assert there[0].candidate.text == own[0].candidate.text


def test_it_finds_what_the_embedded_index_finds(index: Index, remote: RemoteIndex) -> None:
    remote.check_ready()
    check_same(index, remote)


def test_shards_know_the_frequencies_of_all(index: Index, server: str) -> None:
    template = {"index_patterns": [SHARDED], "template": {"settings": {"number_of_shards": 3}}}
    address = f"{to_http(server)}/_index_template/rejoinder-test"
    httpx.put(address, json=template, timeout=60).raise_for_status()
    export_index(index, server.format(name=SHARDED))

    with open_retriever(server.format(name=SHARDED)) as remote:
        check_same(index, remote)
    settings = httpx.get(f"{to_http(server)}/{SHARDED}/_settings", timeout=60).json()
    assert settings[SHARDED]["settings"]["index"]["number_of_shards"] == "3"


def test_filters_are_exact(index: Index, remote: RemoteIndex) -> None:
    folder = str(DOCS / "models")
    for where in ({"folder": folder}, {"folder": [folder, "none"]}, {"folder": "none"}):
        own, there = (each.search("vectors of words", 500, where=where) for each in (index, remote))
        assert sorted(list_ids(list(there))) == sorted(list_ids(list(own)))
        assert bool(own) == (where != {"folder": "none"})


def test_answers_have_source_and_context(index: Index, remote: RemoteIndex) -> None:
    question = "how is a sentence encoder trained?"
    own = Engine(index).answer(question, top=3)
    there = Engine(None, retriever=remote).answer(question, top=3)

    assert [answer.sentence for answer in there.answers] == [
        answer.sentence for answer in own.answers
    ]
    for mine, other in zip(own.answers, there.answers, strict=True):
        assert (other.source.start, other.source.line) == (mine.source.start, mine.source.line)
        assert other.context == mine.context


def test_changes_arrive_and_an_export_can_be_repeated(tmp_path: Path, server: str) -> None:
    url = server.format(name=OTHER)
    tea = Document("tea", "Tea", ("Green tea is hot.", "Steep it briefly.", "Milk spoils it."))
    bees = Document("bees", "Bees", ("A colony of bees has one queen.",))
    with Index(tmp_path / "index", create=True) as index, open_retriever(url) as remote:
        index.add_documents([tea, bees])
        assert export_index(index, url).written == 2
        assert export_index(index, url).unchanged == 2
        index.add_documents([Document("tea", "Tea", ("Black tea is hot.",))])
        index.remove_document("bees")
        report = export_index(index, url)

        assert (report.written, report.removed) == (1, 1)
        assert [item.candidate.text for item in remote.search("tea bees", 9)] == [
            "Black tea is hot."
        ]
        assert remote.get_revisions().keys() == {"tea"}
        assert count(server, OTHER) == 2  # a sentence and a document
        with (
            Index(tmp_path / "other", create=True) as other,
            pytest.raises(StoreError, match="the documents of another index"),
        ):
            export_index(other, url)


def count(server: str, name: str) -> int:
    found: int = httpx.get(f"{to_http(server)}/{name}/_count", timeout=60).json()["count"]
    return found


def test_an_entry_that_cannot_be_stored_is_named(remote: RemoteIndex, index: Index) -> None:
    with pytest.raises(StoreError, match="writing failed") as caught:
        remote.put_revisions({"x": {"not": "text"}})  # type: ignore[dict-item]

    message = str(caught.value)
    assert "mapper_parsing_exception" in message or "document_parsing" in message
    assert f"; see the log of {remote.engine}; if the index is damaged, export to" in message
    assert "\n" not in message


def put_settings(server: str, name: str, settings: dict[str, Any]) -> None:
    address = f"{to_http(server)}/{name}/_settings"
    httpx.put(address, json=settings, timeout=60).raise_for_status()


def test_a_full_disk_is_named_and_questions_are_still_answered(
    server: str, remote: RemoteIndex
) -> None:
    put_settings(server, NAME, {"index.blocks.read_only_allow_delete": True})
    try:
        assert remote.search("tea", 1)
        with pytest.raises(StoreError, match=r"read-only: .*free disk space"):
            remote.put_revisions({"tea": "1"})
    finally:
        put_settings(server, NAME, {"index.blocks.read_only_allow_delete": None})


def test_a_missing_or_foreign_index_is_named(server: str) -> None:
    address = f"{to_http(server)}/{OTHER}"
    httpx.delete(address, timeout=60)
    with open_retriever(server.format(name=OTHER)) as remote:
        for ask in (remote.check_ready, lambda: remote.search("tea", 1), remote.finish):
            with pytest.raises(StoreError, match="there is no index; load one with") as caught:
                ask()
            assert "\n" not in str(caught.value)
        httpx.put(address, json={"mappings": {"properties": {}}}, timeout=60).raise_for_status()
        with pytest.raises(StoreError, match="was not made by rejoinder; choose another name"):
            remote.check_ready()


def test_shards_without_a_node_are_named(server: str, index: Index) -> None:
    address = f"{to_http(server)}/{OTHER}"
    body = httpx.get(f"{to_http(server)}/{NAME}", timeout=60).json()[NAME]
    kept = {key: body["settings"]["index"].get(key) for key in ("analysis", "knn")}
    nowhere = {"routing.allocation.require._name": "none"}
    settings = {key: value for key, value in kept.items() if value} | nowhere
    body = {"mappings": body["mappings"], "settings": {"index": settings}}
    httpx.delete(address, timeout=60)
    reply = httpx.put(address, params={"timeout": "1s"}, json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    with open_retriever(server.format(name=OTHER)) as remote:
        with pytest.raises(StoreError, match=r"it is not whole: .*start the missing nodes"):
            remote.check_ready()
        with pytest.raises(StoreError, match="it is not whole"):
            remote.search("tea", 1, deadline=Deadline.after(2000))


def test_another_engine_is_named(server: str) -> None:
    engine, place = server.split(":")[0], server.split("/")[2]
    other = {"opensearch": "elasticsearch", "elasticsearch": "opensearch"}[engine]
    with (
        open_retriever(f"{other}://{place}/{NAME}") as remote,
        pytest.raises(StoreError, match=f"it is {engine} .*; begin the URL with {engine}://"),
    ):
        remote.check_ready()


def test_a_wrong_password_is_named(server: str, proxy: Proxy, index: Index) -> None:
    proxy.user, proxy.password = "me", "p@ss word"
    engine = server.partition("://")[0]
    with open_retriever(f"{engine}://me:p%40ss%20word@{proxy.address}/{NAME}") as remote:
        assert remote.search("tea", 1)
    with (
        open_retriever(f"{engine}://me:secret@{proxy.address}/{NAME}") as remote,
        pytest.raises(StoreError, match="refuses the user or the password") as caught,
    ):
        remote.search("tea", 1)
    assert "secret" not in str(caught.value)


def test_a_node_that_fails_is_replaced_by_another(server: str, proxy: Proxy) -> None:
    engine, place = server.split(":")[0], server.split("/")[2]
    with open_retriever(f"{engine}://{proxy.address},{place},127.0.0.1:1/{NAME}") as remote:
        for fault in ({"status": 503}, {"status": 0, "drops": True}, {"drops": False, "delay": 9}):
            vars(proxy).update(fault)
            for _ in range(4):
                assert remote.search("tea", 1, deadline=Deadline.after(6_000))
    assert proxy.requests


def test_an_engine_that_hangs_costs_no_more_than_the_budget(server: str, proxy: Proxy) -> None:
    engine = server.partition("://")[0]
    with open_retriever(f"{engine}://{proxy.address}/{NAME}") as remote:
        assert remote.search("tea", 1)
        proxy.delay = 3
        start = time.perf_counter()
        with pytest.raises(StoreError, match=r"no answer within \d+ ms"):
            remote.search("tea", 1, deadline=Deadline.after(300))
        assert time.perf_counter() - start < 2
    assert proxy.requests
