"""Distillation: rankers and selectors from a teacher's scores, word vectors from an encoder.

The target of a candidate is a mean of its label and of the teacher's opinion.  Normalised over a
list, targets rank the candidates (the listwise term of the loss); as they are, they calibrate each
score (the pointwise term), so that scores are comparable across lists.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from rejoinder.errors import InputError
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.export import write_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.training.checkpoint import check_target
from rejoinder.training.devices import choose_compute, need_one_process
from rejoinder.training.fit import Hooks
from rejoinder.training.mixing import Part, TrainingData, join_parts, prepare
from rejoinder.training.options import DistilOptions, StaticVectorsOptions, Trained
from rejoinder.training.ranker import train_prepared
from rejoinder.types import Candidate, Example

SHARE = 0.7
"""The weight of the teacher's scores in a small ranker's targets."""
OnDone = Callable[[int, int], None]
"""Receives the number of lists that are scored, and of all."""


def distil(
    teacher: str | Scorer,
    options: DistilOptions,
    data: TrainingData = (),
    *,
    on_scored: Callable[[int, int], None] = lambda _, __: None,
    **hooks: Unpack[Hooks],
) -> Trained:
    """Train a Cosinet on the scores that a teacher gives to every candidate.

    Half of the lists are extended by the candidates of another document.  The teacher's
    scores are cached beside the bundle, for a second run.

    Args:
        teacher: a scorer, its name, or its bundle.
        data: as for `train_ranker`; a weight below 1 selects a share of a data set once.
        on_scored: receives the number of lists the teacher has scored, and of all lists.

    Raises:
        RejoinderError: the cached scores are another teacher's, or as for `train_ranker`.
    """
    need_one_process("distil")  # the teacher's scores are appended to one file
    scorer = open_scorer(teacher) if isinstance(teacher, str) else teacher
    training_set = prepare(options, data, hooks.get("say", lambda _: None))
    shares = [part.take_share(options.seed) for part in training_set.parts]
    examples = join_lists(list(join_parts(shares)), seed=options.seed)
    target = training_set.target
    cache = target.with_name(f"{target.name}.teacher.jsonl")
    if "say" in hooks:
        hooks["say"](f"scoring with {scorer.name}; its scores are cached in {cache}")
    scores = ask_teacher(scorer, examples, kept=cache, on_done=on_scored)
    targets = [
        follow(example.labels, own, share=SHARE)
        for example, own in zip(examples, scores, strict=True)
    ]
    softened = replace(training_set, parts=[Part(examples, 1.0, targets)])
    return train_prepared(options, softened, **hooks)


def train_static_vectors(options: StaticVectorsOptions, *, command: str = "") -> StaticVectors:
    """Distil word vectors from an encoder, without text, and write them as a bundle.

    Raises:
        RejoinderError: the encoder cannot be loaded, or the bundle cannot be written.
    """
    need_one_process("train static-vectors")
    target, device = Path(options.to), str(choose_compute(options.device).device)
    check_target(target)
    return write_vectors(
        target, options.encoder, width=options.width, device=device, command=command
    )


def join_lists(examples: Sequence[Example], *, share: float = 0.5, seed: int = 0) -> list[Example]:
    """Return the examples, a share of them with the candidates of another one appended.

    A search returns sentences of several documents; a model that only saw one document at a
    time would not score them alike.
    """
    rng = random.Random(seed)
    return [
        _join(example, examples[rng.randrange(len(examples))]) if rng.random() < share else example
        for example in examples
    ]


def _join(example: Example, other: Example) -> Example:
    own = {candidate.text for candidate in example.candidates}
    added = [
        replace(candidate, id=f"{other.id}/{candidate.id}")  # unique in the joined list
        for candidate in other.candidates
        if candidate.text not in own
    ]
    labels = (*example.labels, *(False for _ in added))
    return replace(example, candidates=(*example.candidates, *added), labels=labels)


@dataclass(frozen=True, slots=True)
class Teachers:
    """Scorers whose weighted scores are summed."""

    scorers: Sequence[tuple[Scorer, float]]

    def score(self, examples: Sequence[Example], kept: Path, on_done: OnDone) -> list[list[float]]:
        """Return the sum for each candidate; the scores of each teacher are kept in a file."""
        sums = [np.zeros(len(example.candidates)) for example in examples]
        for scorer, weight in self.scorers:
            found = ask_teacher(scorer, examples, kept=kept, on_done=on_done)
            sums = [own + weight * np.array(new) for own, new in zip(sums, found, strict=True)]
        return [own.tolist() for own in sums]


def open_teachers(choices: Sequence[str]) -> Teachers:
    """Open teachers that are named as NAME[@WEIGHT]."""
    opened = []
    for choice in choices:
        name, _, weight = choice.partition("@")
        try:
            value = float(weight or 1)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{choice}: the weight after @ must be a number")
        opened.append((open_scorer(name), value))
    return Teachers(opened)


def teach(
    parts: Sequence[Part],
    teachers: Teachers,
    *,
    share: float,
    kept: Path,
    seed: int = 0,
    on_done: OnDone = lambda _, __: None,
) -> list[Part]:
    """Return the parts with targets that follow the teachers, without suspected false negatives.

    Args:
        share: the weight of the teachers' opinion; the rest is the label's.
        kept: a file that keeps the scores.
    """
    taught = []
    for part in parts:
        own = part.take_share(seed)
        examples = list(own.examples)
        scores = teachers.score(examples, kept, on_done)
        cleaned = [drop_suspects(*pair) for pair in zip(examples, scores, strict=True)]
        targets = [follow(example.labels, own, share=share) for example, own in cleaned]
        taught.append(Part([example for example, _ in cleaned], max(1.0, part.weight), targets))
    return taught


def drop_suspects(example: Example, scores: Sequence[float]) -> tuple[Example, list[float]]:
    """Return the example and its scores without wrong candidates that may be right.

    A sentence of another document that the teacher prefers to every answer is probably an answer
    that nobody labelled (Moreira et al. 2024, "NV-Retriever", filter negatives by the score of the
    positive).  Sentences of the answer's own document were read by the annotators.
    """
    best = max(
        (score for score, label in zip(scores, example.labels, strict=True) if label),
        default=math.inf,
    )
    own = {_get_document(item) for item, label in _judge(example) if label}
    kept = [
        place
        for place, (item, label) in enumerate(_judge(example))
        if label or scores[place] <= best or (_get_document(item) in own and item.document)
    ]
    cleaned = replace(
        example,
        candidates=tuple(example.candidates[place] for place in kept),
        labels=tuple(example.labels[place] for place in kept),
    )
    return cleaned, [scores[place] for place in kept]


def _judge(example: Example) -> Iterator[tuple[Candidate, bool]]:
    return zip(example.candidates, example.labels, strict=True)


def _get_document(item: Candidate) -> str | None:
    return item.document.id if item.document else None


def follow(labels: Sequence[bool], scores: Sequence[float], *, share: float) -> list[float]:
    """Return the targets of one list; `share` is the teacher's.

    The teacher's opinion of the best candidate is the sigmoid of its score, and that of another
    one falls with the exponential of its distance: normalised over the list, opinions are the
    softmax of the scores, so a good candidate is not mistaken for the best.

    >>> follow([True, False], [0.0, 0.0], share=0.5)
    [0.75, 0.25]
    """
    given = np.asarray(scores, dtype=np.float64)
    best = given.max(initial=-math.inf)
    opinions = np.exp(given - best - np.logaddexp(0.0, -best))
    mixed = share * opinions + (1 - share) * np.asarray(labels, dtype=np.float64)
    return [round(float(target), 6) for target in mixed]


def ask_teacher(
    teacher: Scorer,
    examples: Sequence[Example],
    *,
    kept: Path,
    on_done: Callable[[int, int], None] = lambda _, __: None,
) -> list[list[float]]:
    """Return the teacher's scores of each list, appended to the file `kept` as they come.

    The teacher is slow, and a kill must not cost its work: a second run reads the file.
    """
    cached = CachedScorer(teacher, path=kept)
    scores = []
    for example in examples:
        scores.append(cached.score(example.question, example.candidates).tolist())
        on_done(len(scores), len(examples))
    return scores
