"""Reads training data: several data sets as one training set, each with its weight.

A data set is a stream that each pass opens again, because the 20 million candidates of ASNQ do
not fit in memory as objects.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from rejoinder.datasets.catalogue import DATASETS
from rejoinder.datasets.releases import open_compared, say_once
from rejoinder.datasets.stream import ExampleStream
from rejoinder.engine.feedback import read_feedback
from rejoinder.errors import InputError, TrainingError
from rejoinder.evaluation.learning_curve import LearningCurve
from rejoinder.training.checkpoint import check_target
from rejoinder.training.devices import choose_compute
from rejoinder.training.loop import use_threads
from rejoinder.training.options import TrainingOptions
from rejoinder.types import Example

SECONDS_BETWEEN_REPORTS = 15.0


@dataclass(frozen=True, slots=True)
class Part:
    """Examples, and how often an epoch reads each: 0.5 reads another half every time."""

    examples: Iterable[Example]
    """A list, or a stream; each pass must give the same examples."""
    weight: float = 1.0
    targets: Sequence[Sequence[float]] | None = None
    """Target of each candidate's score; its label by default."""

    def __post_init__(self) -> None:
        if isinstance(self.examples, Iterator):
            raise InputError(
                "a generator of examples can be read only once; give a list, or an ExampleStream"
                " of a function that returns a new generator"
            )

    def take(self, count: int) -> list[Example]:
        """Return the first examples."""
        return list(islice(self.examples, count))

    def load(self) -> "Part":
        """Return the same part with its examples in memory, for many trainings on few examples."""
        return replace(self, examples=list(self.examples))

    def keep_unanswered(self) -> "Part":
        """Return the same part with its labels as targets, so that no list is left out."""
        examples = list(self.examples)
        return replace(self, examples=examples, targets=[item.labels for item in examples])

    def take_share(self, seed: int) -> "Part":
        """Return a part of weight 1, for work that is done once; a weight below 1 is a share.

        A share is kept in memory, in random order.
        """
        if self.weight >= 1:
            return replace(self, weight=1.0)
        count = sum(1 for _ in self.examples)
        order = order_epoch([count], [self.weight], seed, 0).tolist()
        chosen = set(order)
        by_place = {at: item for at, item in enumerate(self.examples) if at in chosen}
        targets = None if self.targets is None else [self.targets[place] for place in order]
        return Part([by_place[place] for place in order], 1.0, targets)


class AnsweredQuestions:
    """The questions of all parts that have an answer, or targets: others have no order to learn.

    Each pass reads the parts again, one after another.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._counts: list[int] = []

    def __iter__(self) -> Iterator[Example]:
        """Yield the questions; TrainingError if a part has none."""
        counts = []
        for part in self._parts:
            counts.append(0)
            for example in part.examples:
                if any(example.labels) or part.targets is not None:
                    counts[-1] += 1
                    yield example
            if not counts[-1]:
                raise TrainingError("no question has an answer: there is nothing to learn from")
        self._counts = counts

    def count(self) -> list[int]:
        """Return the questions of each part; reads the parts unless a pass is complete."""
        if not self._counts:
            deque(self, maxlen=0)
        return self._counts

    def get_targets(self) -> Iterator[Sequence[float]] | None:
        """Yield the targets of each question, or return None if they are the labels."""
        if all(part.targets is None for part in self._parts):
            return None
        return (
            target
            for part in self._parts
            for example, target in _pair_targets(part)
            if any(example.labels) or part.targets is not None
        )


def _pair_targets(part: Part) -> Iterator[tuple[Example, Sequence[float]]]:
    if part.targets is None:
        return ((example, example.labels) for example in part.examples)
    return zip(part.examples, part.targets, strict=True)


def join_parts(parts: Sequence[Part]) -> Iterator[Example]:
    """Yield the examples of all parts, one part after another."""
    return (example for part in parts for example in part.examples)


TrainingData = str | Sequence[str | Example | Part]
"""Names of data sets as NAME[:SPLIT][@WEIGHT], JSON-lines files, examples, or parts."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The data of a training, and the place of its bundle."""

    target: Path
    parts: Sequence[Part]
    names: Sequence[str]
    """The data in a bundle's manifest."""
    dev: Sequence[Example]
    dev_name: str | None
    curve: LearningCurve = field(default_factory=LearningCurve)


