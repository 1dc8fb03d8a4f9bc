from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.texts import RankedDocument, rank_documents
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import OriginalOrder, WordOverlap
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Candidate

TEA = "# Tea\n\nTea is a leaf. Green tea is brewed\nat 75 °C. Milk will spoil it."
BEES = "Bees can dance well. A colony has one queen."


class Kept:
    """Scores by word overlap, and keeps what it was given."""

    name = "kept"

    def __init__(self) -> None:
        self.given: list[Candidate] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        self.given = [item for item in candidates if isinstance(item, Candidate)]
        return WordOverlap().score(question, candidates)


def list_places(items: Sequence[RankedDocument]) -> list[int]:
    return [item.place for item in items]


def test_a_document_is_as_good_as_its_best_sentence() -> None:
    ranking = rank_documents("how is green tea brewed", [BEES, TEA], scorer=WordOverlap())

    first, last = ranking.documents
    assert (first.place, first.rank, first.score) == (1, 1, 4.0)  # is, green, tea, brewed
    assert first.best
    assert first.best.sentence == "Green tea is brewed at 75 °C."
    assert TEA[first.best.start : first.best.end] == "Green tea is brewed\nat 75 °C."
    assert (last.place, last.rank, last.score) == (0, 2, 0.0)
    assert (ranking.question, ranking.scorer) == ("how is green tea brewed", "word-overlap")
    assert [stage.scorer for stage in ranking.trace] == ["word-overlap"]


def test_spans_come_best_first_without_the_heading() -> None:
    (item,) = rank_documents("is green tea brewed", [TEA], scorer=WordOverlap()).documents

    assert [(span.sentence, span.score) for span in item.spans] == [
        ("Green tea is brewed at 75 °C.", 4.0),
        ("Tea is a leaf.", 2.0),
        ("Milk will spoil it.", 0.0),
    ]


def test_a_scorer_sees_the_document_and_the_place_in_it() -> None:
    scorer = Kept()

    rank_documents("tea", [TEA, BEES], scorer=scorer, titles=["On tea", ""])

    first = scorer.given[0]
    assert (first.text, first.position) == ("Tea is a leaf.", 1)
    assert first.document
    assert first.document.title == "On tea"
    assert first.document.sentences == [
        "Tea",
        "Tea is a leaf.",
        "Green tea is brewed at 75 °C.",
        "Milk will spoil it.",
    ]
    assert [item.position for item in scorer.given] == [1, 2, 3, 0, 1]


def test_equal_documents_keep_their_order() -> None:
    ranking = rank_documents("bees", [BEES, BEES, BEES], scorer=OriginalOrder())

    assert list_places(ranking.documents) == [0, 1, 2]
    assert [len(item.spans) for item in ranking.documents] == [2, 2, 2]


def test_a_line_that_looks_like_a_heading_is_an_answer_when_alone() -> None:
    ranking = rank_documents(
        "capital of Nevada", ["It rains.", "Carson City is the capital"], scorer=WordOverlap()
    )

    assert list_places(ranking.documents) == [1, 0]


def test_documents_without_a_sentence_come_last_with_relevance_zero() -> None:
    ranking = rank_documents("bees", ["", BEES, " \n"], scorer=WordOverlap())

    assert list_places(ranking.documents) == [1, 0, 2]
    assert [item.relevance for item in ranking.documents[1:]] == [0.0, 0.0]
    assert ranking.documents[1].best is None
    assert np.isfinite(ranking.documents[1].score)


def test_nothing_given_gives_nothing() -> None:
    assert rank_documents("bees", [], scorer=WordOverlap()).documents == ()
    assert rank_documents("bees", [""], scorer=WordOverlap()).documents[0].relevance == 0.0


def test_top_limits_the_documents() -> None:
    ranking = rank_documents("queen", [TEA, BEES, ""], scorer=WordOverlap(), top=1)

    assert list_places(ranking.documents) == [1]


def test_scores_of_all_stages_are_on_one_scale() -> None:
    cascade = Cascade("two", [Stage(WordOverlap(), keep=1), Stage(OriginalOrder())])

    ranking = rank_documents("is tea a leaf", [BEES, TEA], scorer=cascade)

    # The second stage saw one sentence and gave it 1; "a colony" shares one word more
    # with the question than "Bees dance", and stands one step above it.
    tea, bees = ranking.documents
    assert [span.score for span in tea.spans] == [1.0, 0.0, -2.0]
    assert [span.score for span in bees.spans] == [-1.0, -2.0]
    assert tea.relevance == pytest.approx(1 / (1 + np.exp(-1)))


def test_a_calibrated_scorer_may_abstain() -> None:
    calibration = Calibration(Logistic(intercept=-2.0, best=1.0))
    cascade = Cascade("one", [Stage(WordOverlap())], calibration=calibration)

    sure = rank_documents("green tea is brewed", [TEA], scorer=cascade)
    unsure = rank_documents("xylophones", [TEA], scorer=cascade)

    assert not sure.abstains
    assert sure.confidence == pytest.approx(1 / (1 + np.exp(-2)))  # 4 words - 2
    assert unsure.abstains
    assert len(unsure.documents) == 1


def test_no_time_left_still_ranks_every_document() -> None:
    ranking = rank_documents("queen", [TEA, BEES] * 20, scorer=WordOverlap(), budget_ms=0)

    assert sorted(list_places(ranking.documents)) == list(range(40))
    assert ranking.trace[0].timed_out


def test_bad_numbers_are_errors() -> None:
    with pytest.raises(InputError, match="top must be 1 or more, found 0"):
        rank_documents("q", ["a"], scorer=WordOverlap(), top=0)
    with pytest.raises(InputError, match="0 or more milliseconds"):
        rank_documents("q", ["a"], scorer=WordOverlap(), budget_ms=-1)


@given(st.lists(st.text(max_size=60), max_size=6), st.text(max_size=20))
def test_every_document_is_there_once_and_its_spans_are_in_its_text(
    texts: list[str], question: str
) -> None:
    ranking = rank_documents(question, texts, scorer=WordOverlap())

    assert sorted(list_places(ranking.documents)) == list(range(len(texts)))
    scores = [item.score for item in ranking.documents]
    assert scores == sorted(scores, reverse=True)
    for item in ranking.documents:
        for span in item.spans:
            words = texts[item.place][span.start : span.end].split()
            assert span.sentence.split() == words
            assert item.score >= span.score
