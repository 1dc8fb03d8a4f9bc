"""The benchmark that searches the protocol of the published random rows."""

import numpy as np
import pytest
from benchmarks.random_rows import ORDERS, Order, describe, get_published, rank, run_trial

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.evaluation.measures import Protocol
from rejoinder.types import Example

pytest.importorskip("ir_measures")

BY_NAME = {order.name: order for order in ORDERS}


def make_example(*labels: bool) -> Example:
    judged = [Judged("word " * (place + 1), label) for place, label in enumerate(labels)]
    return to_ordered_example("1", "where?", judged)


def rank_one(example: Example, order: Order) -> list[bool]:
    (ranking,) = rank([example], order, Protocol("all", "pessimistic"), np.random.default_rng(0))
    return ranking


def test_orders_read_place_or_length_alone() -> None:
    example = make_example(True, False, False)

    assert rank_one(example, BY_NAME["reversed order"]) == [False, False, True]
    assert rank_one(example, BY_NAME["shortest first"]) == [True, False, False]


def test_ties_are_lost() -> None:
    constant = Order("constant", lambda example, _: np.zeros(len(example.candidates)))

    assert rank_one(make_example(True, False), constant) == [False, True]


def test_lists_are_cut_and_padded() -> None:
    example = make_example(True, True)

    assert rank_one(example, BY_NAME["first 3 of a random order"]) == [True, True]
    assert len(rank_one(make_example(*[True] * 9), BY_NAME["first 3 of a random order"])) == 3
    padded = rank_one(example, BY_NAME["random order, padded to 12"])
    assert (len(padded), sum(padded)) == (12, 2)


def test_answers_behind_the_cut_are_missed() -> None:
    always_last = Order("last", lambda example, _: np.array([0.0, 1.0]), cut=1)

    trial = run_trial("wikiqa:test", [make_example(True, False)], "answered", always_last, 1)

    assert trial.values == {"P@1": 0, "MAP": 0, "MRR": 0}


def test_values_near_the_published_ones_are_reproduced() -> None:
    published = get_published("wikiqa:test")
    assert published == {"P@1": 14.43, "MAP": 25.15}
    # One of seven questions is right, and the others have their answer in the fifth place.
    right, wrong = make_example(True, *[False] * 4), make_example(*[False] * 4, True)
    order = Order("given", lambda example, _: -np.arange(5.0))

    trial = run_trial("wikiqa:test", [right, *[wrong] * 6], "answered", order, 2)

    assert trial.values == {"P@1": 14.29, "MAP": 31.43, "MRR": 31.43}
    assert trial.reproduced == ["P@1"]
    found = describe([trial])["found"]["wikiqa:test"]
    assert found == {"tried": 1, "reproduce_all": [], "reproduce_some": 1}
