"""Questions to real search engines, compared with the embedded index."""

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from uuid import uuid4

import pytest
from tests.retrieval.proxy import proxy_before, wire_to
from tests.retrieval.servers import HOST, PASSWORD

from rejoinder.cascade.loading import load
from rejoinder.engine.citing import cite
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError, StoreError
from rejoinder.index.index import Index
from rejoinder.index.sqlite.context import Surroundings
from rejoinder.models.staged import Deadline
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.open_search import OpenSearchIndex
from rejoinder.retrieval.postgres import PostgresIndex
from rejoinder.retrieval.qdrant import QdrantIndex
from rejoinder.retrieval.remote import RemoteIndex

QUESTIONS = (
    "how are vectors searched?",
    "why does the kernel use bits?",
    "what happens when the index is corrupt?",
    "which library reads PDF files?",
    "does HAS score stored sentences?",
)


def drop_local(surroundings: Surroundings) -> Surroundings:
    """Return surroundings without what only the index knows: its numbers, and its files' state."""
    assert surroundings.source
    own, *copies = (
        replace(source, document_id=None, file=None)
        for source in (surroundings.source, *surroundings.copies)
    )
    return Surroundings(own, surroundings.context, tuple(sorted(copies, key=str)))


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_finds_what_the_index_finds(loaded: RemoteIndex, library: Index, question: str) -> None:
    expected = library.search(question, 50)
    found = loaded.search(question, 50)

    texts = [hit.candidate.text for hit in found]
    assert len(set(texts)) == len(texts) == 50
    assert [hit.rank for hit in found] == list(range(1, 51))
    assert all(one.score >= other.score for one, other in pairwise(found))
    assert set(texts[:10]) & {hit.candidate.text for hit in expected[:2]}
    assert len(set(texts) & {hit.candidate.text for hit in expected}) >= 25
    by_text = {hit.candidate.text: hit.candidate for hit in expected}
    for candidate in (hit.candidate for hit in found if hit.candidate.text in by_text):
        other = by_text[candidate.text]
        if candidate.id == other.id:
            assert (candidate.headings, candidate.position) == (other.headings, other.position)
            assert candidate.document
            assert other.document
            assert candidate.document.title == other.document.title
            assert candidate.document.metadata == other.document.metadata


def find_kinds(remote: RemoteIndex, **where: str | list[str]) -> set[str]:
    """Return the metadata `kind` of the documents that a filtered search finds."""
    found = [hit.candidate.document for hit in remote.search("a sentence", 500, where=where)]
    return {document.metadata["kind"] for document in found if document}


def test_filters_are_exact(loaded: RemoteIndex, library: Index) -> None:
    folder = str(library.documents()[0].metadata["folder"])

    assert find_kinds(loaded, kind="page") == {"page"}
    assert find_kinds(loaded, kind=["page", "decision"]) == {"page", "decision"}
    assert find_kinds(loaded, kind="page", suffix=".txt") == set()
    assert find_kinds(loaded, kind="none") == set()
    assert find_kinds(loaded, folder=folder) == {"decision"}
    assert find_kinds(loaded, folder=folder.rpartition("/")[0] + "/") == {"page", "decision"}
    # Vectors are approximate: an engine rounds them, and may miss one that is barely near enough.
    found, expected = (
        {
            hit.candidate.text
            for hit in one.search("a sentence", 5_000, where={"kind": "page"})
            if hit.candidate.retrieval and "words" in hit.candidate.retrieval.sources
        }
        for one in (loaded, library)
    )
    assert found == expected
    assert len(found) > 100


@pytest.mark.parametrize("form", ["paragraph", "section", "sentence"])
def test_sources_and_contexts_are_those_of_the_index(
    loaded: RemoteIndex, library: Index, form: str
) -> None:
    found = {
        hit.candidate.id: hit.candidate
        for question in QUESTIONS
        for hit in loaded.search(question, 20)
    }
    names = {item.id: item for item in library.documents()}
    own = [
        replace(item, document=names[item.document.id]) for item in found.values() if item.document
    ]
    expected = library.read_surroundings(own, form)
    assert len(expected) == len(found) > 60
    for one, other in zip(
        loaded.read_surroundings(list(found.values()), form), expected, strict=True
    ):
        assert drop_local(one) == drop_local(other)


def test_words_weigh_what_they_weigh_in_the_index(loaded: RemoteIndex, library: Index) -> None:
    words = ("sentence", "vectors", "kernel", "zebra", "!")
    expected = library.weigh_words(words)
    assert expected == sorted(expected)
    assert expected[0] < 0.6
    weights = loaded.weigh_words(words)
    assert loaded.weigh_words(["!"]) == [1.0]
    assert loaded.weigh_words(words, deadline=Deadline.after(0)) == [1.0] * len(words)
    if isinstance(loaded, QdrantIndex):  # which does not tell
        assert weights == [1.0] * len(words)
    elif isinstance(loaded, PostgresIndex):  # which counts the sentences around one, too
        assert weights == sorted(weights)
        assert weights[0] < weights[2] < weights[3] == 1
    else:
        assert weights == pytest.approx(expected, rel=0.01)


