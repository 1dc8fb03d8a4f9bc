import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import InputError
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.passages import PassageScorer
from rejoinder.models.scorer import Candidates, Scores, reads_passages
from rejoinder.types import Candidate, Document, to_candidates

TEXTS = ["a", "bb", "ccc", "dddd"]
BARE = Candidate("0", "a")
READINGS = [
    BARE,
    replace(BARE, document=Document("1", "Bees")),
    replace(BARE, document=Document("1", "Tea")),
    replace(BARE, headings=("Bees",)),
    replace(BARE, headings=("Tea", "Bees")),
    replace(BARE, document=Document("1", "Tea"), headings=("Bees",)),
]
"""Candidates of the same text, each with another title or other headings."""


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


def test_the_scores_of_passages_are_cached_by_passage() -> None:
    lengths = Lengths()
    cached = CachedScorer(PassageScorer(lengths))
    one, other = replace(BARE, passage="a b"), replace(BARE, passage="a b c")

    assert reads_passages(cached)
    assert cached.score("q", [one]).tolist() == [3]
    assert cached.score("q", [one, other]).tolist() == [3, 5]
    assert cached.score("q", [other, one, other]).tolist() == [5, 3, 5]
    assert lengths.scored == ["a b", "a b c"]

    plain = CachedScorer(Lengths())
    assert plain.score("q", [one, other]).tolist() == [1, 1]


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


class Places(Lengths):
    """Scores a candidate by its place in `READINGS`."""

    def score(self, question: str, candidates: Candidates) -> Scores:
        super().score(question, candidates)
        return np.array([READINGS.index(item) for item in to_candidates(candidates)], dtype=float)


@pytest.mark.parametrize("is_pointwise", [True, False])
def test_titles_and_headings_tell_candidates_of_the_same_text_apart(
    tmp_path: Path, is_pointwise: bool
) -> None:
    path, scorer = tmp_path / "scores.jsonl", Places(is_pointwise=is_pointwise)
    cached = CachedScorer(scorer, path=path)

    for _ in range(2):
        assert [cached.score("q", [item]).item() for item in READINGS] == [0, 1, 2, 3, 4, 5]

    assert len(scorer.scored) == 6, "no pair is scored twice"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
    again = CachedScorer(Places(is_pointwise=is_pointwise), path=path)
    assert [again.score("q", [item]).item() for item in READINGS] == [0, 1, 2, 3, 4, 5]


def test_pairs_of_the_same_text_are_told_apart_in_longer_lists() -> None:
    scorer = Places()
    cached = CachedScorer(scorer)

    cached.score("q", READINGS[1:3])

    assert cached.score("q", READINGS).tolist() == [0, 1, 2, 3, 4, 5]
    assert len(scorer.scored) == 2 + 4


def test_the_id_of_a_document_is_not_part_of_the_key() -> None:
    scorer = Lengths()
    cached = CachedScorer(scorer)

    for id_ in ("1", "2"):
        cached.score("q", [replace(BARE, document=Document(id_, "Bees"))])

    assert scorer.scored == ["a"]


@pytest.mark.parametrize("document", [None, Document("1"), Document("1", "", ("They fly.",))])
def test_candidates_without_title_and_headings_keep_the_key_of_older_files(
    tmp_path: Path, document: Document | None
) -> None:
    path = tmp_path / "scores.jsonl"
    key = hashlib.sha256(json.dumps(["q", *TEXTS]).encode()).hexdigest()
    row = {"scorer": "lengths", "list": key, "scores": [1.0, 2.0, 3.0, 4.0]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    candidates = [replace(item, document=document) for item in to_candidates(TEXTS)]

    CachedScorer(Lengths(), path=path).score("q", candidates)

    assert len(path.read_text(encoding="utf-8").splitlines()) == 1, "the list was in the file"
