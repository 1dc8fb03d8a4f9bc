"""Every form of context: torch and the runtime agree, padding and company change nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.models.selectors import TOKENIZER, WORDS, make_selector  # noqa: E402
from tests.models.selectors import make_contextual as make  # noqa: E402

import rejoinder  # noqa: E402
from rejoinder.bundle.folder import (  # noqa: E402
    Manifest,
    open_bundle,
    write_bundle,
)
from rejoinder.cascade.cascade import Cascade, Stage  # noqa: E402
from rejoinder.engine.engine import Engine  # noqa: E402
from rejoinder.errors import BundleError, InputError, UnknownNameError  # noqa: E402
from rejoinder.index.index import Index  # noqa: E402
from rejoinder.models.selector.context import FORMS, ContextConfig  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module.ensemble import AnySelector, Ensemble, join_selectors  # noqa: E402
from rejoinder.models.selector.module.selector import Selector, add_context  # noqa: E402
from rejoinder.models.selector.scorer import KIND, SelectorScorer  # noqa: E402
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.loop import Recipe, make_optimizer  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.selector import (  # noqa: E402
    SelectorTorchScorer,
    fit_selector,
    read_context,
)
from rejoinder.types import Candidate, Document, Example  # noqa: E402

QUESTION = "How are glacier caves formed?"
RNG = np.random.default_rng(0)
SENTENCES = tuple(" ".join(RNG.choice(WORDS, size=size)) for size in range(1, 13)) * 2
PAGE = Document("ice", "Glacier caves", SENTENCES)
OTHER = Document("tea", "Hot tea", ("a cup of tea", "the tea is hot", "it rained"))
CANDIDATES = (
    *(Candidate(f"ice{at}", text, PAGE, at) for at, text in enumerate(SENTENCES)),
    *(Candidate(f"tea{at}", text, OTHER, at) for at, text in enumerate(OTHER.sentences)),
    Candidate("alone", "most caves are formed by water"),
)
SAMPLE = [Example("q", QUESTION, CANDIDATES, (True, *(False,) * (len(CANDIDATES) - 1)))]
CONTEXTUAL = FORMS[1:]
READS_HEADINGS = {"title": False, "headings": True, "prefix": True}
"""The forms that read a candidate's title, and whether they read its headings."""


def export(folder: Path, model: AnySelector, precision: str = "fp32") -> SelectorScorer:
    write_selector(
        folder,
        model,
        TOKENIZER,
        precision=precision,
        training={},
        sample=SAMPLE,
    )
    return SelectorScorer(open_bundle(folder))


@pytest.fixture(scope="module")
def scorers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SelectorScorer]:
    folder = tmp_path_factory.mktemp("contextual")
    return {form: export(folder / form, make(form)) for form in FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_the_runtime_scores_as_torch_does_in_batches(
    scorers: dict[str, SelectorScorer], form: str
) -> None:
    expected = SelectorTorchScorer(make(form), TOKENIZER).score(QUESTION, CANDIDATES)

    np.testing.assert_allclose(scorers[form].score(QUESTION, CANDIDATES), expected, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_padding_changes_nothing(form: str) -> None:
    scorer = SelectorTorchScorer(make(form), TOKENIZER)

    together = scorer.score(QUESTION, CANDIDATES)

    alone = [scorer.score(QUESTION, [candidate])[0] for candidate in CANDIDATES]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_neither_company_nor_the_order_of_documents_changes_a_score(
    scorers: dict[str, SelectorScorer], form: str
) -> None:
    together = scorers[form].score(QUESTION, CANDIDATES)

    alone = [scorers[form].score(QUESTION, [candidate])[0] for candidate in CANDIDATES]
    turned = scorers[form].score(QUESTION, CANDIDATES[::-1])[::-1]

    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, turned)


@pytest.mark.parametrize("form", CONTEXTUAL)
def test_context_changes_the_score_and_its_lack_does_not_break_it(
    scorers: dict[str, SelectorScorer], form: str
) -> None:
    bare = [replace(candidate, document=None, position=None) for candidate in CANDIDATES]

    with_context = scorers[form].score(QUESTION, CANDIDATES)
    without = scorers[form].score(QUESTION, bare)

    assert (with_context[:-1] != without[:-1]).all()
    assert with_context[-1] == without[-1]
    texts = [candidate.text for candidate in CANDIDATES]
    np.testing.assert_array_equal(without, scorers[form].score(QUESTION, texts))


@pytest.mark.parametrize(
    "form",
    ["title", "headings", "prefix", "local", "global", "concatenation", "multi-way", "stored"],
)
def test_a_new_form_begins_with_the_scores_of_the_selector_where_there_is_no_context(
    form: str,
) -> None:
    plain = make_selector(max_tokens=72)
    texts = [candidate.text for candidate in CANDIDATES]

    model = read_context([plain], form, "static").eval()

    expected = SelectorTorchScorer(plain, TOKENIZER).score(QUESTION, texts)
    found = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, texts)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("form", CONTEXTUAL)
