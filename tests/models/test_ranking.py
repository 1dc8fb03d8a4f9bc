import numpy as np
import pytest

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.ranking import rank
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Candidate, to_candidates


class Length:
    name = "length"

    def score(self, question: str, candidates: Candidates) -> Scores:
        texts = [candidate.text for candidate in to_candidates(candidates)]
        return np.array([len(text) for text in texts], dtype=np.float64)


def test_best_comes_first_with_rank_one() -> None:
    ranking = rank("q", ["aa", "a", "aaa"], scorer=Length())

    assert [(item.candidate.text, item.score, item.rank) for item in ranking.items] == [
        ("aaa", 3.0, 1),
        ("aa", 2.0, 2),
        ("a", 1.0, 3),
    ]
    assert (ranking.question, ranking.scorer) == ("q", "length")


def test_equal_scores_keep_input_order() -> None:
    candidates = [Candidate(str(place), "same") for place in range(50)]

    ranking = rank("q", candidates, scorer=Length())

    assert [item.candidate for item in ranking.items] == candidates


def test_ranking_nothing_is_empty() -> None:
    assert rank("q", [], scorer=Length()).items == ()


def test_arguments_that_cannot_be_ranked_are_refused() -> None:
    with pytest.raises(InputError, match="the question is empty"):
        rank(" ", ["a"], scorer=Length())
    with pytest.raises(InputError, match="the question must be text, found None"):
        rank(None, ["a"], scorer=Length())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the candidates are one text; give a list"):
        rank("q", "a text", scorer=Length())
    with pytest.raises(InputError, match=r"load it first: scorer=rejoinder.load\('bm25'\)"):
        rank("q", ["a"], scorer="bm25")  # type: ignore[arg-type]


def test_strings_get_their_place_as_id_and_no_order() -> None:
    assert to_candidates(["a", "b"]) == [Candidate("0", "a"), Candidate("1", "b")]
    assert to_candidates(["a"], in_order=True) == [Candidate("0", "a", position=0)]


def test_an_unknown_scorer_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown scorer 'bm52'; did you mean 'bm25'\?"):
        open_scorer("bm52")
