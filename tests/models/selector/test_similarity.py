import numpy as np
import pytest

from rejoinder.models.selector.scorer import get_static
from rejoinder.models.selector.similarity import Ngrams, VectorPage

PAGE = ["The red cat sat.", "A dog.", "the red cat", "", "?!"]


def test_ngram_similarity_is_the_share_of_the_pairs_ngrams() -> None:
    page = Ngrams().prepare(PAGE)

    rated = page.rate("red cat", ["the dog"])

    # red, cat, red cat; the, dog, the dog: 6 n-grams.  No bigram reaches from one to the other.
    np.testing.assert_allclose(rated, [[4 / 6, 1 / 6, 4 / 6, 0, 0]])


def test_an_ngram_that_both_have_counts_once() -> None:
    (rated,) = Ngrams().prepare(["red cat", "cat"]).rate("red cat", ["red cat"])

    np.testing.assert_allclose(rated, [1, 1 / 3])


def test_three_words_in_a_row_are_an_ngram_four_are_not() -> None:
    (rated,) = Ngrams().prepare(["a b c d"]).rate("a b c d", [""])

    assert rated == [1]  # 4 + 3 + 2 n-grams, all of them shared
    (other,) = Ngrams().prepare(["a b x c d"]).rate("a b c d", [""])
    np.testing.assert_allclose(other, [6 / 9])  # a, b, c, d, a b, c d


@pytest.mark.parametrize("sentences", [[], [""], ["?"]])
def test_a_page_without_words_shares_nothing(sentences: list[str]) -> None:
    for similarity in (Ngrams(), get_static()):
        rated = similarity.prepare(sentences).rate("red cat", ["the dog", ""])

        assert rated.shape == (2, len(sentences))
        assert np.isfinite(rated).all()


def test_the_cosine_is_of_the_sum_of_both_sides() -> None:
    page = get_static().prepare(["green tea tastes bitter", "the engine of a car"])

    (tea, car) = page.rate("what does tea taste like?", ["It tastes bitter.", "The motor."])

    assert tea[0] > tea[1] + 0.3
    assert car[1] > tea[1]
    assert isinstance(page, VectorPage)
    np.testing.assert_allclose(np.linalg.norm(page.vectors, axis=1), 1, atol=1e-6)
    (same,) = page.rate("green tea", ["tastes bitter"])
    assert same[0] == pytest.approx(1, abs=1e-6)


def test_a_rating_does_not_depend_on_other_ratings() -> None:
    texts = ["a dog", "the red cat", "tea", "", "a cat and a dog and a cow"]
    for similarity in (Ngrams(), get_static()):
        page = similarity.prepare(PAGE)

        together = page.rate("red cat", texts)

        for row, text in zip(together, texts, strict=True):
            np.testing.assert_array_equal(row, page.rate("red cat", [text])[0])


def test_many_sentences_are_embedded_as_few_are() -> None:
    texts = [f"sentence {at} of a cat" for at in range(2500)]

    vectors = get_static().embed(["", *texts])

    np.testing.assert_array_equal(vectors[0], 0)
    np.testing.assert_array_equal(vectors[2001], get_static().embed([texts[2000]])[0])
