import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cascade.cascade import rate_documents
from rejoinder.types import Candidate, Document


def make(*names: str | None) -> list[Candidate]:
    return [
        Candidate(str(place), "", Document(name) if name else None)
        for place, name in enumerate(names)
    ]


def test_the_prior_is_the_best_score_of_the_document() -> None:
    found = rate_documents(np.array([0.0, 3.0, 1.0]), make("a", "a", "b"))

    assert found[0] == found[1] > 0 > found[2]


def test_candidates_without_a_document_share_one_prior() -> None:
    found = rate_documents(np.array([0.0, 3.0, 1.0]), make(None, None, "b"))

    assert found[0] == found[1] > found[2]
    assert not rate_documents(np.array([0.0, 3.0]), make(None, None)).any()


def test_equal_documents_and_empty_lists_say_nothing() -> None:
    assert not rate_documents(np.array([2.0, 2.0]), make("a", "b")).any()
    assert rate_documents(np.array([]), []).tolist() == []


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.sampled_from("abc")), min_size=2, max_size=20),
    st.integers(1, 9),
)
def test_the_scale_of_scores_does_not_matter(pairs: list[tuple[int, str]], factor: int) -> None:
    scores = np.array([score for score, _ in pairs], dtype=np.float64)
    candidates = make(*(name for _, name in pairs))

    scaled = rate_documents(factor * scores + 7, candidates)

    np.testing.assert_allclose(scaled, rate_documents(scores, candidates), atol=1e-9)
