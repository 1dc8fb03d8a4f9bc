from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import InputError
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import to_candidates

TEXTS = ["a", "bb", "ccc", "dddd"]


class Lengths:
    """Scores by length, and counts the candidates it was asked about."""

    name = "lengths"

    def __init__(self, *, is_pointwise: bool = True, times: float = 1.0) -> None:
        self.is_pointwise = is_pointwise
        self.asked: list[str] = []
        self._times = times

    def score(self, question: str, candidates: Candidates) -> Scores:
        given = to_candidates(candidates)
        self.asked += [item.text for item in given]
        return np.array([self._times * len(item.text) for item in given], dtype=np.float64)


def test_no_pair_is_asked_twice() -> None:
    scorer = Lengths()
    remembered = CachedScorer(scorer)

    assert remembered.score("q", TEXTS[1:3]).tolist() == [2, 3]
    assert remembered.score("q", TEXTS).tolist() == [1, 2, 3, 4]
    assert remembered.score("q", TEXTS[::-1]).tolist() == [4, 3, 2, 1]
    assert scorer.asked == ["bb", "ccc", "a", "dddd"]
    remembered.score("other", ["a"])
    assert scorer.asked[4:] == ["a"]


def test_what_reads_the_list_is_remembered_by_list() -> None:
    scorer = Lengths(is_pointwise=False)
    remembered = CachedScorer(scorer)

    for texts in (TEXTS, TEXTS, TEXTS[:2]):
        remembered.score("q", texts)

    assert scorer.asked == [*TEXTS, "a", "bb"]
    assert not remembered.is_pointwise


def test_a_second_run_goes_on_from_the_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    CachedScorer(Lengths(), kept=kept).score("q", TEXTS)
    CachedScorer(Lengths(), kept=kept).score("r", TEXTS)
    scorer = Lengths()
    remembered = CachedScorer(scorer, kept=kept)

    assert remembered.score("q", TEXTS).tolist() == [1, 2, 3, 4]
    assert remembered.score("r", TEXTS).tolist() == [1, 2, 3, 4]
    assert scorer.asked == TEXTS, "one list is asked again, to see that the weights are the same"
    assert remembered.score("r", [*TEXTS, "eeeee"]).tolist() == [1, 2, 3, 4, 5]
    assert scorer.asked[4:] == ["eeeee"]


def test_other_weights_of_the_same_name_are_noticed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    CachedScorer(Lengths(), kept=kept).score("q", TEXTS)

    with pytest.raises(InputError, match=r"keeps what another lengths said; remove it"):
        CachedScorer(Lengths(times=2), kept=kept).score("q", TEXTS)


def test_scorers_share_a_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    CachedScorer(Lengths(), kept=kept).score("q", TEXTS)
    other = Lengths(times=2)
    other.name = "doubles"

    assert CachedScorer(other, kept=kept).score("q", TEXTS).tolist() == [2, 4, 6, 8]


def test_nothing_is_asked_about_an_empty_list() -> None:
    assert CachedScorer(Lengths()).score("q", []).tolist() == []
