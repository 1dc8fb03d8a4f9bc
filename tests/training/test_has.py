"""HAS in torch: its parts, its training, and that a bundle of it does the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import BundleError, InputError  # noqa: E402
from rejoinder.evaluation import evaluate  # noqa: E402
from rejoinder.models.has import export as export_has  # noqa: E402
from rejoinder.models.has.encoder import TextEncoder, TextTokens  # noqa: E402
from rejoinder.models.has.module import (  # noqa: E402
    Has,
    HasConfig,
    Words,
    load_has,
    measure_distance,
    pad_texts,
    pool,
)
from rejoinder.models.has.scorer import HasScorer  # noqa: E402
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training.batches import Triplets, split_answers  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.has import HasTorchScorer, fit_has, measure_loss  # noqa: E402
from rejoinder.training.loop import Recipe  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.types import Candidate, Example  # noqa: E402
from tests.training.hashers import make_has, write_tiny_has  # noqa: E402
from tests.training.selectors import VOCABULARY  # noqa: E402

CANDIDATES = (
    Candidate("a", "Most caves are formed by melted water."),
    Candidate("b", "The wind in summer is warm."),
    Candidate("c", "A cat, a dog, hot tea."),
    Candidate("d", ""),
)
EXAMPLE = Example("q", "how are caves formed", CANDIDATES, (True, False, False, False))
OTHER = Example("r", "who is warm in summer", CANDIDATES, (False, True, False, False))
TEXTS = [item.text for item in CANDIDATES] + ["café 猫 unheardofword " * 20]


def write(folder: Path, model: Has, precision: str = "fp32") -> HasScorer:
    return write_tiny_has(folder, model, precision=precision, sample=tuple(TEXTS))


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
@pytest.mark.parametrize("width", [None, 20])
def test_a_bundle_scores_as_torch_does(tmp_path: Path, composition: str, width: int | None) -> None:
    model = make_has(composition=composition, width=width)

    scorer = write(tmp_path / "m", model)

    expected = HasTorchScorer(model, VOCABULARY).score(EXAMPLE.question, CANDIDATES)
    found = scorer.score(EXAMPLE.question, CANDIDATES)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert len(set(np.round(expected, 6).tolist())) == len(CANDIDATES)


def test_padding_changes_no_score() -> None:
    model = make_has()
    tokens = TextTokens(WordPiece(VOCABULARY), max_tokens=32)
    texts = [tokens.encode(text) for text in TEXTS]
    with torch.no_grad():
        together = model.encode(*_to_inputs(texts))
        asked = pool(together)[:1]
        scores = model.score(asked.expand(len(texts), -1), model.to_bits(together))
        alone = []
        for text in texts:
            answer = model.encode(*_to_inputs([text]))
            question = pool(model.encode(*_to_inputs(texts[:1])))
            alone.append(model.score(question, model.to_bits(answer)).item())

    np.testing.assert_allclose(scores.numpy(), alone, atol=1e-5)


def _to_inputs(texts: list[list[int]]) -> tuple[Any, Any]:
    padded = pad_texts(texts)
    return padded.ids, padded.mask


def test_the_distance_to_bits_counts_words_only() -> None:
    states = torch.tensor([[[0.5, -1.0], [0.0, 9.0]]])

    both = measure_distance(Words(states, torch.tensor([[True, True]])))
    one = measure_distance(Words(states, torch.tensor([[True, False]])))

    assert one.item() == pytest.approx(0.5**2)  # to 1 and -1
    assert both.item() == pytest.approx(0.5**2 + 1 + 8**2)  # 0 goes to 1


def test_bits_are_held_fixed_while_the_network_learns() -> None:
    states = torch.tensor([[[0.5]]], requires_grad=True)

    measure_distance(Words(states, torch.tensor([[True]]))).sum().backward()

    assert states.grad is not None
    assert states.grad.item() == pytest.approx(2 * (0.5 - 1))


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
def test_the_loss_is_a_hinge_over_triplets_in_any_batches(
    composition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_has(composition=composition, delta=0.0)
    tokens = TextTokens(WordPiece(VOCABULARY), max_tokens=32)
    right = [replace(EXAMPLE, candidates=CANDIDATES[:2], labels=(True, False))]
    other = [replace(OTHER, candidates=CANDIDATES[1:3], labels=(True, False))]
    monkeypatch.setattr("rejoinder.training.batches.TRIPLET_CHUNK", 1)
    batch = Triplets(right + other, tokens).batch(torch.tensor([0, 1]))

    loss = measure_loss(model, batch, "triplet").item()

    expected = []
    with torch.no_grad():
        for example in right + other:
            asked = pool(model.encode(*_to_inputs([tokens.encode(example.question)])))
            found = [
                model.score(
                    asked, model.hash(model.encode(*_to_inputs([tokens.encode(item.text)])))
                )
                for item in example.candidates
            ]
            expected.append(max(0.0, 0.1 - found[0].item() + found[1].item()))
    assert loss == pytest.approx(sum(expected) / 2, abs=0.02)  # bfloat16


def test_delta_weighs_the_distance() -> None:
    tokens = TextTokens(WordPiece(VOCABULARY), max_tokens=32)
    batch = Triplets([EXAMPLE, OTHER], tokens).batch(torch.tensor([0, 1]))

    losses = {}
    for delta in (0.0, 1e-3, 2e-3):
        model = make_has(delta=delta)
        losses[delta] = measure_loss(model, batch, "triplet").item()

    assert losses[1e-3] > losses[0.0]
    assert losses[2e-3] - losses[1e-3] == pytest.approx(losses[1e-3] - losses[0.0], rel=1e-3)


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
def test_wrongly_ranked_questions_are_learnt(composition: str) -> None:
    model = make_has(composition=composition, dropout=0.0)
    before = HasTorchScorer(model, VOCABULARY).score(EXAMPLE.question, CANDIDATES[:2])
    is_answer = tuple((before == before.min()).tolist())
    wrong = replace(EXAMPLE, candidates=CANDIDATES[:2], labels=is_answer)
    recipe = Recipe("triplet", epochs=40, questions_per_step=2, learning_rate=1e-3)
    losses: list[float] = []

    fitted = fit_has(
        Plan(model.config, recipe),
        [Part([wrong])],
        model,
        VOCABULARY,
        on_step=lambda step: losses.append(step.loss),
    )

    scorer = HasTorchScorer(fitted.model, VOCABULARY)
    assert evaluate(scorer, [wrong], measures=["P@1"]).means["P@1"] == 1
    assert losses[-1] < losses[0]


def test_each_answer_is_an_example_with_the_wrong_ones_of_its_list() -> None:
    example = replace(EXAMPLE, labels=(True, False, True, False))

    part = split_answers(Part([example], 0.5))

    texts = [[item.id for item in found.candidates] for found in part.examples]
    assert texts == [["a", "b", "d"], ["c", "b", "d"]]
    assert [found.labels for found in part.examples] == [(True, False, False)] * 2
    assert part.weight == 0.5


def test_a_list_without_a_wrong_candidate_draws_from_others() -> None:
    tokens = TextTokens(WordPiece(VOCABULARY), max_tokens=32)
    right = replace(EXAMPLE, candidates=CANDIDATES[:1], labels=(True,))

    batch = Triplets([right, OTHER], tokens).batch(torch.tensor([0]))

    ((places, texts),) = batch.chunks
    row = places.tolist().index(1)  # the answer is at 0
    drawn = texts.ids[row, : int(texts.mask[row].sum())].tolist()
    assert drawn in [tokens.encode(item.text) for item in CANDIDATES if item.id != "b"]


def test_a_text_without_words_is_one_unknown_word() -> None:
    tokens = TextTokens(WordPiece(VOCABULARY), max_tokens=8)

    assert [VOCABULARY[id_] for id_ in tokens.encode("")] == ["[CLS]", "[UNK]", "[SEP]"]
    assert len(tokens.encode("cat " * 50)) == 8
    assert tokens.is_too_long("cat " * 7)
    assert not tokens.is_too_long("cat " * 6)


def test_a_letter_that_is_taken_apart_counts_as_its_parts() -> None:
    jamo = [f"##{letter}" for letter in "한국"]
    tokens = TextTokens(WordPiece([*VOCABULARY, "ᄒ", *jamo]), max_tokens=5)

    assert len(WordPiece([*VOCABULARY, "ᄒ", *jamo]).tokenize("한국")[0]) == 6
    assert tokens.is_too_long("한국")  # two letters, six pieces


def test_int8_says_how_many_bits_it_flips(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has(), "int8")

    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.precision == "int8"
    assert 0 <= manifest.scores["flipped bits"] <= export_has.MAX_FLIPPED


def test_too_many_flipped_bits_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_has, "MAX_FLIPPED", -1.0)

    with pytest.raises(BundleError, match="of all bits differ"):
        write(tmp_path / "m", make_has())

    assert not (tmp_path / "m").exists()


def test_wrong_states_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_has, "MAX_DIFFERENCE", -1.0)

    with pytest.raises(BundleError, match="states in fp32 differ"):
        write(tmp_path / "m", make_has())

    assert not (tmp_path / "m").exists()


def test_an_unknown_precision_or_composition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fp64"):
        write(tmp_path / "m", make_has(), "fp64")
    with pytest.raises(InputError, match="sum"):
        load_has(HasConfig(composition="sum"))


def test_encoding_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has(), "int8")
    encoder = TextEncoder(open_bundle(tmp_path / "m"), threads=2)

    together = encoder.encode(TEXTS)

    for text, states in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(encoder.encode([text])[0], states)
