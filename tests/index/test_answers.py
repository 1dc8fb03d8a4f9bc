"""Stored answers follow their index, whatever happens to them."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.cascade.calibration import Calibration
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.binding import bind_scorer
from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index import answer_store
from rejoinder.index.answer_store import AnswerStore
from rejoinder.index.index import Index
from rejoinder.index.update import add_files, remove_files
from rejoinder.records import Candidate
from rejoinder.runtime.has import HasScorer
from rejoinder.runtime.lexical import WordOverlap
from rejoinder.runtime.stored_rows import Bytes
from tests.index.conftest import PIECES
from tests.train.hashers import make_has, write_tiny_has

QUESTION = "is tea hot in summer"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    write_tiny_has(folder / "has")
    write_tiny_has(folder / "other", make_has(seed=1))
    return folder


@pytest.fixture
def scorer(bundles: Path) -> HasScorer:
    from rejoinder.bundle.folder import open_bundle

    return HasScorer(open_bundle(bundles / "has"), threads=1)


@pytest.fixture
def other(bundles: Path) -> HasScorer:
    from rejoinder.bundle.folder import open_bundle

    return HasScorer(open_bundle(bundles / "other"), threads=1)


@pytest.fixture
def stored(index: Index, scorer: HasScorer) -> Index:
    index.store_answers(scorer.encoder)
    return index


def get_store(index: Index) -> AnswerStore:
    (folder,) = index.answers.list_folders()
    return AnswerStore(folder)


def get_candidates(index: Index) -> list[Candidate]:
    return [item.candidate for item in index.search("tea is hot bees colony milk", 10)]


def test_stored_answers_score_as_those_encoded_now(stored: Index, scorer: HasScorer) -> None:
    candidates = get_candidates(stored)
    answers = stored.open_answers(scorer.encoder)
    assert answers is not None

    assert len(candidates) == 5
    assert (answers.find(candidates).lengths > 0).all()
    np.testing.assert_array_equal(
        scorer.bind(answers).leave_missing().score(QUESTION, candidates),
        scorer.score(QUESTION, candidates),
    )


def test_headings_are_not_stored(stored: Index) -> None:
    lengths = [
        [len(rows) for rows in get_store(stored).read_block(document.id)]
        for document in stored.store.get_documents()
        if document.name.endswith("tea.md")
    ]

    assert lengths[0][0] == 0
    assert min(lengths[0][1:]) > 0


def test_what_is_not_in_the_store_is_encoded_or_left(stored: Index, scorer: HasScorer) -> None:
    answers = stored.open_answers(scorer.encoder)
    candidates = [*get_candidates(stored)[:2], Candidate("x", "A cat.")]

    encoding = scorer.bind(answers).score(QUESTION, candidates)
    leaving = scorer.bind(answers).leave_missing().score(QUESTION, candidates)

    assert np.isfinite(encoding).all()
    assert np.isnan(leaving).tolist() == [False, False, True]
    assert encoding[:2].tolist() == leaving[:2].tolist()


def test_additions_and_removals_are_followed(stored: Index, scorer: HasScorer, docs: Path) -> None:
    (docs / "new.txt").write_text("Snow is cold.", encoding="utf-8")
    (docs / "bees.txt").unlink()
    list(add_files(stored, [docs], PIECES))
    behind = get_store(stored)
    assert behind.state.generation < stored.store.generation
    assert len(behind.list_documents()) == 1  # bees are forgotten at once

    answers = stored.open_answers(scorer.encoder)  # opening repairs it

    assert answers is not None
    assert answers.store.state.generation == stored.store.generation
    numbers = {document.id for document in stored.store.get_documents()}
    assert set(get_store(stored).list_documents()) == numbers
    assert stored.check() == []
    assert stored.store.get_removed(after=0) == []


def test_removing_needs_no_bundle(stored: Index, docs: Path) -> None:
    list(remove_files(stored, [docs / "bees.txt"]))

    store = get_store(stored)
    assert len(store.list_documents()) == 1
    assert store.state.generation == stored.store.generation


def test_removed_numbers_are_kept_until_answers_have_followed(
    stored: Index, scorer: HasScorer, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as full:
        full.setattr(answer_store, "sync", fail)
        list(remove_files(stored, [docs / "bees.txt"]))
        assert len(stored.store.get_removed(after=0)) == 1

    stored.open_answers(scorer.encoder)
    assert len(get_store(stored).list_documents()) == 1


def test_an_interruption_costs_what_was_not_committed(
    index: Index, scorer: HasScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.index.answers.MAX_UNCOMMITTED", 0)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.store_answers(scorer.encoder, stop)
    assert len(get_store(index).list_documents()) == 1
    encoded: list[str] = []
    encode = scorer.encoder.encode

    def count(texts: Sequence[str]) -> list[Bytes]:
        encoded.extend(texts)
        return encode(texts)

    monkeypatch.setattr(scorer.encoder, "encode", count)

    index.store_answers(scorer.encoder)

    assert 0 < len(encoded) < 5
    assert len(get_store(index).list_documents()) == 2


def test_a_full_disk_is_named_and_the_index_still_answers(
    index: Index, scorer: HasScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as full:
        full.setattr(answer_store, "sync", fail)
        with pytest.raises(StoreError, match="No space left on device"):
            index.store_answers(scorer.encoder)

    assert Engine(index, scorer).answer("is tea hot?").answers
    index.store_answers(scorer.encoder)
    assert index.check() == []


def test_answers_of_another_bundle_are_named_and_left_out(
    stored: Index, other: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StoreError, match="made by another bundle"):
        stored.open_answers(other.encoder)

    cascade = Cascade(
        "c", [Stage(WordOverlap(), 3), Stage(other)], calibration=Calibration(0.0, 1.0)
    )
    bound = bind_scorer(cascade, stored)
    found = Engine(stored, cascade).answer("is tea hot?")

    assert isinstance(bound, Cascade)
    assert [stage.scorer.name for stage in bound.stages] == ["word-overlap"]
    assert bound.stages[-1].keep is None
    assert bound.calibration is None
    assert found.answers[0].sentence == "Tea is hot."
    assert "other is left out" in caplog.text


def test_another_bundle_takes_the_place_of_the_first(stored: Index, other: HasScorer) -> None:
    stored.store_answers(other.encoder)

    assert get_store(stored).state.hash == other.encoder.hash
    assert stored.check() == []


def test_a_scorer_alone_whose_answers_are_torn_leaves_the_order_of_retrieval(
    stored: Index, scorer: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    rows = get_store(stored).folder / "rows"
    rows.write_bytes(rows.read_bytes()[:-20])

    assert bind_scorer(scorer, stored) is None
    found = Engine(stored, scorer).answer("is tea hot?")

    assert found.scorer == "found"
    assert "rows is cut short" in caplog.text
    assert any("cut short" in problem for problem in stored.check())


def test_a_torn_store_is_made_anew(
    stored: Index, scorer: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    (get_store(stored).folder / "state.json").write_text("{")

    stored.store_answers(scorer.encoder)

    assert "torn" in caplog.text
    assert stored.check() == []


def test_a_flipped_bit_is_mended_by_compacting(
    stored: Index, scorer: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    rows = get_store(stored).folder / "rows"
    torn = bytearray(rows.read_bytes())
    torn[-10] ^= 1
    rows.write_bytes(torn)
    (problem,) = stored.check()
    assert "damaged" in problem

    scores = Engine(stored, scorer).answer("is tea hot?").answers
    assert scores  # the damaged one is encoded on the fly
    stored.compact()
    stored.store_answers(scorer.encoder)

    assert stored.check() == []


def test_compacting_takes_removed_answers_off_the_disk(stored: Index, docs: Path) -> None:
    before = (get_store(stored).folder / "rows").stat().st_size
    list(remove_files(stored, [docs / "bees.txt"]))

    stored.compact()

    assert (get_store(stored).folder / "rows").stat().st_size < before
    assert stored.check() == []


def test_a_sentence_that_is_too_long_is_named(
    index: Index, scorer: HasScorer, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "long.txt").write_text("Short one. " + "water " * 60 + "end.", encoding="utf-8")
    list(add_files(index, [docs], PIECES))

    index.store_answers(scorer.encoder)

    assert "long.txt: sentence 2 is longer than 32 tokens" in caplog.text
    answers = index.open_answers(scorer.encoder)
    assert answers is not None
    (candidate,) = [item.candidate for item in index.search("water end", 1)]
    assert answers.find([candidate]).lengths.tolist() == [30]


def test_an_index_without_answers_encodes_on_the_fly(index: Index, scorer: HasScorer) -> None:
    assert index.open_answers(scorer.encoder) is None
    assert Engine(index, scorer).answer("is tea hot?").answers


def test_a_reader_goes_on_while_another_writes(
    stored: Index, scorer: HasScorer, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "new.txt").write_text("Snow is cold.", encoding="utf-8")
    list(add_files(stored, [docs], PIECES))
    with stored.changing(), caplog.at_level(logging.INFO):
        assert stored.open_answers(scorer.encoder) is not None

    assert "read as it is" in caplog.text
