import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.evaluation.test_replay import make_examples

from rejoinder.cli import main
from rejoinder.datasets.stream import ExampleStream
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.lexical.scorers import Bm25, Jaccard, WordOverlap
from rejoinder.papers import examples as examples_module
from rejoinder.papers.examples import build_lists, choose_answered
from rejoinder.papers.sequential import loading
from rejoinder.papers.sequential.published import show_gpd
from rejoinder.papers.sequential.reproduction import measure_pairs
from rejoinder.types import Example

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def test_lists_are_long_and_questions_spread() -> None:
    lists = build_lists(make_examples(count=20, size=4), size=30, questions=5)

    assert [item.id for item in lists] == ["0", "4", "8", "12", "16"]
    assert {len(item.candidates) for item in lists} == {30}


def test_a_large_set_fills_its_lists_from_the_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples_module, "LARGE_POOL", 10)

    lists = build_lists(make_examples(count=20, size=4), size=30, questions=5)

    assert {len(item.candidates) for item in lists} <= set(range(15, 21))


def test_pairs_are_compared_with_the_selector_on_all_candidates() -> None:
    examples = make_examples(count=6, size=12)

    firsts = [CachedScorer(Jaccard()), CachedScorer(Bm25())]
    rows = list(measure_pairs(firsts, [CachedScorer(WordOverlap())], examples, keeps=(2, 50)))

    assert [(row.first, row.keep) for row in rows] == [
        ("", None),
        ("jaccard", 2),
        ("jaccard", 50),
        ("bm25", 2),
        ("bm25", 50),
    ]
    whole = rows[0]
    assert (whole.speed_up, whole.difference) == (1, 0)
    assert all(row.accuracy == whole.accuracy for row in rows if row.keep == 50)
    assert all(row.latency_ms > 0 for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        f"Q{q}\tred cat {q}\tD{q}\tT\tS{q}-{s}\tthe cat {q} {s}\t{s % 2}\n"
        for q in range(4)
        for s in range(3)
    ]
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQA-test.tsv").write_text(HEADER + "".join(rows), encoding="utf-8")
    return tmp_path


def test_the_command_prints_both_tables(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(data / "none"))
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    arguments = ["reproduce", "sequential", "--selector", "bm25", "--data", str(data)]

    shown = CliRunner().invoke(main, arguments)
    printed = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)

    assert shown.exit_code == 0, shown.output
    assert "wikiqa test: 4 questions, 12 candidates each" in shown.stdout
    assert "BERT-Large" in shown.stdout
    assert "left out: squad-v2" in shown.stderr
    assert [item["candidates"] for item in printed] == [12, 12]
    assert printed[0]["rows"][0]["keep"] is None
    made = [row["ingredients"] for row in printed[0]["rows"]]
    assert made[:2] == [{"selector": "bm25"}, {"selector": "bm25", "first": "jaccard"}]

    nothing = CliRunner().invoke(main, [*arguments[:-1], str(data / "none")])
    assert nothing.exit_code == 1
    assert "none of the data sets was found" in nothing.stderr


def test_loading_is_shared_by_all_questions(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(data / "none"))
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setattr(loading, "REPEATS", 1)
    arguments = ["reproduce", "sequential", "--selector", "bm25", "--data", str(data)]
    arguments.append("--with-loading")

    shown = CliRunner().invoke(main, arguments)
    printed = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)

    assert "wikiqa test: milliseconds of a question from end to end, 4 asked" in shown.stdout
    rows = [row for result in printed for row in result["rows"]]
    for row in rows:
        own = row["end_to_end_ms"] - row["latency_ms"]
        assert own == pytest.approx(row["loading_ms"] / 4)
        assert row["loading_ms"] > 50  # a new interpreter imports numpy
    # Loading does not depend on k, and is measured once for each pair of scorers.
    assert len({row["loading_ms"] for row in rows}) == 2


def test_a_process_ranks_with_the_scorers_that_it_loads() -> None:
    assert loading.score_once(["jaccard", "bm25"]) == 4


def test_the_rows_of_gpd_stand_beside_long_lists() -> None:
    rows = [
        {"selector": "s", "first": first, "keep": keep, "accuracy": accuracy, "speed_up": 2.0}
        for first, keep, accuracy in [
            *(("", None, 0.8), ("jaccard", 250, 0.6), ("jaccard", 20, 0.1)),
            *(("cosinet", 100, 0.8), ("bm25", 100, 0.4)),
        ]
    ]
    long = {"dataset": "squad", "candidates": 1300, "rows": rows}
    short = {"dataset": "wikiqa", "candidates": 350, "rows": rows}

    table = show_gpd([long, short])

    assert table
    # 38.2 of 47.6 in 0.977 of 4.59 s; 45.0 of 47.6 in 0.962.
    assert table.rows == [
        [
            *("GPD, BERT-Base behind Jaccard", "250", "80.3%", "4.7"),
            *("squad, s behind jaccard", "75.0%", "2.0"),
        ],
        [
            *("GPD, BERT-Base behind CA", "100", "94.5%", "4.8"),
            *("squad, s behind cosinet", "100.0%", "2.0"),
        ],
    ]
    assert show_gpd([short]) is None
    hopeless = [{**row, "accuracy": 0.0} for row in rows]
    bare = show_gpd([{**long, "rows": hopeless}])
    assert bare
    assert [row[-2] for row in bare.rows] == ["–", "–"], "no answer is kept of none"


@pytest.fixture
def asnq(tmp_path: Path) -> Path:
    rows = [
        f"red cat {q}\tthe {'cat' if s == q else 'dog'} {q} {s}\t{4 if s == q else 1}\n"
        for q in range(6)
        for s in range(q + 2)
    ]
    (tmp_path / "asnq").mkdir()
    (tmp_path / "asnq" / "dev.tsv").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def test_the_lists_of_asnq_are_read_as_they_are(
    asnq: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(asnq / "none"))
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    arguments = ["reproduce", "sequential", "--selector", "bm25", "--data", str(asnq)]
    plot = asnq / "figure.png"

    shown = CliRunner().invoke(main, [*arguments, "--all", "--plot", str(plot)])
    few = CliRunner().invoke(main, [*arguments, "--questions", "2", "--json"])

    assert shown.exit_code == 0, shown.output
    # 2 + 3 + 4 + 5 + 6 + 7 candidates; no list was extended.
    title = "asnq dev: 6 questions, 4 candidates each, 27 pairs; neighbours: the order of the file"
    assert title in shown.stdout
    assert "not the published file: made from dev.tsv" in shown.stdout
    assert "asnq:dev: 6 questions with 27 candidates; the published file has 2,672" in shown.stderr
    assert shown.stderr.count("this is another release") == 1
    assert plot.read_bytes().startswith(b"\x89PNG")
    natural, longer = json.loads(few.stdout)
    assert (natural["dataset"], natural["questions"], natural["pairs"]) == ("asnq dev", 2, 7)
    assert (longer["dataset"], longer["questions"]) == ("asnq++ dev", 2)
    assert longer["note"].startswith("not the published file")


def test_answered_questions_are_chosen_from_a_stream() -> None:
    examples = make_examples(count=20, size=4)
    passes: list[int] = []

    def read() -> Iterator[Example]:
        passes.append(1)
        return iter(examples)

    chosen = choose_answered(ExampleStream(read), 5)

    assert [item.id for item in chosen] == ["0", "4", "8", "12", "16"]
    assert len(passes) == 2
    assert choose_answered(ExampleStream(read), None) == examples
