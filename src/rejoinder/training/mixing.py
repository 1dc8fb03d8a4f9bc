"""Reads training data: several data sets as one training set, each with its weight."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from rejoinder.datasets.catalogue import DATASETS, open_dataset
from rejoinder.engine.feedback import read_feedback
from rejoinder.errors import InputError
from rejoinder.training.checkpoint import check_target
from rejoinder.training.loop import use_threads
from rejoinder.training.options import TrainingOptions
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Part:
    """Examples, and how often an epoch reads each: 0.5 reads another half every time."""

    examples: Sequence[Example]
    weight: float = 1.0
    targets: Sequence[Sequence[float]] | None = None
    """Target of each candidate's score; its label by default."""

    def keep_answered(self) -> "Part":
        """Return the questions with an answer; other lists have no order to learn."""
        return self._take([at for at, example in enumerate(self.examples) if any(example.labels)])

    def get_targets(self) -> Sequence[Sequence[float]]:
        """Return the targets, which are the labels by default."""
        return self.targets or [example.labels for example in self.examples]

    def take_share(self, seed: int) -> "Part":
        """Return a part of weight 1, for work that is done once; a weight below 1 is a share."""
        if self.weight < 1:
            order = order_epoch([len(self.examples)], [self.weight], seed, 0).tolist()
            return replace(self._take(order), weight=1.0)
        return replace(self, weight=1.0)

    def _take(self, places: Sequence[int]) -> "Part":
        targets = None if self.targets is None else [self.targets[place] for place in places]
        return replace(self, examples=[self.examples[place] for place in places], targets=targets)


def join_parts(parts: Sequence[Part]) -> list[Example]:
    """Return the examples of all parts, one part after another."""
    return [example for part in parts for example in part.examples]


TrainingData = str | Sequence[str | Example | Part]
"""Names of data sets as NAME[:SPLIT][@WEIGHT], JSON-lines files, examples, or parts."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The data of a training, read, and the place of its bundle."""

    target: Path
    parts: Sequence[Part]
    names: Sequence[str]
    """The data in a bundle's manifest."""
    dev: Sequence[Example]
    dev_name: str | None


def prepare(options: TrainingOptions, data: TrainingData) -> TrainingSet:
    """Check the target, limit torch's threads, and read the data."""
    use_threads(options.threads)
    target = Path(options.to)
    check_target(target)
    folder = Path(options.data_folder) if options.data_folder else None
    items = [data] if isinstance(data, str) else list(data)
    names = [item for item in items if isinstance(item, str)]
    parts = read_parts(names, folder)
    if examples := [item for item in items if isinstance(item, Example)]:
        parts.append(Part(examples))
    parts += [item for item in items if isinstance(item, Part)]
    names += [f"{len(part.examples)} examples" for part in parts[len(names) :]]
    if options.feedback:
        parts.append(Part(read_feedback(Path(options.feedback))))
        names.append(f"feedback of {options.feedback}")
    if not parts:
        raise InputError("nothing to learn from: name a DATASET, or an index with --feedback")
    if isinstance(options.dev, str):
        dev = read_parts([options.dev], folder)[0].examples
        return TrainingSet(target, parts, names, dev, options.dev)
    dev = options.dev or ()
    return TrainingSet(target, parts, names, dev, f"{len(dev)} examples" if dev else None)


def read_parts(choices: Sequence[str], folder: Path | None = None) -> list[Part]:
    """Read data sets that are named as NAME[:SPLIT][@WEIGHT]; the default split is train."""
    return [_read_part(choice, folder) for choice in choices]


def _read_part(choice: str, folder: Path | None) -> Part:
    name, _, text = choice.partition("@")
    examples = open_dataset(name, split="train" if name in DATASETS else None, folder=folder)
    try:
        weight = float(text or 1)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise InputError(f"{choice}: the weight after @ must be a positive number")
    return Part(list(examples), weight)


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
