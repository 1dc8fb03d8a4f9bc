"""The questions that selectors with context are trained and tested on, over whole pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.transforms.join_pages import join_pages
from rejoinder.errors import MissingDataError
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.training.batches import MAX_CANDIDATES
from rejoinder.types import Candidate, Example

TRAIN: tuple[tuple[str, str | None], ...] = (
    ("squad-train-part", "fit"),
    ("squad-v1", "dev-not-in-v2"),
)
SETS: tuple[tuple[str, str | None], ...] = (
    ("squad-train-part", "dev"),
    ("squad-v2", "dev"),
    ("wikiqa", "dev"),
    ("wikiqa", "test"),
    ("selqa", "dev"),
    ("asnq", "dev"),
)
LISTS: tuple[str, str | None] = ("squad-v2", "dev")
"""Whose whole articles a cascade is tried on."""
FIRST = "cosinet"
KEEP = 20
"""Candidates of an article that the selector without context gets from the first stage."""
LIST_QUESTIONS = 300
TEST_PAIRS = 10_000
"""Of each test set; questions are spread evenly over larger ones."""
LEAST_SENTENCES = 20
"""Of a page that is trained on: a shorter one is all neighbours."""


@dataclass(frozen=True, slots=True)
class Data:
    """What rows are trained and tested on."""

    train: list[Example]
    tests: dict[str, list[Example]]
    lists: list[tuple[str, list[Candidate], list[bool]]]
    """Of long lists the question, what the first stage kept, and which are answers."""


def read_data(folder: Path | None, *, pairs: int, say: Callable[[str], None]) -> Data:
    """Return the examples of all sets that are found; the others are said.

    Raises:
        MissingDataError: nothing to train on, or nothing to test on.
    """
    tests = {}
    for name, split in SETS:
        try:
            examples = join_pages(list(open_dataset(name, split=split, folder=folder)))
        except MissingDataError as error:
            say(f"left out: {error}")
            continue
        tests[name_set(name, split)] = spread(_keep_answered(examples), TEST_PAIRS)
    train = [
        example
        for name, split in TRAIN
        for example in join_pages(list(open_dataset(name, split=split, folder=folder)))
        if len(_get_page(example)) >= LEAST_SENTENCES
    ]
    return Data(
        spread(_keep_answered(train), pairs, most=MAX_CANDIDATES + 1),
        tests,
        _keep_best(tests.get(name_set(*LISTS), []), open_scorer(FIRST)),
    )


def name_set(name: str, split: str | None) -> str:
    """Return NAME:SPLIT; a file has no split."""
    return f"{name}:{split}" if split else name


def spread(examples: Sequence[Example], pairs: int, *, most: int | None = None) -> list[Example]:
    """Return about so many pairs, of questions that are spread evenly.

    Args:
        most: how many candidates of a question count.
    """
    sizes = [min(len(item.candidates), most or len(item.candidates)) for item in examples]
    count = max(1, round(len(examples) * min(1.0, pairs / max(1, sum(sizes)))))
    places = np.linspace(0, len(examples) - 1, min(count, len(examples))).round().astype(int)
    return [examples[place] for place in places.tolist()]


def _keep_best(
    examples: Sequence[Example], first: Scorer
) -> list[tuple[str, list[Candidate], list[bool]]]:
    """Return what the first stage keeps of the whole article of each question."""
    step = max(1, len(examples) // LIST_QUESTIONS)
    lists = []
    for example in examples[::step][:LIST_QUESTIONS]:
        document = example.candidates[0].document
        right = {
            item.position
            for item, label in zip(example.candidates, example.labels, strict=True)
            if label
        }
        everything = [
            Candidate(str(place), text, document, place)
            for place, text in enumerate(_get_page(example))
        ]
        order = np.argsort(-first.score(example.question, everything), kind="stable")[:KEEP]
        kept = [everything[place] for place in order.tolist()]
        lists.append((example.question, kept, [item.position in right for item in kept]))
    return lists


def _get_page(example: Example) -> Sequence[str]:
    document = example.candidates[0].document if example.candidates else None
    return document.sentences if document else ()


def _keep_answered(examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if any(example.labels)]
