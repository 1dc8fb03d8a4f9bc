"""Compare nearest-neighbour search over sentence vectors: ours, exact search, and libraries.

Usage: python -m benchmarks.vector_search INDEX [--sizes 100000 1000000] [--questions 100]
           [--cache CACHE --weights WEIGHTS --data DATA]
           [--results benchmarks/results/vector_search.json]

INDEX is an index of the manuals.  Its sentences and the questions about the manuals are encoded by
the shipped static encoder, 256 wide.  With --cache, the bge-small vectors that
benchmarks.open_corpus has left there are measured too, 384 wide, with the questions of the pool.
Where a size is larger than the corpus, normalized sums of two random vectors fill it.

Everything runs on one thread; times are CPU times.  Recall is the share of the results that are at
least as near as the exact 100th.  Approximate libraries are measured at the smallest effort that
reaches `TARGET`, or else at the largest.  Those that build a graph are left out above `MAX_GRAPH`.
Libraries that are not installed are left out (usearch, faiss-cpu, hnswlib, sqlite-vec with
pysqlite3-binary).
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  after the number of threads
from numpy.typing import NDArray  # noqa: E402

from benchmarks.common import describe_machine, get_percentiles  # noqa: E402
from benchmarks.corpora.embeddings import ENCODERS, WIDTH, load_network  # noqa: E402
from benchmarks.corpora.indexes import encode_sentences  # noqa: E402
from benchmarks.corpora.pooled import read_pool  # noqa: E402
from benchmarks.corpora.questions import MANUALS_DEV, read_manual_questions  # noqa: E402
from benchmarks.manuals.readers import ROOT  # noqa: E402
from rejoinder.index.sqlite.documents import DocumentStore  # noqa: E402
from rejoinder.index.vectors.store import VectorState, VectorStore, VectorWriter  # noqa: E402
from rejoinder.models.registry import open_sentence_encoder  # noqa: E402

K = 100
TARGET = 0.99
BATCH = 256
MAX_GRAPH = 200_000
EFFORTS = (128, 256, 512, 1024, 2048)

Matrix = NDArray[np.float32]
Ids = NDArray[np.int64]


class Built(NamedTuple):
    """A built index."""

    search: Callable[[Matrix, int], Ids]
    """Returns the K nearest to a question, with an effort where that applies."""
    size: int
    """Bytes on disk."""


class Contender(NamedTuple):
    """A way to search."""

    build: Callable[[Matrix, Path], Built]
    module: str = "numpy"
    efforts: Sequence[int] = (0,)
    is_graph: bool = False


class Corpus(NamedTuple):
    """Vectors of sentences and of questions."""

    name: str
    vectors: Matrix
    questions: Matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--data", type=Path)
    results = ROOT / "benchmarks" / "results" / "vector_search.json"
    parser.add_argument("--results", type=Path, default=results)
    options = parser.parse_args()
    corpora = [encode_manuals(options.index, options.questions)]
    if options.cache:
        corpora.append(read_embedded(options))
    rows = []
    for corpus in corpora:
        for size in options.sizes:
            vectors = resize(corpus.vectors, size)
            for row in compare(vectors, corpus.questions):
                rows.append({"vectors": corpus.name, "real": len(corpus.vectors), **row})
                print(json.dumps(rows[-1]), flush=True)
    written = {"rows": rows, "machine": describe_machine()}
    options.results.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print_table(rows)


def encode_manuals(folder: Path, count: int) -> Corpus:
    """Return the vectors of the shipped encoder."""
    encoder = open_sentence_encoder()
    store = DocumentStore(folder / "index.sqlite")
    _, vectors = encode_sentences(store, encoder)
    store.close()
    asked = [item.text for item in read_manual_questions(MANUALS_DEV)][:count]
    questions = np.stack([encoder.encode_question(text) for text in asked])
    return Corpus("static encoder", vectors, questions)


def read_embedded(options: argparse.Namespace) -> Corpus:
    """Return the cached vectors of the pool."""
    name = "bge-small"
    raw = np.fromfile(options.cache / f"{name}.vectors", dtype=np.float16)
    vectors = raw[: len(raw) // WIDTH * WIDTH].reshape(-1, WIDTH).astype(np.float32)
    encode = load_network(name, options.weights, options.cache)
    asked = [item.text for item in read_pool(options.data).questions]
    step = max(1, len(asked) // options.questions)
    questions = [encode(ENCODERS[name].prefix + text) for text in asked[::step]]
    return Corpus(name, _normalize(vectors), _normalize(np.stack(questions)))


def resize(vectors: Matrix, size: int) -> Matrix:
    """Return so many of the vectors; sums of two fill what is missing."""
    rng = np.random.default_rng(0)
    if size <= len(vectors):
        return vectors[np.sort(rng.choice(len(vectors), size, replace=False))]
    pairs = rng.integers(0, len(vectors), (2, size - len(vectors)))
    return np.concatenate([vectors, _normalize(vectors[pairs[0]] + vectors[pairs[1]])])


def compare(vectors: Matrix, questions: Matrix) -> Iterator[dict[str, Any]]:
    """Yield the measurements of each contender."""
    exact = [vectors @ question for question in questions]
    limits = [np.partition(scores, -K)[-K] - 1e-6 for scores in exact]
    for name, contender in CONTENDERS.items():
        is_installed = find_spec(contender.module) is not None
        if not is_installed or (contender.is_graph and len(vectors) > MAX_GRAPH):
            continue
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            built = contender.build(vectors, Path(folder))
            seconds = time.process_time() - began
            for effort in contender.efforts:
                recall, times = ask(built, questions, effort, exact, limits)
                if recall >= TARGET:
                    break
        yield {
            "contender": f"{name} {effort}" if effort else name,
            "rows": len(vectors),
            "width": vectors.shape[1],
            "recall": round(recall, 4),
            **get_percentiles(times, 50, 95),
            "build_s": round(seconds, 1),
            "bytes_per_row": round(built.size / len(vectors), 1),
        }


def ask(
    built: Built,
    questions: Matrix,
    effort: int,
    exact: Sequence[Matrix],
    limits: Sequence[float],
) -> tuple[float, list[float]]:
    """Return the recall, and the milliseconds of each question."""
    times, right = [], 0
    built.search(questions[0], effort)  # maps files, verifies checksums
    for question, scores, limit in zip(questions, exact, limits, strict=True):
        began = time.process_time()
        found = built.search(question, effort)
        times.append(1000 * (time.process_time() - began))
        right += int((scores[np.unique(found)] >= limit).sum())
    return right / (K * len(questions)), times


def build_ours(vectors: Matrix, folder: Path) -> Built:
    state = VectorState("", "", vectors.shape[1])
    store = VectorStore.create(folder / "vectors-1", state)
    writer = VectorWriter(store)
    for number, first in enumerate(range(0, len(vectors), BATCH), start=1):
        part = vectors[first : first + BATCH]
        writer.add(number, range(len(part)), part)
    writer.commit(1)
    writer.close()
    allowed = np.ones(len(vectors) // BATCH + 2, dtype=np.bool_)

    def search(question: Matrix, _: int) -> Ids:
        places = store.search(question, K, allowed).cosines
        return np.array([(number - 1) * BATCH + at for number, at in places])

    return Built(search, sum(path.stat().st_size for path in store.folder.iterdir()))


def build_exact(vectors: Matrix, _: Path) -> Built:
    def search(question: Matrix, _: int) -> Ids:
        return np.argpartition(-(vectors @ question), K)[:K]

    return Built(search, vectors.nbytes)


def build_faiss(kind: str) -> Callable[[Matrix, Path], Built]:
    def build(vectors: Matrix, folder: Path) -> Built:
        import faiss

        faiss.omp_set_num_threads(1)
        lists = max(64, int(len(vectors) ** 0.5))
        made = faiss.index_factory(
            vectors.shape[1], kind.format(lists=lists), faiss.METRIC_INNER_PRODUCT
        )
        made.train(vectors[:: max(1, len(vectors) // (50 * lists))])
        made.add(vectors)
        faiss.write_index(made, str(folder / "index"))

        def search(question: Matrix, effort: int) -> Ids:
            if effort and "HNSW" in kind:
                made.hnsw.efSearch = effort
            elif effort:
                made.nprobe = effort
            return made.search(question[None], K)[1][0]

        return Built(search, (folder / "index").stat().st_size)

    return build


def build_hnswlib(vectors: Matrix, folder: Path) -> Built:
    import hnswlib

    made = hnswlib.Index("ip", vectors.shape[1])
    made.init_index(len(vectors), M=16, ef_construction=200)
    made.set_num_threads(1)
    made.add_items(vectors)
    made.save_index(str(folder / "index"))

    def search(question: Matrix, effort: int) -> Ids:
        made.set_ef(effort)
        return made.knn_query(question, K, num_threads=1)[0][0]

    return Built(search, (folder / "index").stat().st_size)


def build_usearch(vectors: Matrix, folder: Path) -> Built:
    from usearch.index import Index

    made = Index(ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=16)
    made.add(np.arange(len(vectors)), vectors, threads=1)
    made.save(str(folder / "index"))

    def search(question: Matrix, effort: int) -> Ids:
        made.expansion_search = effort
        return made.search(question, K, threads=1).keys.astype(np.int64)

    return Built(search, (folder / "index").stat().st_size)


def build_sqlite_vec(vectors: Matrix, folder: Path) -> Built:
    import pysqlite3  # Python's own may not load extensions
    import sqlite_vec

    connection = pysqlite3.connect(str(folder / "index"))
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.execute(f"CREATE VIRTUAL TABLE v USING vec0(e int8[{vectors.shape[1]}])")
    codes = np.rint(vectors * 127 / np.abs(vectors).max()).astype(np.int8)
    connection.executemany(
        "INSERT INTO v(rowid, e) VALUES (?, vec_int8(?))",
        ((at + 1, row.tobytes()) for at, row in enumerate(codes)),
    )
    connection.commit()

    def search(question: Matrix, _: int) -> Ids:
        code = np.rint(question * 127 / np.abs(question).max()).astype(np.int8).tobytes()
        rows = connection.execute(
            "SELECT rowid FROM v WHERE e MATCH vec_int8(?) ORDER BY distance LIMIT ?", (code, K)
        )
        return np.array([row[0] - 1 for row in rows])

    return Built(search, (folder / "index").stat().st_size)


CONTENDERS = {
    "ours, two passes": Contender(build_ours),
    "exact float32, numpy": Contender(build_exact),
    "exact float32, faiss": Contender(build_faiss("Flat"), "faiss"),
    "int8, faiss": Contender(build_faiss("SQ8"), "faiss"),
    "IVF int8, faiss, nprobe": Contender(
        build_faiss("IVF{lists},SQ8"), "faiss", (8, 16, 32, 64, 128, 256)
    ),
    "HNSW float32, faiss, ef": Contender(build_faiss("HNSW16"), "faiss", EFFORTS, True),
    "HNSW float32, hnswlib, ef": Contender(build_hnswlib, "hnswlib", EFFORTS, True),
    "HNSW float16, usearch, ef": Contender(build_usearch, "usearch", EFFORTS, True),
    "int8, sqlite-vec": Contender(build_sqlite_vec, "pysqlite3"),
}


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    columns = ["vectors", "rows", "width", "contender", "recall", "p50_ms", "p95_ms", "build_s"]
    columns.append("bytes_per_row")
    print("|", " | ".join(columns), "|")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("|", " | ".join(str(row[column]) for column in columns), "|")


def _normalize(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalized = vectors / np.maximum(lengths, 1e-9)
    return np.ascontiguousarray(normalized[lengths[:, 0] > 0], dtype=np.float32)


if __name__ == "__main__":
    main()
