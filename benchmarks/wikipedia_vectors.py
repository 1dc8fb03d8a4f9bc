"""Train word vectors on plain text: a control that saw no question data.

Usage: python -m benchmarks.wikipedia_vectors wikipedia-svd.txt --data DATA

Reads the Wikipedia sentences of the training pool, each once, without questions and labels, and
writes the vectors in GloVe's text format, the most frequent word first.  They are the singular
vectors of the words' positive pointwise mutual information with the words around them, with the
settings that Levy, Goldberg & Dagan 2015 recommend ("Improving Distributional Similarity with
Lessons Learned from Word Embeddings"); nothing was tuned.  A window does not cross sentences.
Takes under a minute of CPU time.  Prints one JSON object.  Needs scipy, which the extra `train`
installs.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.linalg import svds

from benchmarks.common import describe_machine
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.storage.files import atomic_write
from rejoinder.text.wordpiece import pretokenize

SETS = (
    *("squad-train-part:train", "squad-train-sentences:train", "squad-v1:dev-not-in-v2"),
    *("qed:train", "nq-oracle:train", "selqa:dev"),
)
"""All of it is text of Wikipedia, and none of it is of a test set."""
WIDTH = 300
WINDOW = 5
"""Words on each side; a word at distance d counts (WINDOW - d + 1) / WINDOW."""
MIN_COUNT = 2
SMOOTHING = 0.75
"""Exponent of the frequencies of contexts."""
EIGENVALUE_WEIGHT = 0.5

Matrix = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("to", type=Path, help="file to write")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--width", type=int, default=WIDTH)
    arguments = parser.parse_args()
    begun = time.process_time()
    texts = list(read_texts(arguments.data))
    words, counts = count_words(texts)
    vectors = factorise(count_pairs(texts, words), arguments.width)
    write_vectors(arguments.to, words, vectors)
    result = {
        "sets": SETS,
        "sentences": len(texts),
        "words": sum(counts),
        "vocabulary": len(words),
        "width": arguments.width,
        "cpu_seconds": round(time.process_time() - begun),
        "machine": describe_machine(),
    }
    print(json.dumps(result, indent=2))


def read_texts(folder: Path | None, sets: Sequence[str] = SETS) -> Iterator[list[str]]:
    """Yield the words of each sentence once, without the questions."""
    seen = set()
    for choice in sets:
        for example in open_dataset(choice, folder=folder):
            for item in example.candidates:
                if item.text not in seen:
                    seen.add(item.text)
                    yield pretokenize(item.text)


def count_words(texts: Iterable[Sequence[str]]) -> tuple[list[str], list[int]]:
    """Return the words that occur often enough and their counts, the most frequent first."""
    counted = Counter(word for text in texts for word in text)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    kept = [(word, count) for word, count in ranked if count >= MIN_COUNT]
    return [word for word, _ in kept], [count for _, count in kept]


def count_pairs(texts: Iterable[Sequence[str]], words: Sequence[str]) -> csr_matrix:
    """Return how often each word is near each other one, weighted by their distance."""
    numbers = {word: number for number, word in enumerate(words)}
    known = [[numbers[word] for word in text if word in numbers] for text in texts]
    flat = np.array([number for text in known for number in text], dtype=np.int32)
    sentence = np.repeat(np.arange(len(known)), [len(text) for text in known])
    total = csr_matrix((len(words), len(words)))
    for distance in range(1, WINDOW + 1):
        is_inside = sentence[:-distance] == sentence[distance:]
        left, right = flat[:-distance][is_inside], flat[distance:][is_inside]
        weights = np.full(len(left), (WINDOW - distance + 1) / WINDOW)
        counted = coo_matrix((weights, (left, right)), shape=total.shape).tocsr()
        total = total + counted + counted.T
    return total


def factorise(pairs: csr_matrix, width: int) -> Matrix:
    """Return one row per word: the weighted singular vectors of its mutual information."""
    near = pairs.tocoo()
    of_words = np.asarray(pairs.sum(axis=1)).ravel()
    of_contexts = np.asarray(pairs.sum(axis=0)).ravel() ** SMOOTHING
    expected = of_words[near.row] * of_contexts[near.col] / of_contexts.sum()
    information = np.log(near.data / expected)
    kept = information > 0
    positive = csr_matrix((information[kept], (near.row[kept], near.col[kept])), shape=pairs.shape)
    left, values, _ = svds(positive, k=width, rng=np.random.default_rng(0))
    order = np.argsort(-values)
    vectors: Matrix = left[:, order] * values[order] ** EIGENVALUE_WEIGHT
    return vectors


def write_vectors(path: Path, words: Sequence[str], vectors: Matrix) -> None:
    """Write a word and its numbers per line; words without a neighbour are left out."""
    with atomic_write(path) as file:
        for word, row in zip(words, vectors, strict=True):
            if np.abs(row).max() > 0:
                numbers = " ".join(f"{number:.5f}" for number in row)
                file.write(f"{word} {numbers}\n".encode())


if __name__ == "__main__":
    main()
