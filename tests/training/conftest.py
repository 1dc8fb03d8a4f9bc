"""Small examples and small word vectors for training tests."""

import pytest

from rejoinder.types import Example
from tests.models.examples import SpelledVectors, make_examples


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small work is slower on two threads, and much slower where the machine is shared."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.fixture
def vectors() -> SpelledVectors:
    return SpelledVectors()


@pytest.fixture
def examples() -> list[Example]:
    return make_examples()
