"""Measure how much faster a list of questions is answered than its questions one by one.

Usage: python -m benchmarks.many_questions [--manuals manuals] [--cache open-corpus]
           [--count 60] [--rounds 5] > many_questions.json

Downloads the manuals of `benchmarks.open_corpus` and builds their index, where FOLDER and the cache
lack them, and asks some of its 341 questions, evenly spread.  Each round answers all of them in
each way: one by one with a scorer on one thread, one by one with a scorer on all cores, with
`answer_many`, by `POST /v1/answer` one by one and as a list, and by `ask --questions`, whose start
is included.

Prints one JSON object: milliseconds per question (the median round); how many times as fast a list
was as one by one in the same interface (the median of the rounds' ratios); and the CPU milliseconds
of the parts of an answer that questions of a list could share (the least of all rounds, on one
thread).  The last two parts read the same sentences, with a statement for each question and with
one for all.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from benchmarks.common import describe_machine, serving
from benchmarks.corpora.indexes import build_index, compute_source_digest
from benchmarks.corpora.questions import read_manual_questions, sample
from benchmarks.manuals.packages import fetch_manuals
from rejoinder.cascade.loading import load
from rejoinder.engine.engine import RETRIEVED, Engine
from rejoinder.index.candidates import get_number
from rejoinder.index.index import Index

WARM_UP = 5
TIMEOUT = "600"
LISTS = {
    "answer_many": ("one by one, one thread", "one by one, all cores"),
    "HTTP, a list": ("HTTP, one by one",),
}
"""What each way with a list is compared with."""

Ways = dict[str, Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    fetch_manuals(options.manuals)
    options.cache.mkdir(parents=True, exist_ok=True)
    folder = options.cache / f"manuals-{compute_source_digest()}"
    with build_index(folder, options.manuals.resolve()) as index:
        size = {"corpus": "manuals", "sentences": index.count().sentences}
    questions = [question.text for question in sample(read_manual_questions(), options.count)]
    result = {**size, **compare(folder, questions, options.rounds)}
    print(json.dumps({**result, "machine": describe_machine()}, indent=1))


def compare(folder: Path, questions: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the times of all ways, the ratios to one by one, and the CPU time of parts."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        Engine(Index(folder), load(threads=1)) as single,
        Engine(Index(folder), load()) as engine,
        serving("rejoinder", "serve", str(folder), "--timeout", TIMEOUT, "--port") as (port, _),
    ):
        file = Path(temporary, "questions.txt")
        file.write_text("".join(f"{question}\n" for question in questions), encoding="utf-8")
        ways: Ways = {
            "one by one, one thread": lambda: [single.answer(one) for one in questions],
            "one by one, all cores": lambda: [engine.answer(one) for one in questions],
            "answer_many": lambda: engine.answer_many(questions),
            "HTTP, one by one": lambda: [post(port, one) for one in questions],
            "HTTP, a list": lambda: post(port, questions),
            "ask --questions": lambda: ask(folder, file),
        }
        for question in questions[:WARM_UP]:
            single.answer(question)
            engine.answer(question)
            post(port, question)
        times = [{name: measure(way) for name, way in ways.items()} for _ in range(rounds)]
        parts = measure_parts(single, questions, rounds)
    return {
        "questions": len(questions),
        "milliseconds": {
            name: round(1000 * median(one[name] for one in times) / len(questions), 2)
            for name in ways
        },
        "times as fast": {
            f"{name} as {other}": round(median(one[other] / one[name] for one in times), 2)
            for name, others in LISTS.items()
            for other in others
        },
        "cpu_milliseconds": parts,
    }


def measure_parts(engine: Engine, questions: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the CPU milliseconds per question of an answer and of the parts of its search."""
    with engine.index.leased() as index:
        store, vectors = index.store, index.vectors
        encoder = vectors.find_encoder()
        assert encoder is not None
        found = [index.search(question, RETRIEVED) for question in questions]
        places = [
            [(get_number(hit.candidate.document), hit.candidate.position or 0) for hit in hits]
            for hits in found
        ]

        def read(wanted: Sequence[tuple[int, int]]) -> int:
            with store.reading_sentences(wanted) as rows:
                return sum(1 for _ in rows)

        parts: Ways = {
            "answer": lambda: [engine.answer(one) for one in questions],
            "search": lambda: [index.search(one, RETRIEVED) for one in questions],
            "encode the question": lambda: [encoder.encode_question(one) for one in questions],
            "search the vectors": lambda: [
                vectors.search(one, 2 * RETRIEVED, None) for one in questions
            ],
            "read, a statement each": lambda: [read(own) for own in places],
            "read, one statement": lambda: read([place for own in places for place in own]),
        }
        times = [
            {name: measure(part, clock=process_time) for name, part in parts.items()}
            for _ in range(rounds)
        ]
    return {
        name: round(1000 * min(one[name] for one in times) / len(questions), 3) for name in parts
    }


def post(port: int, question: str | Sequence[str]) -> str:
    """Return a server's reply to one question, or to a list of them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=float(TIMEOUT))
    try:
        body = json.dumps({"question": question})
        connection.request("POST", "/v1/answer", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read().decode()
        if reply.status != 200:
            sys.exit(f"POST /v1/answer: {reply.status} {text}")
        return text
    finally:
        connection.close()


def ask(folder: Path, questions: Path) -> None:
    """Answer the questions of a file on the command line."""
    command = ["ask", "--questions", str(questions), "--index", str(folder), "--json"]
    subprocess.run([sys.executable, "-m", "rejoinder", *command], check=True, capture_output=True)


def measure(way: Callable[[], object], *, clock: Callable[[], float] = perf_counter) -> float:
    """Return how many seconds a call takes."""
    start = clock()
    way()
    return clock() - start


if __name__ == "__main__":
    main()