def prepare(
    options: TrainingOptions, data: TrainingData, say: Callable[[str], None] = lambda _: None
) -> TrainingSet:
    """Check the target and the device, limit torch's threads, and open the data.

    Data sets and files are read when training needs them; `say` then receives the progress.
    """
    choose_compute(options.device, options.precision)
    use_threads(options.threads)
    places = (options.log, options.plot, options.tensorboard)
    curve = LearningCurve(*(Path(place) if place else None for place in places))
    target = Path(options.to)
    check_target(target)
    folder = Path(options.data_folder) if options.data_folder else None
    items = [data] if isinstance(data, str) else list(data)
    names = [item for item in items if isinstance(item, str)]
    parts = read_parts(names, folder, say)
    if examples := [item for item in items if isinstance(item, Example)]:
        parts.append(Part(examples))
    parts += [item for item in items if isinstance(item, Part)]
    names += [_name_examples(part.examples) for part in parts[len(names) :]]
    if options.feedback:
        parts.append(Part(read_feedback(Path(options.feedback))))
        names.append(f"feedback of {options.feedback}")
    if not parts:
        raise InputError("nothing to learn from: name a DATASET, or an index with --feedback")
    if isinstance(options.dev, str):
        dev = list(read_parts([options.dev], folder, say)[0].examples)
        return TrainingSet(target, parts, names, dev, options.dev, curve)
    dev = list(options.dev or ())
    return TrainingSet(target, parts, names, dev, _name_examples(dev) if dev else None, curve)


def _name_examples(examples: Iterable[Example]) -> str:
    return f"{len(examples)} examples" if isinstance(examples, Sized) else "a stream of examples"


def read_parts(
    choices: Sequence[str],
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Part]:
    """Open data sets that are named as NAME[:SPLIT][@WEIGHT]; the default split is train.

    Args:
        say: receives the progress while a large data set is read, and when it is of another
            release than the published one.

    Raises:
        RejoinderError: a name, a weight or the first line of a file is wrong.
    """
    return [_open_part(choice, folder, say) for choice in choices]


def _open_part(choice: str, folder: Path | None, say: Callable[[str], None]) -> Part:
    name, _, text = choice.partition("@")
    split, tell = "train" if name in DATASETS else None, say_once(say)
    examples = ExampleStream(
        lambda: _report(open_compared(name, tell, split=split, folder=folder), name, say)
    )
    next(iter(examples), None)  # a missing file must not be found after minutes of work
    try:
        weight = float(text or 1)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise InputError(f"{choice}: the weight after @ must be a positive number")
    return Part(examples, weight)


def _report(
    examples: Iterator[Example], name: str, say: Callable[[str], None]
) -> Iterator[Example]:
    """Yield the examples, and tell how many were read every few seconds."""
    told, candidates = time.monotonic(), 0
    for number, example in enumerate(examples, start=1):
        candidates += len(example.candidates)
        if time.monotonic() - told > SECONDS_BETWEEN_REPORTS:
            say(f"reading {name}: {number:,} questions, {candidates:,} candidates")
            told = time.monotonic()
        yield example


def order_epoch(counts: Sequence[int], weights: Sequence[float], seed: int, epoch: int) -> Tensor:
    """Return the questions that an epoch reads, in order; every epoch has the same length.

    Parts have these counts of questions, and are numbered one after another.
    """
    generator = torch.Generator().manual_seed(seed * 1_000 + epoch)
    chosen, first = [], 0
    for count, weight in zip(counts, weights, strict=True):
        missing = max(1, round(count * weight))
        while missing > 0:
            chosen.append(first + torch.randperm(count, generator=generator)[:missing])
            missing -= count
        first += count
    joined = torch.cat(chosen)
    return joined[torch.randperm(len(joined), generator=generator)]
