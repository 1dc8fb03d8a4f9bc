"""Several data sets as one training set, each with its weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.engine.feedback import read_feedback
from rejoinder.errors import InputError
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Part:
    """Examples, and how often an epoch reads each: 0.5 reads another half every time."""

    examples: Sequence[Example]
    weight: float = 1.0
    targets: Sequence[Sequence[float]] | None = None
    """What a network should say of each candidate, where that is not its label."""

    def keep_answered(self) -> "Part":
        """Return the questions with an answer: without one, a list has no order to learn."""
        kept = [place for place, example in enumerate(self.examples) if any(example.labels)]
        targets = None if self.targets is None else [self.targets[place] for place in kept]
        return Part([self.examples[place] for place in kept], self.weight, targets)

    def get_targets(self) -> Sequence[Sequence[float]]:
        """Return the targets, which are the labels where nothing else was said."""
        return self.targets or [example.labels for example in self.examples]


def read_parts(choices: Sequence[str], folder: Path | None = None) -> list[Part]:
    """Read the data sets that are named as NAME[:SPLIT][@WEIGHT]; the split is train.

    Raises:
        InputError: a weight is no positive number.
        UnknownNameError: no data set, or split, has this name.
    """
    return [_read_part(choice, folder) for choice in choices]


def read_training(
    choices: Sequence[str], folder: Path | None = None, *, feedback: Path | None = None
) -> list[Part]:
    """Read what a training learns from: data sets, and the feedback of an index.

    Raises:
        InputError: there is neither, or no answer is marked right.
    """
    if not choices and feedback is None:
        raise InputError("nothing to learn from: name a DATASET, or an index with --feedback")
    parts = read_parts(choices, folder)
    return [*parts, Part(read_feedback(feedback))] if feedback else parts


def take_share(part: Part, seed: int) -> Part:
    """Return a part whose weight is 1: a share of its examples where it was less.

    For work that is done once for each example, and not in every epoch.
    """
    if part.weight >= 1:
        return Part(part.examples, 1.0, part.targets)
    order = order_epoch([len(part.examples)], [part.weight], seed, 0).tolist()
    targets = None if part.targets is None else [part.targets[place] for place in order]
    return Part([part.examples[place] for place in order], 1.0, targets)


def order_epoch(counts: Sequence[int], weights: Sequence[float], seed: int, epoch: int) -> Tensor:
    """Return which questions an epoch reads, in which order; its length is always the same.

    Args:
        counts: questions of each part, which stand one part after another.
    """
    generator = torch.Generator().manual_seed(seed * 1_000 + epoch)
    chosen, first = [], 0
    for count, weight in zip(counts, weights, strict=True):
        wanted = max(1, round(count * weight))
        while wanted > 0:
            chosen.append(first + torch.randperm(count, generator=generator)[:wanted])
            wanted -= count
        first += count
    joined = torch.cat(chosen)
    return joined[torch.randperm(len(joined), generator=generator)]


def _read_part(choice: str, folder: Path | None) -> Part:
    name, _, weight = choice.partition("@")
    if Path(name).exists():
        return Part(list(open_dataset(name)), _parse_weight(weight, choice))
    name, _, split = name.partition(":")
    is_file = name.endswith((".jsonl", ".jsonl.gz"))
    examples = open_dataset(name, split=None if is_file else split or "train", folder=folder)
    return Part(list(examples), _parse_weight(weight, choice))


def _parse_weight(text: str, choice: str) -> float:
    try:
        weight = float(text or 1)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise InputError(f"{choice}: the weight after @ must be a positive number")
    return weight
