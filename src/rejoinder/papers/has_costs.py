"""Costs of stored answers: time per question and memory, all contenders in one run.

Table 6 of Xu & Li 2020 in our setting: 500 answers of 25 words, one thread, the same encoder.
Stored contenders read a store that was closed and reopened.
"""

import os
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
from rejoinder.papers.table import PrintedTable, time_ms
from rejoinder.types import Candidate

ANSWERS = 500
STORED = 4_000
"""Answers whose memory is measured; fewer would vanish in the memory of the process."""
PER_DOCUMENT = 40
PUBLISHED = PrintedTable(
    ["model", "seconds", "GB for the answers"],
    [
        ["pooling", "0.03", "0.07"],
        ["attention (recalculated)", "4.19", "0.02"],
        ["attention (stored)", "0.28", "14.29"],
        ["has", "0.28", "0.45"],
    ],
    title="published (Xu & Li 2020), InsuranceQA V1, on one TitanXP",
)


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """Time of a question, and memory of an answer where answers are stored."""

    name: str
    question_ms: float
    """Encoding the question, once for all answers."""
    median_ms: float
    """Everything else."""
    p95_ms: float
    disk_bytes: int | None = None
    resident_bytes: int | None = None

    def to_cells(self) -> list[str]:
        """Return the cost as the cells of a row."""
        times = (f"{time:.1f}" for time in (self.question_ms, self.median_ms, self.p95_ms))
        memory = (self.disk_bytes, self.resident_bytes)
        return [self.name, *times, *("–" if size is None else f"{size:,}" for size in memory)]


def measure_costs(
    bundles: Mapping[str, Path], *, stored: int = STORED, repeats: int = 20
) -> Iterator[AnswerCost]:
    """Yield the cost of each bundle over stored answers.

    Args:
        bundles: by the name of the row.  `attention` is also measured without a store, and `has`
            with relatedness added.
    """
    candidates = make_candidates(ANSWERS)
    for name, folder in bundles.items():
        scorer = HasScorer(open_bundle(folder), threads=1)
        with TemporaryDirectory() as place:
            texts = [item.text for item in candidates]
            bound = scorer.bind(store_texts(Path(place, "store"), scorer.encoder, texts))
            memory = _measure_memory(Path(place, "memory"), scorer, stored)
            label = f"{name} (stored)" if name == "attention" else name
            yield AnswerCost(label, *_time(bound, scorer, candidates, repeats), *memory)
            if name == "has":
                beside = WeightedSum(bound, RelatednessScorer(load_vectors()), 1.0)
                times = _time(beside, scorer, candidates, repeats)
                yield AnswerCost("has+relatedness", *times, *memory)
        if name == "attention":
            times = _time(scorer, scorer, candidates, max(3, repeats // 7))
            yield AnswerCost("attention (recalculated)", *times)


def print_costs(costs: list[AnswerCost]) -> PrintedTable:
    """Return the measured costs as a table."""
    return PrintedTable(
        ["model", "question ms", "answers ms", "95 % ms", "bytes on disk", "bytes resident"],
        [cost.to_cells() for cost in costs],
        title="time per question with 500 answers of 25 words, one thread; memory of an answer",
    )


def _time(
    scorer: Scorer, encoding: HasScorer, candidates: list[Candidate], repeats: int
) -> tuple[float, float, float]:
    """Return milliseconds for the question, and median and 95th percentile of the rest."""

    def encode() -> object:
        return pool(encoding.encoder.texts.encode([QUESTION])[0])

    def score() -> object:
        return scorer.score(QUESTION, candidates)

    for _ in range(2):
        score()
    question_ms = statistics.median(time_ms(encode) for _ in range(repeats))
    times = [time_ms(score) - question_ms for _ in range(repeats)]
    return question_ms, statistics.median(times), statistics.quantiles(times, n=20)[-1]


def _measure_memory(folder: Path, scorer: HasScorer, answers: int) -> tuple[int, int]:
    """Return the bytes of one answer on disk, and in memory after all were read."""
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
