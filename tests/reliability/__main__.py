"""Run the reliability suite.

Usage: python -m tests.reliability [--long] [--only TEXT] [--count N] [--runs FILE]
                                   [--to docs/reliability.md]

Prints the outcome of each case as soon as it is known, and exits with status 1 if one lost
something.  With `--runs`, outcomes are kept in a file, and an interrupted run resumes from it,
unless the code has changed.  With `--to`, the rows of the report that were measured are replaced.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability.case import CannotRunError, Case
from tests.reliability.cases import CASES
from tests.reliability.page import make_page
from tests.reliability.report import CaseResult, keep_result, read_result
from tests.reliability.source import Source, read_source


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="as many attempts as the report needs")
    parser.add_argument("--only", default="", help="cases whose area or fault contains this text")
    parser.add_argument("--count", type=int, help="this many attempts of each case")
    parser.add_argument("--runs", type=Path, help="keep the outcomes in this file, and resume")
    parser.add_argument("--to", type=Path, help="replace the rows of this report; needs --long")
    options = parser.parse_args()
    if options.to and (options.count or not options.long):
        parser.error("--to needs --long, and no --count: the report is of the long form")
    results = []
    for case in CASES:
        count = options.count or (case.long if options.long else case.short)
        if count and options.only in case.name:
            start = time.monotonic()
            result = run(case, count, options.runs)
            summary = result.problem or f"{result.outcome}"
            sys.stdout.write(f"{case.name}: {summary} ({time.monotonic() - start:.0f} s)\n")
            sys.stdout.flush()
            results.append(result)
    has_failed = any(result.has_failed for result in results)
    if options.to and not has_failed:
        before = options.to.read_text(encoding="utf-8") if options.to.exists() else ""
        options.to.write_text(make_page(CASES, results, before), encoding="utf-8")
    sys.exit(has_failed)


def run(case: Case, count: int, journal: Path | None) -> CaseResult:
    """Return the result of a case: the journal's, or that of a run, which is then kept there."""
    source = read_source()
    if known := read_result(journal, case, count, source):
        return known
    result = inject(case, count, source)
    if read_source().digest != source.digest:
        return CaseResult(case, None, "FAILED: the code has changed meanwhile; run it again")
    keep_result(journal, result, count, source)
    return result


def inject(case: Case, count: int, source: Source) -> CaseResult:
    """Run a case in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="rejoinder-reliability-") as folder:
        try:
            return CaseResult(case, case.run(Path(folder), count), commit=source.commit)
        except CannotRunError as error:
            return CaseResult(case, None, str(error))
        except AssertionError as error:
            return CaseResult(case, None, f"FAILED: {error}")


if __name__ == "__main__":
    main()
