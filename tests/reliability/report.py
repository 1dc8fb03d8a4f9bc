"""Results of the suite, and the journal that a run resumes from."""

from pathlib import Path
from typing import NamedTuple

from rejoinder.storage.journal import append_journal, read_journal
from tests.reliability.case import Case, Outcome
from tests.reliability.source import Source


class CaseResult(NamedTuple):
    """A case with its outcome, or with the reason why there is none."""

    case: Case
    outcome: Outcome | None
    problem: str = ""
    commit: str = ""
    """The state of the code that it is of."""

    @property
    def has_failed(self) -> bool:
        """Whether something was lost, or the case was aborted."""
        return self.problem.startswith("FAILED") or bool(self.outcome and self.outcome.losses)


def read_result(journal: Path | None, case: Case, count: int, source: Source) -> CaseResult | None:
    """Return the journal's result for this many attempts on this code, None if there is none."""
    for entry in read_journal(journal) if journal else ():
        known = entry["case"], entry["count"], entry.get("source")
        if known == (case.name, count, source.digest):
            return CaseResult(case, Outcome(*entry["outcome"]), commit=entry["commit"])
    return None


def keep_result(journal: Path | None, result: CaseResult, count: int, source: Source) -> None:
    """Append a result to the journal unless the case failed or could not run: it runs again."""
    if journal is None or result.outcome is None or result.has_failed:
        return
    if read_result(journal, result.case, count, source) is None:
        entry = {
            "case": result.case.name,
            "count": count,
            "source": source.digest,
            "commit": source.commit,
            "outcome": list(result.outcome),
        }
        append_journal(journal, entry)
