"""Fits how a cascade rates single sentences, for highlighting and pruning."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from rejoinder.cascade.calibration import SentenceCalibration, StageCalibration
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import move_cascade_file, read_cascade_file, write_cascade_file
from rejoinder.cascade.loading import find_cascade, load
from rejoinder.cascade.sentences import find_leads, make_candidates, rate_sentences
from rejoinder.datasets.catalogue import open_for_tuning
from rejoinder.datasets.transforms.unanswerable import remove_answers
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import RetrievalOrder
from rejoinder.models.scorer import Candidates, Scorer, Scores, reads_passages
from rejoinder.types import Candidate, Example, to_candidates

Labels = NDArray[np.bool_]
_WORD = re.compile(r"\w+")

UNANSWERABLE = 0.1
"""This share of the questions is also asked of their texts without the answers."""
MAX_LOST = 0.02
"""The floor is so high that this share of the answers is not read by the last stage."""
MAX_PRUNED = 0.02
"""The pruning threshold is so high that this share of the questions loses all its answers."""
KEEP = 64
"""Sentences of a text that the last stage reads."""
THRESHOLDS = np.linspace(0.01, 0.9, 90)
RIDGE = 1e-4
NEWTON_STEPS = 50
HALVINGS = 30


@dataclass(frozen=True, slots=True)
class SentenceReport:
    """How well highlighting finds the answers of a data set."""

    questions: int
    precision: float
    recall: float
    f1: float
    """Of sentences, over all questions."""
    surviving: float
    """The share of the questions that keep an answer when their texts are pruned."""
    kept: float
    """The share of the characters that pruning keeps."""

    def to_dict(self) -> dict[str, float]:
        """Return the figures by their names."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class SentenceFit:
    """The fitted calibration, its figures by data set, and the file that holds it."""

    calibration: SentenceCalibration
    reports: dict[str, SentenceReport]
    path: Path | None


@dataclass(frozen=True, slots=True)
class _Text:
    question: str
    candidates: Sequence[Candidate]
    labels: Labels
    scores: dict[str, Scores] = field(default_factory=dict)


