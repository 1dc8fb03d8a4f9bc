"""The static encoder: worked numbers, stored tokens, corrupt bundles, and parity with torch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

pytest.importorskip("torch")

from tests.models.static_encoders import (
    PIECES,
    WEIGHTS,
    WIDTH,
    make_passage,
    make_sentence,
    make_table,
    open_static,
    write_static,
)

from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.registry import (
    open_scorer,
    open_sentence_encoder,
    verify_bundle,
)
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.module import StaticTable, make_bags
from rejoinder.models.sentence_encoder.scorer import CosineScorer, to_passage
from rejoinder.models.sentence_encoder.static import PartWeights, StaticEncoder
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Candidate, Document


@pytest.fixture
def encoder(tmp_path: Path) -> StaticEncoder:
    return open_static(write_static(tmp_path / "static"))


def place(**weights: float) -> Matrix:
    """Return the vector, of length 1, in which pieces have these weights."""
    vector = np.zeros(WIDTH, np.float32)
    for piece, weight in weights.items():
        vector[PIECES.index("##s" if piece == "s" else piece)] = weight
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def test_a_sentence_is_the_weighted_sum_of_its_words_and_of_the_texts_around(
    encoder: StaticEncoder,
) -> None:
    passage = make_passage(
        "Teas tea hot", headings=["Cold", "Is", "Green"], before=["milk milk"], after=["hot"]
    )

    (vector,) = encoder.encode_passages("How", [passage])

    expected = place(
        # The outer headings have weight 1/8 each, the neighbours 1/16.
        tea=2, s=1, hot=1 + 1 / 16, how=0.5, green=0.25, cold=1 / 8, **{"is": 1 / 8}, milk=2 / 16
    )  # fmt: skip
    np.testing.assert_allclose(vector, expected, atol=1e-6)


def test_a_heading_that_repeats_the_title_counts_once(encoder: StaticEncoder) -> None:
    (vector,) = encoder.encode_passages("Tea", [make_passage("hot", headings=["Tea", "Milk"])])

    np.testing.assert_allclose(vector, place(hot=1, tea=0.5, milk=0.25), atol=1e-6)


def test_passages_share_neighbours_and_keep_their_own_headings(encoder: StaticEncoder) -> None:
    one = make_passage("tea", headings=["Cold"], after=["hot"])
    two = make_passage("hot", headings=["Milk"], before=["tea"])

    vectors = encoder.encode_passages("", [one, two])

    expected = [place(tea=1, hot=1 / 16, cold=0.25), place(hot=1, tea=1 / 16, milk=0.25)]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert encoder.encode_passages("", []).shape == (0, WIDTH)


def test_sentences_at_the_same_position_are_told_apart(encoder: StaticEncoder) -> None:
    vectors = encoder.encode_passages("", [make_passage("tea"), make_passage("milk")])

    np.testing.assert_allclose(vectors, [place(tea=1), place(milk=1)], atol=1e-6)


def test_stored_tokens_give_the_vector_of_the_text(encoder: StaticEncoder) -> None:
    pieces = WordPiece(PIECES)
    assert encoder.tokenizer == pieces.hash
    passage = make_passage("Teas is hot, hots", before=["Milk 猫"], after=["cold"])
    stored, *near = (
        sentence._replace(text="other", tokens=pieces.encode(sentence.text))
        for sentence in (passage.sentence, *passage.before, *passage.after)
    )

    (expected,) = encoder.encode_passages("", [passage])
    (vector,) = encoder.encode_passages(
        "", [passage._replace(sentence=stored, before=(near[0],), after=(near[1],))]
    )

    assert vector.tolist() == expected.tolist()


def test_gains_weigh_the_words_of_questions_only(tmp_path: Path) -> None:
    gains = np.ones(len(PIECES), np.float32)
    gains[PIECES.index("how")] = 0.25
    encoder = open_static(write_static(tmp_path / "static", gains=gains))

    np.testing.assert_allclose(
        encoder.encode_question("how hot?").tolist(),
        place(how=0.25, hot=1, **{"[UNK]": 1}),
        atol=1e-6,
    )
    (vector,) = encoder.encode_passages("", [make_passage("how hot")])
    np.testing.assert_allclose(vector, place(how=1, hot=1), atol=1e-6)


@pytest.mark.parametrize("question", ["", " \n", "猫", "zebra ???"])
def test_a_question_without_a_known_word_is_zeros(encoder: StaticEncoder, question: str) -> None:
    vector = encoder.encode_question(question)

    assert vector.tolist() == [0] * WIDTH
    assert vector.dtype == np.float32


def test_a_sentence_without_a_word_is_zeros(encoder: StaticEncoder) -> None:
    assert not encoder.encode_passages("", [make_passage(" ")]).any()


def test_the_hash_covers_table_vocabulary_and_weights(tmp_path: Path) -> None:
    swapped = [*PIECES[:-2], PIECES[-1], PIECES[-2]]
    hashes = [
        open_static(write_static(tmp_path / "a")).hash,
        open_static(write_static(tmp_path / "b", table=2 * make_table())).hash,
        open_static(write_static(tmp_path / "c", vocabulary=swapped)).hash,
        open_static(write_static(tmp_path / "d", weights=WEIGHTS._replace(title=0.4))).hash,
    ]

    assert len(set(hashes)) == 4
    assert open_static(write_static(tmp_path / "e")).hash == hashes[0]


@pytest.mark.parametrize("seed", range(3))
def test_numpy_agrees_with_torch(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vocabulary = ["[UNK]", *(f"w{number}" for number in range(40))]
    table = rng.normal(size=(41, 128)).astype(np.float32)
    gains = rng.uniform(0.2, 2, 41).astype(np.float32)
    weights = PartWeights(*rng.uniform(0, 1, 4).tolist())
    folder = write_static(
        tmp_path / "static", table=table, gains=gains, weights=weights, vocabulary=vocabulary
    )
    encoder, model = open_static(folder), StaticTable(torch_of(table))
    model.log_gains.data = torch_of(np.log(gains))
    pieces = WordPiece(vocabulary)

    def write(words: int) -> str:
        return " ".join(rng.choice(vocabulary[1:], words))

    def read(text: str) -> Any:
        return np.array([piece for word in pieces.tokenize(text) for piece in word], np.int64)

    title, question = write(2), write(6)
    passages = [
        make_passage(
            write(at + 1), headings=[write(1), write(2)], before=[write(4)] * at, after=[write(3)]
        )
        for at in range(4)
    ]
    bags = make_bags(
        [
            [
                (read(passage.sentence.text), 1.0),
                (read(title), weights.title),
                (read(passage.headings[1]), weights.heading),
                (read(passage.headings[0]), weights.outer),
                *((read(near.text), weights.neighbour) for near in passage.before + passage.after),
            ]
            for passage in passages
        ]
    )
    expected = model.encode_sentences(bags).detach().numpy()
    vectors = encoder.encode_passages(title, passages)
    # The table is rounded to int8, the gains to float16.
    assert np.einsum("ij,ij->i", vectors, expected).min() > 0.9995
    (asked,) = model.encode_questions(make_bags([[(read(question), 1.0)]])).detach().numpy()
    assert encoder.encode_question(question) @ asked > 0.9995


def torch_of(array: Matrix) -> Any:
    import torch

    return torch.from_numpy(array)


def test_bags_are_taken_in_any_order() -> None:
    one, two = np.array([3, 3, 1]), np.array([2])
    bags = make_bags([[(one, 1.0), (two, 0.5)], [], [(two, 1.0)]])

    taken = bags.take(np.array([2, 0, 1, 2]))

    assert taken.pieces.tolist() == [2, 1, 2, 3, 2]
    assert taken.weights.tolist() == [1, 1, 0.5, 2, 1]
    assert taken.ends.tolist() == [1, 4, 4, 5]
    assert bags.take(np.array([], np.int64)).ends.tolist() == []


def test_a_scorer_gives_cosines_with_the_texts_around(tmp_path: Path) -> None:
    folder = write_static(tmp_path / "static")
    scorer = open_scorer(folder)
    page = Document("d", "Milk", ("tea", "hot", "cold"))
    candidates = [
        Candidate("a", "hot", page, 1),
        Candidate("b", "tea"),
        Candidate("c", "cold", Document("e", "Tea", ("cold",)), 0),
        Candidate("d", "tea", page, 0),
    ]

    scores = scorer.score("milk tea", candidates)

    assert scorer.name == "static-encoder"
    asked = place(milk=1, tea=1)
    expected = [
        place(hot=1, milk=0.5, tea=1 / 16, cold=1 / 16) @ asked,
        place(tea=1) @ asked,
        place(cold=1, tea=0.5) @ asked,
        place(tea=1, milk=0.5, hot=1 / 16, cold=1 / 16) @ asked,
    ]
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert len(scorer.score("tea", [])) == 0
    verify_bundle(folder)


def test_candidates_have_up_to_four_neighbours_on_each_side() -> None:
    page = Document("d", "", tuple("abcdefghijk"))

    passage = to_passage(Candidate("x", "f", page, 5))

    assert [item.text for item in passage.before] == ["b", "c", "d", "e"]
    assert [item.text for item in passage.after] == ["g", "h", "i", "j"]
    outside = to_passage(Candidate("x", "z", Document("d", "", ("a", "b")), 9))
    assert (outside.before, outside.after) == ((), ())
    assert to_passage(Candidate("x", "f")).sentence == make_sentence("f")


def test_the_shipped_encoder_opens_by_its_name() -> None:
    encoder = open_sentence_encoder(Path("static-encoder"))

    assert encoder.width == 256
    assert np.linalg.norm(encoder.encode_question("how hot is tea?")) == pytest.approx(1, abs=1e-5)
    scorer = open_scorer("static-encoder")
    assert isinstance(scorer, CosineScorer)
    scores = scorer.score("How warm is it?", ["It is hot.", "Milk comes from cows."])
    assert scores[0] > scores[1]


def spoil(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Write the bundle again with other tensors, and with checksums that are right."""
    bundle = open_bundle(folder)
    tensors = load((folder / "weights.safetensors").read_bytes())
    change(tensors)
    files = {
        "weights.safetensors": save(tensors),
        "vocabulary.txt": (folder / "vocabulary.txt").read_bytes(),
    }
    write_bundle(folder, Manifest("static-encoder", bundle.manifest.config), files)


