"""Runs the reliability suite.

Usage: python -m tests.reliability [--long] [--only TEXT] [--runs FILE] [--to docs/reliability.md]

Says what came of each case as it is known, and exits with 1 where one has lost something.
With `--runs`, what was found is kept, so that hours of faults can be stopped and gone on with.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability.case import CannotRunError, Case
from tests.reliability.cases import CASES
from tests.reliability.kept import keep_line, read_line
from tests.reliability.report import Line, write_page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="as often as the report needs")
    parser.add_argument("--only", default="", help="cases whose area or fault holds this text")
    parser.add_argument("--runs", type=Path, help="keep every finding there, and go on from it")
    parser.add_argument("--to", type=Path, help="write the report there")
    arguments = parser.parse_args()
    lines = []
    for case in CASES:
        count = case.long if arguments.long else case.short
        if count and arguments.only in case.name:
            start = time.monotonic()
            line = read_line(arguments.runs, case, count) or run(case, count)
            said = line.problem or f"{line.found}"
            sys.stdout.write(f"{case.name}: {said} ({time.monotonic() - start:.0f} s)\n")
            sys.stdout.flush()
            keep_line(arguments.runs, line, count)
            lines.append(line)
    has_failed = any(line.has_failed for line in lines)
    if arguments.to and not has_failed:
        arguments.to.write_text(write_page(lines, is_long=arguments.long), encoding="utf-8")
    sys.exit(has_failed)


def run(case: Case, count: int) -> Line:
    """Run a case in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="rejoinder-reliability-") as folder:
        try:
            return Line(case, case.run(Path(folder), count))
        except CannotRunError as error:
            return Line(case, None, str(error))
        except AssertionError as error:
            return Line(case, None, f"FAILED: {error}")


if __name__ == "__main__":
    main()