def calibrate_sentences(
    scorer: str | Path | Cascade,
    datasets: Mapping[str, Iterable[Example]] | Sequence[str | Path],
    *,
    to: Path | None = None,
    folder: Path | None = None,
    questions: int | None = None,
    exclude: Callable[[str], bool] = lambda _: False,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> SentenceFit:
    """Fit the probability that a sentence answers, for each stage, and write it into the file.

    The stages that read stored order or passages take no part.  Half of the texts are read
    without their titles, because most texts that are given to highlight have none.  Each data set
    counts the same, and of a data set each text: a long one is not more than a short one.

    Args:
        scorer: a cascade file, or a loaded cascade, for which nothing is written.
        datasets: each NAME[:SPLIT] or a file, dev by default; or examples by name.
        to: the file to write; by default the scorer's own.
        folder: the folder of data sets.
        questions: read only so many of each data set.
        exclude: tells questions that are not fitted to.

    Raises:
        InputError: the scorer is no cascade, or the data sets hold no answers.
    """
    cascade = scorer if isinstance(scorer, Cascade) else load(scorer)
    if not isinstance(cascade, Cascade):
        raise InputError(f"{scorer} is not a cascade file; only cascades rate sentences by stages")
    stages = [
        stage.scorer
        for stage in cascade.stages
        if stage.scorer.name != RetrievalOrder.name and not reads_passages(stage.scorer)
    ]
    if not stages:
        raise InputError(f"{cascade.name} has no stage that reads sentences")
    sets = {
        name: [example for example in examples if not exclude(example.question)][:questions]
        for name, examples in _open_all(datasets, folder).items()
    }
    texts = {
        name: [_to_text(item) for item in own if item.candidates] for name, own in sets.items()
    }
    emptied = {name: [_to_text(item) for item in _take_answers(own)] for name, own in sets.items()}
    given = [text for part in (texts, emptied) for own in part.values() for text in own]
    for done, text in enumerate(given, start=1):
        for stage in stages:
            text.scores[stage.name] = stage.score(text.question, text.candidates)
        on_progress(done, len(given), cascade.name)
    calibration = _fit(stages, texts, emptied)
    reports = {name: _report(own, stages, calibration) for name, own in texts.items()}
    facts: dict[str, str | int | float] = {
        "dataset": " ".join(texts),
        "questions": sum(map(len, texts.values())),
        "f1": round(float(np.mean([item.f1 for item in reports.values()])), 4),
    }
    calibration = structs.replace(calibration, facts=facts)
    path = None
    if isinstance(scorer, str | Path):
        source = find_cascade(scorer)
        path = to or source
        file = move_cascade_file(read_cascade_file(source), source.parent, path.parent)
        write_cascade_file(path, structs.replace(file, sentences=calibration))
    return SentenceFit(calibration, reports, path)


def read_excluded(path: Path) -> Callable[[str], bool]:
    """Return what tells whether a question is in a file, one per line, whatever its punctuation.

    Raises:
        InputError: the file cannot be read, or has no question.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}; give a text file in UTF-8") from error
    excluded = {key for line in lines if (key := _to_key(line))}
    if not excluded:
        raise InputError(f"{path} has no question; give one per line")
    return lambda question: _to_key(question) in excluded


def _to_key(question: str) -> str:
    return " ".join(_WORD.findall(question.lower()))


def _open_all(
    datasets: Mapping[str, Iterable[Example]] | Sequence[str | Path], folder: Path | None
) -> Mapping[str, Iterable[Example]]:
    if isinstance(datasets, Mapping):
        return datasets
    return {str(name): open_for_tuning(name, folder) for name in datasets}


def _draw(example: Example) -> int:
    return sha256(example.id.encode("utf-8", "surrogatepass")).digest()[0]


def _take_answers(examples: Sequence[Example]) -> Iterable[Example]:
    """Yield some of the examples without their answers."""
    drawn = [item for item in examples if _draw(item) < 256 * UNANSWERABLE]
    return (item for item in remove_answers(drawn, share=1.0) if item.candidates)


def _to_text(example: Example) -> _Text:
    document = example.candidates[0].document
    title = document.title if document and _draw(example) % 2 else ""
    candidates = make_candidates([item.text for item in example.candidates], title, id=example.id)
    return _Text(example.question, candidates, np.array(example.labels, dtype=np.bool_))


def _fit(
    stages: Sequence[Scorer],
    texts: Mapping[str, Sequence[_Text]],
    emptied: Mapping[str, Sequence[_Text]],
) -> SentenceCalibration:
    """Fit the stages one after another, each to the sentences that it reads."""
    fitted: dict[str, StageCalibration] = {}
    floor = 0.0
    for number, stage in enumerate(stages):
        rows = []
        for name, own in texts.items():
            given = [*own, *emptied[name]]
            for text in given:
                read = _observe(text, stages[:number], stage, fitted, floor)
                share = 1 / (len(given) * len(text.labels))
                rows.append((*read, np.full(len(read[0]), share)))
        scores, leads, labels, shares = (
            np.concatenate(column) for column in zip(*rows, strict=True)
        )
        if not labels.any() or labels.all():
            raise InputError(
                f"{stage.name} reads {len(labels)} sentences of the data sets, and needs both some"
                " that answer and some that do not; add questions"
            )
        fitted[stage.name] = fit_stage(scores, leads, labels, shares)
        if number == 0 and len(stages) > 1:
            rated = fitted[stage.name].rate(scores, leads)
            # Rounded down: where all ratings are the same, they are read.
            floor = int(1e4 * np.quantile(rated[labels], MAX_LOST)) / 1e4
    calibration = SentenceCalibration(fitted, floor, KEEP, threshold=0.5, pruning=0.5)
    return _choose_thresholds(calibration, texts, stages)


def _observe(
    text: _Text,
    before: Sequence[Scorer],
    stage: Scorer,
    fitted: Mapping[str, StageCalibration],
    floor: float,
) -> tuple[Scores, Scores, Labels]:
    """Return scores, leads and labels of the sentences that a stage reads."""
    read = np.arange(len(text.labels))
    if before:
        read = np.flatnonzero(_rate(text, before, fitted, floor) >= floor)
    owners = np.zeros(len(text.labels), dtype=np.int64)
    scores = text.scores[stage.name][read]
    return scores, find_leads(scores, owners, read), text.labels[read]


class _Known:
    """A scorer that repeats the scores of a text."""

    def __init__(self, name: str, text: _Text) -> None:
        self.name = name
        self._scores = dict(
            zip((item.id for item in text.candidates), text.scores[name], strict=True)
        )

    def score(self, question: str, candidates: Candidates) -> Scores:  # noqa: ARG002
        given = to_candidates(candidates)
        return np.array([self._scores[item.id] for item in given], dtype=np.float64)


def _rate(
    text: _Text, stages: Sequence[Scorer], fitted: Mapping[str, StageCalibration], floor: float
) -> Scores:
    known = [(_Known(stage.name, text), fitted[stage.name]) for stage in stages]
    rated = rate_sentences(text.question, [text.candidates], known, floor=floor, keep=KEEP)
    return rated.texts[0].probabilities


def fit_stage(
    scores: Scores, leads: Scores, labels: Labels, shares: Scores | None = None
) -> StageCalibration:
    """Fit a logistic function by Newton's method; weights stay at zero or above.

    Args:
        shares: how much each sentence counts; all the same by default.

    >>> fitted = fit_stage(np.array([2.0, -1.0, 0.5, -2.0]), np.zeros(4),
    ...                    np.array([True, False, False, True]))
    >>> fitted.score > 0, fitted.lead
    (True, 0.0)
    """
    columns = np.stack([np.ones(len(scores)), scores, leads], axis=1)
    counts = np.ones(len(scores)) if shares is None else shares * (len(shares) / shares.sum())
    ridge = RIDGE * len(scores) * np.array([0.0, 1.0, 1.0])

    def weigh_loss(weights: Scores) -> float:
        odds = columns @ weights
        losses = np.logaddexp(0, odds) - labels * odds
        return float(counts @ losses + ridge @ weights**2 / 2)

    def minimise(free: Sequence[int]) -> Scores:
        """Return the best weights where only some are free; the others are zero."""
        weights = np.zeros(3)
        for _ in range(NEWTON_STEPS):
            rated = 1 / (1 + np.exp(-np.clip(columns @ weights, -500, 500)))
            gradient = columns.T @ (counts * (rated - labels)) + ridge * weights
            steepness = counts * (rated * (1 - rated) + 1e-9)
            curvature = (columns.T * steepness) @ columns + np.diag(ridge + 1e-9)
            step = np.zeros(3)
            step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
            before = weigh_loss(weights)
            for _ in range(HALVINGS):  # where classes hardly overlap, a whole step goes too far
                if weigh_loss(weights - step) <= before:
                    break
                step /= 2
            weights = weights - step
            if np.abs(step).max() < 1e-9:
                break
        return weights

    # The loss is convex, so the best weights are those of one of these sets.
    found = [minimise(free) for free in ([0], [0, 1], [0, 2], [0, 1, 2])]
    weights = min((item for item in found if item[1:].min() >= 0), key=weigh_loss)
    return StageCalibration(*(round(float(weight), 6) for weight in weights))


def _choose_thresholds(
    calibration: SentenceCalibration, texts: Mapping[str, Sequence[_Text]], stages: Sequence[Scorer]
) -> SentenceCalibration:
    """Return it with the threshold of the best mean F1, and with that of pruning."""
    rated = {
        name: [_rate(text, stages, calibration.stages, calibration.floor) for text in own]
        for name, own in texts.items()
    }
    labels = {name: [text.labels for text in own] for name, own in texts.items()}
    measured = np.array(
        [[measure(rated[name], labels[name], at) for name in texts] for at in THRESHOLDS]
    )
    f1, survive = measured[:, :, 2].mean(axis=1), measured[:, :, 3].mean(axis=1)
    best = THRESHOLDS[f1 == f1.max()]
    threshold = float(best[len(best) // 2])
    safe = THRESHOLDS[survive >= 1 - MAX_PRUNED]
    pruning = min(threshold, float(safe.max(initial=THRESHOLDS[0])))
    return structs.replace(calibration, threshold=round(threshold, 2), pruning=round(pruning, 2))


def measure(
    rated: Sequence[Scores], labels: Sequence[Labels], threshold: float
) -> tuple[float, float, float, float]:
    """Return precision, recall and F1 of sentences, and the share of questions with an answer kept.

    >>> measure([np.array([0.9, 0.2])], [np.array([True, True])], 0.5)
    (1.0, 0.5, 0.6666666666666666, 1.0)
    """
    found = np.concatenate(rated) >= threshold
    right = np.concatenate(labels)
    hits = float((found & right).sum())
    precision, recall = hits / max(1, found.sum()), hits / max(1, right.sum())
    f1 = 2 * hits / max(1, found.sum() + right.sum())
    answered = [
        bool((own[label] >= threshold).any())
        for own, label in zip(rated, labels, strict=True)
        if label.any()
    ]
    return float(precision), float(recall), float(f1), float(np.mean(answered or [False]))


def _report(
    texts: Sequence[_Text], stages: Sequence[Scorer], calibration: SentenceCalibration
) -> SentenceReport:
    rated = [_rate(text, stages, calibration.stages, calibration.floor) for text in texts]
    labels = [text.labels for text in texts]
    precision, recall, f1, _ = measure(rated, labels, calibration.threshold)
    surviving = measure(rated, labels, calibration.pruning)[3]
    lengths = np.concatenate([[len(item.text) for item in text.candidates] for text in texts])
    is_kept = np.concatenate(rated) >= calibration.pruning
    kept = float(lengths[is_kept].sum() / max(1, lengths.sum()))
    return SentenceReport(len(texts), precision, recall, f1, surviving, kept)
