"""Rows of Han et al. 2021's tables, and the questions over whole pages that they read.

"Modeling Context in Answer Sentence Selection Systems on a Latency Budget", Tables 2 and 4.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import inf
from pathlib import Path

import numpy as np

from rejoinder.datasets.catalogue import find_source
from rejoinder.datasets.stream import ExampleStream
from rejoinder.datasets.transforms.join_pages import join_pages
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.papers.examples import open_available, spread_evenly
from rejoinder.papers.ingredients import Ingredients
from rejoinder.training.batches import MAX_CANDIDATES
from rejoinder.training.mixing import Part, read_parts
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
    "selqa:dev",
)
ASNQ = ("asnq-pages:cascade-test", "asnq:cascade-test", "asnq-pages:dev", "asnq:dev")
"""The paper's test set, or what is nearest to it: the first that is here is tested on."""
LISTS = "squad-v2:dev"
"""The set whose whole articles are ranked by a cascade."""
KEEP = 20
"""Candidates of an article that the first stage passes to the selector without context."""
LIST_QUESTIONS = 300
TEST_PAIRS = 10_000
"""Pairs of each test set by default; questions are spread evenly over larger ones."""
TIMED = 1_000
"""Training questions that costs are measured on, without a test set for it."""
LEAST_SENTENCES = 20
"""Sentences of a training page; on a shorter page everything is a neighbour."""


@dataclass(frozen=True, slots=True)
class ContextData:
    """Training questions, test sets by name, and long lists."""

    train: Iterable[Example]
    """A stream where not all of it fits into memory."""
    tests: dict[str, list[Example]]
    lists: list[tuple[str, list[Candidate], list[bool]]]
    """Per question: the candidates that the first stage kept, and which are answers."""

    @property
    def parts(self) -> list[Part]:
        """The training questions as training reads them."""
        return [Part(self.train)]

    def get_timed(self) -> list[Example]:
        """Return the questions that costs are measured on."""
        return self.tests[LISTS] if LISTS in self.tests else [*islice(self.train, TIMED)]


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
    *,
    test_pairs: float = TEST_PAIRS,
) -> ContextData:
    """Read all sets that are here and report the others; MissingDataError without training data.

    Args:
        pairs: to train on, approximately; all of them where it is infinite.
        training: the data sets to train on; by default `TRAIN`.
        test_pairs: of each test set, approximately.
    """
    tests = {
        choice: spread(filter_stream(joined, is_answered), test_pairs)
        for choice in (*SETS, *find_asnq(folder, say))
        if (joined := open_pages(open_available(choice, folder, say)))
    }
    parts = read_parts(TRAIN if training is None else training, folder)
    pages = [open_pages(part.take_share(0).examples) for part in parts]
    fitting = filter_stream(ExampleStream(lambda: chain.from_iterable(pages)), is_trained_on)
    is_streamed = pairs == inf and not all(isinstance(one, list) for one in pages)
    train = fitting if is_streamed else spread(fitting, pairs, most=MAX_CANDIDATES + 1)
    return ContextData(train, tests, _keep_best(tests.get(LISTS, []), open_scorer(COSINET)))


def find_asnq(folder: Path | None, say: Callable[[str], None]) -> list[str]:
    """Return the first form of ASNQ that is here, in a list; report it if there is none."""
    found = [choice for choice in ASNQ if find_source(choice, folder)]
    if not found:
        open_available(ASNQ[-1], folder, say)
    return found[:1]


def open_pages(examples: Iterable[Example]) -> Iterable[Example]:
    """Return examples over whole pages.

    Only pages with a title, which may be spread over the set, are all read into memory.
    """
    first = next(iter(examples), None)
    documents = (item.document for item in (first.candidates if first else ()))
    if first and any(item and item.title for item in documents):
        return join_pages(list(examples))
    return examples if first else []


def filter_stream(
    examples: Iterable[Example], is_kept: Callable[[Example], bool]
) -> Iterable[Example]:
    """Return the examples that are kept, as a stream."""
    return ExampleStream(lambda: filter(is_kept, examples))


def is_answered(example: Example) -> bool:
    """Whether any candidate answers."""
    return any(example.labels)


def is_trained_on(example: Example) -> bool:
    """Whether the question has an answer, on a page that is not short."""
    return is_answered(example) and len(_get_page(example)) >= LEAST_SENTENCES


def spread(examples: Iterable[Example], pairs: float, *, most: int | None = None) -> list[Example]:
    """Return questions with about so many pairs in all, spread evenly; reads a stream twice.

    Args:
        most: candidates of a question that count.
    """
    sizes = [min(len(item.candidates), most or len(item.candidates)) for item in examples]
    count = max(1, round(len(sizes) * min(1.0, pairs / max(1, sum(sizes)))))
    places = np.linspace(0, len(sizes) - 1, min(count, len(sizes))).round().astype(int)
    kept = set(places.tolist())
    return [item for place, item in enumerate(examples) if place in kept]


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