COUNT = len(PIECES)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.pop("rows"),
        lambda t: t.pop("scales"),
        lambda t: t.pop("gains"),
        lambda t: t.update(rows=t["rows"][:-1]),
        lambda t: t.update(rows=t["rows"][0]),
        lambda t: t.update(rows=t["rows"][:, :, None]),
        lambda t: t.update(rows=np.zeros((COUNT, 63), np.int8)),
        lambda t: t.update(rows=np.zeros((COUNT, 96), np.int8)),
        lambda t: t.update(rows=np.zeros((COUNT, 0), np.int8)),
        lambda t: t.update(rows=np.zeros((COUNT, 64), np.float32)),
        lambda t: t.update(scales=t["scales"][:-1]),
        lambda t: t.update(scales=t["scales"][:, None]),
        lambda t: t.update(gains=t["gains"][:1]),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    folder = write_static(tmp_path / "static")
    spoil(folder, change)

    with pytest.raises(BundleError, match=r"static: .*; export the bundle again"):
        open_sentence_encoder(folder)


@pytest.mark.parametrize("name", ["scales", "gains"])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_static(tmp_path / "static")
    spoil(folder, lambda tensors: tensors[name].__setitem__(1, np.nan))

    with pytest.raises(BundleError, match=f"weight '{name}' holds a number that is not finite"):
        open_sentence_encoder(folder)


