"""Costs of context: a pair at equal and at natural length, and the search for the context."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import SIMILARITIES, ContextConfig
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.module import SelectorConfig, make_reader
from rejoinder.models.selector.pair_reader import Feed
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.papers import context_data
from rejoinder.papers.context_data import BASE, ContextRow
from rejoinder.papers.table import time_ms
from rejoinder.training.selector import open_start, read_context
from rejoinder.types import Candidate, Example

EQUAL_LENGTH = 192
QUESTIONS = 10
ROUNDS = 5
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class PairLatency:
    """Milliseconds per pair on one thread, the minimum over several rounds."""

    row: str
    equal_ms: float
    """The network alone, every pair padded to the same length."""
    natural_ms: float
    """From text to score, including the search for the context in a known document."""
    tokens: float


@dataclass(frozen=True, slots=True)
class ContextSearch:
    """Milliseconds to find the context of a list of candidates of one document."""

    similarity: str
    prepare_ms: float
    """Once per document."""
    find_ms: float
    """Once per question."""
    share: float
    """Of the time that the selector without context takes for the same list."""


def measure_latencies(rows: Sequence[ContextRow], examples: Sequence[Example]) -> list[PairLatency]:
    """Time all rows in every round, with untrained weights."""
    queries = [(item.question, item.candidates) for item in examples[:QUESTIONS]]
    with TemporaryDirectory() as place:
        scorers = {row.name: _open(row, Path(place, row.name.replace("/", "-"))) for row in rows}
    feeds = {
        name: [feed for query in queries for feed in scorer.read(*query)]
        for name, scorer in scorers.items()
    }
    equal, natural = dict.fromkeys(scorers, np.inf), dict.fromkeys(scorers, np.inf)
    for _ in range(ROUNDS):
        for name, scorer in scorers.items():
            padded = [_pad(feed) for feed in feeds[name]]
            equal[name] = min(equal[name], time_ms(partial(_run_all, scorer, padded)))
            natural[name] = min(natural[name], time_ms(partial(_score_all, scorer, queries)))
    return [
        PairLatency(
            name,
            equal[name] / len(feeds[name]),
            natural[name] / len(feeds[name]),
            float(np.mean([_count_tokens(feed) for feed in feeds[name]])),
        )
        for name in scorers
    ]


def measure_search(examples: Sequence[Example]) -> list[ContextSearch]:
    """Time the search for the context of the first candidates of the longest article."""
    documents = (item.candidates[0].document for item in examples)
    document = max((item for item in documents if item), key=lambda item: len(item.sentences))
    candidates = [
        Candidate(str(place), text, document, place)
        for place, text in enumerate(document.sentences[:CANDIDATES])
    ]
    questions = [item.question for item in examples[:QUESTIONS]]
    with TemporaryDirectory() as place:
        scorer = _open(BASE, Path(place, "none"))
    whole_ms = min(time_ms(partial(scorer.score, questions[0], candidates)) for _ in range(2))
    _, vocabulary = open_start(context_data.START)
    plain = make_reader(SelectorConfig(), tuple(vocabulary))
    bare_ms = min(time_ms(partial(plain.read, question, candidates)) for question in questions)
    searches = []
    for similarity in SIMILARITIES:
        config = SelectorConfig(context=ContextConfig("concatenation", similarity))
        read = make_reader(config, tuple(vocabulary)).read
        first_ms = time_ms(partial(read, questions[0], candidates))
        find_ms = min(time_ms(partial(read, question, candidates)) for question in questions[1:])
        prepare_ms, added_ms = max(0.0, first_ms - find_ms), max(0.0, find_ms - bare_ms)
        searches.append(ContextSearch(similarity, prepare_ms, added_ms, added_ms / whole_ms))
    return searches


def _open(row: ContextRow, folder: Path) -> SelectorScorer:
    """Return the row's network as the runtime opens it, with the weights it starts from."""
    start, vocabulary = open_start(context_data.START)
    models = [start]
    if row.form == "ensemble":
        models = [read_context([start], form, row.similarity) for form in ("local", "global")]
    model = read_context(models, row.form, row.similarity)
    write_selector(folder, model, vocabulary, training={}, scores={}, sample=[])
    return SelectorScorer(open_bundle(folder), threads=1)


def _run_all(scorer: SelectorScorer, feeds: Sequence[Feed]) -> list[float]:
    return [scorer.run(feed) for feed in feeds]


def _score_all(scorer: SelectorScorer, queries: Sequence[tuple[str, Candidates]]) -> list[Scores]:
    return [scorer.score(question, candidates) for question, candidates in queries]


def _pad(feed: Feed) -> Feed:
    """Return a pair padded to the common number of tokens."""
    padded = {}
    for name, value in feed.items():
        missing = max(0, EQUAL_LENGTH - value.shape[1]) if value.ndim == 2 else 0
        padded[name] = np.pad(value, [(0, 0), (0, missing), *[(0, 0)] * (value.ndim - 2)])
    return padded


def _count_tokens(feed: Feed) -> int:
    return sum(value.size for name, value in feed.items() if name.endswith("ids"))
