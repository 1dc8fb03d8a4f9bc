"""Measure what the rotation and the weights of the codes of vectors bring.

Usage: python -m benchmarks.vector_codes INDEX [--questions 100]
           [--cache CACHE --weights WEIGHTS --data DATA]
           [--results benchmarks/results/vector_codes.json]

The vectors and the questions are those of benchmarks/vector_search.py, without synthetic ones.
The columns, for vectors that are rotated first and for vectors as they are:

    int8       the share of the exact 100 nearest among the 100 nearest by int8 numbers, in per cent
    weighted   how many of the nearest by signs hold 99 % of the exact 100, where signs that differ
               count as much as the question's number there
    plain      the same by plain Hamming distance
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.manuals.readers import ROOT
from benchmarks.vector_search import (
    BATCH,
    TARGET,
    Corpus,
    Ids,
    K,
    Matrix,
    encode_manuals,
    read_embedded,
)
from rejoinder.index.vectors import codes, nearest
from rejoinder.index.vectors.codes import Codes, QuestionCode

RESULTS = ROOT / "benchmarks" / "results" / "vector_codes.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    corpora = [encode_manuals(options.index, options.questions)]
    if options.cache:
        corpora.append(read_embedded(options))
    rows = [row for corpus in corpora for row in measure(corpus)]
    written = {"rows": rows, "machine": describe_machine()}
    options.results.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def measure(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Yield one row for rotated vectors, and one for vectors as they are."""
    name, vectors, questions = corpus
    exact = [np.argpartition(-(vectors @ question), K)[:K] for question in questions]
    rotate = codes.get_rotation(vectors.shape[1])
    began = time.process_time()
    for first in range(0, len(vectors), BATCH):
        rotate(vectors[first : first + BATCH])
    seconds = time.process_time() - began
    for is_rotated in (True, False):
        used = rotate if is_rotated else _leave
        with mock.patch.object(codes, "get_rotation", lambda _, used=used: used):
            encoded = codes.encode_vectors(vectors)
            asked = [codes.encode_question(question) for question in questions]
        row = {
            "vectors": name,
            "sentences": len(vectors),
            "rotated": is_rotated,
            "int8": rate_numbers(encoded, asked, exact),
            "weighted": count_kept(encoded, asked, exact),
            "plain": count_kept(encoded, [to_plain(question) for question in asked], exact),
        }
        if is_rotated:
            row["rotation_us"] = round(1e6 * seconds / len(vectors), 2)
        print(json.dumps(row), flush=True)
        yield row


def rate_numbers(encoded: Codes, asked: list[QuestionCode], exact: list[Ids]) -> float:
    """Return the share of the exact nearest that int8 numbers find, in per cent."""
    numbers = encoded.numbers.astype(np.float32) * encoded.scales[:, None]
    found = 0
    for question, right in zip(asked, exact, strict=True):
        chosen = np.argpartition(-(numbers @ question.rotated), K)[:K]
        found += len(np.intersect1d(chosen, right))
    return round(100 * found / (K * len(asked)), 2)


def count_kept(encoded: Codes, asked: list[QuestionCode], exact: list[Ids]) -> int:
    """Return how many of the nearest by signs hold `TARGET` of the exact nearest."""
    bits = encoded.bits.view("<u8")
    everything = np.arange(len(bits))
    ranks = []
    for question, right in zip(asked, exact, strict=True):
        distances = nearest._measure(bits, everything, question)
        rank_of = np.empty(len(bits), dtype=np.int64)
        rank_of[np.argsort(distances, kind="stable")] = everything
        ranks.append(rank_of[right] + 1)
    return int(np.percentile(np.concatenate(ranks), 100 * TARGET))


def to_plain(question: QuestionCode) -> QuestionCode:
    """Return a question whose weights are all 1."""
    planes = np.zeros_like(question.planes)
    planes[0] = question.planes[0]
    planes[1] = ~np.uint64(0)
    return question._replace(planes=planes)


def _leave(vectors: Matrix) -> Matrix:
    return vectors


if __name__ == "__main__":
    main()
