"""Highlighting: the sentences of a text that answer a question, and the text without the others."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from rejoinder.cascade.calibration import SentenceCalibration
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import DEFAULT, load, to_scorer
from rejoinder.cascade.sentences import make_candidates, rate_sentences
from rejoinder.engine.given import (
    HTML_PROBLEM,
    check_sentences,
    check_size,
    check_texts,
    is_html,
)
from rejoinder.engine.layout import PlacedSentence, find_kept, join_spans, place_sentences
from rejoinder.errors import InputError
from rejoinder.models.ranking import check_candidates, check_question
from rejoinder.models.scorer import Scorer
from rejoinder.models.staged import Deadline
from rejoinder.text.language import describe_language
from rejoinder.types import Candidate, StageTrace

NOTED = 20
"""Sentences by which a text's language is told; the first may be a name or a number."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence at `text[start:end]`, in code points."""

    sentence: str
    """On one line: line breaks are replaced by spaces."""
    start: int
    end: int
    score: float
    """The probability that it answers, whichever stage read it last."""
    is_highlighted: bool
    """Whether the score reaches the threshold."""


@dataclass(frozen=True, slots=True)
class PrunedText:
    """What is left of a text."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """The parts that were kept, as offsets into the whole text."""
    compression: float
    """The share of the characters that was dropped."""


@dataclass(frozen=True, slots=True)
class Highlights:
    """The sentences of a text with their scores, in its order."""

    question: str
    text: str = field(repr=False)
    sentences: tuple[ScoredSentence, ...]
    """All but headings, which are no answers; a text of nothing else has its headings here."""
    threshold: float
    scorer: str
    milliseconds: float = 0.0
    trace: tuple[StageTrace, ...] = ()
    """What each stage did; of texts that were given together, for all of them."""
    note: str = ""
    """What to know about the scores: that the question or the text is not in English, or that the
    text is HTML, of which no sentence is rated."""
    pruning_threshold: float = 0.0
    """The score from which `prune` keeps a sentence."""

    @property
    def highlighted(self) -> tuple[ScoredSentence, ...]:
        """The sentences that answer, in the order of the text."""
        return tuple(item for item in self.sentences if item.is_highlighted)

    def prune(self, threshold: float | None = None) -> PrunedText:
        """Return the text with only the sentences that may answer, their headings and lead-ins.

        Args:
            threshold: keep sentences with at least this score; by default the lower one that
                was fitted so that hardly any answer is lost.
        """
        check_threshold(threshold)
        if is_html(self.text):  # nothing is known of its sentences, so none is dropped
            return PrunedText(self.text, ((0, len(self.text)),), 0.0)
        least = self.pruning_threshold if threshold is None else threshold
        chosen = [place for place, item in enumerate(self.sentences) if item.score >= least]
        spans = find_kept(place_sentences(self.text), chosen)
        left = join_spans(self.text, spans)
        dropped = 1 - len(left) / len(self.text) if self.text else 0.0
        return PrunedText(left, tuple(spans), max(0.0, dropped))


def highlight(
    question: str,
    text: str,
    *,
    title: str = "",
    threshold: float | None = None,
    budget_ms: float | None = None,
    scorer: Scorer | str | None = None,
) -> Highlights:
    """Rate every sentence of a text by how likely it answers, and highlight the likely ones.

    >>> found = highlight("who wrote it?", "It rained. Ada Byron wrote it. Nobody read it.")
    >>> [item.sentence for item in found.highlighted]
    ['Ada Byron wrote it.']

    Args:
        title: what the text is about; by default its first sentence says so.
        threshold: the score from which a sentence is highlighted; by default the one with the
            best F1 on the questions that the scores were fitted to.
        budget_ms: the latency budget.  When it runs out, the sentences that the last stage has
            not read keep the score of the stage before.
        scorer: a cascade with a calibration for sentences, or its name; the default one otherwise.

    Raises:
        InputError: the question is empty, the text is no text, is HTML or has more than 20 million
            characters or 300,000 sentences, the threshold is not between 0 and 1, or the scorer is
            not calibrated for sentences.
    """
    if not isinstance(text, str):
        raise InputError(f"the text to highlight must be text, found {text!r:.60}")
    check_texts([text], "text")
    (found,) = highlight_texts(
        question,
        [text],
        titles=[title],
        threshold=threshold,
        budget_ms=budget_ms,
        scorer=_load_default() if scorer is None else to_scorer(scorer),
    )
    return found


def highlight_texts(
    question: str,
    texts: Sequence[str],
    *,
    scorer: Scorer,
    titles: Sequence[str] | None = None,
    threshold: float | None = None,
    budget_ms: float | None = None,
) -> list[Highlights]:
    """Highlight each of several texts; together they take less time than one by one.

    A text that is HTML has no sentences, and its note says so: it does not fail the others.
    The options are those of `highlight`; `titles` has one for each text.
    """
    check_question(question)
    check_candidates(texts)
    check_size(texts, "text")
    check_threshold(threshold)
    calibration = get_sentence_calibration(scorer)
    assert isinstance(scorer, Cascade)
    start = time.perf_counter()
    deadline = None if budget_ms is None else Deadline.after(budget_ms)
    placed = [[] if is_html(text) else place_sentences(text) for text in texts]
    check_sentences(sum(map(len, placed)), "text")
    named = titles if titles is not None else [""] * len(texts)
    candidates = [
        to_candidates(text, own, title, id=str(number))
        for number, (text, own, title) in enumerate(zip(texts, placed, named, strict=True))
    ]
    rated = rate_sentences(
        question,
        candidates,
        scorer.sentence_stages,
        floor=calibration.floor,
        keep=calibration.keep,
        deadline=deadline,
    )
    least = calibration.threshold if threshold is None else threshold
    found = []
    for text, own, items, ratings in zip(texts, placed, candidates, rated.texts, strict=True):
        scores = ratings.probabilities.tolist()
        sentences = tuple(
            ScoredSentence(item.text, place.span.start, place.span.end, score, score >= least)
            for item, place, score in zip(items, own, scores, strict=True)
        )
        found.append(
            Highlights(
                *(question, text, sentences, least, scorer.name),
                trace=rated.trace,
                note=_describe(question, text, sentences),
                pruning_threshold=calibration.pruning,
            )
        )
    elapsed = 1000 * (time.perf_counter() - start)
    return [replace(item, milliseconds=elapsed) for item in found]


def _describe(question: str, text: str, sentences: Sequence[ScoredSentence]) -> str:
    """Return what to know about the scores of a text."""
    if is_html(text):
        return f"the text {HTML_PROBLEM}; none of its sentences is rated"
    beginning = " ".join(item.sentence for item in sentences[:NOTED])
    return describe_language(question, beginning, noun="text")


def get_sentence_calibration(scorer: Scorer) -> SentenceCalibration:
    """Return the calibration by which a scorer rates sentences.

    Raises:
        InputError: it has none.
    """
    calibration = getattr(scorer, "sentences", None)
    if calibration is None:
        raise InputError(
            f"{scorer.name} does not rate single sentences: use the default scorer, or fit a"
            " cascade with `rejoinder calibrate --sentences`"
        )
    assert isinstance(calibration, SentenceCalibration)
    return calibration


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that is no probability."""
    if threshold is None:
        return
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InputError(f"threshold must be from 0 to 1, found {threshold!r:.60}")


def to_candidates(
    text: str, placed: Sequence[PlacedSentence], title: str = "", *, id: str = ""
) -> list[Candidate]:
    """Return the sentences of a text as candidates; without a title, its first heading is one."""
    paths = [tuple(heading.text for heading in item.headings) for item in placed]
    described = title or next((path[0] for path in paths if path), "")
    return make_candidates(
        [item.span.extract(text) for item in placed],
        described,
        [path[1:] if path[:1] == (described,) else path for path in paths],
        id=id,
    )


@cache
def _load_default() -> Scorer:
    return load(DEFAULT)
