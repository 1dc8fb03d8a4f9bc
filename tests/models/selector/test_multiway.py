"""The functions of multi-way attention: by hand, padded, exported, trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.models.pretrained import write_pretrained  # noqa: E402
from tests.models.selectors import TOKENIZER, make_contextual, make_selector  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import InputError, UnknownNameError  # noqa: E402
from rejoinder.models.selector.context import ATTENTIONS, ContextConfig  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module import multiway  # noqa: E402
from rejoinder.models.selector.module.ensemble import AnySelector  # noqa: E402
from rejoinder.models.selector.module.loading import load_selector  # noqa: E402
from rejoinder.models.selector.module.multiway import FUNCTIONS, MultiWay  # noqa: E402
from rejoinder.models.selector.module.selector import Selector, SelectorConfig  # noqa: E402
from rejoinder.models.selector.scorer import SelectorScorer  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.loop import Recipe  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer, fit_selector, read_context  # noqa: E402
from rejoinder.types import Candidate, Document, Example  # noqa: E402

QUESTION = "How are glacier caves formed?"
SENTENCES = (
    "most caves are formed by water",
    "it rained in summer",
    "the ice is melted by warm air in the summer season",
    "the tea is hot",
    "a cat and a dog are here",
    "the glacier is deep",
)
PAGE = Document("ice", "Glacier caves", SENTENCES)
CANDIDATES = (
    *(Candidate(str(place), text, PAGE, place) for place, text in enumerate(SENTENCES)),
    Candidate("alone", "caves are carved by a river"),
)
SAMPLE = [Example("q", QUESTION, CANDIDATES, (True, *(False,) * (len(CANDIDATES) - 1)))]
REFERENCE = ATTENTIONS[1:]
"""All but the default, which `test_module.py` tests with the other forms."""
FORMS = ("multi-way", "stored")


def export(folder: Path, model: AnySelector, precision: str = "fp32") -> SelectorScorer:
    write_selector(folder, model, TOKENIZER, precision=precision, training={}, sample=SAMPLE)
    return SelectorScorer(open_bundle(folder))


# The functions as Tan et al. 2018 write them, for one token of the question and one of a part.
BY_HAND: dict[str, Callable[..., Any]] = {
    "scaled": lambda q, h, s: (s * q) @ h / len(q) ** 0.5,
    "concat": lambda q, h, w, u, v: np.tanh(q @ w + h @ u) @ v,
    "bilinear": lambda q, h, w: q @ w @ h,
    "dot": lambda q, h, w, v: np.tanh((q * h) @ w) @ v,
    "minus": lambda q, h, w, v: np.tanh((q - h) @ w) @ v,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_compares_tokens_as_its_formula_says(name: str) -> None:
    torch.manual_seed(0)
    ways = MultiWay(8, attention=name)
    question, states = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    weights = [torch.randn(getattr(ways, weight).shape[1:]) for weight in FUNCTIONS[name].weights]

    found = FUNCTIONS[name].compare(question, states, *weights)

    given = [weight.double().numpy() for weight in weights]
    expected = [
        [[BY_HAND[name](q, h, *given) for h in part] for q in asked]
        for asked, part in zip(question.double().numpy(), states.double().numpy(), strict=True)
    ]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)


def test_mixed_weighs_what_the_four_functions_read() -> None:
    torch.manual_seed(0)
    ways = MultiWay(8, attention="mixed")
    read = torch.randn(4, 1, 2, 8)
    weight, output = (getattr(ways, name)[1].detach() for name in multiway.WEIGHED)

    with torch.no_grad():
        mixed = ways._mix(1, read)

    assert list(ways.functions) == ["concat", "bilinear", "dot", "minus"]
    for token in range(2):
        rated = torch.stack([torch.tanh(read[at, 0, token] @ weight) @ output for at in range(4)])
        expected = sum(s * r for s, r in zip(rated.softmax(0), read[:, 0, token], strict=True))
        np.testing.assert_allclose(mixed[0, token].numpy(), expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("attention", REFERENCE)
@pytest.mark.parametrize("form", FORMS)
def test_the_runtime_scores_as_torch_does(tmp_path: Path, form: str, attention: str) -> None:
    model = make_contextual(form, attention=attention)

    scorer = export(tmp_path / "m", model)

    found = scorer.score(QUESTION, CANDIDATES)
    expected = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    alone = [scorer.score(QUESTION, [candidate])[0] for candidate in CANDIDATES]
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_every_function_reads_the_context(attention: str) -> None:
    model = make_contextual("stored", attention=attention)
    scorer = SelectorTorchScorer(model, TOKENIZER)

    other = SelectorTorchScorer(make_contextual("stored", attention="scaled"), TOKENIZER)

    bare = [Candidate(item.id, item.text) for item in CANDIDATES]
    found, without = scorer.score(QUESTION, CANDIDATES), scorer.score(QUESTION, bare)
    assert (abs(found - without)[:-1] > 1e-4).all()
    assert found[-1] == pytest.approx(without[-1], abs=1e-5)
    assert attention == "scaled" or (other.score(QUESTION, CANDIDATES) != found).any()


@pytest.mark.parametrize("attention", REFERENCE)
def test_padding_changes_nothing(attention: str) -> None:
    scorer = SelectorTorchScorer(make_contextual("multi-way", attention=attention), TOKENIZER)

    together = scorer.score(QUESTION, CANDIDATES)

    alone = [scorer.score(QUESTION, [candidate])[0] for candidate in CANDIDATES]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("attention", ["dot", "mixed"])
def test_questions_of_different_lengths_are_padded(attention: str) -> None:
    model = make_contextual("multi-way", attention=attention)
    assert isinstance(model, Selector)
    ids = torch.tensor([[3, 60, 61, 62, 4, 63, 4], [3, 70, 4, 71, 72, 4, 0]])
    mask = (ids > 0).long()
    kinds = torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 0]])

    with torch.no_grad():
        together = model(ids, mask, kinds)
        alone = model(ids[1:, :6], mask[1:, :6], kinds[1:, :6])

    np.testing.assert_allclose(together[1:].numpy(), alone.numpy(), atol=1e-5)


@pytest.mark.parametrize("attention", REFERENCE)
def test_training_starts_from_the_selectors_scores_and_learns(attention: str) -> None:
    torch.manual_seed(0)
    plain = make_selector(max_tokens=72)
    texts = [item.text for item in CANDIDATES]
    model = read_context([plain], "multi-way", "static", attention=attention)
    expected = SelectorTorchScorer(plain, TOKENIZER).score(QUESTION, texts)
    found = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, texts)
    before = {name: value.clone() for name, value in model.named_parameters() if "ways" in name}
    recipe = Recipe("anchored", 12, 4, learning_rate=1e-3, new_learning_rate=1e-3)
    losses: list[float] = []

    fit_selector(
        Plan(model.config, recipe),
        [Part(SAMPLE * 4)],
        model,
        TOKENIZER,
        on_step=lambda step: losses.append(step.loss),
    )

    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert losses[-1] < losses[0] - 0.1
    moved = {name for name, value in model.named_parameters() if "ways" in name}
    assert moved == {
        name
        for name, value in model.named_parameters()
        if name in before and not torch.equal(value, before[name])
    }


@pytest.mark.parametrize("attention", REFERENCE)
def test_training_continues_from_a_bundle(tmp_path: Path, attention: str) -> None:
    scorer = export(tmp_path / "m", make_contextual("multi-way", attention=attention))

    model, tokenizer = reopen_selector(tmp_path / "m")

    assert model.config.context.attention == attention
    again = SelectorTorchScorer(model, tokenizer).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(again, scorer.score(QUESTION, CANDIDATES), atol=1e-4)


def test_an_architecture_that_torch_exports_has_all_functions(tmp_path: Path) -> None:
    encoder = str(write_pretrained(tmp_path / "e", "mpnet"))
    plain, tokenizer = load_selector(SelectorConfig(encoder, max_tokens=64))
    model = read_context([plain], "multi-way", "static", attention="mixed").eval()
    for parameter in model.get_new_parameters():
        torch.nn.init.normal_(parameter, std=0.1)

    write_selector(tmp_path / "m", model, tokenizer, precision="fp32", training={}, sample=SAMPLE)

    found = SelectorScorer(open_bundle(tmp_path / "m")).score(QUESTION, CANDIDATES)
    expected = SelectorTorchScorer(model, tokenizer).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_functions_belong_to_multi_way_attention() -> None:
    with pytest.raises(UnknownNameError, match="unknown attention 'plus'"):
        ContextConfig("multi-way", attention="plus")
    with pytest.raises(InputError, match="choose multi-way or stored"):
        ContextConfig("local", attention="dot")
    with pytest.raises(InputError, match="context 'none' has none"):
        read_context([make_selector()], None, "static", attention="dot")
