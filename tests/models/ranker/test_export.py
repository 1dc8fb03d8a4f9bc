"""A bundle must score without torch as its network does with it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.models.networks import open_ranker  # noqa: E402

from rejoinder.errors import BundleError  # noqa: E402
from rejoinder.models.kernel import load_kernel  # noqa: E402
from rejoinder.models.ranker.export import check_parity, write_ranker  # noqa: E402
from rejoinder.models.ranker.heads import HEADS  # noqa: E402
from rejoinder.models.ranker.module.ranker import (  # noqa: E402
    RankerConfig,
    TorchScorer,
    initialise,
    list_rankers,
)
from rejoinder.models.ranker.scorer import find_context  # noqa: E402
from rejoinder.models.static_vectors.vectors import load_vectors  # noqa: E402
from rejoinder.types import Candidate, Document, Example  # noqa: E402

VECTORS = load_vectors()
PAGES = [Document("one"), Document("two")]
TEXTS = [
    "Most glacier caves are formed by meltwater.",
    "It rained.",
    "",
    "x",
    "Most glacier caves are formed by meltwater.",
    "naïve café 猫 \ud800 unheardofword " * 20,
    "The ice of a glacier holds caves, and caves hold ice, e.g. in summer!",
]
EXAMPLE = Example(
    "q",
    "How are glacier caves formed?",
    tuple(
        Candidate(
            str(place), text, PAGES[place % 2] if place < 5 else None, place if place < 6 else None
        )
        for place, text in enumerate(TEXTS)
    ),
    (True, *[False] * 6),
)


def export(folder: Path, model: str, head: str, *, context: str = "none") -> TorchScorer:
    config = RankerConfig(model, VECTORS.width, head, context=context)
    network = initialise(config, seed=1).eval()
    write_ranker(folder, network, VECTORS, training={}, scores={}, sample=[EXAMPLE])
    return TorchScorer(network, VECTORS)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("model", list_rankers())
def test_the_runtime_agrees_with_torch(
    model: str, head: str, compiled: bool, tmp_path: Path
) -> None:
    trained = export(tmp_path / "b", model, head)

    scorer = open_ranker(tmp_path / "b", compiled=compiled)

    for count in (1, 2, len(TEXTS)):
        candidates = EXAMPLE.candidates[:count]
        np.testing.assert_allclose(
            scorer.score(EXAMPLE.question, candidates),
            trained.score(EXAMPLE.question, candidates),
            atol=2e-5,
        )


def test_the_topic_is_read_as_torch_does_and_changes_scores(tmp_path: Path) -> None:
    trained = export(tmp_path / "b", "cosinet", "birnn", context="topic")
    scorer = open_ranker(tmp_path / "b")
    plain = Candidate("0", TEXTS[3])
    above = [
        plain,
        replace(plain, headings=("Glacier caves",)),
        replace(plain, document=Document("d", "Glacier caves")),
    ]

    scores = [float(scorer.score(EXAMPLE.question, [item])[0]) for item in above]

    assert len(set(scores)) == 3
    together = scorer.score(EXAMPLE.question, above)
    np.testing.assert_allclose(together, trained.score(EXAMPLE.question, above), atol=2e-5)


def test_a_bundle_from_when_there_was_one_form_of_context_opens() -> None:
    assert find_context({"context": True}) == "neighbours"
    assert find_context({"context": "topic"}) == "topic"
    assert find_context({}) == "none"


@pytest.mark.parametrize("head", ["none", "birnn"])
def test_context_is_read_as_torch_does_and_changes_scores(head: str, tmp_path: Path) -> None:
    trained = export(tmp_path / "b", "cosinet", head, context="neighbours")
    scorer = open_ranker(tmp_path / "b")
    untitled = replace(PAGES[0], title="")
    titled = replace(PAGES[0], title="Glacier caves", sentences=("It rained.", *TEXTS))

    scores = [
        scorer.score(EXAMPLE.question, [Candidate("0", TEXTS[3], document, 4)])
        for document in (untitled, titled)
    ]

    assert scores[0] != scores[1]
    np.testing.assert_allclose(
        scorer.score(EXAMPLE.question, EXAMPLE.candidates),
        trained.score(EXAMPLE.question, EXAMPLE.candidates),
        atol=2e-5,
    )


@pytest.mark.parametrize("model", list_rankers())
def test_stored_tokens_score_like_their_text(model: str, tmp_path: Path) -> None:
    export(tmp_path / "b", model, "birnn")
    scorer = open_ranker(tmp_path / "b")
    stored = [replace(item, tokens=scorer.encode(item.text)) for item in EXAMPLE.candidates]
    known = [stored[place] for place in (0, 1, 2, 3, 6)]
    lost = [replace(item, text="") for item in known]

    by_text = scorer.score(EXAMPLE.question, [replace(item, tokens=None) for item in known])

    np.testing.assert_allclose(scorer.score(EXAMPLE.question, lost), by_text, atol=1e-6)
    # Candidates with unknown pieces, or without tokens, go by their text, and only these.
    expected = scorer.score(EXAMPLE.question, EXAMPLE.candidates)
    np.testing.assert_allclose(scorer.score(EXAMPLE.question, stored), expected, atol=1e-6)
    mixed = [
        replace(item, text="") if place in (0, 6) else item for place, item in enumerate(stored)
    ]
    mixed[2] = replace(mixed[2], tokens=None)
    np.testing.assert_allclose(scorer.score(EXAMPLE.question, mixed), expected, atol=1e-6)


def test_this_machine_has_the_compiled_kernel() -> None:
    assert load_kernel() is not None, "no C compiler was found when rejoinder was installed"


def test_a_difference_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    trained = export(tmp_path / "b", "cosinet", "none")
    other = export(tmp_path / "c", "cosinet", "birnn")

    with pytest.raises(
        BundleError, match=r"scores of question 'q' differ by .* nothing was written"
    ):
        check_parity(trained, other, [EXAMPLE], tolerance=1e-4)
    check_parity(trained, trained, [EXAMPLE], tolerance=0.0)
