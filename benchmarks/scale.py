"""Measure scaling out: one process, Dask and Spark over one table, and the constants.

Usage: python -m benchmarks.scale [--questions 20000] [--candidates 30] > scale.json
       python -m benchmarks.scale --page scale.json docs/batch.md

The first form ranks a table with a cascade of bm25 and Cosinet, one thread per process: in one
process, on a Dask cluster and on a Spark cluster of two workers each, all in one run, with the
command `rejoinder rank-table`; only the cluster is started before.  Outputs must be identical.
Then it measures the constants for estimates, each on one core, and prints one JSON object.
The second form writes the tables of the page from it.  Needs the extras `batch` and `spark`, Java,
and an idle machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.batch.clusters import HOST, dask_cluster, spark_cluster
from tests.batch.tables import read_ranked

from benchmarks.common import describe_machine, draw_texts
from rejoinder.batch.encode_table import add_parts, encode_table
from rejoinder.batch.rank_table import rank_table
from rejoinder.cascade.loading import load
from rejoinder.index.index import Index
from rejoinder.models.static_vectors.vectors import load_vectors

CASCADE = '[[stage]]\nscorer = "bm25"\nkeep = 20\n[[stage]]\nscorer = "cosinet"\n'
TEXTS = 5000
SIZES = (1_000_000, 100_000_000, 1_000_000_000)
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


draw = cache(draw_texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--candidates", type=int, default=30)
    parser.add_argument("--sentences", type=int, default=200_000, help="in the measured index")
    parser.add_argument("--page", nargs=2, type=Path, metavar=("JSON", "PAGE"))
    options = parser.parse_args()
    if options.page:
        write_page(*options.page)
        return
    with tempfile.TemporaryDirectory() as folder:
        jobs = time_jobs(Path(folder), options.questions, options.candidates)
        constants = measure_constants(Path(folder), options.candidates, options.sentences)
    result = {
        "questions": options.questions,
        "candidates": options.candidates,
        "jobs": jobs,
        "constants": constants,
        "machine": describe_machine(),
    }
    print(json.dumps(result, indent=2))
    sys.exit(not jobs["outputs_are_equal"])


def time_jobs(folder: Path, questions: int, candidates: int) -> dict[str, Any]:
    source, cascade = folder / "in.parquet", folder / "small.toml"
    cascade.write_text(CASCADE)
    write_table(source, questions, candidates)
    seconds = {"one process": run_command(source, folder / "alone", cascade)}
    with dask_cluster() as cluster:
        time.sleep(5)  # until both workers have registered
        options = ("--dask", cluster.address)
        seconds["Dask, two workers"] = run_command(source, folder / "dask", cascade, *options)
    with spark_cluster() as cluster:
        time.sleep(10)
        options = ("--spark", cluster.address)
        seconds["Spark, two workers"] = run_command(source, folder / "spark", cascade, *options)
        one = folder / "one.parquet"
        write_table(one, 1, 1)
        overhead = run_command(one, folder / "one", cascade, *options)
    expected = read_ranked(folder / "alone")
    return {
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "times_faster": {
            name: round(seconds["one process"] / value, 2) for name, value in seconds.items()
        },
        "spark_one_question_seconds": round(overhead, 1),
        "outputs_are_equal": all(
            read_ranked(folder / name) == expected for name in ("dask", "spark")
        ),
    }


def write_table(path: Path, questions: int, candidates: int) -> None:
    texts = draw(TEXTS)
    rows = [
        {
            "id": str(number),
            "question": " ".join(texts[number % TEXTS].split()[:8]),
            "candidates": [texts[(number * 31 + place) % TEXTS] for place in range(candidates)],
        }
        for number in range(questions)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


def run_command(source: Path, output: Path, cascade: Path, *options: str) -> float:
    """Return how long `rejoinder rank-table` takes."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
    }
    command = [sys.executable, "-W", "ignore", "-m", "rejoinder", "rank-table", str(source)]
    start = time.perf_counter()
    subprocess.run(
        [*command, str(output), "--scorer", str(cascade), *options],
        check=True,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def measure_constants(folder: Path, candidates: int, sentences: int) -> dict[str, float]:
    """Return the cost of a sentence and of a question, in bytes and in seconds of one core."""
    pieces = load_vectors().pieces
    assert pieces is not None
    batches = list(make_documents(sentences))
    start = time.process_time()
    encoded = [encode_table(batch, tokenizer=pieces) for batch in batches]
    encode = time.process_time() - start
    start = time.process_time()
    with Index(folder / "index", create=True) as index:
        list(add_parts(index, encoded))
        load_seconds = time.process_time() - start
        index.compact()
        count = index.store.count()[1]
        search = time_searches(index)
    tokens = sum(len(row["tokens"]) // 4 for batch in encoded[:1] for row in _get_sentences(batch))
    rows = sum(1 for batch in encoded[:1] for _ in _get_sentences(batch))
    store = (folder / "index" / "index.sqlite").stat().st_size
    derived = sum(path.stat().st_size for path in (folder / "index").glob("fulltext-*/*"))
    return {
        "sentences": count,
        "tokens_per_sentence": round(tokens / rows, 1),
        "store_bytes_per_sentence": round(store / count, 1),
        "search_bytes_per_sentence": round(derived / count, 1),
        "encode_sentences_per_second": round(count / encode),
        "load_sentences_per_second": round(count / load_seconds),
        "search_questions_per_second": round(search, 1),
        "rank_cosinet_questions_per_second": round(time_ranking("cosinet", 200, candidates), 1),
        "rank_selector_questions_per_second": round(time_ranking("selector", 10, candidates), 1),
    }


def make_documents(sentences: int) -> Iterator[pa.RecordBatch]:
    """Yield documents of 20 synthetic sentences."""
    texts = [text.capitalize() + "." for text in draw(TEXTS)]
    for first in range(0, sentences, 20_000):
        rows = [
            {
                "id": f"d{at}",
                "text": " ".join(texts[(at * 7 + place * 13) % TEXTS] for place in range(20)),
            }
            for at in range(first, min(first + 20_000, sentences), 20)
        ]
        yield pa.RecordBatch.from_pylist(rows)


def _get_sentences(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in batch.column("sentences").to_pylist():
        yield from row


def time_searches(index: Index, count: int = 100) -> float:
    questions = [" ".join(text.split()[:7]) for text in draw(count)]
    start = time.process_time()
    for question in questions:
        index.search(question, 100)
    return count / (time.process_time() - start)


def time_ranking(scorer: str, questions: int, candidates: int) -> float:
    loaded = load(scorer, threads=1)
    texts = draw(TEXTS)
    batch = pa.RecordBatch.from_pylist(
        [
            {"question": texts[at][:60], "candidates": texts[at * 31 : at * 31 + candidates]}
            for at in range(questions)
        ]
    )
    rank_table(batch.slice(0, 2), scorer=loaded)
    start = time.process_time()
    rank_table(batch, scorer=loaded)
    return questions / (time.process_time() - start)


def write_page(source: Path, page: Path) -> None:
    """Replace the tables between the markers of the page."""
    result = json.loads(source.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(before + BEGIN + make_tables(result) + END + after, encoding="utf-8")


def make_tables(result: dict[str, Any]) -> str:
    jobs, constants = result["jobs"], result["constants"]
    lines = [
        f"{result['questions']:,} questions of {result['candidates']} candidates, bm25 and Cosinet,"
        f" one thread per process, {result['machine']['cores']} cores; outputs"
        f" {'are identical' if jobs['outputs_are_equal'] else 'DIFFER'}:",
        "",
        "| | seconds | speed-up |",
        "|---|---|---|",
        *(
            f"| {name} | {seconds} | {jobs['times_faster'][name]} |"
            for name, seconds in jobs["seconds"].items()
        ),
        "",
        f"With one question, the Spark job takes {jobs['spark_one_question_seconds']} s.",
        "",
        "Measured on one core:",
        "",
        "| constant | |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value:,} |" for name, value in constants.items()),
        "",
        "Estimates from these constants:",
        "",
        "| sentences | index | encoding, core hours | loading, hours of one writer |"
        " HAS bits, GB at 100 bits per token |",
        "|---|---|---|---|---|",
        *(_format_size(size, constants) for size in SIZES),
        "",
        "| ranking a million questions with | core hours | workers for one hour |",
        "|---|---|---|",
        *(_format_rate(name, constants) for name in ("cosinet", "selector")),
    ]
    return "\n".join(lines) + "\n"


def _format_size(size: int, constants: dict[str, float]) -> str:
    each = constants["store_bytes_per_sentence"] + constants["search_bytes_per_sentence"]
    encode = size / constants["encode_sentences_per_second"] / 3600
    load_hours = size / constants["load_sentences_per_second"] / 3600
    bits = size * constants["tokens_per_sentence"] * 100 / 8 / 1e9
    index = size * each / 1e9
    return f"| {size:,} | {index:,.1f} GB | {encode:,.1f} | {load_hours:,.1f} | {bits:,.1f} |"


def _format_rate(name: str, constants: dict[str, float]) -> str:
    hours = 1_000_000 / constants[f"rank_{name}_questions_per_second"] / 3600
    return f"| {name} | {hours:,.1f} | {-(-hours // 1):,.0f} |"


if __name__ == "__main__":
    main()
