from rejoinder.models.lexical.bm25 import Bm25
from rejoinder.models.lexical.retrieval_order import RetrievalOrder
from rejoinder.types import Candidate


def test_scores_are_those_of_the_search() -> None:
    found = [Candidate("0", "cat", retrieval_score=0.5), Candidate("1", "dog", retrieval_score=7.0)]

    assert RetrievalOrder().score("cat", found).tolist() == [0.5, 7.0]


def test_what_no_search_found_is_scored_by_bm25() -> None:
    mixed = [Candidate("0", "a cat", retrieval_score=0.5), Candidate("1", "a dog")]

    assert RetrievalOrder().score("cat", mixed).tolist() == Bm25().score("cat", mixed).tolist()
    assert RetrievalOrder().score("cat", ["a cat", "a dog"]).argmax() == 0
    assert RetrievalOrder().score("cat", []).tolist() == []