@pytest.mark.parametrize(
    "weights",
    [
        None,
        [],
        3,
        {},
        {"title": 1, "heading": 1, "outer": 1},
        {"title": "much", "heading": 1, "outer": 1, "neighbour": 1},
        {"title": None, "heading": 1, "outer": 1, "neighbour": 1},
        {"title": float("nan"), "heading": 1, "outer": 1, "neighbour": 1},
        {"title": 1, "heading": 1, "outer": -1, "neighbour": 1},
        {"title": 1, "heading": 1, "outer": 1, "neighbour": 1e308},
        {"title": 1, "heading": 1, "outer": 1, "neighbour": 1, "page": 1},
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, weights: object) -> None:
    folder = write_static(tmp_path / "static")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["config"]["weights"] = weights
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    with pytest.raises(BundleError, match=r"static: .*; export the bundle again"):
        open_sentence_encoder(folder)


@pytest.mark.parametrize("least", [None, "much", float("nan"), 10**400, "missing"])
def test_a_smallest_cosine_that_does_not_fit_is_refused(tmp_path: Path, least: object) -> None:
    folder = write_static(tmp_path / "static")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["config"]["min_cosine"] = least
    if least == "missing":
        del manifest["config"]["min_cosine"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    with pytest.raises(BundleError, match=r"static: .*; export the bundle again"):
        open_sentence_encoder(folder)


@pytest.mark.parametrize("vocabulary", [PIECES[:-1], [*PIECES, "x"], ["a"] * COUNT])
def test_a_vocabulary_that_does_not_fit_is_refused(tmp_path: Path, vocabulary: list[str]) -> None:
    folder = write_static(tmp_path / "static", vocabulary=vocabulary)

    with pytest.raises(BundleError, match=r"static: .*; export the bundle again"):
        open_sentence_encoder(folder)
