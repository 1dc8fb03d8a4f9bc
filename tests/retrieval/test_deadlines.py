"""The budget of a question bounds every request to a search engine, even to one that hangs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from tests.retrieval.proxy import Wire, wire_to

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.loading import load
from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.staged import Deadline
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.remote import RemoteIndex
from rejoinder.types import Candidate

QUESTION = "how are vectors searched?"
BUDGET_MS = 300


@pytest.fixture
def wired(loaded: RemoteIndex, pattern: str) -> Iterator[tuple[Wire, RemoteIndex]]:
    """An engine, and the wire that it is reached by."""
    with (
        wire_to(pattern.format(name=loaded.url.name)) as (wire, url),
        open_retriever(url) as remote,
    ):
        remote.search(QUESTION, 1)
        yield wire, remote


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def test_passages_of_an_engine_that_hangs_are_left_out(wired: tuple[Wire, RemoteIndex]) -> None:
    wire, remote = wired
    found = [hit.candidate for hit in remote.search(QUESTION, 3)]
    wire.hang()

    with at_most(2):
        read = remote.read_passages(found, deadline=Deadline.after(BUDGET_MS))
    assert read == found
    with at_most(0.1):
        remote.read_passages(found, deadline=Deadline.after(0))


def test_the_weights_of_words_are_not_waited_for(wired: tuple[Wire, RemoteIndex]) -> None:
    wire, remote = wired
    wire.hang()

    with at_most(2):
        weights = remote.weigh_words(["vectors", "kernel"], deadline=Deadline.after(BUDGET_MS))
    assert weights == [1.0, 1.0]


def test_a_page_is_not_waited_for(wired: tuple[Wire, RemoteIndex]) -> None:
    wire, remote = wired
    (hit,) = remote.search(QUESTION, 1)
    wire.hang()

    with at_most(2):
        assert remote.find_page_copy(hit.candidate, deadline=Deadline.after(BUDGET_MS)) is None


def test_sentences_are_read_before_the_deadline_or_not_at_all(
    wired: tuple[Wire, RemoteIndex],
) -> None:
    wire, remote = wired
    deadline = Deadline.after(2_000)
    (read, unread) = (remote.search(QUESTION, 1, deadline=deadline)[0] for _ in range(2))
    assert read.candidate.document
    assert unread.candidate.document
    assert list(read.candidate.document.sentences)
    wire.hang()

    with at_most(4), pytest.raises(StoreError, match="budget of the question is used up"):
        list(unread.candidate.document.sentences)
    wire.flow()
    # A scorer that keeps documents must not keep this one for a later question.
    (later,) = remote.search(QUESTION, 1)
    assert later.candidate.document != unread.candidate.document
    assert later.candidate.document == read.candidate.document
    assert later.candidate.document
    assert list(later.candidate.document.sentences) == list(read.candidate.document.sentences)


class SentenceReader:
    """Reads the document of each candidate, while the engine hangs."""

    name = "reader"

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def score(self, question: str, candidates: Candidates) -> Scores:
        self._wire.hang()
        documents = (item.document for item in candidates if isinstance(item, Candidate))
        return np.array([len(document.sentences[:]) for document in documents if document])


@pytest.mark.parametrize("is_pointwise", [False, True])
def test_a_stage_that_waits_for_sentences_is_ended(
    wired: tuple[Wire, RemoteIndex], is_pointwise: bool
) -> None:
    wire, remote = wired
    reader = SentenceReader(wire)
    vars(reader)["is_pointwise"] = is_pointwise
    engine = Engine(
        None, Cascade("both", [Stage(load("bm25"), 10), Stage(reader)]), retriever=remote
    )
    expected = Engine(None, load("bm25"), retriever=remote).answer(QUESTION)

    with at_most(3):
        answers = engine.answer(QUESTION, budget_ms=1_000)
    assert [one.sentence for one in answers.answers] == [one.sentence for one in expected.answers]
    assert [(stage.scorer, stage.scored) for stage in answers.trace][1] == ("reader", 0)
    assert answers.trace[1].timed_out


def test_a_failure_before_the_deadline_is_raised(wired: tuple[Wire, RemoteIndex]) -> None:
    wire, remote = wired
    found = [hit.candidate for hit in remote.search(QUESTION, 3)]
    wire.cut()

    for read in (
        lambda: remote.read_passages(found, deadline=Deadline.after(30_000)),
        lambda: remote.find_page_copy(found[0], deadline=Deadline.after(30_000)),
        lambda: remote.read_surroundings(found, "paragraph", deadline=Deadline.after(30_000)),
    ):
        with at_most(5), pytest.raises(StoreError, match="failed"):
            read()
