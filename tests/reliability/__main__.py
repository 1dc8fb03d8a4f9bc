"""Run the reliability suite.

Usage: python -m tests.reliability [--long] [--only TEXT] [--count N] [--runs FILE]
                                   [--to docs/reliability.md]

Prints the outcome of each case as soon as it is known, and exits with status 1 if one lost
something.  With `--runs`, outcomes are kept in a file, and an interrupted run resumes from it.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability.case import CannotRunError, Case
from tests.reliability.cases import CASES
from tests.reliability.report import CaseResult, keep_result, make_page, read_result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="as many attempts as the report needs")
    parser.add_argument("--only", default="", help="cases whose area or fault contains this text")
    parser.add_argument("--count", type=int, help="this many attempts of each case")
    parser.add_argument("--runs", type=Path, help="keep the outcomes in this file, and resume")
    parser.add_argument("--to", type=Path, help="write the report to this file")
    options = parser.parse_args()
    results = []
    for case in CASES:
        count = options.count or (case.long if options.long else case.short)
        if count and options.only in case.name:
            start = time.monotonic()
            result = read_result(options.runs, case, count) or run(case, count)
            summary = result.problem or f"{result.outcome}"
            sys.stdout.write(f"{case.name}: {summary} ({time.monotonic() - start:.0f} s)\n")
            sys.stdout.flush()
            keep_result(options.runs, result, count)
            results.append(result)
    has_failed = any(result.has_failed for result in results)
    if options.to and not has_failed:
        options.to.write_text(make_page(results, is_long=options.long), encoding="utf-8")
    sys.exit(has_failed)


def run(case: Case, count: int) -> CaseResult:
    """Run a case in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="rejoinder-reliability-") as folder:
        try:
            return CaseResult(case, case.run(Path(folder), count))
        except CannotRunError as error:
            return CaseResult(case, None, str(error))
        except AssertionError as error:
            return CaseResult(case, None, f"FAILED: {error}")


if __name__ == "__main__":
    main()
