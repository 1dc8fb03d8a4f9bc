import pytest
from tests.cascade.conftest import Slow
from tests.evaluation.test_replay import make_examples

from rejoinder.errors import InputError
from rejoinder.evaluation.timing import measure_cost, measure_latency


def test_timing_uses_texts_that_no_cache_has() -> None:
    slow = Slow("slow", len)

    cost = measure_cost(slow, make_examples())
    measure_latency(slow, make_examples())

    texts = [text for call in slow.calls for text in call]
    own = {item.text for example in make_examples() for item in example.candidates}
    assert not own & set(texts)
    assert min(cost.to_dict().values()) >= 0
    with pytest.raises(InputError, match="nothing can be timed"):
        measure_cost(slow, [])
