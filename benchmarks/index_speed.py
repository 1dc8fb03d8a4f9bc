"""Measure an index over real files: building, opening, searching, adding one document.

Usage: python -m benchmarks.index_speed FOLDER... [--sentences 100000] [--questions 200]
           [--scorer SCORER] [--sidecar BUNDLE] > index_speed.json

Reads files below the folders (a system's documentation, say) until there are enough sentences.
A question is seven random words of a sentence.  With --sidecar the questions are asked again once
the index has stored that bundle's rows, which --scorer then reads.  Times are wall-clock seconds
and milliseconds, beside CPU times, which other load on the machine does not change.  Prints one
JSON object.
"""

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import describe_machine, get_percentiles
from rejoinder.cascade.loading import load
from rejoinder.documents.discovery import find_files
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.index.update import FileEvent
from rejoinder.models.registry import open_sidecar

WORDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--scorer")
    parser.add_argument("--sidecar", type=Path, metavar="BUNDLE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index"
        result = build_index(find_files(options.folders), folder, options.sentences)
        start = time.perf_counter()
        index = Index(folder)
        result["open_s"] = round(time.perf_counter() - start, 3)
        result["size_mb"] = _get_size_mb(folder)
        result["answer"] = time_answers(index, options.scorer, options.questions)
        if options.sidecar:
            result["sidecar"] = store_sidecar(index, options.sidecar)
            result["sidecar"]["answer"] = time_answers(index, options.scorer, options.questions)
        result["add_one_document_ms"] = time_one_document(index, Path(temporary) / "one.txt")
        index.close()
    result["machine"] = describe_machine()
    print(json.dumps(result))


def build_index(files: list[Path], folder: Path, min_sentences: int) -> dict[str, Any]:
    start, used = time.perf_counter(), _get_cpu_seconds()
    sentences = documents = skipped = 0
    with Index(folder, create=True) as index:
        # In chunks, because only reading a file tells how many sentences it has.
        for at in range(0, len(files), 100):
            events: list[FileEvent] = []
            index.add(files[at : at + 100], on_event=events.append)
            sentences += sum(event.sentences for event in events)
            documents += sum(event.documents for event in events)
            skipped += sum(event.what == "skipped" for event in events)
            if sentences >= min_sentences:
                break
    seconds = time.perf_counter() - start
    return {
        "documents": documents,
        "sentences": sentences,
        "skipped": skipped,
        "make_s": round(seconds, 1),
        "make_processor_s": round(_get_cpu_seconds() - used, 1),
    }


def store_sidecar(index: Index, bundle: Path) -> dict[str, Any]:
    sidecar = open_sidecar(bundle)
    before, start = _get_size_mb(index.folder), time.perf_counter()
    index.store_sidecar(sidecar)
    seconds = round(time.perf_counter() - start, 1)
    return {"store_s": seconds, "size_mb": round(_get_size_mb(index.folder) - before, 1)}


def _get_size_mb(folder: Path) -> float:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(size / 1e6, 1)


def _get_cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def time_answers(index: Index, scorer: str | None, count: int) -> dict[str, Any]:
    rng = random.Random(0)
    engine = Engine(index, load(scorer) if scorer else None)
    documents = [item for item in index.store.get_documents() if item.sentences > 5]
    questions: list[str] = []
    while len(questions) < count:
        rows = index.store.get_sentences(rng.choice(documents).id)
        words = rng.choice(rows).text.split()
        if len(words) >= WORDS:
            questions.append(" ".join(rng.sample(words, WORDS)))
    times = []
    used = time.process_time()
    for question in questions:
        start = time.perf_counter()
        engine.answer(question, top=3)
        times.append(1000 * (time.perf_counter() - start))
    used = time.process_time() - used
    return {
        "scorer": scorer or "retrieval-order",
        "questions": count,
        **get_percentiles(times, 50, 99),
        "mean_processor_ms": round(1000 * used / count, 2),
    }


def time_one_document(index: Index, path: Path) -> float:
    path.write_text("One more document is added. It holds three sentences. This is the last.")
    start = time.perf_counter()
    index.add([path])
    return round(1000 * (time.perf_counter() - start), 1)


if __name__ == "__main__":
    main()
