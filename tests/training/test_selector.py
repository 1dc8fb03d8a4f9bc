from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.readers.judged import Judged, to_ordered_example  # noqa: E402
from rejoinder.errors import InputError, TrainingError, UnknownNameError  # noqa: E402
from rejoinder.evaluation import evaluate  # noqa: E402
from rejoinder.models.selector.module.loading import load_selector  # noqa: E402
from rejoinder.models.selector.module.selector import Selector, SelectorConfig  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.loop import Recipe, Step  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.options import SelectorOptions  # noqa: E402
from rejoinder.training.selector import (  # noqa: E402
    SelectorTorchScorer,
    fit_selector,
    open_start,
)
from tests.models.selectors import TOKENIZER, make_selector, write_encoder  # noqa: E402

WORDS = ["ice", "water", "cave", "glacier", "rock", "summer", "winter", "river", "stone", "deep"]
EXAMPLES = [
    to_ordered_example(
        f"q{at}",
        f"where is the {word}",
        [Judged(f"the {word} is here", True), Judged(f"it rained in {WORDS[at - 1]}", False)],
        title=word,
    )
    for at, word in enumerate(WORDS)
]
RECIPE = Recipe("anchored", epochs=12, questions_per_step=5, learning_rate=3e-3, clip=1.0)
PLAN = Plan(SelectorConfig("tiny", None, 64), RECIPE)


def weights(model: Any) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_it_overfits_a_few_lists() -> None:
    model = make_selector()
    losses: list[float] = []
    fitted = fit_selector(
        PLAN, [Part(EXAMPLES)], model, TOKENIZER, on_step=lambda step: losses.append(step.loss)
    )
    assert fitted.steps == 24
    assert losses[-1] < losses[0] / 2
    report = evaluate(SelectorTorchScorer(fitted.model, TOKENIZER), EXAMPLES, measures=["MAP"])
    assert report.means["MAP"] == 1.0


def test_training_is_deterministic_and_resumes_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    whole = weights(fit_selector(PLAN, [Part(EXAMPLES)], make_selector(), TOKENIZER).model)
    checkpoint = tmp_path / "checkpoint"

    def stop(step: Step) -> None:
        if step.number == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_selector(
            PLAN,
            [Part(EXAMPLES)],
            make_selector(),
            TOKENIZER,
            checkpoint=checkpoint,
            on_step=stop,
        )
    assert checkpoint.exists()
    model = make_selector()
    resumed = fit_selector(PLAN, [Part(EXAMPLES)], model, TOKENIZER, checkpoint=checkpoint)
    assert all(torch.equal(value, whole[name]) for name, value in weights(resumed.model).items())


def test_a_checkpoint_of_other_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))

    def stop(_: Step) -> None:
        raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint"
    for seed, error in ((0, KeyboardInterrupt), (1, TrainingError)):
        with pytest.raises(error):
            fit_selector(
                PLAN,
                [Part(EXAMPLES)],
                make_selector(seed=seed),
                TOKENIZER,
                checkpoint=checkpoint,
                on_step=stop,
            )


def test_examples_without_an_answer_are_refused() -> None:
    wrong = [to_ordered_example("q", "who", [Judged("it", False), Judged("he", False)])]
    with pytest.raises(TrainingError, match="no question has an answer"):
        fit_selector(PLAN, [Part(wrong)], make_selector(), TOKENIZER)


def test_a_score_does_not_depend_on_its_list() -> None:
    scorer = SelectorTorchScorer(make_selector(), TOKENIZER)
    texts = ["ice", "", "the cave is deep and cold", "water " * 90]
    together = scorer.score("where is the ice?", texts)
    alone = np.concatenate([scorer.score("where is the ice?", [text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(scorer.score("where?", [])) == 0


def test_word_embeddings_are_frozen(tmp_path: Path) -> None:
    model, vocabulary = load_selector(SelectorConfig(str(write_encoder(tmp_path / "e")), None, 64))
    before = weights(model)
    after = weights(fit_selector(PLAN, [Part(EXAMPLES)], model, vocabulary).model)
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed
    assert not any("embeddings" in name for name in changed)


def test_an_encoder_can_be_truncated_to_fewer_layers(tmp_path: Path) -> None:
    place = str(write_encoder(tmp_path / "e"))
    for layers, expected in ((1, 1), (None, 2)):
        model, _ = open_start(None, place, layers)
        assert isinstance(model, Selector)
        assert len(model.encoder.encoder.layer) == expected


def test_a_bundle_keeps_its_layers() -> None:
    with pytest.raises(InputError, match="keeps its layers"):
        open_start("bundle", layers=3)


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json"):
        load_selector(SelectorConfig(str(tmp_path)))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="needs weights as safetensors and has none"):
        load_selector(SelectorConfig(str(tmp_path)))


def test_an_unreachable_hub_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="someone/encoder: cannot be loaded"):
        load_selector(SelectorConfig("someone/encoder"))


def test_an_unknown_loss_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="anchored"):
        SelectorOptions(to="m", loss="ancored")
