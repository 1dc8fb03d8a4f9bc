"""The head of an encoder's architecture over every form of context, as the papers have it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.models.selector.test_module import CANDIDATES, QUESTION, SAMPLE  # noqa: E402
from tests.models.selectors import TOKENIZER, make_classifier, make_selector  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import InputError  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module.classifier import Classifier  # noqa: E402
from rejoinder.models.selector.module.ensemble import Ensemble, join_selectors  # noqa: E402
from rejoinder.models.selector.module.selector import add_context  # noqa: E402
from rejoinder.models.selector.scorer import SelectorScorer  # noqa: E402
from rejoinder.training.batches import CandidateLists  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.loop import Recipe  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer, fit_selector, read_context  # noqa: E402
from rejoinder.types import Candidate  # noqa: E402

BERT = ("none", "headings", "local", "global", "concatenation", "ensemble", "multi-way", "stored")
FORMS = [
    *(("bert", form) for form in BERT),
    *(("roberta", form) for form in ("local", "ensemble", "multi-way")),
    *(("mpnet", form) for form in ("local", "multi-way")),  # exported by torch, no token types
]


@pytest.mark.parametrize(("architecture", "form"), FORMS)
def test_a_bundle_scores_as_torch_does_and_can_be_trained_on(
    architecture: str, form: str, tmp_path: Path
) -> None:
    model = make_classifier(form, architecture=architecture)
    expected = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, CANDIDATES)

    write_selector(tmp_path / "m", model, TOKENIZER, precision="fp32", training={}, sample=SAMPLE)

    found = SelectorScorer(open_bundle(tmp_path / "m")).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    again, tokenizer = reopen_selector(tmp_path / "m")
    assert type(again) is (Ensemble if form == "ensemble" else Classifier)
    reopened = SelectorTorchScorer(again, tokenizer).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(reopened, expected, atol=2e-4)


@pytest.mark.parametrize(("architecture", "form"), [item for item in FORMS if item[1] != "none"])
def test_context_changes_the_score(architecture: str, form: str) -> None:
    scorer = SelectorTorchScorer(make_classifier(form, architecture=architecture), TOKENIZER)
    page = CANDIDATES[5]

    (within,) = scorer.score(QUESTION, [page])
    (alone,) = scorer.score(QUESTION, [Candidate("alone", page.text)])

    assert abs(within - alone) > 1e-3


@pytest.mark.parametrize("form", ["local", "multi-way"])
def test_all_weights_learn(form: str) -> None:
    torch.manual_seed(0)
    model = make_classifier(form)
    before = {name: value.clone() for name, value in model.named_parameters()}
    recipe = Recipe("pointwise", epochs=12, questions_per_step=1, learning_rate=1e-3)
    losses: list[float] = []

    fitted = fit_selector(
        Plan(model.config, recipe),
        [Part(SAMPLE)],
        model,
        TOKENIZER,
        on_step=lambda step: losses.append(step.loss),
    )

    assert losses[-1] < losses[0] - 0.1
    same = {name for name, value in fitted.model.named_parameters() if value.equal(before[name])}
    assert not same  # the vectors of tokens learn, too


@pytest.mark.parametrize(("limit", "pairs"), [(None, len(CANDIDATES)), (4, 4)])
def test_lists_are_shortened_on_request(
    limit: int | None, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, read = make_classifier("local"), list[int]()

    def note(*arguments: Any, **options: Any) -> CandidateLists:
        made = CandidateLists(*arguments, **options)
        read.append(made.describe()["pairs"])
        return made

    monkeypatch.setattr("rejoinder.training.selector.CandidateLists", note)
    plan = Plan(model.config, Recipe("pointwise", epochs=1, questions_per_step=1))

    fit_selector(plan, [Part(SAMPLE)], model, TOKENIZER, max_candidates=limit)

    assert read == [pairs]  # a list by itself is joined by no sentence of another


def test_an_ensemble_has_one_recipe() -> None:
    local = read_context([make_classifier("none")], "local", "static")
    other = add_context(make_selector(max_tokens=72), ContextConfig("global"))

    with pytest.raises(InputError, match="an ensemble begins with two selectors"):
        join_selectors([local, other], ContextConfig("ensemble"))


def test_a_classifier_that_reads_context_takes_no_other() -> None:
    local = make_classifier("local")

    with pytest.raises(InputError, match="reads context 'local' already"):
        read_context([local], "global", "static")
