from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import InputError
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import to_candidates

TEXTS = ["a", "bb", "ccc", "dddd"]


class Lengths:
    """Scores by length, and counts the candidates it scored."""

    name = "lengths"

    def __init__(self, *, is_pointwise: bool = True, times: float = 1.0) -> None:
        self.is_pointwise = is_pointwise
        self.scored: list[str] = []
        self._times = times

    def score(self, question: str, candidates: Candidates) -> Scores:
        given = to_candidates(candidates)
        self.scored += [item.text for item in given]
        return np.array([self._times * len(item.text) for item in given], dtype=np.float64)


def test_no_pair_is_scored_twice() -> None:
    scorer = Lengths()
    cached = CachedScorer(scorer)

    assert cached.score("q", TEXTS[1:3]).tolist() == [2, 3]
    assert cached.score("q", TEXTS).tolist() == [1, 2, 3, 4]
    assert cached.score("q", TEXTS[::-1]).tolist() == [4, 3, 2, 1]
    assert scorer.scored == ["bb", "ccc", "a", "dddd"]
    cached.score("other", ["a"])
    assert scorer.scored[4:] == ["a"]


def test_a_listwise_scorer_is_cached_by_list() -> None:
    scorer = Lengths(is_pointwise=False)
    cached = CachedScorer(scorer)

    for texts in (TEXTS, TEXTS, TEXTS[:2]):
        cached.score("q", texts)

    assert scorer.scored == [*TEXTS, "a", "bb"]
    assert not cached.is_pointwise


def test_a_second_run_resumes_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    CachedScorer(Lengths(), path=path).score("q", TEXTS)
    CachedScorer(Lengths(), path=path).score("r", TEXTS)
    scorer = Lengths()
    cached = CachedScorer(scorer, path=path)

    assert cached.score("q", TEXTS).tolist() == [1, 2, 3, 4]
    assert cached.score("r", TEXTS).tolist() == [1, 2, 3, 4]
    assert scorer.scored == TEXTS, "one list is scored again, to check the weights"
    assert cached.score("r", [*TEXTS, "eeeee"]).tolist() == [1, 2, 3, 4, 5]
    assert scorer.scored[4:] == ["eeeee"]


def test_other_weights_of_the_same_name_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    CachedScorer(Lengths(), path=path).score("q", TEXTS)

    with pytest.raises(InputError, match=r"the scores of lengths come from other weights; delete"):
        CachedScorer(Lengths(times=2), path=path).score("q", TEXTS)


def test_scorers_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    CachedScorer(Lengths(), path=path).score("q", TEXTS)
    other = Lengths(times=2)
    other.name = "doubles"

    assert CachedScorer(other, path=path).score("q", TEXTS).tolist() == [2, 4, 6, 8]


def test_an_empty_list_has_no_scores() -> None:
    assert CachedScorer(Lengths()).score("q", []).tolist() == []