def test_a_bundle_in_int8_can_be_trained_on(tmp_path: Path, form: str) -> None:
    scorer = export(tmp_path / "m", make(form), "int8")

    model, vocabulary = reopen_selector(tmp_path / "m")

    assert model.config.context == make(form).config.context
    again = SelectorTorchScorer(model, vocabulary).score(QUESTION, CANDIDATES)
    assert again == pytest.approx(scorer.score(QUESTION, CANDIDATES), abs=1.0)
    names = [name for name, value in model.named_parameters() if value.requires_grad]
    assert names == [name for name, value in make(form).named_parameters() if value.requires_grad]


def test_ngrams_choose_another_page_than_vectors(
    scorers: dict[str, SelectorScorer], tmp_path: Path
) -> None:
    scorer = export(tmp_path / "m", make("global", "ngrams"))

    assert (
        scorer.score(QUESTION, CANDIDATES) != scorers["global"].score(QUESTION, CANDIDATES)
    ).any()


@pytest.mark.parametrize("form", CONTEXTUAL)
def test_every_form_can_be_the_last_stage_of_a_cascade(
    scorers: dict[str, SelectorScorer], form: str
) -> None:
    cascade = Cascade("c", [Stage(rejoinder.load("jaccard"), 5), Stage(scorers[form])])

    ranking = rejoinder.rank(QUESTION, CANDIDATES, scorer=cascade)

    # What the first stage dropped is still context: scores are those of the whole list.
    whole = dict(zip(CANDIDATES, scorers[form].score(QUESTION, CANDIDATES), strict=True))
    assert [item.score for item in ranking.items[:5]] == [
        whole[item.candidate] for item in ranking.items[:5]
    ]


@pytest.mark.parametrize("form", ["none", "headings", "multi-way", "stored", "ensemble"])
def test_every_form_learns(form: str) -> None:
    torch.manual_seed(0)
    model = make(form)
    for parameter in model.get_new_parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    lists = [
        Example(str(at), QUESTION, CANDIDATES[at : at + 4], (True, False, False, False))
        for at in range(0, 16, 4)
    ]
    recipe = Recipe("anchored", 12, 4, learning_rate=1e-3, new_learning_rate=1e-3)
    losses: list[float] = []

    fit_selector(
        Plan(model.config, recipe),
        [Part(lists)],
        model,
        TOKENIZER,
        on_step=lambda step: losses.append(step.loss),
    )

    assert losses[-1] < losses[0] - 0.1


def test_only_the_top_three_layers_of_an_ensemble_are_tuned() -> None:
    parts = [
        add_context(make_selector(layers=4), ContextConfig(form)) for form in ("local", "global")
    ]

    model = join_selectors(parts, ContextConfig("ensemble"))

    tuned = {name for name, value in model.named_parameters() if value.requires_grad}
    assert not any(".layer.0." in name or "embeddings" in name for name in tuned)
    assert {name.split(".")[3] for name in tuned if ".layer." in name} == {"1", "2", "3"}


def test_the_score_of_an_ensemble_is_that_of_its_feed_forward_layer() -> None:
    model = make("ensemble")
    assert isinstance(model, Ensemble)
    before = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, CANDIDATES)

    with torch.no_grad():
        model.relevance.weight.mul_(2)
        model.relevance.bias.mul_(2)

    doubled = SelectorTorchScorer(model, TOKENIZER).score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(doubled, 2 * before, rtol=1e-4)
    assert len(set(before.round(4))) > 10


def test_new_weights_have_a_learning_rate_of_their_own() -> None:
    model = make("multi-way")

    optimizer = make_optimizer(model, Recipe(learning_rate=1e-5, new_learning_rate=1e-3))

    learnt, new = optimizer.param_groups
    assert (learnt["peak"], new["peak"]) == (1e-5, 1e-3)
    assert len(new["params"]) == 5
    assert len(learnt["params"]) + 5 == len(list(model.parameters()))


def test_an_ensemble_needs_two_selectors_that_read_apart() -> None:
    local = add_context(make_selector(), ContextConfig("local"))

    with pytest.raises(InputError, match="an ensemble begins with two selectors"):
        read_context([local, local], "ensemble", "static")
    with pytest.raises(InputError, match="only an ensemble starts from two"):
        read_context([local, local], "local", "static")


