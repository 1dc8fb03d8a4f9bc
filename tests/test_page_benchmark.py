"""The benchmark of the web page, with few questions and documents."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from benchmarks import page


@pytest.mark.skipif(
    not (os.environ.get("CHROMIUM") or shutil.which("chromium")), reason="needs Chromium"
)
def test_answers_and_interactions_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "page.json"
    sizes = ["--questions", "2", "--documents", "120", "--repeats", "1", "--sentences", "360"]
    monkeypatch.setattr(sys, "argv", ["page", *sizes, "--results", str(results)])

    page.main()

    written = json.loads(results.read_text("utf-8"))
    assert written["questions"] == 2
    answer = written["answer"]
    assert answer["total"]["p50_ms"] > answer["without_server"]["p50_ms"] > 0
    assert answer["without_server"]["p50_ms"] > answer["without_fetch"]["p50_ms"] > 0
    interactions = written["interactions"]
    assert {"open the view", "next page", "type a letter", "facets"} < set(interactions)
    assert all(0 < own["p50_ms"] <= own["worst_ms"] for own in interactions.values())
    large = written["large"]
    assert large["sentences"] == 360
    assert large["answer_in_a_folder"]["total"]["p50_ms"] > 0
    assert set(large["interactions"]) == {*interactions, "open a document"}
    printed = capsys.readouterr().out
    assert "| type a letter |" in printed
    assert "| answer in a folder, total, 360 sentences |" in printed


def test_made_documents_are_the_same_in_each_run() -> None:
    first, second = list(page.make_documents(3, 4)), list(page.make_documents(3, 4))

    assert [item.text for item in first] == [item.text for item in second]
    assert {item.text.count(".") for item in first} == {4}
    assert len({item.text for item in first}) == 3


def test_questions_are_spread_over_the_pages() -> None:
    questions = page.list_questions(20)

    assert len(set(questions)) == 20
    assert len({question.rpartition(" of ")[2] for question in questions}) > 5
