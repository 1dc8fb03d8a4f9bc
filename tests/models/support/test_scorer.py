"""The scorer of support: its network, its head, and the words it compares."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.registry import list_shipped, make_scorer
from rejoinder.models.support.scorer import FEATURES, KIND, SupportScorer
from rejoinder.models.support.words import NAMES, compare_words
from rejoinder.types import Candidate, Document

STATEMENT = "Ada Lovelace wrote the notes in 1843."
SENTENCES = [
    "In 1843 Ada Lovelace wrote the notes.",
    "It rained in 1843.",
    "Ada wrote notes in 1842.",
]


@pytest.fixture(scope="module")
def scorer() -> SupportScorer:
    return SupportScorer(open_bundle(list_shipped()[KIND]))


def compare(statement: str, sentence: str, **options: Any) -> dict[str, float]:
    (row,) = compare_words(statement, [Candidate("", sentence, **options)])
    return dict(zip(NAMES, row.tolist(), strict=True))


def write(folder: Path, **changes: Any) -> Path:
    shipped = open_bundle(list_shipped()[KIND]).manifest
    config = {**shipped.config, **changes}
    write_bundle(folder, Manifest(KIND, config), {})
    return folder


def test_the_sentence_that_supports_is_first(scorer: SupportScorer) -> None:
    scores = scorer.score(STATEMENT, SENTENCES)

    assert scores.argmax() == 0
    assert scores[0] > 0 > scores[1]


def test_scores_do_not_depend_on_the_list(scorer: SupportScorer) -> None:
    alone = [scorer.score(STATEMENT, [sentence])[0] for sentence in SENTENCES]

    assert scorer.score(STATEMENT, SENTENCES).tolist() == alone
    assert scorer.score(STATEMENT, []).tolist() == []


def test_it_is_loaded_by_its_name() -> None:
    assert rejoinder.load("support").name == "support"


def test_the_score_is_that_of_the_features(scorer: SupportScorer) -> None:
    given = [Candidate(str(place), text) for place, text in enumerate(SENTENCES)]
    features = scorer.read(STATEMENT, given)
    config = open_bundle(list_shipped()[KIND]).manifest.config

    weights = np.array([config["head"][name] for name in FEATURES])

    expected = features @ weights + config["intercept"]
    np.testing.assert_allclose(scorer.score(STATEMENT, given), expected)


@pytest.mark.parametrize("missing", ["base", "head", "intercept"])
def test_a_bundle_without_a_setting_is_refused(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path / "own", **{missing: None})

    with pytest.raises(BundleError, match=r"export the bundle again"):
        make_scorer(open_bundle(folder))


def test_a_head_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", intercept=inf)

    with pytest.raises(BundleError, match="a number that is not finite"):
        make_scorer(open_bundle(folder))


def test_words_are_compared_without_endings_and_small_words() -> None:
    found = compare("The bees operated it.", "A bee operates.")

    assert found["words"] == 0.5, "operat, but not bee: stems keep four letters"
    assert found["words_with_title"] == 0.5


def test_words_of_the_title_and_the_headings_count_apart() -> None:
    options = {"document": Document("d", "Green_tea"), "headings": ("Brewing",)}
    found = compare("Brewing green tea needs water", "It needs water.", **options)

    assert found["words"] == pytest.approx(2 / 5)
    assert found["words_with_title"] == 1


def test_numbers_and_names_that_are_missing_are_counted() -> None:
    found = compare(STATEMENT, "Ada wrote the notes in 1842.")

    assert (found["numbers_missing"], found["names_missing"]) == (1, 1)
    assert compare("It cost 1, 2, 3 and 4.", "It cost.")["numbers_missing"] == 2, "at most"


def test_pairs_of_words_are_found_together() -> None:
    assert compare("red wine", "red and sweet wine")["pairs"] == 1
    assert compare("red wine", "wine that is red")["pairs"] == 0


@pytest.mark.parametrize(
    ("statement", "sentence", "added", "differs"),
    [
        ("It is not blue.", "It is blue.", 1, 1),
        ("It is blue.", "It is never blue.", 0, 1),
        ("It isn't blue.", "It is not blue.", 0, 0),
    ],
)
def test_negation_is_compared(statement: str, sentence: str, added: int, differs: int) -> None:
    found = compare(statement, sentence)

    assert (found["negation_added"], found["negation_differs"]) == (added, differs)


def test_an_empty_statement_shares_nothing() -> None:
    found = compare("", "It is blue.")

    assert found["words"] == found["pairs"] == 0
    assert all(np.isfinite(value) for value in found.values())
