"""The page of the comparison: its tables, pictures, and where others are ahead."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from benchmarks import compare_all
from benchmarks.comparison.ahead import (
    list_citing,
    list_costs,
    list_highlighting,
    list_latencies,
    list_quality,
)
from benchmarks.comparison.page import BEGIN, END, render

ROOT = Path(__file__).parents[1]
HIGHLIGHTING: dict[str, Any] = json.loads(
    (ROOT / "benchmarks" / "results" / "highlighting.json").read_text(encoding="utf-8")
)
CITING: dict[str, Any] = json.loads(
    (ROOT / "benchmarks" / "results" / "citing.json").read_text(encoding="utf-8")
)


def make_rate(mean: float, points: float | None = None, low: float = 0.0) -> dict[str, Any]:
    rate: dict[str, Any] = {"mean": mean, "interval": [mean - 5, mean + 5]}
    if points is not None:
        rate |= {"points": points, "points_interval": [low, points + 3]}
    return rate


def make_row(ms: float, **values: dict[str, Any]) -> dict[str, Any]:
    costs = {"p50_ms": ms, "p95_ms": 2 * ms, "five_p50_ms": ms, "cold_ms": 300.0}
    return costs | {"values": values, "peak_mb": 100.0, "versions": {}, "load_before": 0.0}


def make_contender(label: str, *, is_ours: bool) -> dict[str, Any]:
    return {
        "label": label,
        "family": "rejoinder, default" if is_ours else label.replace("a cross", "bm25s → a cross"),
        "settings": "as it is",
        "saw": "nothing",
        "indexes": ["rejoinder" if is_ours else "fts5"],
        "is_ours": is_ours,
        "install_mb": 200.0 if is_ours else 0.0,
        "weights_mb": 0.0,
    }


@pytest.fixture
def result() -> dict[str, Any]:
    over = {
        "ours": make_row(25.0, first=make_rate(70), five=make_rate(87)),
        "ours-5": make_row(8.0, first=make_rate(50, -20, -25), five=make_rate(70, -17, -20)),
        "fts5": make_row(3.0, first=make_rate(30, -40, -45), five=make_rate(50, -37, -40)),
        "reranked": make_row(140.0, first=make_rate(75, 5, 1), five=make_rate(88, 1, -2)),
    }
    inside = {
        "ours": make_row(5.0, **{"P@1": make_rate(80), "MAP": make_rate(85)}),
        "fts5": make_row(1.0, **{"P@1": make_rate(60, -20, -25), "MAP": make_rate(70, -15, -20)}),
    }
    index = {"seconds": 60.0, "mb": 90.0, "peak_mb": 500.0}
    return {
        "machine": {"cores": 2, "kind": "x86_64", "python": "3.11.7"},
        "minutes": 120.0,
        "load_before": 0.1,
        "sets": {
            "wikiqa": {"title": "WikiQA", "kind": "rank", "questions": 243, "sentences": 2351},
            "pooled": {"title": "Pooled", "kind": "search", "questions": 300, "sentences": 116161},
        },
        "contenders": {
            "ours": make_contender("**rejoinder, default**", is_ours=True),
            "ours-5": make_contender("rejoinder, default, 5 ms", is_ours=True),
            "fts5": make_contender("BM25, SQLite FTS5", is_ours=False),
            "reranked": make_contender("a cross-encoder", is_ours=False),
        },
        "left_out": {"txtai": "without txtai"},
        "rows": {"wikiqa": {"1": inside, "2": inside}, "pooled": {"1": over, "2": over}},
        "indexes": {"pooled": {"rejoinder": index, "fts5": index | {"seconds": 2.0}}},
    }


def test_better_answers_are_listed_only_beyond_their_interval(result: dict[str, Any]) -> None:
    assert list(list_quality(result)) == [
        "Pooled, first answer right: bm25s → a cross-encoder +5.0 points (+1.0 to +8.0)"
    ]


def test_a_better_budget_of_ours_is_not_another_who_is_ahead(result: dict[str, Any]) -> None:
    for rows in result["rows"]["pooled"].values():
        rows["ours-5"]["values"]["first"] = make_rate(90, 20, 10)

    assert not any("5 ms:" in item or "rejoinder" in item for item in list_quality(result))


def test_latencies_at_which_ours_is_not_first_are_listed(result: dict[str, Any]) -> None:
    result["rows"]["pooled"].pop("1")

    assert list(list_latencies(result)) == [
        "Pooled, 2 threads, at 3.0 ms: BM25, SQLite FTS5 has 30.0 % first answers right, none of"
        " ours is as fast",
        "Pooled, 2 threads, at 140.0 ms: bm25s → a cross-encoder has 75.0 % first answers right,"
        " ours has 70.0",
    ]


def test_ours_is_first_where_it_is_as_good_and_as_fast(result: dict[str, Any]) -> None:
    rows = result["rows"]["pooled"].pop("1")
    rows["reranked"]["p50_ms"] = 150.0
    rows["fts5"]["p50_ms"] = 8.0

    assert list(list_latencies(result)) == []


def test_lower_costs_are_listed(result: dict[str, Any]) -> None:
    assert set(list_costs(result)) == {
        *(f"WikiQA, {n}, median time, ours 5.0 ms: BM25, SQLite FTS5: 1.0" for n in THREADS),
        *(f"Pooled, {n}, median time, ours 25.0 ms: BM25, SQLite FTS5: 3.0" for n in THREADS),
        "Pooled, index time, ours 60 s: fts5: 2",
        "installation with weights, ours 200.0 MB: BM25, SQLite FTS5: 0.0; a cross-encoder: 0.0",
    }


THREADS = ("1 thread", "2 threads")


def test_higher_figures_of_highlighting_and_citing_are_listed() -> None:
    highlighting = list(list_highlighting(HIGHLIGHTING))
    assert any("OpenSearch's highlighter, as published, 72.2, ours" in own for own in highlighting)
    citing = list(list_citing(CITING))
    assert any("FoolMeTwice, support first" in own for own in citing)

    better = deepcopy(CITING)
    for group in ("pairs", "fever", "fm2", "wice"):
        for figure in better["cite"][group]:
            better["cite"][group][figure] = 100.0
    assert list(list_citing(better)) == []


def test_the_page_has_every_table_and_is_written_between_its_marks(
    result: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, results = tmp_path / "comparison.md", tmp_path / "comparison.json"
    page.write_text(f"by hand\n{BEGIN}from before\n{END}\nafter\n", encoding="utf-8")
    results.write_text(json.dumps(result), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["compare_all", "--page", str(page), "--results", str(results)])

    compare_all.main()

    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"by hand\n{BEGIN}\nMeasured on a machine with 2 cores")
    assert text.endswith(f"{END}\nafter\n")
    assert "from before" not in text
    assert "which was idle" in text
    assert "Pooled: 300 questions over 116,161 sentences." in text
    assert (
        "| bm25s → a cross-encoder | 75.0 (70.0 to 80.0) | +5.0 (+1.0 to +8.0) |"
        " 88.0 (83.0 to 93.0) | +1.0 (-2.0 to +4.0) | 140.0 | 280.0 | 140.0 | 300 | 100 | 2 |"
        in text
    )
    assert "| BM25, SQLite FTS5 | 60.0; -20.0 (-25.0 to -17.0) |" in text
    assert "| BM25, SQLite FTS5 | 1.0 | 2.0 | 300.0 | 100.0 | 1.0 | 2.0 | 300.0 | 100.0 |" in text
    assert "- txtai: without txtai" in text
    assert "`python -m benchmarks.citing`" in text
    assert text.index("## Where others are ahead") < text.index("## Over a corpus")
    picture = tmp_path / "comparison-pooled.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"({picture.name})" in text


def test_a_busy_machine_is_named(result: dict[str, Any]) -> None:
    text = render(result | {"load_before": 3.0, "left_out": {}}, HIGHLIGHTING, CITING)

    assert "**which was not idle: the times say little**" in text
    assert "Left out" not in text


def test_the_shipped_page_is_that_of_the_shipped_result(tmp_path: Path) -> None:
    shipped = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert BEGIN in shipped
    assert END in shipped
    if not compare_all.RESULTS.exists():
        assert "\nNot measured yet.\n" in shipped
        return
    page = tmp_path / "comparison.md"
    page.write_text(shipped, encoding="utf-8")

    compare_all.publish(compare_all.read_json(compare_all.RESULTS), page)

    assert page.read_text(encoding="utf-8") == shipped
