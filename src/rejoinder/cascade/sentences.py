"""Rates every sentence of a text on one scale: the probability that it answers.

A cascade orders candidates, and the scores of its stages are not comparable.  Highlighting needs a
probability for each sentence, whichever stage read it last.  So each stage has a calibration of its
own: a logistic function of the stage's score, and of the *lead*, its distance to the best other
sentence of the text.  A sentence that a cheap stage finds unlikely keeps that stage's probability,
which is below the floor; the others are read by the next stage.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.cascade.calibration import StageCalibration
from rejoinder.models.scorer import Places, Scorer, Scores
from rejoinder.models.staged import Deadline, score_until
from rejoinder.types import Candidate, Document, StageTrace

MAX_LEAD = 8.0
"""A lead beyond this says no more; it is also the lead of a sentence that is read alone."""

Texts = Sequence[Sequence[Candidate]]
"""The sentences of each text, in its order."""


class RatedText(NamedTuple):
    """The sentences of a text: their probabilities, and which stage read them last."""

    probabilities: Scores
    stages: Places


class RatedTexts(NamedTuple):
    """The texts in their order, and what each stage did."""

    texts: list[RatedText]
    trace: tuple[StageTrace, ...]


def rate_sentences(
    question: str,
    texts: Texts,
    stages: Sequence[tuple[Scorer, StageCalibration]],
    *,
    floor: float = 0.0,
    keep: int | None = None,
    deadline: Deadline | None = None,
) -> RatedTexts:
    """Return the probability of each sentence that it answers.

    The first stage reads every sentence.  Each later one reads those that the stage before rates at
    the floor or above, at most `keep` of a text, the most likely first while there is time.  A
    sentence for which there is no time keeps its rating; one that `keep` leaves out is rated at the
    floor, because a long text has many that seem likely to a cheap stage.

    Args:
        stages: at least one, the cheapest first.
    """
    candidates = [candidate for text in texts for candidate in text]
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    rated = np.zeros(len(candidates))
    last = np.zeros(len(candidates), dtype=np.int64)
    places: Places = np.arange(len(candidates))
    trace = []
    for number, (scorer, calibration) in enumerate(stages):
        start = time.perf_counter()
        if number:
            likely = _sort_likely(rated, floor)
            places = _take_first(likely, owners, keep)
            rated[np.setdiff1d(likely, places)] = floor
        limit = deadline if number else None  # the first stage leaves no sentence unrated
        scores = score_until(scorer, question, candidates, places, limit)
        read = places[: len(scores)]
        rated[read] = calibration.rate(scores, find_leads(scores, owners, read))
        last[read] = number
        trace.append(
            StageTrace(
                scorer.name,
                given=len(places),
                scored=len(read),
                kept=len(read),
                milliseconds=1000 * (time.perf_counter() - start),
                timed_out=len(read) < len(places),
            )
        )
    borders = np.cumsum([len(text) for text in texts])[:-1]
    parts = zip(np.split(rated, borders), np.split(last, borders), strict=True)
    return RatedTexts([RatedText(*part) for part in parts][: len(texts)], tuple(trace))


def _sort_likely(rated: Scores, floor: float) -> Places:
    """Return the sentences that are rated at the floor or above, the most likely first."""
    order = np.lexsort((np.arange(len(rated)), -rated))
    return order[rated[order] >= floor]


def _take_first(places: Places, owners: Places, keep: int | None) -> Places:
    """Return the first so many places of each text."""
    if keep is None:
        return places
    taken: dict[int, int] = {}
    chosen = []
    for place, owner in zip(places.tolist(), owners[places].tolist(), strict=True):
        taken[owner] = taken.get(owner, 0) + 1
        if taken[owner] <= keep:
            chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def find_leads(scores: Scores, owners: Places, read: Places) -> Scores:
    """Return how far each score is above the best other one of its text.

    A sentence that is alone in its text has a lead of zero: there is nothing to compare it with.

    >>> owners = np.array([0, 0, 0, 1, 2, 2])
    >>> find_leads(np.array([3.0, 1.0, 2.0, 4.0, 5.0]), owners, np.array([0, 1, 2, 3, 4])).tolist()
    [1.0, -2.0, -1.0, 0.0, 8.0]
    """
    leads = np.zeros(len(scores))
    sizes = np.bincount(owners, minlength=1)
    own = owners[read]
    for owner in np.unique(own):
        places = np.flatnonzero(own == owner)
        if len(places) == 1:
            leads[places] = MAX_LEAD if sizes[owner] > 1 else 0.0
            continue
        values = scores[places]
        first, second = np.argsort(-values, kind="stable")[:2]
        leads[places] = values - values[first]
        leads[places[first]] = values[first] - values[second]
    return np.clip(leads, -MAX_LEAD, MAX_LEAD)


def make_candidates(
    sentences: Sequence[str],
    title: str = "",
    headings: Sequence[tuple[str, ...]] | None = None,
    *,
    id: str = "",
) -> list[Candidate]:
    """Return the sentences of a text as candidates; a stage may read their title and headings.

    A text without a title is described by its first sentence, which often names what it is about.
    """
    described = Document(id, title or (sentences[0] if sentences else ""), sentences)
    first = described if title else Document(id, "", sentences)
    return [
        Candidate(
            f"{id}#{place}",
            sentence,
            described if place else first,
            place,
            headings[place] if headings else (),
        )
        for place, sentence in enumerate(sentences)
    ]
