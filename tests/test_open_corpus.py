import argparse
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpora import embeddings, pooled
from benchmarks.corpora.contenders import ROWS, Setting, find_missing
from benchmarks.corpora.indexes import Blocks, Entry, build_index, list_entries
from benchmarks.corpora.passages import SENTENCES, PassageSearch
from benchmarks.corpora.questions import (
    Question,
    add_typo,
    misspell,
    read_manual_questions,
    sample,
)
from benchmarks.corpora.reply import Reply
from benchmarks.corpora.shapes import find_headings
from benchmarks.corpora.table import write_tables
from benchmarks.corpora.trials import compare, judge, read_trials, summarize, write_trials

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.training.teacher import VectorCache
from rejoinder.types import Document

GOLD = Question("1", "Who built the tower?", "a", golds=frozenset(["adabuiltit"]))
PATTERN = Question("2", "How high is it?", "b", pattern=re.compile(r"300 m\b"))
UNANSWERABLE = Question("3", "Why?", "b")
DOCUMENTS = [
    Document("tower", "Tower", ("The tower is old.", "Ada built it.", "It is 300 m high.")),
    Document("lake", "Lake", ("The lake is deep.", "Fish live there.")),
]


def make_reply(*found: str, abstains: bool | None = None) -> Reply:
    return Reply(list(found), list(found[:5]), list(found[:5]), abstains, 1.0)


def test_a_gold_sentence_is_recognized_by_its_letters_and_digits() -> None:
    assert GOLD.accepts("Ada built it .")
    assert not GOLD.accepts("So Ada built it.")
    assert GOLD.accepts_passage("So Ada built it.")


def test_a_pattern_is_searched_in_folded_text() -> None:
    assert PATTERN.accepts("It is 300\n m high.")
    assert not PATTERN.accepts("It is 300 miles away.")


def test_unanswerable_questions_accept_nothing() -> None:
    assert not UNANSWERABLE.accepts("")
    assert not UNANSWERABLE.accepts_passage("")
    assert not UNANSWERABLE.is_answerable


def test_the_questions_about_the_manuals() -> None:
    questions = read_manual_questions()
    assert len({question.id for question in questions}) == 341
    assert sum(question.is_answerable for question in questions) == 304


def test_a_sample_takes_as_many_of_each_group() -> None:
    questions = [Question(str(at), "?", "ab"[at >= 8]) for at in range(10)]
    assert [question.id for question in sample(questions, 2)] == ["0", "4", "8", "9"]
    assert sample(questions, None) == questions


def test_a_typo_changes_one_content_word_and_is_the_same_each_time() -> None:
    question = Question("1", "How are the watermills built?", "a")
    typos = {add_typo(question, seed).text for seed in range(30)}
    assert all(re.fullmatch(r"How are the (\w+ built|watermills \w+)\?", typo) for typo in typos)
    assert question.text not in typos
    assert len(typos) > 10
    assert add_typo(question, 1) == add_typo(question, 1)
    assert add_typo(Question("1", "42?", "a"), 1).text == "42?"


def test_typos_are_swaps_drops_doubles_and_neighbouring_keys() -> None:
    typos = {misspell("cat", random.Random(seed)) for seed in range(200)}
    assert typos == {"cta", "ct", "ca", "caat", "catt", "cst", "cay", "car"}


def test_rates_are_averaged_over_groups() -> None:
    trials = [
        judge(GOLD, make_reply("No.", "Ada built it.", abstains=False)),
        judge(PATTERN, make_reply("It is 300 m.", abstains=True)),
        judge(PATTERN, make_reply(*["No."] * 10, "It is 300 m.", abstains=False)),
        judge(UNANSWERABLE, make_reply("No.", abstains=True)),
    ]
    rates = summarize(trials)
    assert (rates["found_10"], rates["found_20"]) == (75.0, 100.0)
    assert (rates["first"], rates["five"]) == (25.0, 75.0)
    assert rates["answered_right"] == 0.0
    assert rates["stated_wrong"] == 66.7
    assert rates["refused_rightly"] == 100.0
    assert rates["groups"]["a"]["found_20"] == 100.0


@pytest.mark.parametrize(
    ("answer", "shape"),
    [
        ("How they form", "heading"),
        ("How they form.", ""),
        ("Glacier caves", "heading"),
        ('"Where are they?"', "question"),
        ("Use one of these:", "fragment"),
        ("Use this:\ncave --melt:", ""),
        ("Melt water.", "fragment"),
        ("Melt water widens cracks", ""),
    ],
)
def test_first_answers_that_are_no_sentence_are_named(
    tmp_path: Path, answer: str, shape: str
) -> None:
    (tmp_path / "caves.md").write_text(
        "# Glacier caves\n\n## How they form\n\nMelt water widens it."
    )
    with build_index(tmp_path / "index", tmp_path) as index:
        headings = find_headings(index)

    trial = judge(GOLD, make_reply(answer, "Why?"), headings)

    assert trial.shape == shape
    rates = summarize([trial, judge(UNANSWERABLE, make_reply("Why?"), headings)])
    assert rates["no_sentence"] == bool(shape)  # unanswerable questions have no first answer
    assert rates["shapes"].get(shape, 1) == 1


def test_trials_of_earlier_versions_do_not_count_shapes() -> None:
    assert "no_sentence" not in summarize([judge(GOLD, make_reply("Why?"))])
    assert judge(GOLD, make_reply(), frozenset()).shape == ""


