"""Findings kept in a file as they are made: the whole suite takes hours."""

from pathlib import Path

from rejoinder.storage.journal import append_journal, read_journal
from tests.reliability.case import Case, Found
from tests.reliability.report import Line


def read_line(path: Path | None, case: Case, count: int) -> Line | None:
    """Return what was found when the fault was made as often; None where it was not yet."""
    for row in read_journal(path) if path else ():
        if (row["case"], row["count"]) == (case.name, count):
            return Line(case, Found(*row["found"]))
    return None


def keep_line(path: Path | None, line: Line, count: int) -> None:
    """Keep a finding; one that failed, or could not be made, is to be made again."""
    if path is None or line.found is None or line.has_failed:
        return
    if read_line(path, line.case, count) is None:
        append_journal(path, {"case": line.case.name, "count": count, "found": list(line.found)})
