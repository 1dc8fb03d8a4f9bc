"""Calculate what an index of a given size needs, from measured constants.

Usage: python -m benchmarks.scaling docs/scaling.md

Nothing is measured here: the constants are those of `benchmarks.scale`, `vector_search`,
`open_corpus` and `engines`.  The section between the marks of the page is written.
"""

import argparse
import json
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.engines import write_between
from benchmarks.manuals.readers import ROOT

RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- scaling: begin -->\n", "<!-- scaling: end -->\n"
INTRODUCTION = """## What it costs

A calculation on paper from measured constants, for sizes up to a billion sentences. The constants are in
[scale.json](../benchmarks/results/scale.json), [vector_search.json](../benchmarks/results/vector_search.json),
[open_corpus.json](../benchmarks/results/open_corpus.json) and [engines.json](../benchmarks/results/engines.json);
`python -m benchmarks.scaling docs/scaling.md` writes the tables.

"""  # noqa: E501
NOTES = """
Everything grows with the sentences but the servers, which grow with the questions: a cascade reads the same number of sentences of any
corpus. Not in the calculation: a search in more shards waits for the slowest of them, words become frequent as a corpus grows, and the
nodes need memory for more than vectors. Vectors that are not in memory are read from the disk, one page per link of the graph. HAS bits
are only needed for stages that read them, and only the embedded index stores them.
"""  # noqa: E501
SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
RATES = (10, 100, 1_000)
"""Questions per second."""
SHARD_GB, CACHE_GB, COPIES = 40, 32, 2
"""The size of a shard at most, the memory of a node that caches vectors, and copies of all data."""


class Constants(NamedTuple):
    """What a sentence and a question cost."""

    index_bytes: float
    """Of a sentence in the embedded index, with its vector."""
    vector_search_ms: float
    """For a million vectors, which are all compared."""
    engine_bytes: float
    """Of a sentence in OpenSearch, with vector and passage."""
    graph_bytes: float
    """Of a vector in an HNSW graph."""
    bits_bytes: float
    """Of the HAS bits of a sentence, 100 bits per token."""
    exported: float
    """Sentences that one export writes in a second."""
    answered: float
    """Questions that two cores answer in a second, one after the other."""


def read_constants(results: Path = RESULTS) -> Constants:
    """Return the constants of the kept results."""
    scale = _read(results / "scale.json")["constants"]
    vectors = {
        (row["contender"], row["rows"]): row
        for row in _read(results / "vector_search.json")["rows"]
        if row["vectors"] == "static encoder"
    }
    ours = vectors["ours, two passes", 1_000_000]
    engines = _read(results / "engines.json")
    engine = engines["engines"]["opensearch"]
    default = _read(results / "open_corpus.json")["corpora"]["pooled"]["rows"]["default"]
    stored = scale["store_bytes_per_sentence"] + scale["search_bytes_per_sentence"]
    return Constants(
        index_bytes=stored + ours["bytes_per_row"],
        vector_search_ms=ours["p50_ms"],
        engine_bytes=engine["bytes_per_sentence"],
        graph_bytes=vectors["HNSW float32, faiss, ef 2048", 100_000]["bytes_per_row"],
        bits_bytes=scale["tokens_per_sentence"] * 100 / 8,
        exported=engines["sentences"] / engine["load_seconds"],
        answered=1000 / default["p50_ms"],
    )


def make_tables(own: Constants) -> str:
    """Return the constants and the calculation as Markdown."""
    lines = [
        "| constant | |",
        "|---|---:|",
        f"| a sentence in the embedded index, with its vector | {own.index_bytes:,.0f} bytes |",
        f"| comparing a question with a million vectors there | {own.vector_search_ms:.1f} ms |",
        f"| a sentence in OpenSearch, with its vector | {own.engine_bytes:,.0f} bytes |",
        f"| a vector in an HNSW graph | {own.graph_bytes:,.0f} bytes |",
        f"| HAS bits of a sentence, 100 per token | {own.bits_bytes:,.0f} bytes |",
        f"| sentences that one export writes per second | {own.exported:,.0f} |",
        f"| questions that two cores answer per second, default cascade | {own.answered:.0f} |",
        "",
        "| sentences | embedded index | its vectors compared | OpenSearch, one copy | shards of"
        f" {SHARD_GB} GB | memory for the vectors of {COPIES} copies | nodes with {CACHE_GB} GB of"
        " cache | export, hours | HAS bits in memory |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        index, engine = size * own.index_bytes / 1e9, size * own.engine_bytes / 1e9
        memory = COPIES * size * own.graph_bytes / 1e9
        cells = [
            f"{size:,}",
            f"{index:,.1f} GB",
            f"{size / 1e6 * own.vector_search_ms:,.0f} ms",
            f"{engine:,.1f} GB",
            f"{ceil(engine / SHARD_GB):,}",
            f"{memory:,.1f} GB",
            f"{max(COPIES, ceil(memory / CACHE_GB)):,}",
            f"{size / own.exported / 3600:,.1f}",
            f"{size * own.bits_bytes / 1e9:,.1f} GB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| questions per second | servers of two cores |",
        "|---:|---:|",
        *(f"| {rate:,} | {ceil(rate / own.answered):,} |" for rate in RATES),
    ]
    return "\n".join(lines) + "\n"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", type=Path)
    text = INTRODUCTION + make_tables(read_constants()) + NOTES
    write_between(parser.parse_args().page, BEGIN, END, text)


if __name__ == "__main__":
    main()
