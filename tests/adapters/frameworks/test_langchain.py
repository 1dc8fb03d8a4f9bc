from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

import rejoinder
from rejoinder.adapters.langchain import RejoinderCompressor, RejoinderRerank, RejoinderRetriever
from rejoinder.cascade.cascade import Cascade
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece
from tests.adapters.texts import (
    ANSWER,
    BEES,
    EVERYTHING,
    EVERYTHING_PRUNED,
    PRUNED,
    QUESTION,
    TEA,
)

DOCUMENTS = [
    Document(id="b", page_content=BEES, metadata={"source": "bees.txt"}),
    Document(id="t", page_content=TEA, metadata={"source": "tea.md", "title": "Tea"}),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("langchain")
    for document in DOCUMENTS:
        (folder / document.metadata["source"]).write_text(document.page_content, encoding="utf-8")
    pieces = WordPiece(["[UNK]", "tea"])
    with Index(folder / "index", create=True, tokenizer=pieces) as index:
        index.add([folder / "bees.txt", folder / "tea.md"])
    engine = rejoinder.open(folder / "index", scorer="word-overlap")
    yield engine
    engine.close()


def test_the_document_with_the_answer_comes_first() -> None:
    first, second = RejoinderRerank(scorer="word-overlap").compress_documents(DOCUMENTS, QUESTION)

    assert (first.id, first.page_content) == ("t", TEA)
    assert first.metadata == {
        "source": "tea.md",
        "title": "Tea",
        "relevance_score": pytest.approx(0.982, abs=1e-3),
        **EVERYTHING,
    }
    assert second.id == "b"
    assert DOCUMENTS[1].metadata == {"source": "tea.md", "title": "Tea"}


def test_the_shipped_scorer_finds_it_too() -> None:
    first, *_ = RejoinderRerank().compress_documents(DOCUMENTS, "At which temperature is tea made?")

    assert first.metadata["rejoinder_sentence"] == ANSWER


async def _compress(compressor: RejoinderRerank) -> list[str]:
    found = await compressor.acompress_documents(DOCUMENTS, QUESTION)
    return [str(document.id) for document in found]


@pytest.mark.asyncio
async def test_it_works_without_blocking() -> None:
    assert await _compress(RejoinderRerank(scorer="bm25", top_n=1, budget_ms=60_000)) == ["t"]


def test_it_may_return_nothing_where_nothing_answers(calibrated: Cascade) -> None:
    keeps = RejoinderRerank(scorer=calibrated)
    drops = RejoinderRerank(scorer=calibrated, keep_unanswered=False)

    assert len(keeps.compress_documents(DOCUMENTS, "xylophones?")) == 2
    assert drops.compress_documents(DOCUMENTS, "xylophones?") == []
    assert keeps.compress_documents([], QUESTION) == []


def test_min_confidence_decides_and_the_metadata_say_that_the_scorer_abstains(
    calibrated: Cascade,
) -> None:
    strict = RejoinderRerank(scorer=calibrated, min_confidence=0.9)
    drops = RejoinderRerank(scorer=calibrated, min_confidence=0.9, keep_unanswered=False)

    kept = strict.compress_documents(DOCUMENTS, QUESTION)

    assert [document.metadata["rejoinder_abstains"] for document in kept] == [True, True]
    assert drops.compress_documents(DOCUMENTS, QUESTION) == []


def test_wrong_arguments_are_refused_at_once() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        RejoinderRerank(min_confidence=2)
    with pytest.raises(InputError, match="needs a confidence, and bm25 has none"):
        RejoinderRerank(scorer="bm25", min_confidence=0.5)
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        RejoinderRerank(top_n=0)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        RejoinderRerank(budget_ms=-1)
    with pytest.raises(rejoinder.RejoinderError, match="unknown scorer"):
        RejoinderRerank(scorer="nothing")


def test_documents_are_pruned_and_those_without_an_answer_are_dropped(lexical: Cascade) -> None:
    (left,) = RejoinderCompressor(scorer=lexical).compress_documents(DOCUMENTS, QUESTION)

    assert (left.id, left.page_content) == ("t", PRUNED)
    assert left.metadata == {"source": "tea.md", "title": "Tea", **EVERYTHING_PRUNED}
    assert DOCUMENTS[1].page_content == TEA
    assert RejoinderCompressor(scorer=lexical).compress_documents([], QUESTION) == []
    all_kept = RejoinderCompressor(scorer=lexical, threshold=0, budget_ms=60_000)
    assert [len(document.page_content) for document in DOCUMENTS] == [
        len(document.page_content) for document in all_kept.compress_documents(DOCUMENTS, QUESTION)
    ]


@pytest.mark.asyncio
async def test_the_shipped_scorer_prunes_without_blocking() -> None:
    question = "At which temperature is tea made?"

    (left,) = await RejoinderCompressor().acompress_documents(DOCUMENTS[1:], question)

    assert PRUNED.split() == [word for word in left.page_content.split() if word in PRUNED.split()]
    assert "Milk" not in left.page_content


def test_a_scorer_that_cannot_prune_and_wrong_thresholds_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="does not rate single sentences"):
        RejoinderCompressor(scorer="bm25")
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        RejoinderCompressor(threshold=2)


def test_the_retriever_gives_sentences_with_their_source(engine: Engine) -> None:
    first, *_ = RejoinderRetriever(engine=engine).invoke(QUESTION)

    assert first.page_content == ANSWER
    assert Path(first.metadata["source"]).name == "tea.md"
    assert first.metadata["line"] == 3
    assert first.metadata["context"].startswith("Tea is a leaf.")
    start, end = first.metadata["rejoinder_start"], first.metadata["rejoinder_end"]
    (document,) = [item for item in engine.index.documents() if item.id.endswith("tea.md")]
    assert engine.index.get_text(document)[start:end].split() == ANSWER.split()


def test_the_retriever_filters_and_composes(engine: Engine) -> None:
    retriever = RejoinderRetriever(engine=engine, where={"suffix": ".txt"}, budget_ms=60_000)
    chain = retriever | RunnableLambda(lambda found: [item.page_content for item in found])

    assert chain.invoke("a queen of tea")[0] == "A colony has one queen."
    assert "Tea is a leaf." not in chain.invoke("a queen of tea")


def test_the_retriever_abstains_with_an_empty_list(engine: Engine, calibrated: Cascade) -> None:
    retriever = RejoinderRetriever(engine=Engine(engine.index, calibrated))

    assert retriever.invoke("which tea has wings") == []
    assert retriever.invoke(QUESTION)[0].metadata["rejoinder_confidence"] > 0.5
    with pytest.raises(InputError, match="the question is empty"):
        retriever.invoke(" ")


def test_the_retriever_keeps_the_closest_on_request(engine: Engine, calibrated: Cascade) -> None:
    own = Engine(engine.index, calibrated)
    question = "which tea has wings"

    kept = RejoinderRetriever(engine=own, keep_unanswered=True).invoke(question)
    believed = RejoinderRetriever(engine=own, min_confidence=0).invoke(question)

    assert kept
    assert [document.metadata["rejoinder_abstains"] for document in kept] == [True] * len(kept)
    assert [document.page_content for document in believed] == [d.page_content for d in kept]
    assert not any(document.metadata["rejoinder_abstains"] for document in believed)


@pytest.mark.asyncio
class TestTheStandardSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _open(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return RejoinderRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self._engine}

    @property
    def retriever_query_example(self) -> str:
        return "tea is a leaf, green tea is brewed, a colony has a queen"
