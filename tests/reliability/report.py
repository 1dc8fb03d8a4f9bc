"""Results of the suite: the journal that a run resumes from, and the page of the docs."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rejoinder.storage.journal import append_journal, read_journal
from tests.reliability.case import Case, Outcome

AREAS = {
    "index": "The index",
    "input": "Input",
    "batch": "Batch jobs",
    "server": "The server",
    "engine": "Search engines",
}

HEAD = """# Reliability

The faults that `make reliability` injects{form}, the number of attempts, and the losses.
`make test` runs a short form of the same cases. Both fail if a case loses anything.
"""


class CaseResult(NamedTuple):
    """A case with its outcome, or with the reason why there is none."""

    case: Case
    outcome: Outcome | None
    problem: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether something was lost, or the case was aborted."""
        return self.problem.startswith("FAILED") or bool(self.outcome and self.outcome.losses)


def read_result(journal: Path | None, case: Case, count: int) -> CaseResult | None:
    """Return the journal's result for this many attempts, None if there is none yet."""
    for entry in read_journal(journal) if journal else ():
        if (entry["case"], entry["count"]) == (case.name, count):
            return CaseResult(case, Outcome(*entry["outcome"]))
    return None


def keep_result(journal: Path | None, result: CaseResult, count: int) -> None:
    """Append a result to the journal unless the case failed or could not run: it runs again."""
    if journal is None or result.outcome is None or result.has_failed:
        return
    if read_result(journal, result.case, count) is None:
        entry = {"case": result.case.name, "count": count, "outcome": list(result.outcome)}
        append_journal(journal, entry)


def make_page(results: Iterable[CaseResult], *, is_long: bool) -> str:
    """Return the report in Markdown."""
    parts = [HEAD.format(form="" if is_long else " (here in the short form)")]
    rows = list(results)
    for area, title in AREAS.items():
        of_area = [row for row in rows if row.case.area == area]
        if not of_area:
            continue
        parts.append(
            f"\n## {title}\n\n| fault | attempts | losses | details |\n|---|---|---|---|\n"
        )
        parts += [_format_row(row) for row in of_area]
        definitions = dict.fromkeys(row.case.loss for row in of_area)
        parts.append("\nCounted as losses: " + "; ".join(definitions) + ".\n")
    return "".join(parts)


def _format_row(row: CaseResult) -> str:
    if row.outcome is None:
        return f"| {row.case.fault} | – | – | not run: {row.problem} |\n"
    attempts, losses, note = row.outcome
    return f"| {row.case.fault} | {attempts:,} | {losses} | {note} |\n"
