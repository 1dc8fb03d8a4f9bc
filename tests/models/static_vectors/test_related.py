import numpy as np
import pytest

from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.static_vectors.related import Beside, Related
from rejoinder.models.static_vectors.vectors import StaticVectors


@pytest.fixture
def related() -> Related:
    # north and east stand at a right angle, north-east between them
    rows = np.array([[100, 0], [0, 100], [100, 100]], dtype=np.int8)
    words = ["north", "east", "northeast"]
    return Related(StaticVectors(words, rows, np.ones(3), are_pieces=False))


def test_each_word_asked_counts_its_closest(related: Related) -> None:
    found = related.score("north east", ["north", "northeast", "east north"])

    #                        (1 + 0) / 2, cos 45° twice, (1 + 1) / 2
    np.testing.assert_allclose(found, [0.5, 0.5**0.5, 1.0], atol=1e-6)


def test_no_words_are_no_error(related: Related) -> None:
    assert related.score("", ["north"]).tolist() == [0]
    assert related.score("north", []).tolist() == []
    assert related.score("north", ["", "north"]).tolist()[1] == pytest.approx(1)


def test_a_share_is_added(related: Related) -> None:
    both = Beside(WordOverlap(), related, 0.5)

    assert both.name == "word-overlap+relatedness"
    assert both.score("north", ["north", "east"]).tolist() == pytest.approx([1.5, 0.0])