def test_context_is_not_added_twice() -> None:
    local = add_context(make_selector(), ContextConfig("local"))

    assert read_context([local], None, "static") is local
    assert read_context([local], "local", "static") is local
    with pytest.raises(InputError, match="reads context 'local' already"):
        read_context([local], "multi-way", "static")


@pytest.mark.parametrize("form", ["none", "local", "multi-way"])
def test_a_selector_that_reads_headings_may_read_another_context(form: str) -> None:
    headings = add_context(make_selector(), ContextConfig("headings"))
    kinds = headings.encoder.embeddings.token_type_embeddings.weight
    with torch.no_grad():
        kinds += torch.randn_like(kinds)

    other = read_context([headings], form, "static")

    assert isinstance(other, Selector)
    assert other.config.context.form == form
    learnt = other.state_dict()
    assert all(torch.equal(value, learnt[name]) for name, value in headings.state_dict().items())


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown form of context 'locl'"):
        ContextConfig("locl")
    with pytest.raises(UnknownNameError, match="unknown similarity 'static-vectors'"):
        ContextConfig("global", "static-vectors")
    with pytest.raises(InputError, match="n-grams have none"):
        ContextConfig("stored", "ngrams")


def test_a_bundle_of_other_static_vectors_is_refused(tmp_path: Path) -> None:
    export(tmp_path / "m", make("global"))
    bundle = open_bundle(tmp_path / "m")
    files = {name: (bundle.folder / name).read_bytes() for name in bundle.manifest.files}
    changed = {**bundle.manifest.config, "vectors": "other"}
    write_bundle(tmp_path / "n", Manifest(KIND, changed), files)

    with pytest.raises(BundleError, match="other static vectors"):
        rejoinder.load(tmp_path / "n")


def test_an_engine_reads_neighbours_that_were_not_retrieved(
    scorers: dict[str, SelectorScorer], tmp_path: Path
) -> None:
    (tmp_path / "cave.txt").write_text(
        "It rained in summer. The cave is deep. A dog is here.", encoding="utf-8"
    )
    pieces = WordPiece(["[UNK]", "cave"])
    with Index(tmp_path / "index", create=True, tokenizer=pieces) as index:
        index.add([tmp_path / "cave.txt"])
        found = Engine(index, scorers["local"], retrieved=1).answer("cave")

    sentences = ("It rained in summer.", "The cave is deep.", "A dog is here.")
    (answer,) = found.answers
    place = sentences.index(answer.sentence)
    expected = Candidate("", answer.sentence, Document("", "", sentences), place)
    assert answer.score == scorers["local"].score("cave", [expected])[0]


@pytest.mark.parametrize(("form", "reads_headings"), [*READS_HEADINGS.items()])
def test_titles_and_headings_change_a_score_and_other_sentences_do_not(
    scorers: dict[str, SelectorScorer], form: str, reads_headings: bool
) -> None:
    scorer, candidate = scorers[form], CANDIDATES[3]
    document = Document("ice", "Glacier caves")

    def score(candidate: Candidate) -> float:
        return float(scorer.score(QUESTION, [candidate])[0])

    plain = score(candidate)
    headed = score(replace(candidate, headings=("Cold caves", "Rock")))
    assert (headed != plain) is reads_headings
    assert score(replace(candidate, document=replace(document, title="Hot tea"))) != plain
    assert score(replace(candidate, document=document, position=None)) == plain


@pytest.mark.parametrize("form", READS_HEADINGS)
def test_an_engine_reads_the_title_and_the_headings_above_a_sentence(
    scorers: dict[str, SelectorScorer], tmp_path: Path, form: str
) -> None:
    text = "# Cold ice\n\n## Deep caves\n\n### Rock\n\nThe cave is in the valley.\n"
    (tmp_path / "cave.md").write_text(text, encoding="utf-8")
    with Index(tmp_path / "index", create=True) as index:
        index.add([tmp_path / "cave.md"])
        (answer,) = Engine(index, scorers[form]).answer("where is the cave").answers

    document = Document("", "Cold ice")
    expected = Candidate("", answer.sentence, document, None, ("Deep caves", "Rock"))
    assert answer.score == scorers[form].score("where is the cave", [expected])[0]
    bare = replace(expected, document=None, headings=())
    assert answer.score != scorers[form].score("where is the cave", [bare])[0]


def test_a_plain_selector_says_nothing_of_context(tmp_path: Path) -> None:
    export(tmp_path / "m", make("none"))

    assert "context" not in open_bundle(tmp_path / "m").manifest.config
    model, _ = reopen_selector(tmp_path / "m")
    assert isinstance(model, Selector)
    assert not isinstance(model, Ensemble)
    assert model.config.context == ContextConfig()
