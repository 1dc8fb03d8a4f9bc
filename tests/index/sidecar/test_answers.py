"""Stored answers score like answers encoded at question time; unreadable ones are left out."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.hashers import make_has, write_tiny_has

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.binding import bind_scorer
from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.sidecars import IndexRows
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.ranking import rank
from rejoinder.types import Candidate

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

    return HasScorer(open_bundle(bundles / "has"), Runtime(threads=1))


@pytest.fixture
def other(bundles: Path) -> HasScorer:
    from rejoinder.bundle.folder import open_bundle

    return HasScorer(open_bundle(bundles / "other"), Runtime(threads=1))


@pytest.fixture
def stored(index: Index, scorer: HasScorer) -> Index:
    index.store_sidecar(scorer.sidecar)
    return index


def get_store(index: Index) -> RowStore:
    (folder,) = index.sidecars.list_folders()
    return RowStore(folder)


def get_rows(index: Index) -> Path:
    store = get_store(index)
    return store.folder / store.state.rows


def open_answers(index: Index, scorer: HasScorer) -> IndexRows:
    rows = index.open_sidecar(scorer.sidecar)
    assert rows is not None
    return rows


def get_candidates(index: Index) -> list[Candidate]:
    return [item.candidate for item in index.search("tea is hot bees colony milk", 10)]


def test_stored_answers_score_as_those_encoded_now(stored: Index, scorer: HasScorer) -> None:
    candidates = get_candidates(stored)
    answers = open_answers(stored, scorer)

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


def test_candidates_without_rows_are_encoded_or_left(stored: Index, scorer: HasScorer) -> None:
    answers = open_answers(stored, scorer)
    candidates = [*get_candidates(stored)[:2], Candidate("x", "A cat.")]

    encoding = scorer.bind(answers).score(QUESTION, candidates)
    leaving = scorer.bind(answers).leave_missing().score(QUESTION, candidates)

    assert np.isfinite(encoding).all()
    assert np.isnan(leaving).tolist() == [False, False, True]
    assert encoding[:2].tolist() == leaving[:2].tolist()


def test_candidates_left_by_a_single_scorer_count_as_not_scored(
    stored: Index, scorer: HasScorer
) -> None:
    candidates = [Candidate("x", "A cat."), *get_candidates(stored)[:2]]

    found = rank(
        QUESTION, candidates, scorer=scorer.bind(open_answers(stored, scorer)).leave_missing()
    )

    assert [item.stage for item in found.items] == [0, 0, -1]
    assert found.items[-1].score == -np.inf
    assert [(stage.scored, stage.timed_out) for stage in found.trace] == [(2, False)]


def test_without_a_store_nothing_is_left(scorer: HasScorer) -> None:
    texts = ["Tea is always hot.", "A cat."]

    found = scorer.leave_missing().score(QUESTION, texts)

    assert found.tolist() == scorer.score(QUESTION, texts).tolist()


def test_answers_of_another_bundle_are_named_and_left_out(
    stored: Index, other: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StoreError, match="made by another bundle"):
        open_answers(stored, other)

    cascade = Cascade(
        "c", [Stage(WordOverlap(), 3), Stage(other)], calibration=Calibration(Logistic(0.0, 1.0))
    )
    bound = bind_scorer(cascade, stored)
    found = Engine(stored, cascade).answer("is tea hot?")

    assert isinstance(bound, Cascade)
    assert [stage.scorer.name for stage in bound.stages] == ["word-overlap"]
    assert bound.stages[-1].keep is None
    assert bound.calibration is None
    assert found.answers[0].sentence == "Tea is always hot."
    assert "other is left out" in caplog.text


def test_the_stage_after_one_left_out_gets_no_more_candidates(
    stored: Index, other: HasScorer
) -> None:
    stages = [Stage(WordOverlap(), 500), Stage(other, 20), Stage(WordOverlap())]

    bound = bind_scorer(Cascade("c", stages), stored)

    assert isinstance(bound, Cascade)
    assert [stage.keep for stage in bound.stages] == [20, None]


def test_a_single_scorer_with_corrupt_rows_leaves_the_retrieval_order(
    stored: Index, scorer: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    rows = get_rows(stored)
    rows.write_bytes(rows.read_bytes()[:-20])

    assert bind_scorer(scorer, stored) is None
    found = Engine(stored, scorer).answer("is tea hot?")

    assert found.scorer == "retrieval-order"
    assert "rows-1 is truncated; rebuild it with 'rejoinder index add … --sidecar" in caplog.text
    assert any("truncated" in problem for problem in stored.check())


def test_a_sentence_that_is_too_long_is_named(
    index: Index, scorer: HasScorer, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "long.txt").write_text("Short one. " + "water " * 60 + "end.", encoding="utf-8")
    index.add([docs])

    index.store_sidecar(scorer.sidecar)

    assert "long.txt: only the first 32 tokens are stored of sentence 2\n" in caplog.text
    answers = open_answers(index, scorer)
    (candidate,) = [item.candidate for item in index.search("water end", 1)]
    assert answers.find([candidate]).lengths.tolist() == [30]


def test_many_that_are_too_long_are_named_in_one_line(
    index: Index, scorer: HasScorer, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "long.txt").write_text(("Hot " + "water " * 60 + "end. ") * 7, encoding="utf-8")
    index.add([docs])

    index.store_sidecar(scorer.sidecar)

    assert [record.message.split("of ")[-1] for record in caplog.records] == [
        "sentence 1, 2, 3, 4, 5 and 2 more"
    ]


def test_an_index_without_answers_encodes_on_the_fly(index: Index, scorer: HasScorer) -> None:
    assert index.open_sidecar(scorer.sidecar) is None
    assert Engine(index, scorer).answer("is tea hot?").answers


def test_a_damaged_answer_is_encoded_on_the_fly(
    stored: Index, scorer: HasScorer, caplog: pytest.LogCaptureFixture
) -> None:
    candidates = get_candidates(stored)
    rows = get_rows(stored)
    damaged = bytearray(rows.read_bytes())
    damaged[-10] ^= 1
    rows.write_bytes(damaged)

    found = scorer.bind(open_answers(stored, scorer)).score(QUESTION, candidates)

    np.testing.assert_array_equal(found, scorer.score(QUESTION, candidates))
    assert "are corrupt" in caplog.text
