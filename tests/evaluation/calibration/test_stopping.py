import numpy as np
import pytest
from tests.cascade.conftest import Slow, count_a
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.errors import InputError
from rejoinder.evaluation.calibration.stopping import (
    NEVER,
    ReadList,
    cache_scores,
    fit_stop,
    fit_stops,
    read_lists,
    with_stops,
)
from rejoinder.models.lexical.scorers import Jaccard
from rejoinder.models.passages import PassageScorer
from rejoinder.types import Candidate, Example


def draw(count: int, seed: int = 0) -> list[ReadList]:
    """Return lists of ten whose scores follow the order of the stage before, with noise."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        merits = np.sort(rng.normal(0, 2, 10))[::-1]
        scores = merits + rng.normal(0, 1, 10)
        lists.append(ReadList(scores, merits, int(scores.argmax())))
    return lists


def make_noisy(count: int, seed: int = 0) -> list[Example]:
    """Return questions whose answer is mostly the candidate with the largest number of a's."""
    rng = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        merits = rng.integers(0, 60, 10)
        counts = np.maximum(merits + rng.integers(-20, 21, 10), 0)
        right = int(counts.argmax()) if rng.random() < 0.7 else int(rng.integers(10))
        candidates = tuple(
            Candidate(str(at), "b" * merit + "a" * a, passage="a" * int(a + rng.integers(0, 9)))
            for at, (merit, a) in enumerate(zip(merits.tolist(), counts.tolist(), strict=True))
        )
        labels = tuple(at == right for at in range(10))
        examples.append(Example(str(number), "q", candidates, labels))
    return examples


def count_b(text: str) -> float:
    return text.count("b")


def make_cascade() -> Cascade:
    """Return a cascade of b's, of a's of the passage, and of a's."""
    passages = PassageScorer(Slow("passages", count_a))
    stages = [Stage(Slow("first", count_b), 10), Stage(passages, 5), Stage(Slow("last", count_a))]
    return Cascade("three", stages)


def test_a_rule_reads_less() -> None:
    lists = draw(400)

    rule = fit_stop(lists, 0.05)

    assert rule.gap < 0
    assert rule.best < 0
    assert np.mean([item.count_read(rule) for item in lists]) < 6


def test_the_risk_holds_on_other_lists() -> None:
    rule, lists = fit_stop(draw(400), 0.1), draw(2000, seed=1)

    lost = np.mean([item.scores.argmax() >= item.count_read(rule) for item in lists])

    assert 0.01 < lost < 0.1


def test_less_risk_reads_more() -> None:
    lists = draw(200)

    careful, bold = fit_stop(lists, 0.01), fit_stop(lists, 0.2)

    assert sum(item.count_read(careful) for item in lists) > sum(
        item.count_read(bold) for item in lists
    )


def test_the_report_is_of_all_stages_that_stop() -> None:
    examples = make_noisy(300)
    cascade = cache_scores(make_cascade())

    report = fit_stops(cascade, examples, 0.05)

    assert [(stop.number, stop.scorer) for stop in report.stages] == [
        (2, "passages (passages)"),
        (3, "last"),
    ]
    passages, last = report.stages
    assert (passages.given, last.given) == (10, 5)
    assert passages.read < 9
    assert last.read < 4.95
    assert report.accuracy > report.accuracy_of_all - 0.02
    assert report.difference.low <= report.accuracy - report.accuracy_of_all
    assert report.to_dict()["questions"] == 300


def test_fitted_stops_lose_little_on_other_questions() -> None:
    report = fit_stops(cache_scores(make_cascade()), make_noisy(300), 0.05)
    cascade, others = make_cascade(), make_noisy(500, seed=1)
    rules = {stop.number - 1: stop.rule for stop in report.stages}

    same = [
        with_stops(cascade, rules)
        .score_in_stages(item.question, item.candidates, only_first=True)
        .order[0]
        == cascade.score_in_stages(item.question, item.candidates).order[0]
        for item in others
    ]

    assert 0.9 < np.mean(same) < 1


def test_lists_are_those_of_the_last_stage() -> None:
    examples = make_examples(count=20, size=6)
    cascade = Cascade("two", [Stage(Slow("length", len), 4), Stage(Slow("last", count_a))])

    lists = read_lists(cascade, examples)[1]

    for example, item in zip(examples, lists, strict=True):
        lengths = sorted((len(given.text) for given in example.candidates), reverse=True)
        assert item.merits.tolist() == lengths[:4]
        assert len(item.scores) == 4
        assert item.winner == item.scores.argmax()
    assert lists[0].count_read(NEVER) == 4


def test_a_stage_that_reads_passages_looks_for_the_winner_of_the_last() -> None:
    passages = PassageScorer(Slow("passages", count_a))
    cascade = Cascade("three", [Stage(Slow("first", len), 4), Stage(passages, 3), Stage(Jaccard())])
    texts = [("b b b b", "aaaa"), ("q b c", "aa"), ("b b", "aaa"), ("b", "")]
    given = tuple(Candidate(text, text, passage=passage) for text, passage in texts)

    lists = read_lists(cascade, [Example("1", "q", given, (False, True, False, False))])

    assert {number: item.winner for number, (item,) in lists.items()} == {1: 1, 2: 2}
    assert lists[1][0].scores.tolist() == [4, 2, 3, 0]


def test_a_single_scorer_has_nothing_to_stop() -> None:
    with pytest.raises(InputError, match="jaccard is no cascade"):
        read_lists(Jaccard(), [])
    with pytest.raises(InputError, match="stage 1 cannot stop"):
        read_lists(Cascade("one", [Stage(Jaccard())]), [])


def test_a_rule_needs_lists_of_both_kinds() -> None:
    always = [ReadList(np.arange(3.0)[::-1], np.arange(3.0)[::-1], 0)] * 9

    with pytest.raises(InputError, match="a later candidate wins at 0 of"):
        fit_stop(always, 0.1)