def test_an_engine_answers_from_it(loaded: RemoteIndex, library: Index) -> None:
    here, there = Engine(library, load("cosinet")), Engine(None, load("cosinet"), retriever=loaded)
    answers = [there.answer(question, top=3) for question in QUESTIONS]
    expected = [here.answer(question, top=3) for question in QUESTIONS]

    assert (
        sum(
            one.answers[0].sentence == other.answers[0].sentence
            for one, other in zip(answers, expected, strict=True)
        )
        >= len(QUESTIONS) - 1
    )
    assert all(len(own.answers) == 3 and own.answers[0].context for own in answers)
    assert all(own.retrieved == 100 for own in answers)


def test_context_is_one_request_for_all_answers(loaded: RemoteIndex, pattern: str) -> None:
    with (
        wire_to(pattern.format(name=loaded.url.name)) as (wire, url),
        open_retriever(url) as remote,
    ):

        def count(ask: Callable[[], object]) -> int:
            before = wire.requests
            ask()
            return wire.requests - before

        candidates = [
            hit.candidate for question in QUESTIONS for hit in remote.search(question, 10)
        ]
        assert len({item.document.id for item in candidates if item.document}) > 3
        one = count(lambda: remote.read_surroundings(candidates[:1], "section"))
        assert count(lambda: remote.read_surroundings(candidates, "section")) == one
        engine = Engine(None, load("bm25"), retriever=remote)
        for question in QUESTIONS:  # some of which are answered from one paragraph
            answers = engine.answer(question, top=10).answers
            assert all(answer.context for answer in answers)
            searching = count(lambda: remote.search(question, 100))  # noqa: B023
            asking = count(lambda: engine.answer(question, top=10))  # noqa: B023
            assert (len(answers), asking) == (10, searching + one)
        if not isinstance(remote, PostgresIndex):  # which begins and ends a transaction
            assert (searching, one) == (1, 1)


def test_sentences_and_passages_are_fetched(loaded: RemoteIndex, library: Index) -> None:
    found = [hit.candidate for hit in loaded.search(QUESTIONS[0], 10)]
    document = found[0].document
    assert document
    own = library.get_document(document.id)
    assert own
    assert list(document.sentences) == list(own.sentences)
    passages = {
        item.id: item.passage
        for item in library.read_passages(
            [hit.candidate for hit in library.search(QUESTIONS[0], 10)]
        )
    }
    for candidate in loaded.read_passages(found):
        assert candidate.passage
        assert passages.get(candidate.id, candidate.passage) == candidate.passage


@pytest.mark.parametrize(
    "question",
    ["", "!?", "'; DROP TABLE sentences; --", "%s %(x)s {0}", "a\\b | c & !d", "é" * 5000],
)
def test_no_question_breaks_it(loaded: RemoteIndex, question: str) -> None:
    loaded.search(question, 9)

    assert len(loaded.search(QUESTIONS[0], 1)) == 1
    assert loaded.search(QUESTIONS[0], 0) == []


def test_what_needs_an_index_says_so(loaded: RemoteIndex) -> None:
    engine = Engine(None, retriever=loaded)

    with pytest.raises(InputError, match="needs an index on this machine"):
        engine.marks()
    with pytest.raises(InputError, match="needs an index or a retriever"):
        Engine(None)


def test_a_budget_ends_a_search(loaded: RemoteIndex) -> None:
    engine = Engine(None, load("bm25"), retriever=loaded)
    assert engine.answer(QUESTIONS[0], budget_ms=5_000).answers[0].context
    start = time.monotonic()
    with suppress(StoreError):  # or an answer, from an engine that is faster
        engine.answer(QUESTIONS[0], budget_ms=0)
    assert time.monotonic() - start < 2


def test_context_is_left_out_once_the_budget_is_used_up(loaded: RemoteIndex) -> None:
    found = [hit.candidate for hit in loaded.search(QUESTIONS[0], 3)]
    around = loaded.read_surroundings(found, "paragraph", deadline=Deadline.after(0))
    assert [(own.source is not None, own.context) for own in around] == [(True, ())] * 3


def test_a_missing_index_is_named(pattern: str) -> None:
    name = f"t{uuid4().hex[:12]}"
    with open_retriever(pattern.format(name=name)) as remote:
        for ask in (remote.check_ready, lambda: remote.search("tea", 1)):
            with pytest.raises(StoreError, match=f"{name}: there is no index; load one with"):
                ask()


