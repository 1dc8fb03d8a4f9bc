"""Measure the limits of this machine, and how near the default answer comes to them.

Usage: python -m benchmarks.limits --data DATA --cache FOLDER
           [--threads 1,2] [--rounds 7] > limits.json
       python -m benchmarks.limits --index FOLDER --questions FILE ... > limits.json

Questions are those of a file, one per line, over an index; or some of the corpus `pooled` over its
index, which is kept in the cache (benchmarks.open_corpus).  Prints one JSON object:

- `machine_limits`, per thread, with so many threads at work at once: the peak of the instructions
  that multiply int8, int16, bf16 and fp32 numbers; the bandwidth of reading memory; and the rate of
  products at the shapes of the selector: in int8 and fp32 the kernel's, in bf16 one of this
  benchmark.  A product and a sum are two operations.
- `stages` of an answer of the shipped default, means over the questions: what each stage needs, the
  floor that follows, the measured time (the best of the rounds), and the floor's share of it:

    words      the full-text search: the posting lists of the question's terms
    vectors    the vector search, with the encoding of the question
    cosinet    on the candidates that the default passes to it, from stored tokens
    selector   on the pairs that the default passes to it, with titles and headings
    rest       the rest of an answer, between the stages: measured only
    answer     all of it

The floor is the larger of two times.  The first is that of all products at the peak of their
instruction: int8 and int16 (attention) in the selector, fp32 in Cosinet and in the vectors that are
compared by numbers.  The second is that of reading every byte once at full bandwidth: the
selector's weights; the table rows of Cosinet's distinct words; the bits of all vectors and the
numbers of those that are compared by them; the posting lists, each entry at the mean size of all.
Everything else costs nothing in it (GELU, norms, softmax, rounding to int8, the comparison of bits,
the scores of entries, Python), so it cannot be reached.  What a cache holds can be read faster than
from memory.  Cosinet's recurrence cannot reach the floor for another reason: each step waits for
the one before.  Searches run on one thread.

limits.c is compiled for this run.  Without a C compiler all limits are null, and on processors
other than x86-64 the peaks of instructions and the floors.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isqrt
from pathlib import Path
from typing import Any

import tantivy

from benchmarks.common import CHANNELS, HIDDEN, KERNEL, describe_machine
from benchmarks.confidence import find
from benchmarks.corpora.questions import Question, sample
from benchmarks.machine_limits import (
    UNKNOWN,
    Limits,
    Work,
    compile_library,
    describe_limits,
    measure_limits,
    measure_products,
    shorten,
)
from benchmarks.open_corpus import open_corpus
from rejoinder.bundle.folder import WEIGHTS, open_bundle
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.documents.passages import iterate_passages
from rejoinder.engine.engine import RETRIEVED, Engine
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.fulltext.query import split_question
from rejoinder.index.fulltext.terms import FIELDS, join_fields, stem_words
from rejoinder.index.index import MIN_SEARCHED, Index
from rejoinder.index.vectors.nearest import KEPT
from rejoinder.index.vectors.store import VectorStore
from rejoinder.models.kernel import PLANES
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate

PER_SET = 2
"""Questions of each data set of the corpus."""
SAMPLED = 200
"""Documents by which the entries of all posting lists are estimated."""
SEARCHED = max(MIN_SEARCHED, 2 * RETRIEVED)
"""What each search returns, before both are merged."""


@dataclass(frozen=True)
class Stage:
    """A part of an answer: what it needs for each question, and a call that runs it."""

    name: str
    works: Sequence[Work]
    runs: Sequence[Callable[[], object]]
    limits: Limits
    threads: int
    facts: Mapping[str, float]


def main() -> None:
    options = parse_options()
    counts = [int(count) for count in options.threads.split(",")]
    machine_limits, stages = [], []
    with open_questions(options) as (index, questions), tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        alone = measure_limits(library, 1, options.rounds)
        for threads in counts:
            limits = alone if threads == 1 else measure_limits(library, threads, options.rounds)
            products = measure_products(library, limits, threads, options.rounds)
            machine_limits.append(describe_limits(limits, threads) | {"products": products})
            scorer = load(threads=threads)
            assert isinstance(scorer, Cascade)
            parts = list_searches(index, questions, alone)
            parts += list_stages(index, questions, scorer, limits, threads)
            stages += measure_answer(index, questions, scorer, parts, threads, options.rounds)
    result = {
        "machine": describe_machine(),
        "has_vnni": None if library is None else bool(library.has_vnni()),
        "machine_limits": machine_limits,
        "stages": stages,
    }
    print(json.dumps(result, indent=2))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, metavar="FOLDER")
    parser.add_argument("--questions", type=Path, metavar="FILE")
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--cache", type=Path, metavar="FOLDER")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7, help="of each measurement")
    options = parser.parse_args()
    if bool(options.index) != bool(options.questions) or bool(options.index) == bool(options.cache):
        parser.error("give --index with --questions, or --cache with --data")
    return options


@contextmanager
def open_questions(options: argparse.Namespace) -> Iterator[tuple[Index, list[Question]]]:
    """Yield an index, and the questions to ask it."""
    if options.index:
        lines = options.questions.read_text(encoding="utf-8").splitlines()
        with Index(options.index) as index:
            yield index, [Question(line, line, "") for line in lines if line.strip()]
        return
    corpus = argparse.Namespace(
        data=options.data, cache=options.cache, index=None, questions=None, typos=None
    )
    with open_corpus("pooled", corpus) as (index, _, questions):
        yield index, sample(questions, PER_SET)


def list_searches(index: Index, questions: Sequence[Question], limits: Limits) -> list[Stage]:
    """Return both searches of an index, which run on one thread."""
    full_text = FullTextIndex(index.folder, index.store).current
    postings = tantivy.Index.open(str(index.folder / str(full_text.name))).searcher()
    entry_bytes = measure_entry(index, index.folder / str(full_text.name))
    stored = VectorStore(index.folder / str(index.store.get("vectors"))).state
    texts = [question.text for question in questions]

    def search_words(text: str) -> object:
        return full_text.search(text, SEARCHED, None)

    def search_vectors(text: str) -> object:
        return index.vectors.search(full_text.correct(text), SEARCHED, None)

    facts = {"sentences": stored.rows}
    return [
        Stage(
            "words",
            [count_words(postings, text, entry_bytes) for text in texts],
            [partial(search_words, text) for text in texts],
            limits,
            1,
            facts | {"entry_bytes": round(entry_bytes, 2)},
        ),
        Stage(
            "vectors",
            [count_vectors(stored.rows, stored.width)] * len(texts),
            [partial(search_vectors, text) for text in texts],
            limits,
            1,
            facts,
        ),
    ]


def measure_entry(index: Index, folder: Path) -> float:
    """Return the mean bytes of an entry of a posting list, with the length of its field.

    The entries of all lists are estimated by those of evenly spread documents.
    """
    documents = index.store.get_documents()
    numbered = list(documents)
    chosen = numbered[:: -(-len(numbered) // SAMPLED)]
    entries = sentences = 0
    for document in chosen:
        for passage in iterate_passages(index.store.iterate_blocks(document.id)):
            fields = join_fields(document.title, passage)
            entries += 1 + sum(len(set(terms.split())) for terms in fields.values())
            sentences += 1
    every = entries / sentences * index.store.count_candidates()
    return 1 + sum(path.stat().st_size for path in folder.glob("*.idx")) / every


def count_words(postings: tantivy.Searcher, question: str, entry_bytes: float) -> Work:
    """Return the least that a full-text search needs; corrected words are not counted."""
    content, function_words = split_question(question)
    found = {term for word in content for term in stem_words(word)}
    others = {term for word in function_words for term in stem_words(word)} - found
    entries = sum(postings.doc_freq(field, term) for term in found for field in FIELDS)
    entries += sum(postings.doc_freq("text", term) for term in others)
    return Work({"entries": entries}, round(entries * entry_bytes))


def count_vectors(rows: int, width: int) -> Work:
    """Return the least that a vector search over so many rows needs.

    The bits, the document and the position of all rows; then the numbers of the kept ones.
    """
    kept = min(rows, KEPT * isqrt(SEARCHED * rows) + 1)
    return Work(
        {"bits": rows * width * PLANES, "fp32": 2 * kept * width + 2 * width * width},
        rows * (width // 8 + 8) + kept * (width + 4) + 4 * width * width,
    )


def list_stages(
    index: Index, questions: Sequence[Question], scorer: Cascade, limits: Limits, threads: int
) -> list[Stage]:
    """Return the stages of the default that score with a network, on what they get from it."""
    found = [find(index, question, scorer) for question in questions]
    reads = [
        scorer.read_in_full(question.text, own)
        for question, own in zip(questions, found, strict=True)
    ]
    stages = []
    for number, stage in enumerate(scorer.stages):
        given = [
            (question.text, [own[place] for place in read[number].places])
            for question, own, read in zip(questions, found, reads, strict=True)
        ]
        works = [work for each in given if (work := count_stage(stage.scorer, *each))]
        if works:
            runs = [partial(stage.scorer.score, *each) for each in given]
            mean = statistics.fmean(len(own) for _, own in given)
            facts = {"candidates": round(mean, 1)}
            stages.append(Stage(stage.scorer.name, works, runs, limits, threads, facts))
    return stages


def count_stage(scorer: Scorer, question: str, candidates: Sequence[Candidate]) -> Work | None:
    """Return the least that a scorer needs for a list; None if that is not known."""
    if isinstance(scorer, RankerScorer):
        return count_cosinet(question, candidates)
    if isinstance(scorer, SelectorScorer):
        feeds = scorer.read(question, candidates)
        config = open_bundle(WEIGHTS / scorer.name).manifest.config
        return count_selector([feed["ids"].size for feed in feeds], config)
    return None


def count_cosinet(question: str, candidates: Sequence[Candidate]) -> Work:
    """Return the least that Cosinet needs for a list.

    A position is the sum of five rows of the table and of five products with relatedness.
    """
    words = pretokenize(question)
    texts = [pretokenize(candidate.text) for candidate in candidates]
    positions = sum(map(len, texts))
    distinct = len({word for text in texts for word in text})
    width = load_vectors().width
    convolution = 3 * KERNEL * CHANNELS * (positions + len(words) * len(texts))
    question_products = 2 * len(words) * width * KERNEL * CHANNELS
    relatedness = 2 * distinct * len(words) * width
    head = 2 * len(texts) * 2 * (2 * CHANNELS * HIDDEN + HIDDEN * HIDDEN + HIDDEN)
    row_bytes = 4 * (KERNEL * CHANNELS + width)
    return Work(
        {"fp32": convolution + question_products + relatedness + head},
        distinct * row_bytes,
        positions / len(texts),
    )


def count_selector(lengths: Sequence[int], config: Mapping[str, Any]) -> Work:
    """Return the least that the selector needs for pairs of so many tokens."""
    bert = config.get("architecture") or config["bert"]
    layers, width, inner = (
        int(bert[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size")
    )
    weights = layers * (4 * width * width + 2 * width * inner)
    tokens = sum(lengths)
    attention = 2 * sum(length * length for length in lengths) * width
    return Work(
        {"int8": 2 * tokens * weights, "int16": 2 * layers * attention},
        weights + tokens * width,
        tokens / len(lengths),
    )


def measure_answer(
    index: Index,
    questions: Sequence[Question],
    scorer: Cascade,
    stages: Sequence[Stage],
    threads: int,
    rounds: int,
) -> list[dict[str, Any]]:
    """Return what each stage, the rest and the whole of an answer need and take."""
    engine = Engine(index, scorer)  # not closed: it would close the index
    runs = [partial(engine.answer, question.text) for question in questions]
    *times, whole = time_runs([*(stage.runs for stage in stages), runs], rounds)
    rows: list[dict[str, Any]] = [
        {"stage": stage.name, "threads": threads, **stage.facts} | compare(stage, measured)
        for stage, measured in zip(stages, times, strict=True)
    ]
    floors = [row["floor_ms"] for row in rows]
    floor = shorten(sum(floors)) if None not in floors else None
    rest: dict[str, Any] = {"stage": "rest", "threads": threads} | UNKNOWN
    rest |= {"operations": None, "bytes": None}
    rest |= {"measured_ms": round(whole - sum(times), 3), "share_of_peak": None}
    answer: dict[str, Any] = {"stage": "answer", "threads": threads, "floor_ms": floor}
    answer |= {"measured_ms": round(whole, 3), "share_of_peak": divide(floor, whole)}
    return [*rows, rest, answer]


def time_runs(stages: Sequence[Sequence[Callable[[], object]]], rounds: int) -> list[float]:
    """Return the milliseconds of each stage: the mean over questions of the best of each.

    Each round has all questions and stages, so that other load on the machine affects all alike.
    """
    best = [[float("inf")] * len(runs) for runs in stages]
    for _ in range(rounds + 1):  # the first one fills the table of words
        for at in range(len(stages[0])):
            for stage, runs in enumerate(stages):
                best[stage][at] = min(best[stage][at], time_call(runs[at]))
    return [statistics.fmean(own) for own in best]


def compare(stage: Stage, measured: float) -> dict[str, Any]:
    """Return the mean of lists: what they need, the floor, and the measured time."""
    works = stage.works
    mean = Work(
        {
            kind: round(statistics.fmean(work.operations[kind] for work in works))
            for kind in works[0].operations
        },
        round(statistics.fmean(work.bytes for work in works)),
    )
    tokens = [work.mean_tokens for work in works if work.mean_tokens is not None]
    floor = stage.limits.get_floor(mean, stage.threads)
    return {
        **({"mean_tokens": round(statistics.fmean(tokens), 1)} if tokens else {}),
        "operations": mean.operations,
        "bytes": mean.bytes,
        **floor,
        "measured_ms": round(measured, 3),
        "share_of_peak": divide(floor["floor_ms"], measured),
    }


def divide(floor: float | None, measured: float) -> float | None:
    return None if floor is None else shorten(floor / measured)


def time_call(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
