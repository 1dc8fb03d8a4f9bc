import numpy as np
import pytest
from tests.cascade.conftest import Slow, count_a
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.errors import InputError
from rejoinder.evaluation.stopping import ReadList, fit_stop, read_lists
from rejoinder.models.lexical.scorers import Jaccard


def draw(count: int, seed: int = 0) -> list[ReadList]:
    """Return lists of ten whose scores follow the order of the stage before, with noise."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        merits = np.sort(rng.normal(0, 2, 10))[::-1]
        scores = merits + rng.normal(0, 1, 10)
        labels = np.zeros(10, dtype=bool)
        labels[scores.argmax() if rng.random() < 0.7 else rng.integers(10)] = True
        lists.append(ReadList(scores, merits, labels))
    return lists


def test_a_rule_reads_less_and_finds_nearly_the_same() -> None:
    report = fit_stop(draw(400), 0.05)

    assert report.rule.gap < 0
    assert report.rule.best < 0
    assert report.given == 10
    assert report.read < 6
    assert report.accuracy > report.accuracy_of_all - 0.02
    assert report.difference.low <= report.accuracy - report.accuracy_of_all
    assert report.to_dict()["questions"] == 400


def test_the_risk_holds_on_other_lists() -> None:
    rule, lists = fit_stop(draw(400), 0.1).rule, draw(2000, seed=1)

    lost = np.mean([item.scores.argmax() >= item.count_read(rule) for item in lists])

    assert 0.01 < lost < 0.1


def test_less_risk_reads_more() -> None:
    lists = draw(200)

    assert fit_stop(lists, 0.01).read > fit_stop(lists, 0.2).read


def test_lists_are_those_of_the_last_stage() -> None:
    examples = make_examples(count=20, size=6)
    cascade = Cascade("two", [Stage(Slow("length", len), 4), Stage(Slow("last", count_a))])

    lists = read_lists(cascade, examples)

    for example, item in zip(examples, lists, strict=True):
        lengths = sorted((len(given.text) for given in example.candidates), reverse=True)
        assert item.merits.tolist() == lengths[:4]
        assert len(item.scores) == len(item.labels) == 4
    assert lists[0].count_read(StoppingRule(0.0, 0.0, 0.0, 0.0, 0.0)) == 4


def test_a_single_scorer_has_nothing_to_stop() -> None:
    with pytest.raises(InputError, match="jaccard is no cascade"):
        read_lists(Jaccard(), [])
    with pytest.raises(InputError, match="stage 1 cannot stop"):
        read_lists(Cascade("one", [Stage(Jaccard())]), [])


def test_a_rule_needs_lists_of_both_kinds() -> None:
    always = [ReadList(np.arange(3.0)[::-1], np.arange(3.0)[::-1], np.zeros(3, bool))] * 9

    with pytest.raises(InputError, match="a later candidate wins at 0 of"):
        fit_stop(always, 0.1)
