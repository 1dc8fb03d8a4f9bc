"""Distillation: a small ranker from a teacher's scores, word vectors from an encoder.

The target of a candidate is a mean of its label and of the teacher's probability, the sigmoid
of its score.  Normalised over a list, targets rank the candidates (the listwise term of the
loss); as they are, they calibrate each score (the pointwise term), so that scores are
comparable across lists.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

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
from rejoinder.types import Example


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
    targets = list(map(soften, (example.labels for example in examples), scores))
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


def soften(labels: Sequence[bool], scores: Sequence[float], *, share: float = 0.7) -> list[float]:
    """Return the targets of one list; `share` is the teacher's.

    >>> soften([True, False], [0.0, 0.0])
    [0.65, 0.35]
    """
    probabilities = 1 / (1 + np.exp(-np.asarray(scores, dtype=np.float64)))
    mixed = share * probabilities + (1 - share) * np.asarray(labels, dtype=np.float64)
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
