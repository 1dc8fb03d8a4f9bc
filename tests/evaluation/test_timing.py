import time

import numpy as np
import pytest
from msgspec.structs import astuple
from tests.cascade.conftest import Slow
from tests.evaluation.test_replay import make_examples

from rejoinder.errors import InputError
from rejoinder.evaluation.timing import measure_cost, measure_latency
from rejoinder.models.scorer import Candidates, Scores


def test_timing_uses_texts_that_no_cache_has() -> None:
    slow = Slow("slow", len)

    cost = measure_cost(slow, make_examples())
    measure_latency(slow, make_examples())

    texts = [text for call in slow.calls for text in call]
    own = {item.text for example in make_examples() for item in example.candidates}
    assert not own & set(texts)
    assert min(astuple(cost)) >= 0
    with pytest.raises(InputError, match="nothing can be timed"):
        measure_cost(slow, [])


def test_a_call_that_had_to_wait_does_not_count() -> None:
    class Disturbed:
        name = "disturbed"

        def __init__(self) -> None:
            self.calls = 0

        def score(self, question: str, candidates: Candidates) -> Scores:
            self.calls += 1
            if self.calls % 3 == 0:
                time.sleep(0.02)
            return np.zeros(len(candidates))

    cost = measure_cost(Disturbed(), make_examples())

    assert cost.predict(1, 1) < 10
