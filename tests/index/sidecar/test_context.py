"""Stored context vectors change no score, whatever happens to their files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.selectors import TOKENIZER, VOCABULARY, make_contextual, make_selector

from rejoinder.bundle.folder import Bundle, Manifest, open_bundle
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.binding import bind_scorer
from rejoinder.engine.engine import Engine
from rejoinder.errors import BundleError, RejoinderError, StoreError
from rejoinder.index.index import Index
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.sidecars import IndexRows
from rejoinder.index.sqlite.documents import ListedDocument
from rejoinder.models.encoders.onnx_bert import build_sentence_encoder
from rejoinder.models.encoders.tokens import trim
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.module import loading as similarities
from rejoinder.models.selector.scorer import KIND, PageEncoder, SelectorScorer, open_page_encoder
from rejoinder.models.selector.similarity import StaticTexts, Vectors
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import (
    AddDocument,
    DocumentsPage,
    ListDocuments,
    RemoveDocument,
)
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.types import Answers, Candidate, Document

QUESTION = "is tea hot?"


def build_tiny_encoder(_: str) -> tuple[bytes, Tokenizer]:
    kept, rows = trim(TOKENIZER, len(VOCABULARY))
    return build_sentence_encoder(make_selector().encoder, rows, max_tokens=64), kept


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    made = [("multi-way", "static"), ("stored", "static"), ("multi-way", "ngrams")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarities, "_build_encoder", build_tiny_encoder)
        patch.setattr(similarities, "_open_encoder", similarities._open_encoder.__wrapped__)
        for form, similarity in [*made, ("stored", "encoder")]:
            model = make_contextual(form, similarity)
            write_selector(
                folder / f"{form}-{similarity}",
                model,
                TOKENIZER,
                precision="fp32",
                training={},
                sample=[],
            )
    return folder


def load(bundles: Path, name: str) -> SelectorScorer:
    return SelectorScorer(open_bundle(bundles / name), Runtime(threads=1))


@pytest.fixture
def scorer(bundles: Path) -> SelectorScorer:
    return load(bundles, "stored-static")


@pytest.fixture
def other(bundles: Path) -> SelectorScorer:
    return load(bundles, "stored-encoder")


@pytest.fixture
def stored(index: Index, scorer: SelectorScorer) -> Index:
    index.store_sidecar(get_encoder(scorer))
    return index


def get_encoder(scorer: SelectorScorer) -> PageEncoder:
    assert scorer.sidecar is not None
    return scorer.sidecar


def get_store(index: Index) -> RowStore:
    (folder,) = index.sidecars.list_folders()
    return RowStore(folder)


def get_rows(index: Index) -> Path:
    store = get_store(index)
    return store.folder / store.state.rows


def get_candidates(index: Index) -> list[Candidate]:
    return [item.candidate for item in index.search("tea is hot bees colony milk", 10)]


def get_documents(index: Index) -> list[Document]:
    found = [item.document for item in get_candidates(index) if item.document]
    return list({document.id: document for document in found}.values())


def open_pages(index: Index, scorer: SelectorScorer) -> IndexRows:
    rows = index.open_sidecar(get_encoder(scorer))
    assert rows is not None
    return rows


def get_all(work: JobRunner) -> list[ListedDocument]:
    page = work.run(ListDocuments())
    assert isinstance(page, DocumentsPage)
    return page.documents


def spoil(index: Index, at: int) -> None:
    rows = get_rows(index)
    damaged = bytearray(rows.read_bytes())
    damaged[at] ^= 1
    rows.write_bytes(damaged)


def get_scores(found: Answers) -> list[tuple[str, float]]:
    return [(answer.sentence, answer.score) for answer in found.answers]


@pytest.mark.parametrize("name", ["multi-way-static", "stored-static", "stored-encoder"])
def test_scores_are_those_without_the_store(index: Index, bundles: Path, name: str) -> None:
    scorer = load(bundles, name)
    candidates = [*get_candidates(index), Candidate("x", "A cat.")]
    assert len(candidates) == 6
    expected = scorer.score(QUESTION, candidates)

    index.store_sidecar(get_encoder(scorer))
    bound = bind_scorer(scorer, index)

    assert bound is not None
    assert bound is not scorer
    np.testing.assert_allclose(bound.score(QUESTION, candidates), expected, atol=1e-5)


def test_stored_vectors_are_not_computed_again(
    stored: Index, scorer: SelectorScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = bind_scorer(scorer, stored)
    candidates = get_candidates(stored)
    made: list[str] = []
    embed = StaticTexts.embed

    def count(self: StaticTexts, texts: Sequence[str]) -> Vectors:
        made.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(StaticTexts, "embed", count)

    assert bound is not None
    bound.score(QUESTION, candidates)
    assert made == []
    scorer.score(QUESTION, candidates)
    assert len(made) == 8  # six sentences, among them a heading, and two titles


def test_a_document_is_its_sentences_and_its_title(stored: Index, scorer: SelectorScorer) -> None:
    pages = open_pages(stored, scorer)

    for document in get_documents(stored):
        expected = np.concatenate(get_encoder(scorer).encode(document, ()))

        np.testing.assert_array_equal(pages.find_document(document), expected)


def test_documents_from_elsewhere_have_no_rows(stored: Index, scorer: SelectorScorer) -> None:
    pages = open_pages(stored, scorer)

    assert pages.find_document(Document("tea.md", "", ("Tea is always hot.",))) is None


def test_additions_and_removals_are_followed(
    stored: Index, scorer: SelectorScorer, docs: Path
) -> None:
    bound = bind_scorer(scorer, stored)
    assert isinstance(bound, SelectorScorer)
    (docs / "new.txt").write_text("Snow is cold. Tea is not.", encoding="utf-8")
    (docs / "bees.txt").unlink()
    stored.add([docs])
    assert len(get_store(stored).list_documents()) == 1  # bees are forgotten at once
    candidates = get_candidates(stored)
    expected = scorer.score(QUESTION, candidates)
    np.testing.assert_allclose(bound.score(QUESTION, candidates), expected, atol=1e-5)

    pages = open_pages(stored, scorer)  # opening repairs it

    assert all(
        pages.find_document(item.document) is not None for item in candidates if item.document
    )
    assert pages.store.state.generation == stored.store.generation
    assert stored.check() == []
    assert stored.store.get_removed(after=0) == []


def test_documents_sent_to_a_server_are_stored(tmp_path: Path, bundles: Path, docs: Path) -> None:
    bundle = bundles / "stored-static"
    work = JobRunner(tmp_path / "served", str(bundle))
    with Index(tmp_path / "served") as index:
        index.store_sidecar(get_encoder(load(bundles, bundle.name)))

    work.run(AddDocument("tea.md", str(docs / "tea.md")))
    work.run(AddDocument("bees.txt", str(docs / "bees.txt")))
    (first, _) = (document.id for document in get_all(work))
    work.run(RemoveDocument(first))

    with Index(tmp_path / "served") as index:
        (left,) = get_store(index).list_documents()
        assert left != first
        assert get_store(index).state.generation == index.store.generation
    work.close()


def test_a_flipped_bit_is_detected_and_changes_no_score(
    stored: Index, scorer: SelectorScorer, caplog: pytest.LogCaptureFixture
) -> None:
    expected = get_scores(Engine(stored, scorer).answer(QUESTION, top=5))
    spoil(stored, -10)

    found = get_scores(Engine(stored, scorer).answer(QUESTION, top=5))

    assert [sentence for sentence, _ in found] == [sentence for sentence, _ in expected]
    np.testing.assert_allclose([x for _, x in found], [x for _, x in expected], atol=1e-5)
    assert caplog.text.count("are corrupt") == 1
    (problem,) = stored.check()
    assert "corrupt" in problem
    stored.compact()
    stored.store_sidecar(get_encoder(scorer))
    assert stored.check() == []


def test_each_flipped_bit_is_harmless(
    stored: Index, scorer: SelectorScorer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR")
    documents = get_documents(stored)
    pages = open_pages(stored, scorer)
    expected = [np.array(pages.find_document(document)) for document in documents]
    size = (get_rows(stored)).stat().st_size
    for at in [*range(16, 120), *range(120, size, 97)]:
        spoil(stored, at)
        damaged = IndexRows(get_store(stored))
        found = [damaged.find_document(document) for document in documents]
        spoil(stored, at)

        for item, whole in zip(found, expected, strict=True):
            assert item is None or np.array_equal(item, whole)


def test_a_corrupt_store_is_named_and_the_index_still_answers(
    stored: Index, scorer: SelectorScorer, caplog: pytest.LogCaptureFixture
) -> None:
    expected = Engine(stored, scorer).answer(QUESTION, top=5)
    rows = get_rows(stored)
    rows.write_bytes(rows.read_bytes()[:-20])

    found = Engine(stored, scorer).answer(QUESTION, top=5)

    assert found.answers == expected.answers
    assert "rows-1 is truncated; rebuild it with 'rejoinder index add … --sidecar" in caplog.text
    assert any("truncated" in problem for problem in stored.check())
    stored.store_sidecar(get_encoder(scorer))
    assert stored.check() == []


def test_vectors_of_another_encoder_are_named_and_not_read(
    stored: Index, other: SelectorScorer, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StoreError, match="made by another bundle"):
        open_pages(stored, other)
    cascade = Cascade("c", [Stage(WordOverlap(), 3), Stage(other)])

    assert bind_scorer(cascade, stored) is cascade
    assert "reads whole documents for their context" in caplog.text

    stored.store_sidecar(get_encoder(other))
    bound = bind_scorer(cascade, stored)

    assert isinstance(bound, Cascade)
    assert bound.stages[1].scorer is not other
    assert stored.check() == []


def test_selectors_with_the_same_vectors_share_them(stored: Index, bundles: Path) -> None:
    another = load(bundles, "multi-way-static")

    assert open_pages(stored, another).find_document(get_documents(stored)[0]) is not None


def test_an_index_without_it_answers_too(index: Index, scorer: SelectorScorer) -> None:
    assert bind_scorer(scorer, index) is scorer
    assert Engine(index, scorer).answer(QUESTION).answers


def test_a_selector_that_needs_no_vectors_is_refused(bundles: Path) -> None:
    assert load(bundles, "multi-way-ngrams").sidecar is None
    with pytest.raises(BundleError, match="leave out --sidecar"):
        open_page_encoder(open_bundle(bundles / "multi-way-ngrams"))


@pytest.mark.parametrize("context", [{"breadth": 3}, {"form": "wide"}, "stored"])
def test_invalid_settings_are_refused(tmp_path: Path, context: object) -> None:
    bundle = Bundle(tmp_path, Manifest(KIND, {"context": context}))

    with pytest.raises(RejoinderError, match="context"):
        open_page_encoder(bundle)


def test_a_long_document_is_stored_whole(index: Index, scorer: SelectorScorer, docs: Path) -> None:
    text = " ".join(f"Cup {number} is hot." for number in range(3000))
    (docs / "long.txt").write_text(text, encoding="utf-8")
    index.add([docs])

    index.store_sidecar(get_encoder(scorer))

    (candidate,) = [item.candidate for item in index.search("cup 2999", 1)]
    assert candidate.document is not None
    found = open_pages(index, scorer).find_document(candidate.document)
    assert found is not None
    assert len(found) == 3001
