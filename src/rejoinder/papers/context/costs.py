"""Costs of context: a pair at equal and at natural length, memory, and the search for context."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.evaluation.timing import time_ms
from rejoinder.models.onnx_session import Feed, Runtime
from rejoinder.models.scorer import Candidates
from rejoinder.models.selector.context import SIMILARITIES, ContextConfig
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.module.ensemble import AnySelector
from rejoinder.models.selector.module.loading import make_reader
from rejoinder.models.selector.module.selector import SelectorConfig
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.papers.context.memory import measure_peak
from rejoinder.papers.context.rows import BASE, ContextRow, Start
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.training.selector import OWN, open_start, read_context
from rejoinder.types import Candidate, Example

EQUAL_LENGTH = 192
QUESTIONS = 10
ROUNDS = 5
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class PairCost:
    """A pair's milliseconds on one thread, the minimum over several rounds, and the memory."""

    row: str
    equal_ms: float
    """The network alone, every pair padded to the same length."""
    natural_ms: float
    """From text to score, including the search for the context in a known document."""
    tokens: float
    weights_mb: float
    """Of all files of the bundle that a process reads."""
    peak_mb: float | None
    """The most memory of a process that opens the bundle and scores; None where it is unknown."""
    published_us: float | None = None
    """The published microseconds."""
    published_share: float | None = None
    """Of the published microseconds without context."""


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


def measure_pairs(
    rows: Sequence[ContextRow], examples: Sequence[Example], start: Start
) -> list[PairCost]:
    """Time all rows in every round, with untrained weights, and measure their memory."""
    timed = examples[:QUESTIONS]
    queries = [(item.question, item.candidates) for item in timed]
    with TemporaryDirectory() as place:
        folders = [Path(place, row.name.replace("/", "-")) for row in rows]
        scorers = [_open(row, folder, start) for row, folder in zip(rows, folders, strict=True)]
        memory = [_weigh(folder, timed) for folder in folders]
    feeds = [[feed for query in queries for feed in scorer.read(*query)] for scorer in scorers]
    rounds = [
        [_time(scorer, feed, queries) for scorer, feed in zip(scorers, feeds, strict=True)]
        for _ in range(ROUNDS)
    ]
    best = np.min(rounds, axis=0)  # by row: equal length, natural length
    return [
        PairCost(
            *(row.name, equal / len(feed), natural / len(feed), _count_tokens(feed), *weighed),
            *(row.published_us, _get_share(row)),
        )
        for row, (equal, natural), feed, weighed in zip(
            rows, best.tolist(), feeds, memory, strict=True
        )
    ]


def _weigh(folder: Path, examples: Sequence[Example]) -> tuple[float, float | None]:
    """Return the megabytes of a bundle's files, and of a process that scores with it."""
    files = open_bundle(folder).manifest.files
    weights = sum((folder / name).stat().st_size for name in files)
    return weights / 1e6, measure_peak(folder, examples)


def _get_share(row: ContextRow) -> float | None:
    if row.published_us is None or BASE.published_us is None:
        return None
    return row.published_us / BASE.published_us


def _time(
    scorer: SelectorScorer, feeds: Sequence[Feed], queries: Sequence[tuple[str, Candidates]]
) -> tuple[float, float]:
    padded = [_pad(feed) for feed in feeds]
    return (
        time_ms(lambda: [scorer.run(feed) for feed in padded]),
        time_ms(lambda: [scorer.score(*query) for query in queries]),
    )


def measure_search(examples: Sequence[Example], start: Start) -> list[ContextSearch]:
    """Time the search for the context of the first candidates of the longest article."""
    documents = (item.candidates[0].document for item in examples)
    document = max((item for item in documents if item), key=lambda item: len(item.sentences))
    candidates = [
        Candidate(str(place), text, document, place)
        for place, text in enumerate(document.sentences[:CANDIDATES])
    ]
    questions = [item.question for item in examples[:QUESTIONS]]
    with TemporaryDirectory() as place:
        scorer = _open(BASE, Path(place, "none"), start)
    whole_ms = min(time_ms(partial(scorer.score, questions[0], candidates)) for _ in range(2))
    _, tokenizer = _open_start(start)

    def time_reader(config: SelectorConfig) -> list[float]:
        read = make_reader(config, tokenizer).read
        return [time_ms(partial(read, question, candidates)) for question in questions]

    bare_ms = min(time_reader(SelectorConfig()))
    searches = []
    for similarity in SIMILARITIES:
        config = SelectorConfig(
            context=ContextConfig("concatenation", similarity, encoder=start.encoder)
        )
        first_ms, *others_ms = time_reader(config)
        find_ms = min(others_ms)
        prepare_ms, added_ms = max(0.0, first_ms - find_ms), max(0.0, find_ms - bare_ms)
        searches.append(ContextSearch(similarity, prepare_ms, added_ms, added_ms / whole_ms))
    return searches


def _open(row: ContextRow, folder: Path, start: Start) -> SelectorScorer:
    """Return the row's network as the runtime opens it, with the weights it starts from."""
    first, tokenizer = _open_start(start)
    read = partial(
        read_context,
        similarity=row.similarity,
        encoder=(start.bundle or start.encoder) if row.similarity == OWN else start.encoder,
        attention=row.attention,
    )
    models = [first]
    if row.form == "ensemble":
        models = [read([first], form) for form in ("local", "global")]
    model = read(models, row.form)
    write_selector(folder, model, tokenizer, training={}, sample=[])
    return SelectorScorer(open_bundle(folder), Runtime(threads=1))


def _open_start(start: Start) -> tuple[AnySelector, Tokenizer]:
    return open_start(start.bundle, start.encoder, recipe=start.recipe)


def _pad(feed: Feed) -> Feed:
    """Return a pair padded to the common number of tokens."""
    padded = {}
    for name, value in feed.items():
        missing = max(0, EQUAL_LENGTH - value.shape[1]) if value.ndim == 2 else 0
        padded[name] = np.pad(value, [(0, 0), (0, missing), *[(0, 0)] * (value.ndim - 2)])
    return padded


def _count_tokens(feeds: Sequence[Feed]) -> float:
    """Return the mean number of tokens of a pair."""
    ids = (value for feed in feeds for name, value in feed.items() if name.endswith("ids"))
    return sum(value.size for value in ids) / len(feeds)
