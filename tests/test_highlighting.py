"""What `highlight` is measured on, and the tables of docs/highlighting.md."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest
from benchmarks.citing import write_page
from benchmarks.corpus_lists import MULTI_SPAN
from benchmarks.highlighting import (
    BEGIN,
    CONTENDER,
    END,
    SQUAD,
    Asked,
    cut_documents,
    find_best,
    join_paragraphs,
    make_article,
    measure_pruning,
    measure_quality,
    measure_time,
    render,
    survives,
)
from benchmarks.multi_span import join_words, read_multi_span

from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.cascade.sentences import make_candidates
from rejoinder.types import Candidate, Document, Example

ROOT = Path(__file__).parents[1]
ARTICLE = {
    "title": "Eiffel_Tower",
    "paragraphs": [
        {
            "context": "It is in Paris. " + "Many people visit it in summer. " * 8,
            "qas": [{"question": "Where?", "answers": [{"text": "Paris", "answer_start": 9}]}],
        },
        {
            "context": "The tower was painted brown. Gustave Eiffel built the tower in 1889.",
            "qas": [
                {
                    "question": "When was the Eiffel tower built?",
                    "answers": [{"text": "1889", "answer_start": 63}],
                }
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def scorer() -> Cascade:
    found = load()
    assert isinstance(found, Cascade)
    return found


def test_words_with_labels_are_a_text_with_sentences_that_answer(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "question": ["who", "did", "it"],
            "context": [
                "Ada",
                "(",
                "a",
                "countess",
                ")",
                "wrote",
                "it",
                ".",
                "It",
                "was",
                "n't",
                "Bo",
                ".",
            ],
            "label": ["B", *["O"] * 12],
        }
    ]
    path = tmp_path / MULTI_SPAN
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"data": rows}, file)

    (found,) = read_multi_span(tmp_path)

    assert found.question == "who did it"
    assert found.text == "Ada (a countess) wrote it. It wasn't Bo."
    assert found.labels == (True, False)
    words = rows[0]["context"]
    text, starts = join_words(words)
    assert all(text.startswith(word, at) for word, at in zip(words, starts, strict=True))


def test_the_best_threshold_has_the_best_f1() -> None:
    scores = [np.array([0.9, 0.5, 0.1]), np.array([0.8, 0.4])]
    labels = [np.array([True, True, False]), np.array([False, True])]

    assert find_best(scores, labels) == 0.4


def test_sentences_are_measured_with_the_shipped_scale(scorer: Cascade, tmp_path: Path) -> None:
    sentences = ["The sky is blue.", "Gustave Eiffel built the tower.", "It rains in May."]
    asked = Asked("who built the tower?", make_candidates(sentences), np.array([0, 1, 0]) > 0)
    arguments = ({"qed:dev": [asked]}, scorer, load(CONTENDER), tmp_path)

    result = measure_quality(*arguments)["qed:dev"]

    assert result["highlight"]["f1"] == result["sentence"]["f1"] == 100
    assert (result["questions"], result["sentences"], result["answers"]) == (1, 3, 1)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert measure_quality(*arguments)["qed:dev"] == result
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == kept != {}


def test_an_article_is_pruned_to_its_answer(scorer: Cascade) -> None:
    pages = make_article(ARTICLE, random.Random(0))
    page = next(item for item in pages if item.question.startswith("When"))
    ((start, end),) = page.answers

    result = measure_pruning({"squad": [page]}, scorer)["squad"]

    assert page.text[start:end] == "1889"
    assert result["answers_kept"] == 100
    assert result["dropped"] > 60
    assert result["characters"] == len(page.text)
    assert not survives(page, [(0, start)])


def test_a_page_has_all_paragraphs_of_its_title() -> None:
    def make(id: str, *sentences: str) -> Example:
        document = Document(id, "Tea", sentences)
        candidates = [Candidate(f"{id}#{at}", text, document) for at, text in enumerate(sentences)]
        return Example(id, f"{id}?", tuple(candidates), (False, True))

    examples = [make("1", "Tea is hot.", "It is green."), make("2", "It rained.", "He slept.")]

    (page,) = join_paragraphs(examples, {"2"})

    assert page.text == "Tea is hot. It is green.\n\nIt rained. He slept."
    assert [page.text[start:end] for start, end in page.answers] == ["He slept."]


def test_requests_of_ten_documents_are_timed(tmp_path: Path) -> None:
    path = tmp_path / SQUAD
    path.parent.mkdir()
    paragraphs = ARTICLE["paragraphs"] * 40  # type: ignore[operator]
    article = {"title": "Tower", "paragraphs": paragraphs}
    path.write_text(json.dumps({"data": [article]}), encoding="utf-8")

    question, texts = next(cut_documents(tmp_path, 1, 10))
    times = measure_time(tmp_path, 1, 10)

    assert question == "Where?"
    assert [len(text) for text in texts] == [1200] * 10
    assert times["requests"] == 1
    for way in ("highlight", "sentence"):
        assert times[f"{way}, 1, 10"]["p50_ms"] > times[f"{way}, 1, 1"]["p50_ms"] > 0


def test_the_tables_of_the_page_are_those_of_the_results(tmp_path: Path) -> None:
    path = ROOT / "benchmarks/results/highlighting.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    page = (ROOT / "docs/highlighting.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page.partition(BEGIN)[0] + BEGIN + END + page.partition(END)[2], "utf-8")

    write_page(copy, render(result), BEGIN, END)

    assert copy.read_text(encoding="utf-8") == page
