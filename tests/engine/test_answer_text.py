from collections.abc import Sequence

import numpy as np
import pytest

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.loading import load
from rejoinder.engine.texts import answer_text
from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.staged import Deadline, Staged
from rejoinder.types import Candidate

TEXT = "# Tea\n\nTea is always hot. It rains.\nMilk is cold."


class Doubting:
    """Abstains, whatever it is asked."""

    name = "doubting"

    def score(self, question: str, candidates: Candidates) -> Scores:
        return np.arange(len(candidates), dtype=np.float64)

    def score_in_stages(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        deadline: Deadline | None = None,
        only_first: bool = False,
    ) -> Staged:
        scores = self.score(question, candidates)
        return Staged(scores, np.zeros(len(scores), np.int64), (), confidence=0.1, abstains=True)


def test_the_best_sentence_comes_first_with_its_place() -> None:
    found = answer_text("is milk cold?", TEXT, scorer=load("jaccard"), top=2)

    first, second = found.answers
    assert first.sentence == "Milk is cold."
    assert TEXT[first.source.start : first.source.end] == first.sentence
    assert (first.source.line, first.rank, second.rank) == (4, 1, 2)
    assert second.sentence == "Tea is always hot."
    assert found.retrieved == 3


def test_an_abstention_has_the_closest_sentences() -> None:
    found = answer_text("why?", TEXT, scorer=Doubting(), top=2)

    assert found.abstains
    assert len(found.answers) == 2
    assert found.answers[0].sentence == "Milk is cold."
    assert found.answers[0].confidence == found.confidence == 0.1


def test_a_text_is_answered_from_the_least_confidence_on() -> None:
    cascade = Cascade(
        "one", [Stage(load("word-overlap"))], calibration=Calibration(Logistic(-2.0, 1.0))
    )

    def ask(least: float) -> bool:
        question = "is milk hot?"  # two shared words: 50 %
        return answer_text(question, TEXT, scorer=cascade, min_confidence=least).abstains

    assert (ask(0.4), ask(0.6)) == (False, True)
    with pytest.raises(InputError, match="jaccard has none"):
        answer_text("why?", TEXT, scorer=load("jaccard"), min_confidence=0.5)


def test_an_empty_text_has_no_answer() -> None:
    found = answer_text("why?", " \n", scorer=load("jaccard"))

    assert found.answers == ()
    assert found.abstains


def test_an_empty_question_is_an_error() -> None:
    with pytest.raises(InputError, match="the question is empty"):
        answer_text(" ", TEXT, scorer=load("jaccard"))
