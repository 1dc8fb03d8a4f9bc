"""Rows of Han et al. 2021's tables, and the questions over whole pages that they read.

"Modeling Context in Answer Sentence Selection Systems on a Latency Budget", Tables 2 and 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rejoinder.datasets.transforms.join_pages import join_pages
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.papers.examples import keep_answered, read_available, spread_evenly
from rejoinder.papers.ingredients import Ingredients
from rejoinder.training.batches import MAX_CANDIDATES
from rejoinder.training.mixing import read_parts
from rejoinder.types import Candidate, Example

COSINET = "cosinet"
START = "selector"
"""The bundle that all selectors start from."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A form of context, with the published percentages on ASNQ."""

    name: str
    form: str
    similarity: str = "static"
    published: Mapping[str, float] = field(default_factory=dict)
    is_seeded: bool = False
    is_trained: bool = True
    """False for the shipped selector, which the others start from."""
    base: str = "none"
    """The row without context that it is compared with."""

    @property
    def is_selector(self) -> bool:
        """Whether it is a transformer; else it is Cosinet."""
        return self.form != COSINET


BASE = ContextRow("none", "none", published={"P@1": 59.6, "MAP": 68.5, "MRR": 70.6}, is_seeded=True)
ROWS = (
    ContextRow("shipped", "none", is_trained=False),
    BASE,
    ContextRow("local", "local", "static", {"P@1": 65.3, "MAP": 73.2, "MRR": 75.2}, is_seeded=True),
    ContextRow("global", "global", "static", {"P@1": 62.2, "MAP": 69.8, "MRR": 72.2}),
    ContextRow("concatenation", "concatenation", "static", {"P@1": 63.1, "MAP": 72.6, "MRR": 74.3}),
    ContextRow("ensemble", "ensemble", "static", {"P@1": 66.8, "MAP": 74.3, "MRR": 76.5}),
    ContextRow("multi-way", "multi-way", is_seeded=True),
    ContextRow("multi-way/ngrams", "multi-way", "ngrams", {"P@1": 63.8, "MAP": 72.5, "MRR": 74.6}),
    ContextRow(
        "multi-way/encoder", "multi-way", "encoder", {"P@1": 66.1, "MAP": 74.2, "MRR": 75.8}
    ),
    ContextRow("stored", "stored"),
    ContextRow("cosinet", COSINET, base="cosinet"),
    ContextRow("cosinet/context", COSINET, base="cosinet"),
)

TRAIN = ("squad-train-part:fit", "squad-v1:dev-not-in-v2")
SETS = (
    *("squad-train-part:dev", "squad-v2:dev", "wikiqa:dev", "wikiqa:test"),
    *("selqa:dev", "asnq:dev"),
)
LISTS = "squad-v2:dev"
"""The set whose whole articles are ranked by a cascade."""
KEEP = 20
"""Candidates of an article that the first stage passes to the selector without context."""
LIST_QUESTIONS = 300
TEST_PAIRS = 10_000
"""Pairs of each test set; questions are spread evenly over larger ones."""
LEAST_SENTENCES = 20
"""Sentences of a training page; on a shorter page everything is a neighbour."""


@dataclass(frozen=True, slots=True)
class ContextData:
    """Training questions, test sets by name, and long lists."""

    train: list[Example]
    tests: dict[str, list[Example]]
    lists: list[tuple[str, list[Candidate], list[bool]]]
    """Per question: the candidates that the first stage kept, and which are answers."""

    def get_timed(self) -> list[Example]:
        """Return the questions that costs are measured on."""
        return self.tests.get(LISTS, self.train)


def name_start(ingredients: Ingredients) -> tuple[str | None, str]:
    """Return the bundle that selectors start from, or None, and the encoder they start from then.

    The paper's start from a pretrained encoder, which no question has adapted.
    """
    if ingredients.encoder is None and not ingredients.is_paper:
        return START, DEFAULT
    return None, ingredients.encoder or DEFAULT


def read_data(
    folder: Path | None,
    pairs: float,
    say: Callable[[str], None],
    training: Sequence[str] | None = None,
) -> ContextData:
    """Read all sets that are here and report the others; MissingDataError without training data.

    Args:
        training: the data sets to train on; by default `TRAIN`.
    """
    tests = {}
    for choice in SETS:
        if examples := read_available(choice, folder, say):
            tests[choice] = spread(keep_answered(join_pages(examples)), TEST_PAIRS)
    train = [
        example
        for part in read_parts(TRAIN if training is None else training, folder)
        for example in join_pages(list(part.take_share(0).examples))
        if len(_get_page(example)) >= LEAST_SENTENCES
    ]
    return ContextData(
        spread(keep_answered(train), pairs, most=MAX_CANDIDATES + 1),
        tests,
        _keep_best(tests.get(LISTS, []), open_scorer(COSINET)),
    )


def spread(examples: Sequence[Example], pairs: float, *, most: int | None = None) -> list[Example]:
    """Return questions with about so many pairs in all, spread evenly over the set.

    Args:
        most: candidates of a question that count.
    """
    sizes = [min(len(item.candidates), most or len(item.candidates)) for item in examples]
    count = max(1, round(len(examples) * min(1.0, pairs / max(1, sum(sizes)))))
    places = np.linspace(0, len(examples) - 1, min(count, len(examples))).round().astype(int)
    return [examples[place] for place in places.tolist()]


def _keep_best(
    examples: Sequence[Example], first: Scorer
) -> list[tuple[str, list[Candidate], list[bool]]]:
    """Return the candidates that the first stage keeps from each question's whole article."""
    lists = []
    for example in spread_evenly(examples, LIST_QUESTIONS):
        document = example.candidates[0].document
        labelled = zip(example.candidates, example.labels, strict=True)
        right = {item.position for item, label in labelled if label}
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
