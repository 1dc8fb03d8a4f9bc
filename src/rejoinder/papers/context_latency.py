"""What context costs: a pair at equal and at natural length, and finding the context itself."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import SIMILARITIES, ContextConfig
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.module.selector import SelectorConfig
from rejoinder.models.selector.module.similarities import make_reader
from rejoinder.models.selector.pair_reader import Feed
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.papers.context_rows import BASE, Row
from rejoinder.papers.context_training import START
from rejoinder.training.selector import open_start, read_context
from rejoinder.types import Candidate, Example

EQUAL_LENGTH = 192
QUESTIONS = 10
ROUNDS = 5
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of a pair on one thread, the least of several rounds."""

    row: str
    equal_ms: float
    """The network alone, every pair padded to the same length."""
    natural_ms: float
    """From text to score, the context of a known document found anew."""
    tokens: float


@dataclass(frozen=True, slots=True)
class Construction:
    """Milliseconds of finding the context of a list of candidates of one document."""

    similarity: str
    prepare_ms: float
    """Once for a document."""
    find_ms: float
    """For each question."""
    share: float
    """Of the time that the selector without context takes for the same list."""


def measure_latencies(rows: Sequence[Row], examples: Sequence[Example]) -> list[Latency]:
    """Return what each row costs, all of them in every round; weights do not matter."""
    asked = [(item.question, item.candidates) for item in examples[:QUESTIONS]]
    with TemporaryDirectory() as place:
        scorers = {row.name: _open(row, Path(place, row.name.replace("/", "-"))) for row in rows}
    feeds = {
        name: [feed for item in asked for feed in scorer.read(*item)]
        for name, scorer in scorers.items()
    }
    equal, natural = dict.fromkeys(scorers, np.inf), dict.fromkeys(scorers, np.inf)
    for _ in range(ROUNDS):
        for name, scorer in scorers.items():
            padded = [_pad(feed) for feed in feeds[name]]
            equal[name] = min(equal[name], _time(partial(_run_all, scorer, padded)))
            natural[name] = min(natural[name], _time(partial(_score_all, scorer, asked)))
    return [
        Latency(
            name,
            equal[name] / len(feeds[name]),
            natural[name] / len(feeds[name]),
            float(np.mean([_count(feed) for feed in feeds[name]])),
        )
        for name in scorers
    ]


def measure_construction(examples: Sequence[Example]) -> list[Construction]:
    """Return what finding the context of the first candidates of an article costs."""
    document = max(
        (item.candidates[0].document for item in examples if item.candidates[0].document),
        key=lambda item: len(item.sentences),
    )
    candidates = [
        Candidate(str(place), text, document, place)
        for place, text in enumerate(document.sentences[:CANDIDATES])
    ]
    questions = [item.question for item in examples[:QUESTIONS]]
    with TemporaryDirectory() as place:
        scorer = _open(BASE, Path(place, "none"))
    whole_ms = min(_time(partial(scorer.score, questions[0], candidates)) for _ in range(2))
    _, vocabulary = open_start(START)
    plain = make_reader(SelectorConfig(), tuple(vocabulary))
    bare_ms = min(_time(partial(plain.read, asked, candidates)) for asked in questions)
    found = []
    for similarity in SIMILARITIES:
        config = SelectorConfig(context=ContextConfig("concatenation", similarity))
        reader = make_reader(config, tuple(vocabulary))
        first_ms = _time(partial(reader.read, questions[0], candidates))
        find_ms = min(_time(partial(reader.read, asked, candidates)) for asked in questions[1:])
        added_ms = max(0.0, find_ms - bare_ms)
        found.append(
            Construction(similarity, max(0.0, first_ms - find_ms), added_ms, added_ms / whole_ms)
        )
    return found


def _open(row: Row, folder: Path) -> SelectorScorer:
    """Return the row's network as the runtime opens it, with the weights it begins with."""
    start, vocabulary = open_start(START)
    if row.form == "ensemble":
        parts = [read_context([start], form, row.similarity) for form in ("local", "global")]
        model = read_context(parts, row.form, row.similarity)
    else:
        model = read_context([start], row.form, row.similarity)
    write_selector(folder, model, vocabulary, training={}, scores={}, sample=[])
    return SelectorScorer(open_bundle(folder), threads=1)


def _run_all(scorer: SelectorScorer, feeds: Sequence[Feed]) -> list[float]:
    return [scorer.run(feed) for feed in feeds]


def _score_all(scorer: SelectorScorer, asked: Sequence[tuple[str, Candidates]]) -> list[Scores]:
    return [scorer.score(question, candidates) for question, candidates in asked]


def _pad(feed: Feed) -> Feed:
    """Return a pair whose tokens are as many as every other's."""
    padded = {}
    for name, value in feed.items():
        missing = max(0, EQUAL_LENGTH - value.shape[1]) if value.ndim == 2 else 0
        padded[name] = np.pad(value, [(0, 0), (0, missing), *[(0, 0)] * (value.ndim - 2)])
    return padded


def _count(feed: Feed) -> int:
    return sum(value.size for name, value in feed.items() if name.endswith("ids"))


def _time(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return 1000 * (time.perf_counter() - start)
