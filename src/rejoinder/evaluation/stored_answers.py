"""Stored answers of a HAS bundle: built from the texts of a data set, looked up by text, timed."""

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import InputError
from rejoinder.evaluation.timing import LENGTH, QUESTION, make_candidates, time_ms
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.models.has.compositions import pool
from rejoinder.models.has.scorer import AnswerEncoder, HasScorer
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.ranker.relatedness import RelatednessScorer, WeightedSum
from rejoinder.models.scorer import Scorer
from rejoinder.models.sidecar import StoredRows
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.types import Candidate, Example

T = TypeVar("T")
PER_DOCUMENT = 256
ANSWERS = 500
STORED = 4_000
"""Answers whose memory is measured; fewer would vanish in the memory of the process."""
STORED_PER_DOCUMENT = 40
POOL_ANSWERS, POOL_WORDS = 24_981, 200
"""InsuranceQA V1, and the length to which the HAS paper pads an answer."""
POOL_SAMPLE = 200
"""Answers of that length whose bytes are measured."""


class StoredTexts:
    """Rows of texts, each stored once, however many candidate lists contain it."""

    def __init__(self, store: RowStore, places: dict[str, int]) -> None:
        self.store = store
        self._places = places

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return the stored rows of candidates, by their text."""
        places = np.array([self._places.get(item.text, -1) for item in candidates], np.int64)
        numbers = np.where(places < 0, -1, places // PER_DOCUMENT + 1)
        return self.store.find(numbers, places % PER_DOCUMENT)


def store_texts(folder: Path, encoder: AnswerEncoder, texts: Iterable[str]) -> StoredTexts:
    """Encode texts into a new store, close it, and reopen it.

    Raises:
        StoreError: the folder cannot be written.
    """
    distinct = list(dict.fromkeys(texts))
    store = RowStore.create(
        folder, bundle=str(encoder.folder), hash_=encoder.hash, row_bytes=encoder.row_bytes
    )
    with store.changing() as writer:
        for first in range(0, len(distinct), PER_DOCUMENT):
            part = distinct[first : first + PER_DOCUMENT]
            writer.add(first // PER_DOCUMENT + 1, encoder.encode_texts(part))
        writer.commit(1)
    places = {text: place for place, text in enumerate(distinct)}
    return StoredTexts(RowStore(folder), places)


@contextmanager
def storing_answers(
    scorer: T, examples: Iterable[Example]
) -> Iterator[tuple[T, Iterable[Example]]]:
    """Yield a HAS scorer over stored answers, each encoded once, and the examples to score.

    Pools of InsuranceQA V1 list each of 24,981 answers 36 times.  Answers are stored on disk, as
    an index would store them, until the block ends.  Other scorers are yielded as they are.
    """
    if not isinstance(scorer, HasScorer) or scorer.is_bound:
        yield scorer, examples
        return
    kept = list(examples)
    with TemporaryDirectory(prefix="rejoinder-answers-") as place:
        stored = store_texts(Path(place, "store"), scorer.sidecar, list_texts(kept))
        bound: Any = scorer.bind(stored)
        yield bound, kept


def list_texts(examples: Iterable[Example]) -> list[str]:
    """Return the texts of all candidates, each once."""
    texts = (item.text for example in examples for item in example.candidates)
    return list(dict.fromkeys(texts))


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
    pool_gb: float | None = None
    """Of the answers of InsuranceQA V1, each padded to 200 words as the HAS paper stores them."""


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
        scorer = HasScorer(open_bundle(folder), Runtime(threads=1))
        with TemporaryDirectory() as place:
            texts = [item.text for item in candidates]
            bound = scorer.bind(store_texts(Path(place, "store"), scorer.sidecar, texts))
            memory = (
                *_measure_memory(Path(place, "memory"), scorer, stored),
                _measure_pool(Path(place, "pool"), scorer),
            )
            label = f"{name} (stored)" if name == "attention" else name
            yield AnswerCost(label, *_time(bound, scorer, candidates, repeats), *memory)
            if name == "has":
                beside = WeightedSum(bound, RelatednessScorer(load_vectors()), 1.0)
                times = _time(beside, scorer, candidates, repeats)
                yield AnswerCost("has+relatedness", *times, *memory)
        if name == "attention":
            times = _time(scorer, scorer, candidates, max(3, repeats // 7))
            yield AnswerCost("attention (recalculated)", *times)


def _time(
    scorer: Scorer, encoding: HasScorer, candidates: list[Candidate], repeats: int
) -> tuple[float, float, float]:
    """Return milliseconds for the question, and median and 95th percentile of the rest."""

    def encode() -> object:
        return pool(encoding.sidecar.texts.encode([QUESTION])[0])

    def score() -> object:
        return scorer.score(QUESTION, candidates)

    for _ in range(2):
        score()
    question_ms = statistics.median(time_ms(encode) for _ in range(repeats))
    times = [time_ms(score) - question_ms for _ in range(repeats)]
    return question_ms, statistics.median(times), statistics.quantiles(times, n=20)[-1]


def _measure_pool(folder: Path, scorer: HasScorer) -> float:
    """Return the gigabytes (of 1,024³ bytes, as in the paper) of all answers of InsuranceQA V1."""
    disk, _ = _measure_memory(folder, scorer, POOL_SAMPLE, words=POOL_WORDS)
    return round(disk * POOL_ANSWERS / 2**30, 2)


def _measure_memory(
    folder: Path, scorer: HasScorer, answers: int, *, words: int = LENGTH
) -> tuple[int, int]:
    """Return the bytes of one answer on disk, and in memory after all were read."""
    encoder = scorer.sidecar
    rng = np.random.default_rng(0)
    store = RowStore.create(folder, bundle="", hash_=encoder.hash, row_bytes=encoder.row_bytes)
    count = answers // STORED_PER_DOCUMENT
    with store.changing() as writer:
        for number in range(1, count + 1):
            states = rng.standard_normal(
                (STORED_PER_DOCUMENT, words, encoder.texts.width), np.float32
            )
            writer.add(number, [encoder.composition.to_rows(answer) for answer in states])
        writer.commit(1)
    del store
    before = _get_resident()
    opened = RowStore(folder)
    for number in range(1, count + 1):
        opened.find(np.full(STORED_PER_DOCUMENT, number), np.arange(STORED_PER_DOCUMENT))
    resident = _get_resident() - before
    disk = sum(path.stat().st_size for path in folder.iterdir())
    return disk // (count * STORED_PER_DOCUMENT), resident // (count * STORED_PER_DOCUMENT)


def _get_resident() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError as error:
        raise InputError("memory is measured on Linux only; leave this row out") from error
    return pages * os.sysconf("SC_PAGE_SIZE")
