"""SECURITY.md: its tests exist, and each risk that is left has a vector, below medium."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
ATTACKED = PAGE.partition("## What was attacked")[2].partition("\n## ")[0]
LEFT = PAGE.partition("## What is left")[2].partition("\n## ")[0]
METRICS = {
    **{"AV": "NALP", "AC": "LH", "AT": "NP", "PR": "NLH", "UI": "NPA"},
    **dict.fromkeys(("VC", "VI", "VA", "SC", "SI", "SA"), "HLN"),
}
"""The base metrics of CVSS 4.0 in their order, with their values."""
MEDIUM = 4.0


def list_rows(table: str) -> list[list[str]]:
    """Return the cells of each row below the head of a table, without those that divide it."""
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return [row for row in rows if any(row[1:])]


def test_every_test_of_the_table_exists() -> None:
    rows = list_rows(ATTACKED)

    assert len(rows) > 40
    for attempt, outcome, test in rows:
        assert attempt
        assert outcome
        match = re.fullmatch(r"`([\w/]+)::(test_\w+)`", test)
        assert match, test
        tree = ast.parse((TESTS / f"{match[1]}.py").read_text(encoding="utf-8"))
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert match[2] in names, test


def test_every_module_of_this_folder_is_in_the_table() -> None:
    modules = {path.stem for path in Path(__file__).parent.glob("test_*.py")}

    assert {name for name in modules if f"`security/{name}::" not in ATTACKED} == {"test_table"}


def test_what_is_left_is_low() -> None:
    rows = list_rows(LEFT)

    assert rows
    for risk, reason, vector, score in rows:
        assert risk
        assert reason
        head, *metrics = vector.strip("`").split("/")
        given = dict(metric.split(":") for metric in metrics)
        assert head == "CVSS:4.0"
        assert [*given][: len(METRICS)] == [*METRICS]
        assert all(given[name] in METRICS[name] for name in METRICS)
        assert given.get("E", "P") == "P"
        assert 0 < float(score) < MEDIUM
