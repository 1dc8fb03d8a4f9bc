"""What stored answers cost: time per question and memory, all contenders in one run.

Table 6 of Xu & Li 2020 in our form: 500 answers of 25 words, one thread, the same encoder.
Stored contenders read a store that was closed and opened again.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.evaluation.stored_texts import store_texts
from rejoinder.evaluation.timing import LENGTH, QUESTION, make_candidates
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.models.has.compositions import pool
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.ranker.relatedness import RelatednessScorer, WeightedSum
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.types import Candidate

ANSWERS = 500
STORED = 4_000
"""Answers whose memory is measured; few would vanish in what the process has anyway."""
PER_DOCUMENT = 40


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """One way of serving answers."""

    name: str
    question_ms: float
    """Encoding the question, which each does once."""
    median_ms: float
    """All the rest."""
    p95_ms: float
    disk_bytes: int | None = None
    """Of one answer, where answers are stored."""
    resident_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as plain JSON types."""
        return asdict(self)


def measure_costs(
    bundles: Mapping[str, Path], *, answers: int = ANSWERS, stored: int = STORED, repeats: int = 20
) -> Iterator[AnswerCost]:
    """Yield the cost of each bundle over stored answers.

    Args:
        bundles: by the name of the row; the one called attention is also recalculated, and
            has is also measured with relatedness beside it.
    """
    candidates = make_candidates(answers)
    for name, folder in bundles.items():
        scorer = HasScorer(open_bundle(folder), threads=1)
        with TemporaryDirectory() as place:
            texts = store_texts(
                Path(place, "store"), scorer.encoder, [item.text for item in candidates]
            )
            bound = scorer.bind(texts)
            disk, resident = _measure_memory(Path(place, "memory"), scorer, stored)
            label = f"{name} (stored)" if name == "attention" else name
            question_ms, times = _time(bound, scorer, candidates, repeats)
            yield _to_cost(label, question_ms, times, disk, resident)
            if name == "has":
                beside = WeightedSum(bound, RelatednessScorer(load_vectors()), 1.0)
                question_ms, times = _time(beside, scorer, candidates, repeats)
                yield _to_cost("has+relatedness", question_ms, times, disk, resident)
        if name == "attention":
            few = max(3, repeats // 7)
            question_ms, times = _time(scorer, scorer, candidates, few)
            yield _to_cost("attention (recalculated)", question_ms, times)


def _to_cost(
    name: str,
    question_ms: float,
    times: list[float],
    disk: int | None = None,
    resident: int | None = None,
) -> AnswerCost:
    p95 = statistics.quantiles(times, n=20)[-1]
    return AnswerCost(name, question_ms, statistics.median(times), p95, disk, resident)


def _time(
    scorer: Scorer, encoding: HasScorer, candidates: list[Candidate], repeats: int
) -> tuple[float, list[float]]:
    """Return the milliseconds of the question, and those of the rest each time."""

    def encode() -> object:
        return pool(encoding.encoder.texts.encode([QUESTION])[0])

    def score() -> object:
        return scorer.score(QUESTION, candidates)

    for _ in range(2):
        score()
    question_ms = statistics.median(_clock(encode) for _ in range(repeats))
    return question_ms, [_clock(score) - question_ms for _ in range(repeats)]


def _clock(work: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1e6


def _measure_memory(folder: Path, scorer: HasScorer, answers: int) -> tuple[int, int]:
    """Return the bytes of one answer on disk, and in memory once all were read."""
    encoder = scorer.encoder
    rng = np.random.default_rng(0)
    store = RowStore.create(folder, bundle="", hash_=encoder.hash, row_bytes=encoder.row_bytes)
    count = answers // PER_DOCUMENT
    with store.changing() as writer:
        for number in range(1, count + 1):
            states = rng.standard_normal((PER_DOCUMENT, LENGTH, encoder.texts.width), np.float32)
            writer.add(number, [encoder.composition.to_rows(words) for words in states])
        writer.commit(1)
    del store
    before = _get_resident()
    opened = RowStore(folder)
    for number in range(1, count + 1):
        opened.find(np.full(PER_DOCUMENT, number), np.arange(PER_DOCUMENT))
    resident = _get_resident() - before
    disk = sum(path.stat().st_size for path in folder.iterdir())
    return disk // (count * PER_DOCUMENT), resident // (count * PER_DOCUMENT)


def _get_resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
