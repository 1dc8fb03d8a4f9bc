"""The questions that rows are trained and tested on: over whole pages, or as a file lists them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from pathlib import Path

import numpy as np

from rejoinder.datasets.catalogue import DATASETS, find_source
from rejoinder.datasets.stream import ExampleStream
from rejoinder.datasets.transforms.join_pages import join_pages
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.papers.context.rows import COSINET, TRAIN
from rejoinder.papers.examples import open_available, spread_evenly
from rejoinder.training.batches import MAX_CANDIDATES
from rejoinder.training.mixing import Part, read_parts
from rejoinder.types import Candidate, Example

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


@dataclass(frozen=True, slots=True)
class DataChoice:
    """Which questions are read."""

    pairs: float
    """To train on, approximately; all of them where it is infinite."""
    test_pairs: float = TEST_PAIRS
    """Of each test set, approximately."""
    train: Sequence[str] = ()
    """The data sets to train on; by default the table's own."""
    test: Sequence[str] = ()
    """The sets to test on; by default the table's own."""
    folder: Path | None = None
    """Folder of data sets."""


def read_data(choice: DataChoice, say: Callable[[str], None]) -> ContextData:
    """Read all sets that are here and report the others; MissingDataError without training data."""
    folder = choice.folder
    tests = {
        name: spread(filter_stream(joined, is_answered), choice.test_pairs)
        for name in choice.test or (*SETS, *find_asnq(folder, say))
        if (joined := open_pages(name, open_available(name, folder, say)))
    }
    names = choice.train or TRAIN
    parts = zip(names, read_parts(names, folder, say), strict=True)
    pages = [open_pages(name, part.take_share(0).examples) for name, part in parts]
    fitting = filter_stream(ExampleStream(lambda: chain.from_iterable(pages)), is_trained_on)
    is_streamed = choice.pairs == inf and not all(isinstance(one, list) for one in pages)
    train = fitting if is_streamed else spread(fitting, choice.pairs, most=MAX_CANDIDATES + 1)
    return ContextData(train, tests, _keep_best(tests.get(LISTS, []), open_scorer(COSINET)))


def find_asnq(folder: Path | None, say: Callable[[str], None]) -> list[str]:
    """Return the first form of ASNQ that is here, in a list; report it if there is none."""
    found = [choice for choice in ASNQ if find_source(choice, folder)]
    if not found:
        open_available(ASNQ[-1], folder, say)
    return found[:1]


def open_pages(name: str, examples: Iterable[Example]) -> Iterable[Example]:
    """Return examples over whole pages; those of a file have whole documents already.

    Only pages with a title, which may be spread over the set, are all read into memory.
    """
    first = next(iter(examples), None)
    if first is None:
        return []
    is_file = name.partition("@")[0].partition(":")[0] not in DATASETS
    documents = (item.document for item in first.candidates)
    if not is_file and any(item and item.title for item in documents):
        return join_pages(list(examples))
    return examples


def filter_stream(
    examples: Iterable[Example], is_kept: Callable[[Example], bool]
) -> Iterable[Example]:
    """Return the examples that are kept, as a stream."""
    return ExampleStream(lambda: filter(is_kept, examples))


def is_answered(example: Example) -> bool:
    """Whether any candidate answers."""
    return any(example.labels)


def is_trained_on(example: Example) -> bool:
    """Whether the question has an answer, and a candidate is of a page that is not short."""
    documents = (item.document for item in example.candidates)
    longest = max((len(item.sentences) for item in documents if item), default=0)
    return is_answered(example) and longest >= LEAST_SENTENCES


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
