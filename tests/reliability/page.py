"""The page of the docs: a table for each area, in which each row says which commit it is of.

A run replaces the rows that it has measured, and leaves the others as they are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tests.reliability.case import Case
from tests.reliability.report import CaseResult

AREAS = {
    "index": "The index",
    "input": "Input",
    "batch": "Batch jobs",
    "server": "The server",
    "engine": "Search engines",
}
HEAD = """# Reliability

The faults that `make reliability` injects, the number of attempts, and the losses. Each row names
the commit that it is of: `+` and a digest stand for changes that were not committed.
`make test` runs a short form of the same cases. Both fail if a case loses anything.
"""
TABLE = "| fault | attempts | losses | details | commit |\n|---|---|---|---|---|\n"
UNKNOWN = "–"
"""The commit of a row that was measured before rows named it."""
_ROW = re.compile(
    r"^\| (?P<fault>.+?) \| (?P<attempts>[\d,]+) \| (?P<losses>\d+) \| (?P<note>.*?)"
    r" \|(?: (?P<commit>\S+) \|)?$"
)


class Row(NamedTuple):
    """A row of a table."""

    attempts: int
    losses: int
    note: str
    commit: str


def read_page(page: str) -> dict[str, Row]:
    """Return the rows of a page by the names of their cases."""
    titles = {title: area for area, title in AREAS.items()}
    rows = {}
    area = ""
    for line in page.splitlines():
        if line.startswith("## "):
            area = titles.get(line.removeprefix("## "), "")
        elif match := _ROW.match(line):
            attempts = int(match["attempts"].replace(",", ""))
            row = Row(attempts, int(match["losses"]), match["note"], match["commit"] or UNKNOWN)
            rows[f"{area}: {match['fault']}"] = row
    return rows


def make_page(cases: Sequence[Case], results: Iterable[CaseResult], page: str = "") -> str:
    """Return the report in Markdown.

    Args:
        cases: all that there are; rows of others are dropped.
        results: those of this run.
        page: the report so far.
    """
    rows = read_page(page)
    problems = {}
    for result in results:
        if result.outcome is None:
            problems[result.case.name] = result.problem
        else:
            rows[result.case.name] = Row(*result.outcome, result.commit)
    parts = [HEAD]
    for area in AREAS:
        own = [case for case in cases if case.area == area and case.name in {*rows, *problems}]
        if own:
            parts += _format_section(AREAS[area], own, rows, problems)
    return "".join(parts)


def _format_section(
    title: str, cases: Sequence[Case], rows: Mapping[str, Row], problems: Mapping[str, str]
) -> list[str]:
    measured = [rows[case.name] for case in cases if case.name in rows]
    definitions = dict.fromkeys(case.loss for case in cases)
    return [
        f"\n## {title}\n\n{_describe(measured, title)}\n\n{TABLE}",
        *(_format_row(case, rows.get(case.name), problems) for case in cases),
        "\nCounted as losses: " + "; ".join(definitions) + ".\n",
    ]


def _describe(rows: Sequence[Row], title: str) -> str:
    """Return the commits that the rows of a section are of, and how many inputs there were."""
    known = dict.fromkeys(row.commit for row in rows if row.commit != UNKNOWN)
    commits = ["Of commit " + ", ".join(known) + "."] if known else []
    if any(row.commit == UNKNOWN for row in rows):
        commits.append(f"Rows without a commit ({UNKNOWN}) are older, and of fewer faults.")
    if title == AREAS["input"]:
        commits.append(f"In all: {sum(row.attempts for row in rows):,} inputs.")
    return " ".join(commits) or "Nothing was run."


def _format_row(case: Case, row: Row | None, problems: Mapping[str, str]) -> str:
    if row is None:
        return f"| {case.fault} | – | – | not run: {problems[case.name]} | – |\n"
    return f"| {case.fault} | {row.attempts:,} | {row.losses} | {row.note} | {row.commit} |\n"