@pytest.mark.parametrize("engine", ["postgresql", "qdrant"])
def test_a_wrong_password_is_named(engine: str, request: pytest.FixtureRequest) -> None:
    pattern: str = request.getfixturevalue(engine)
    if PASSWORD not in pattern:
        pytest.skip("a server of one's own may have no password")
    with (
        open_retriever(pattern.replace(PASSWORD, "wrong-123").format(name="tea")) as remote,
        pytest.raises(StoreError, match=rf"^{remote.engine} at .* failed \(.*; give ") as caught,
    ):
        remote.check_ready()
    assert "\n" not in str(caught.value)
    assert "wrong-123" not in str(caught.value)


@pytest.mark.parametrize("engine", ["postgresql", "qdrant", "opensearch", "elasticsearch"])
def test_a_server_that_is_not_there_is_named(engine: str) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
    with (
        open_retriever(f"{engine}://{HOST}:{port}") as remote,
        pytest.raises(StoreError, match=rf"at {HOST}:{port}/rejoinder: .* failed \(") as caught,
    ):
        remote.check_ready()
    assert "check that it runs, and its URL" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", ["postgresql", "qdrant", "opensearch", "elasticsearch"])
def test_a_server_that_does_not_answer_is_given_up(engine: str) -> None:
    start = time.monotonic()
    with (
        socket.create_server((HOST, 0)) as silent,  # accepts, and never sends a byte
        open_retriever(f"{engine}://{HOST}:{silent.getsockname()[1]}") as remote,
        pytest.raises(StoreError, match=r"no answer within \d+ ms"),
    ):
        remote.read_schema(0.3)
    assert time.monotonic() - start < 4


@pytest.mark.parametrize(
    ("engine", "root", "message"),
    [
        (
            "opensearch",
            b'{"version": {"number": "2.3.0", "distribution": "opensearch"}}',
            r"reading its version failed \(it is 2.3.0\); use a version from 2.4 up to 3",
        ),
        (
            "elasticsearch",
            b'{"version": {"number": "8.7.1"}}',
            r"reading its version failed \(it is 8.7.1\); use a version from 8.8 up to 9",
        ),
        (
            "qdrant",
            b'{"title": "qdrant - vector search engine", "version": "1.9.7"}',
            r"opening failed \(version 1.9.7\); use Qdrant 1.10 or later",
        ),
    ],
)
def test_an_old_version_is_named(opensearch: str, engine: str, root: bytes, message: str) -> None:
    with proxy_before(opensearch.split("/")[2]) as proxy:
        proxy.root = root
        with (
            open_retriever(f"{engine}://{proxy.address}/tea") as remote,
            pytest.raises(StoreError, match=rf"^{remote.engine} at .*/tea: {message}$"),
        ):
            remote.check_ready()


def test_something_else_of_this_name_is_left_alone(pattern: str) -> None:
    name = f"t{uuid4().hex[:12]}"
    with open_retriever(pattern.format(name=name)) as remote:
        _make_foreign(remote)
        with pytest.raises(StoreError, match="was not made by rejoinder; choose another name"):
            remote.check_ready()


def _make_foreign(remote: RemoteIndex) -> None:
    if isinstance(remote, PostgresIndex):
        with remote._running("testing", 5) as run:
            run("CREATE TABLE {sentences} (id integer)")
    elif isinstance(remote, QdrantIndex):
        remote._ask("PUT", f"/collections/{remote.url.name}", {"vectors": {}})
    elif isinstance(remote, OpenSearchIndex):
        remote._ask("PUT", f"/{remote.url.name}", {}, what="testing")


def test_answers_are_cited_from_it(loaded: RemoteIndex) -> None:
    hit = loaded.search(QUESTIONS[0], 1)[0].candidate
    cited = cite(hit.text, Engine(None, retriever=loaded))

    assert cited.statements[0].citations[0].source.document == (hit.document and hit.document.id)


def test_a_server_that_freezes_is_given_up(postgresql: str, index: Index) -> None:
    if PASSWORD not in postgresql:
        pytest.skip("stops a process, which a server of one's own may have elsewhere")
    url = postgresql.format(name=f"t{uuid4().hex[:12]}")
    export_index(index, url)
    with open_retriever(url) as remote:
        assert isinstance(remote, PostgresIndex)
        assert remote.search("tea", 1)
        with remote._running("asking for the process", 5) as run:
            ((process,),) = run("SELECT pg_backend_pid()")
        os.kill(process, signal.SIGSTOP)
        try:
            start = time.monotonic()
            with pytest.raises(StoreError, match=r"searching failed .no answer within \d+ ms"):
                remote.search("tea", 1, deadline=Deadline.after(200))
            assert time.monotonic() - start < 2
            assert remote.search("tea", 1)  # on another connection
        finally:
            os.kill(process, signal.SIGCONT)
