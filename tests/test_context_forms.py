"""The benchmark of what a selector reads: its data, and its table."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from benchmarks import context_forms, corpus_lists
from benchmarks.corpora.trials import Trial


def make_trial(number: int, *, is_right: bool) -> dict[str, Any]:
    right = [is_right]
    return asdict(Trial(str(number), "set", True, 1, right, right, None, 1.0))


def make_result(**right: int) -> dict[str, Any]:
    """Return results of forms that answer so many of four questions right."""
    forms = {
        form: {
            "trials": {"manuals": [make_trial(at, is_right=at < count) for at in range(4)]},
            "pair_ms": {"manuals": 1.25},
        }
        for form, count in right.items()
    }
    return {"forms": forms}


def test_the_lists_are_a_share_of_those_of_the_included_selector() -> None:
    scaled = dict(choice.split("@") for choice in context_forms.scale_data())

    assert list(scaled) == [choice.partition("@")[0] for choice in corpus_lists.DATA]
    for choice in corpus_lists.DATA:
        name, _, weight = choice.partition("@")
        assert float(scaled[name]) == pytest.approx(
            context_forms.SHARE * float(weight or 1), abs=1e-4
        )


def test_the_table_compares_each_form_with_none() -> None:
    lines = list(context_forms.write_table(make_result(headings=4, none=1)))

    assert [line.split(" | ")[0] for line in lines if line] == [
        "| manuals: reads",
        "|---|---:|---:|---:|---:|",
        "| nothing",
        "| title and headings",
    ]
    assert "| 25.0 | 25.0 | 25.0 | 1.25 |" in lines[2]
    assert lines[3].startswith("| title and headings | 100.0 (+25.0 to +100.0)")


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "context.md"
    page.write_text(f"before\n{context_forms.BEGIN}old\n{context_forms.END}after\n")

    context_forms.write_page(make_result(none=4), page)

    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| nothing | 100.0" in text
    assert "old" not in text
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="no lines"):
        context_forms.write_page(make_result(none=4), page)
