"""The benchmark of the stage before the selector."""

import numpy as np
import pytest
from benchmarks.corpora.questions import Question
from benchmarks.first_stages import DEPTHS, Ranked, describe, rank
from benchmarks.manuals.pages import normalize

from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Candidate


class Longest:
    """Prefers long texts."""

    name = "longest"
    is_pointwise = True

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the lengths."""
        return np.array([len(getattr(item, "text", "")) for item in candidates], dtype=np.float64)


@pytest.fixture
def found() -> list[Candidate]:
    texts = ["Short.", "The longest of all sentences.", "A middle one."]
    return [Candidate(str(at), text, retrieval_score=float(-at)) for at, text in enumerate(texts)]


def make_question(accepted: str) -> Question:
    return Question("q", "Which?", "set", frozenset([normalize(accepted)]))


def test_the_rank_of_the_first_right_sentence_is_kept(found: list[Candidate]) -> None:
    questions = [make_question(found[1].text), make_question("Nowhere.")]

    alone = rank(Longest(), questions, [found, found], fusion=0.0)
    searched = rank(Longest(), questions, [found, found], fusion=100.0)

    assert alone.ranks == [1, None]
    assert searched.ranks == [2, None], "the search has more weight"
    assert len(alone.milliseconds) == 2


def test_shares_are_averaged_over_groups_and_compared_in_pairs() -> None:
    first = Ranked([1, 1, None, 6], [1.0, 2.0, 3.0, 4.0])
    other = Ranked([1, 1, 2, 6], [2.0] * 4)
    groups = ["a", "a", "a", "b"]

    own, compared = (describe(item, first, groups) for item in (first, other))

    assert own["@5"] == [33.3]  # (2 / 3 + 0 / 1) / 2
    assert own["@8"] == [83.3]
    assert own["cpu_ms"] == 2.5
    assert compared["@5"] == [50.0, 0.0, 75.0]
    assert set(own) == {*(f"@{depth}" for depth in DEPTHS), "cpu_ms"}
