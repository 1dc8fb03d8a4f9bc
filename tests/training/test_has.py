"""The training of HAS: its triplets and its loss."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.errors import TrainingError  # noqa: E402
from rejoinder.evaluation import evaluate  # noqa: E402
from rejoinder.models.encoders.tokens import TextTokens  # noqa: E402
from rejoinder.models.has.module import (  # noqa: E402
    pad_texts,
    pool,
)
from rejoinder.training.batches import Triplets, split_answers  # noqa: E402
from rejoinder.training.devices import choose_compute  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.has import HasTorchScorer, fit_has, measure_loss  # noqa: E402
from rejoinder.training.loop import Recipe  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from tests.models.hashers import CANDIDATES, EXAMPLE, OTHER, make_has  # noqa: E402
from tests.models.selectors import TOKENIZER  # noqa: E402


def _to_inputs(texts: list[list[int]]) -> tuple[Any, Any]:
    padded = pad_texts(texts)
    return padded.ids, padded.mask


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
def test_the_loss_is_a_hinge_over_triplets_in_any_batches(
    composition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_has(composition=composition, delta=0.0)
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    right = [replace(EXAMPLE, candidates=CANDIDATES[:2], labels=(True, False))]
    other = [replace(OTHER, candidates=CANDIDATES[1:3], labels=(True, False))]
    monkeypatch.setattr("rejoinder.training.batches.TRIPLET_CHUNK", 1)
    batch = Triplets(right + other, tokens).batch(torch.tensor([0, 1]))

    loss = measure_loss(model, batch, "triplet", compute=choose_compute("cpu")).item()

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
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    batch = Triplets([EXAMPLE, OTHER], tokens).batch(torch.tensor([0, 1]))

    losses = {}
    for delta in (0.0, 1e-3, 2e-3):
        model = make_has(delta=delta)
        losses[delta] = measure_loss(model, batch, "triplet", compute=choose_compute("cpu")).item()

    assert losses[1e-3] > losses[0.0]
    assert losses[2e-3] - losses[1e-3] == pytest.approx(losses[1e-3] - losses[0.0], rel=1e-3)


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
def test_wrongly_ranked_questions_are_learnt(composition: str) -> None:
    model = make_has(composition=composition, dropout=0.0)
    before = HasTorchScorer(model, TOKENIZER).score(EXAMPLE.question, CANDIDATES[:2])
    is_answer = tuple((before == before.min()).tolist())
    wrong = replace(EXAMPLE, candidates=CANDIDATES[:2], labels=is_answer)
    recipe = Recipe("triplet", epochs=40, questions_per_step=2, learning_rate=1e-3)
    losses: list[float] = []

    fitted = fit_has(
        Plan(model.config, recipe),
        [Part([wrong])],
        model,
        TOKENIZER,
        on_step=lambda step: losses.append(step.loss),
    )

    scorer = HasTorchScorer(fitted.model, TOKENIZER)
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
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    right = replace(EXAMPLE, candidates=CANDIDATES[:1], labels=(True,))

    batch = Triplets([right, OTHER], tokens).batch(torch.tensor([0]))

    ((places, texts),) = batch.chunks
    row = places.tolist().index(1)  # the answer is at 0
    drawn = texts.ids[row, : int(texts.mask[row].sum())].tolist()
    assert drawn in [tokens.encode(item.text) for item in CANDIDATES if item.id != "b"]


def test_an_answer_of_the_same_question_is_never_drawn_as_a_wrong_one() -> None:
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    # No list has a wrong candidate, as in InsuranceQA V1's training file.
    both = replace(EXAMPLE, candidates=CANDIDATES[:2], labels=(True, True))
    same = replace(EXAMPLE, id="again", candidates=CANDIDATES[1:2], labels=(True,))
    other = replace(OTHER, candidates=CANDIDATES[2:3], labels=(True,))  # the only wrong one
    parts = split_answers(Part([both, same, other])).examples
    triplets = Triplets(parts, tokens)
    allowed = tokens.encode(CANDIDATES[2].text)

    for _ in range(20):
        for place in range(3):
            ((places, texts),) = triplets.batch(torch.tensor([place])).chunks
            row = places.tolist().index(1)
            assert texts.ids[row, : int(texts.mask[row].sum())].tolist() == allowed


def test_data_in_which_nothing_is_wrong_is_refused() -> None:
    right = replace(EXAMPLE, candidates=CANDIDATES[:1], labels=(True,))

    with pytest.raises(TrainingError, match="no candidate of the data is wrong for the question"):
        Triplets([right], TextTokens(TOKENIZER, max_tokens=32)).batch(torch.tensor([0]))


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
def test_lists_that_are_scored_beforehand_have_the_same_scores(
    composition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_has(composition=composition)
    monkeypatch.setattr("rejoinder.training.has.PAIRS_AT_ONCE", 3)
    encoded: list[int] = []

    class Counting(HasTorchScorer):
        def _encode(self, texts: Any) -> Any:
            encoded.append(len(texts))
            return super()._encode(texts)

    prepared = Counting(model, TOKENIZER).prepare([EXAMPLE, OTHER])

    # Two questions, and each of four answers once, though both lists have them.
    assert sum(encoded) == 2 + len(CANDIDATES)
    plain = HasTorchScorer(model, TOKENIZER)
    for example in (EXAMPLE, OTHER):
        expected = plain.score(example.question, example.candidates)
        assert prepared.score(example.question, example.candidates) == pytest.approx(expected)
    # Another list is scored as ever.
    assert prepared.score("another?", CANDIDATES) == pytest.approx(
        plain.score("another?", CANDIDATES)
    )