def test_contenders_that_never_abstain_have_no_rates_of_it() -> None:
    assert "stated_wrong" not in summarize([judge(GOLD, make_reply("No."))])


def test_trials_are_compared_in_pairs_after_reading_them_again(tmp_path: Path) -> None:
    questions = [Question(str(at), "?", "a", golds=frozenset(["yes"])) for at in range(20)]
    worse = [judge(question, make_reply("No.")) for question in questions]
    better = [judge(question, make_reply("Yes.")) for question in questions[5:]]
    write_trials(worse, tmp_path / "one" / "worse.jsonl")
    stored = read_trials(tmp_path / "one" / "worse.jsonl")
    assert stored == worse
    assert compare(stored, better)["first"] == [100.0, 100.0, 100.0]
    assert compare(read_trials(tmp_path / "missing.jsonl"), better) == {}


def test_passages_are_found_without_function_words() -> None:
    texts = [["What is a lake?"] * SENTENCES + ["What is it?"], ["A tower is high.", "So."]]
    entries = [
        Entry(number, position, "", text, True)
        for number, own in enumerate(texts)
        for position, text in enumerate(own)
    ]
    search = PassageSearch(entries)
    assert search.search("What is the tower?", 5) == [["A tower is high.", "So."]]
    assert search.search('"NEAR(lakes', 5) == [["What is a lake?"] * SENTENCES]
    assert len(search.search("what is it", 5)) == 3
    assert search.search("?", 5) == []


def test_rows_over_an_index(tmp_path: Path) -> None:
    with build_index(tmp_path / "index", DOCUMENTS) as index:
        setting = Setting("pooled", index, tmp_path, argparse.Namespace(weights=None))
        for row in ("retrieval", "fts5", "default"):
            (reply,) = ROWS[row][1](setting)(["Who built the tower?"])
            trial = judge(GOLD, reply)
            assert trial.found, row
            assert any(trial.shown), row
        assert reply.abstains is not None
        assert Blocks(index).show(1, 1) == " ".join(DOCUMENTS[0].sentences)
        assert [entry.title for entry in list_entries(index)] == ["Tower"] * 3 + ["Lake"] * 2
    with build_index(tmp_path / "index", []) as index:
        assert index.count().documents == 2


def test_rows_without_their_weights_are_left_out(tmp_path: Path) -> None:
    options = argparse.Namespace(before=None, weights=tmp_path)
    assert find_missing("before", options) == ["--before"]
    assert "ms-marco-minilm-l12" in find_missing("hybrid-reranked", options)
    assert find_missing("default", options) == []


def test_vectors_are_cached_and_a_broken_end_is_dropped(tmp_path: Path) -> None:
    encoded = []

    def encode(text: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        encoded.append(text)
        return np.full(embeddings.WIDTH, len(text), np.float32)

    def embed(*texts: str) -> list[float]:
        vectors = VectorCache(tmp_path / "encoder", embeddings.WIDTH).embed(texts, encode)
        return [float(value) for value in vectors[:, 0]]

    assert embed("a", "bb", "a") == [1.0, 2.0, 1.0]
    with (tmp_path / "encoder.vectors").open("ab") as file:
        file.write(b"broken")
    assert embed("ccc", "bb") == [3.0, 2.0]
    assert sorted(encoded) == ["a", "bb", "ccc"]


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        ("squad-v1", "Super_Bowl_50", "Super Bowl 50"),
        ("squad-train-part", "Saint_Barth%C3%A9lemy", "Saint Barthélemy"),
        ("fairytaleqa", "the-two-scholars", "the two scholars"),
        ("nq-oracle", "AC/DC", "AC DC"),
        ("bioasq", "bioasq7b/list", "bioasq/7"),
        ("medquad", "medquad/1.xml", "medquad/1.xml"),
    ],
)
def test_titles(name: str, title: str, expected: str) -> None:
    example = to_ordered_example("7", "?", [Judged("So it is.", True)], title=title)
    assert pooled.find_title(name, example) == expected


def test_the_beginning_of_a_paragraph_is_no_title() -> None:
    text = "The location and terrain of Kathmandu have played a role."
    example = to_ordered_example("7", "?", [Judged(text, True)], title=text[:40])
    assert pooled.find_title("squad-train-part", example).startswith("untitled/")
    assert pooled.find_title("qed", example) == text[:40]


def test_as_many_questions_are_drawn_of_each_set() -> None:
    drawn = json.loads(pooled.DEV.read_text(encoding="utf-8"))
    assert {name: len(set(ids)) for name, ids in drawn.items()} == dict.fromkeys(pooled.SETS, 120)


def test_tables_show_rates_and_differences() -> None:
    rates = summarize([judge(GOLD, make_reply("Ada built it."), frozenset())])
    against = compare([judge(GOLD, make_reply("No."))], [judge(GOLD, make_reply("Ada built it."))])
    corpus = {"documents": 1, "sentences": 2, "questions": 3, "answerable": 3, "baseline": "before"}
    rows = {"before": rates, "default": {**rates, "against": against}}
    table = write_tables({"corpora": {"pooled": {**corpus, "rows": rows}}})
    assert "| **default** | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 |" in table
    assert table.splitlines()[4].endswith("| – | – | – | 0 | 1.0 | 1.0 |")
    assert "| **default** | +100.0 (+100.0 to +100.0) |" in table
