"""PostgreSQL's full-text search, on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.retrieval.postgres_server import find_binaries, postgres_server

from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.retrieval.postgres import PostgresRetriever
from rejoinder.types import Document

pytestmark = pytest.mark.skipif(
    find_binaries() is None, reason="needs PostgreSQL: apt install postgresql"
)

TEA = Document("tea", "Green tea", ("Tea is hot.", "Steep it briefly.", "Milk spoils it."))
BEES = Document("bees", "Bees", ("Bees dance.", "A colony has one queen.", "It's 100% honey: %s."))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres_server() as address:
        yield address


@pytest.fixture
def retriever(address: str) -> Iterator[PostgresRetriever]:
    made = PostgresRetriever(address)
    made.create()
    made.create()  # does no harm
    made._run("TRUNCATE {table}")
    made.add([TEA], metadata={"lang": "en"})
    made.add([BEES], metadata={"lang": "de"})
    yield made
    made.close()


def test_any_stemmed_word_matches_and_more_words_rank_higher(
    retriever: PostgresRetriever,
) -> None:
    found = retriever.search("what do queens of a colony drink: tea?", 9)

    assert found[0].candidate.text == "A colony has one queen."
    assert found[0].candidate.id == "bees#1"
    assert "Tea is hot." in [item.candidate.text for item in found]
    assert [item.rank for item in found] == list(range(1, len(found) + 1))
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)


def test_a_sentence_knows_its_document(retriever: PostgresRetriever) -> None:
    candidate = retriever.search("milk", 1)[0].candidate

    assert candidate.position == 2
    assert candidate.document
    assert candidate.document.title == "Green tea"
    assert list(candidate.document.sentences) == list(TEA.sentences)
    assert candidate.document.sentences[-1] == "Milk spoils it."


def test_a_title_finds_its_sentences_after_their_own_words(retriever: PostgresRetriever) -> None:
    texts = [item.candidate.text for item in retriever.search("tea", 9)]

    assert texts[0] == "Tea is hot."
    assert set(texts) == set(TEA.sentences)


def test_filters_restrict_the_search(retriever: PostgresRetriever) -> None:
    def find(**where: str | list[str]) -> set[str]:
        found = retriever.search("tea bees", 9, where=where)
        return {item.candidate.id.split("#")[0] for item in found}

    assert find(lang="en") == {"tea"}
    assert find(lang=["en", "de"]) == {"tea", "bees"}
    assert find(team="red") == set()


def test_a_document_that_is_added_again_is_replaced(retriever: PostgresRetriever) -> None:
    retriever.add([Document("tea", "", ("Coffee is black.",))])

    assert [item.candidate.text for item in retriever.search("tea coffee", 9)] == [
        "Coffee is black."
    ]


@pytest.mark.parametrize(
    "question", ["", "!?", "'; DROP TABLE sentences; --", "%s %(x)s", "a\\b | c & !d <-> e:*"]
)
def test_no_question_breaks_it(retriever: PostgresRetriever, question: str) -> None:
    retriever.search(question, 9)

    assert retriever.search("honey", 1)[0].candidate.text == "It's 100% honey: %s."
    assert retriever.search("honey", 0) == []


def test_an_engine_retrieves_from_it(retriever: PostgresRetriever, tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        engine = Engine(index, retriever=retriever)
        (answer,) = engine.answer("who is in a colony?").answers

    assert answer.sentence == "A colony has one queen."
    assert (answer.context, answer.source.document) == ((), "bees")


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="PostgreSQL: ") as caught:
        PostgresRetriever(f"host={tmp_path} user=test")

    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_there_is_named(address: str) -> None:
    retriever = PostgresRetriever(address, table="none")

    with pytest.raises(StoreError, match='relation "none" does not exist'):
        retriever.search("tea", 1)
    retriever.close()
