"""Candidates that are scored by their passages."""

import numpy as np
import pytest

from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.passages import PassageScorer
from rejoinder.models.scorer import Candidates, Scores, reads_passages
from rejoinder.types import Candidate, Document, to_candidates

TEA = Document("tea", "Tea")
PASSAGE = "Green tea is brewed at 75 °C. It is bitter."


class Lengths:
    """Scores by length, and keeps what it was given."""

    name = "lengths"

    def __init__(self, *, is_pointwise: bool = True) -> None:
        self.is_pointwise = is_pointwise
        self.given: list[Candidate] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        self.given = list(to_candidates(candidates))
        return np.array([float(len(item.text)) for item in self.given])


def make(text: str, passage: str | None, document: Document = TEA, heading: str = "") -> Candidate:
    headings = (heading,) if heading else ()
    return Candidate(text, text, document, 3, headings, tokens=b"1234", passage=passage)


def test_candidates_of_one_passage_share_its_score() -> None:
    lengths = Lengths()
    candidates = [make("It is bitter.", PASSAGE), make("alone", None), make("Green", PASSAGE)]

    scores = PassageScorer(lengths).score("how hot?", candidates)

    assert scores.tolist() == [len(PASSAGE), len("alone"), len(PASSAGE)]
    assert [item.text for item in lengths.given] == [PASSAGE, "alone"]


def test_a_passage_keeps_its_title_and_headings_but_not_the_tokens_of_a_sentence() -> None:
    lengths = Lengths()

    PassageScorer(lengths).score("how hot?", [make("It is bitter.", PASSAGE, heading="Brewing")])

    (given,) = lengths.given
    assert (given.document, given.headings) == (TEA, ("Brewing",))
    assert (given.tokens, given.position) == (None, None)


def test_the_same_text_elsewhere_is_another_passage() -> None:
    lengths, milk = Lengths(), Document("milk", "Milk")
    candidates = [
        make("a", PASSAGE),
        make("a", PASSAGE, milk),
        make("a", PASSAGE, heading="Brewing"),
        make("b", PASSAGE),
    ]

    PassageScorer(lengths).score("how hot?", candidates)

    assert len(lengths.given) == 3


def test_plain_texts_and_empty_lists_are_scored_too() -> None:
    scorer = PassageScorer(Lengths())

    assert scorer.score("how hot?", ["hot", "cold"]).tolist() == [3, 4]
    assert scorer.score("how hot?", []).tolist() == []


def test_it_says_that_it_reads_passages() -> None:
    scorer = PassageScorer(Lengths())

    assert scorer.name == "lengths (passages)"
    assert reads_passages(scorer)
    assert not reads_passages(Lengths())
    assert not reads_passages(None)


def test_a_scorer_that_compares_candidates_is_refused() -> None:
    with pytest.raises(InputError, match="lengths compares the candidates of a list"):
        PassageScorer(Lengths(is_pointwise=False))
    assert PassageScorer(WordOverlap()).is_pointwise
