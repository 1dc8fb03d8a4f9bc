"""The benchmark that trains word vectors on plain text."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

from benchmarks.wikipedia_vectors import (
    SETS,
    count_pairs,
    count_words,
    factorise,
    read_texts,
    write_vectors,
)

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.papers.pretraining import find_vectors_facts

TEXTS = [text.split() for text in ("a cat sat", "a dog sat", "a cat ran", "cups break")]


def test_words_are_sorted_by_their_count_and_rare_ones_left_out() -> None:
    assert count_words(TEXTS) == (["a", "cat", "sat"], [3, 2, 2])


def test_near_words_count_more_and_windows_end_with_their_sentence() -> None:
    pairs = count_pairs([["a", "b", "c"], ["c", "a"]], ["a", "b", "c"]).toarray()

    # Next to each other 1, one word between them 4 / 5.
    assert pairs[0].tolist() == pytest.approx([0, 1, 1.8])
    assert pairs[1].tolist() == pytest.approx([1, 0, 1])
    assert (pairs == pairs.T).all()


def test_words_in_the_same_surroundings_are_alike() -> None:
    texts = [["the", animal, "eats"] for animal in ("cat", "dog")] * 3
    texts += [["my", cup, "broke"] for cup in ("mug", "glass")] * 3
    words, _ = count_words(texts)

    vectors = factorise(count_pairs(texts, words), width=3)

    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = dict(zip(words, unit @ unit[words.index("cat")], strict=True))
    assert cosines["dog"] > 0.99
    assert abs(cosines["mug"]) < 0.1


def test_questions_are_not_read(tmp_path: Path) -> None:
    rows = [
        {
            **{"id": str(place), "question": "secret?", "sentences": ["It is here.", text]},
            **{"labels": [1, 0], "document": "d", "in_document_order": True},
        }
        for place, text in enumerate(("Rain fell.", "Snow fell."))
    ]
    path = tmp_path / "pool" / "nq-oracle.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

    texts = list(read_texts(tmp_path, ["nq-oracle:train"]))

    # Each sentence once, although two questions share one.
    assert [" ".join(words) for words in texts] == ["it is here .", "rain fell .", "snow fell ."]


def test_no_test_set_is_read() -> None:
    tests = {"wikiqa", "trecqa", "squad-v2"}
    assert not {choice.partition(":")[0] for choice in SETS} & tests


def test_the_file_is_read_as_published_vectors_are(tmp_path: Path) -> None:
    path = tmp_path / "wikipedia-svd.txt"
    write_vectors(path, ["cat", "alone"], np.array([[0.6, 0.8], [0.0, 0.0]]))
    example = to_ordered_example("1", "a cat?", [Judged("cat", True)])

    vectors = load_published_vectors(path, [example])

    assert path.read_text() == "cat 0.60000 0.80000\n"
    assert vectors.vocabulary == ("cat",)
    facts = find_vectors_facts(path.name)
    assert facts
    assert facts.saw.endswith("no question data")
