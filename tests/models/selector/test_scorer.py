import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from tests.models.selectors import TOKENIZER, WORDS, make_contextual, make_selector

import rejoinder
from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.parallel import count_cores, spread
from rejoinder.models.registry import find_bundle
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.scorer import KIND, SelectorScorer
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Candidate, Document

QUESTION = "Where are the caves of a glacier?"
TEXTS = [
    "The cave is here.",
    "",
    "It rained in summer and in winter, by the river, in the valley and in the mountains.",
    "猫 猫",
    "\ud800",
    "cat",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selectors") / "tiny"
    write_selector(folder, make_selector(), TOKENIZER, training={}, sample=[])
    return folder


@pytest.fixture(scope="module")
def scorer(folder: Path) -> SelectorScorer:
    return SelectorScorer(open_bundle(folder), Runtime(threads=2))


def rewrite(folder: Path, to: Path, **changes: bytes | None) -> Path:
    """Write the bundle again with other contents, and checksums that agree."""
    bundle = open_bundle(folder)
    names = {"network": "model.onnx", "vocabulary": "vocabulary.txt"}
    files = {name: (folder / name).read_bytes() for name in names.values()}
    for key, content in changes.items():
        if content is None:
            del files[names[key]]
        else:
            files[names[key]] = content
    write_bundle(to, Manifest(KIND, bundle.manifest.config), files)
    return to


def test_a_bundle_is_loaded_by_its_folder(folder: Path) -> None:
    scorer = rejoinder.load(folder)

    ranking = rejoinder.rank(QUESTION, TEXTS, scorer=scorer)

    assert scorer.name == "tiny"
    assert len({item.score for item in ranking.items}) > 3


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_a_score_does_not_depend_on_the_others_or_on_threads(
    folder: Path, scorer: SelectorScorer, threads: int | None
) -> None:
    other = SelectorScorer(open_bundle(folder), Runtime(threads))

    together = other.score(QUESTION, TEXTS)

    alone = [scorer.score(QUESTION, [text])[0] for text in TEXTS]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_array_equal(together, other.score(QUESTION, TEXTS))
    np.testing.assert_allclose(together[::-1], other.score(QUESTION, TEXTS[::-1]), atol=1e-5)


@pytest.mark.parametrize("form", [None, "multi-way", "ensemble"])
def test_padded_batches_have_the_scores_of_each_pair(tmp_path: Path, form: str | None) -> None:
    model = make_contextual(form) if form else make_selector()
    folder = tmp_path / "fp32"
    write_selector(folder, model, TOKENIZER, precision="fp32", training={}, sample=[])
    bundle = open_bundle(folder)
    document = Document("here", "caves", tuple(TEXTS))
    candidates = [Candidate(str(at), text, document, at) for at, text in enumerate(TEXTS)]

    batched = SelectorScorer(bundle, Runtime(batch=4)).score(QUESTION, candidates)

    alone = SelectorScorer(bundle).score(QUESTION, candidates)
    np.testing.assert_allclose(batched, alone, atol=bundle.manifest.tolerance)
    assert len(set(alone.round(3))) > 3


def test_batches_of_the_shipped_selector_are_within_its_tolerance() -> None:
    bundle = open_bundle(find_bundle("selector"))

    batched = SelectorScorer(bundle, Runtime(batch=3)).score(QUESTION, TEXTS)

    alone = SelectorScorer(bundle).score(QUESTION, TEXTS)
    np.testing.assert_allclose(batched, alone, atol=bundle.manifest.tolerance)


def test_many_callers_at_once_get_the_same_scores(scorer: SelectorScorer) -> None:
    expected = scorer.score(QUESTION, TEXTS)

    for found in spread(lambda texts: scorer.score(QUESTION, texts), [TEXTS] * 8, threads=4):
        np.testing.assert_array_equal(found, expected)


def test_no_candidates_have_no_scores(scorer: SelectorScorer) -> None:
    assert scorer.score(QUESTION, []).shape == (0,)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_score(scorer: SelectorScorer, question: str, texts: list[str]) -> None:
    assert np.isfinite(scorer.score(question, texts)).all()


def test_long_candidates_are_truncated_with_one_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scorer = SelectorScorer(open_bundle(folder))
    long = "the cave is deep " * 6_250  # 100,000 characters

    with caplog.at_level(logging.WARNING):
        short_scores = scorer.score(QUESTION, ["the cave"])
        assert not caplog.records
        scores = scorer.score(QUESTION, [long, long + "cat", "cat " + long])
        scorer.score(QUESTION, [long])

    assert scores[0] == scores[1] != scores[2]
    assert np.isfinite(short_scores).all()
    (record,) = caplog.records
    assert record.getMessage() == (
        "tiny reads 64 tokens of a question and its candidate: longer candidates are"
        " truncated (this warning is shown once)"
    )


def test_a_long_question_leaves_room_for_the_candidate(scorer: SelectorScorer) -> None:
    long = "where is the cave " * 100

    scores = scorer.score(long, ["a cat", "the river"])

    assert scores[0] != scores[1]


def test_pieces_of_another_vocabulary_are_not_read(scorer: SelectorScorer) -> None:
    stored = Candidate("0", "the cave", tokens=np.array([1, 2], "<i4").tobytes())

    assert scorer.encode("the cave") is None
    assert scorer.score(QUESTION, [stored]) == scorer.score(QUESTION, ["the cave"])


@pytest.fixture(scope="module")
def shipped_pieces(tmp_path_factory: pytest.TempPathFactory) -> SelectorScorer:
    shipped = (SHIPPED_VECTORS / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vocabulary = [*shipped, "[CLS]", "[SEP]"]
    folder = tmp_path_factory.mktemp("selectors") / "shipped"
    model = make_selector(layers=1, vocabulary=vocabulary)
    write_selector(folder, model, WordPiece(vocabulary), training={}, sample=[])
    return SelectorScorer(open_bundle(folder))


def test_pieces_stored_for_the_shipped_vectors_are_read(shipped_pieces: SelectorScorer) -> None:
    pieces = WordPiece(
        (SHIPPED_VECTORS / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    )
    texts = [*TEXTS, "Unheardofwords, naïve cafés!", " ".join(WORDS * 5)]
    stored = [Candidate(str(at), text, tokens=pieces.encode(text)) for at, text in enumerate(texts)]
    misleading = [replace(candidate, text="") for candidate in stored]

    np.testing.assert_array_equal(
        shipped_pieces.score(QUESTION, misleading), shipped_pieces.score(QUESTION, texts)
    )
    assert shipped_pieces.encode(texts[0]) == pieces.encode(texts[0])


def test_stored_pieces_outside_the_vocabulary_are_tokenised_again(
    shipped_pieces: SelectorScorer,
) -> None:
    stored = Candidate("0", "the cave", tokens=np.array([5, 40_000], "<i4").tobytes())

    assert shipped_pieces.score(QUESTION, [stored]) == shipped_pieces.score(QUESTION, ["the cave"])


def test_a_flipped_byte_is_refused(folder: Path, tmp_path: Path) -> None:
    corrupt = rewrite(folder, tmp_path / "corrupt")
    content = bytearray((corrupt / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (corrupt / "model.onnx").write_bytes(content)

    with pytest.raises(BundleError, match=r"'model\.onnx' is corrupt"):
        rejoinder.load(corrupt)


@pytest.mark.parametrize("name", ["network", "vocabulary"])
def test_a_bundle_without_one_of_its_files_is_refused(
    folder: Path, tmp_path: Path, name: str
) -> None:
    less = rewrite(folder, tmp_path / "less", **{name: None})

    with pytest.raises(BundleError, match=r"is missing.*export the bundle again"):
        rejoinder.load(less)


@pytest.mark.parametrize("size", [0, 10, 5_000, -1])
def test_a_corrupt_network_with_a_correct_checksum_is_refused(
    folder: Path, tmp_path: Path, size: int
) -> None:
    content = (folder / "model.onnx").read_bytes()[:size]

    corrupt = rewrite(folder, tmp_path / "corrupt", network=content)

    with pytest.raises(BundleError, match=r"model\.onnx cannot be run: .*export the bundle again"):
        rejoinder.load(corrupt)


def test_a_vocabulary_longer_than_the_embedding_is_refused(folder: Path, tmp_path: Path) -> None:
    more = (folder / "vocabulary.txt").read_bytes() + b"more\n"

    with pytest.raises(BundleError, match=r"model\.onnx cannot be run"):
        rejoinder.load(rewrite(folder, tmp_path / "more", vocabulary=more))


def test_a_vocabulary_without_marks_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="is missing"):
        rejoinder.load(rewrite(folder, tmp_path / "less", vocabulary=b"[PAD]\n[UNK]\ncat\n"))


def test_at_least_one_core_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert count_cores() >= 1
