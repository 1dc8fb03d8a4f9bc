from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cascade.calibration import SentenceCalibration, StageCalibration
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.sentences import (
    MAX_LEAD,
    find_leads,
    make_candidates,
    rate_sentences,
)
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import Jaccard, WordOverlap
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.staged import Deadline
from rejoinder.types import Candidate, to_candidates

PLAIN = StageCalibration(0.0, 1.0, 0.0)


class Numbers:
    """Reads its score in the sentence: "low 1 high 7"."""

    is_pointwise = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.read: list[str] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        given = to_candidates(candidates)
        self.read += [item.text for item in given]
        words = [item.text.split() for item in given]
        return np.array([float(own[own.index(self.name) + 1]) for own in words])


def make(*texts: Sequence[tuple[float, float]]) -> list[list[Candidate]]:
    return [make_candidates([f"low {low} high {high}" for low, high in own]) for own in texts]


def test_the_last_stage_reads_only_what_the_first_finds_likely() -> None:
    low, high = Numbers("low"), Numbers("high")

    rated = rate_sentences(
        *("q", make([(-9, 5), (1, -1), (2, 3)])),
        [(low, PLAIN), (high, PLAIN)],
        floor=0.1,
    )

    (text,) = rated.texts
    assert high.read == ["low 1 high -1", "low 2 high 3"]
    assert text.stages.tolist() == [0, 1, 1]
    odds = np.log(text.probabilities / (1 - text.probabilities))
    assert odds == pytest.approx([-9, -1, 3])
    assert [(stage.given, stage.scored) for stage in rated.trace] == [(3, 3), (2, 2)]


def test_a_text_has_at_most_so_many_sentences_read() -> None:
    low, high = Numbers("low"), Numbers("high")
    texts = make([(1, 0), (3, 0), (2, 0)], [(0.5, 0)], [])

    rated = rate_sentences("q", texts, [(low, PLAIN), (high, PLAIN)], floor=0.1, keep=2)

    assert [text.stages.tolist() for text in rated.texts] == [[0, 1, 1], [1], []]
    assert rated.texts[0].probabilities[0] == 0.1  # left out: no more likely than the unread


def test_no_text_and_no_sentence_have_no_scores() -> None:
    assert rate_sentences("q", [], [(Numbers("low"), PLAIN)]).texts == []
    rated = rate_sentences("q", [[]], [(Numbers("low"), PLAIN), (Numbers("high"), PLAIN)])
    assert [len(text.probabilities) for text in rated.texts] == [0]


def test_without_time_sentences_keep_the_score_of_the_first_stage() -> None:
    low, high = Numbers("low"), Numbers("high")
    texts = make([(1, 9)] * 30)

    rated = rate_sentences(
        *("q", texts),
        [(low, PLAIN), (high, PLAIN)],
        deadline=Deadline.after(0),
    )

    stages = rated.texts[0].stages
    assert len(low.read) == 30
    assert 0 < (stages == 1).sum() < 30
    assert rated.trace[1].timed_out


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=8), st.integers(0, 7), st.floats(0, 5))
def test_a_higher_score_never_rates_lower(scores: list[float], place: int, more: float) -> None:
    at = place % len(scores)
    raised = [score + more * (index == at) for index, score in enumerate(scores)]
    calibration = StageCalibration(-0.3, 0.3, 0.5)
    owners = np.zeros(len(scores), dtype=np.int64)
    everything = np.arange(len(scores))

    def rate(given: list[float]) -> float:
        values = np.array(given)
        return float(calibration.rate(values, find_leads(values, owners, everything))[at])

    assert rate(raised) >= rate(scores) - 1e-12


def test_a_lead_is_bounded_and_a_lone_sentence_has_none() -> None:
    owners = np.array([0, 1, 1, 2, 2])

    leads = find_leads(np.array([5.0, 99.0, 0.0, 1.0]), owners, np.array([0, 1, 2, 3]))

    assert leads.tolist() == [0.0, MAX_LEAD, -MAX_LEAD, MAX_LEAD]


def test_a_text_without_title_is_described_by_its_first_sentence() -> None:
    first, second = make_candidates(["Tea is a leaf.", "It is brewed."])
    titled = make_candidates(["It is brewed."], "Tea", [("Brewing",)])

    assert first.document
    assert second.document
    assert (first.document.title, second.document.title) == ("", "Tea is a leaf.")
    assert titled[0].document
    assert (titled[0].document.title, titled[0].headings) == ("Tea", ("Brewing",))
    assert make_candidates([]) == []


def test_a_cascade_names_the_stage_that_is_missing() -> None:
    stages = [Stage(Jaccard(), 10), Stage(WordOverlap())]
    known = SentenceCalibration({"jaccard": PLAIN}, 0.0, 10, 0.5, 0.1)
    unknown = SentenceCalibration({"selector": PLAIN}, 0.0, 10, 0.5, 0.1)

    assert [item.name for item, _ in Cascade("c", stages, sentences=known).sentence_stages] == [
        "jaccard"
    ]
    with pytest.raises(InputError, match=r"c has no stage 'selector'"):
        Cascade("c", stages, sentences=unknown).sentence_stages  # noqa: B018
    with pytest.raises(InputError, match=r"calibrate --sentences"):
        Cascade("c", stages).sentence_stages  # noqa: B018
