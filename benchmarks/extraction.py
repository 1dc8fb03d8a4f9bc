"""Compare what readers extract from the manuals of Debian packages.

Usage: python -m benchmarks.extraction --manuals FOLDER --questions dev.jsonl --before TREE
           [--only PART]... [--reader NAME]... [--by-package] [--rounds 2] [--notes FOLDER]
           [--results benchmarks/results/extraction.json]
       python -m benchmarks.extraction --page docs/documents.md

Manuals that the folder lacks are downloaded with apt (`apt-get update` first; nothing is
installed).  The questions are JSON lines with `id`, `package`, `pattern` and `answers`, a list of
`file` and `text`.  TREE is a checkout of commit 2a183ad, the readers before blocks, with an
environment of its own in `.venv`.  Other readers make blocks that this tree splits into sentences.
Readers whose library is not installed are left out.  The parts:

    offered       sentences that may answer, and those of them that should not
    answers       recorded answers inside one block, and offered as answers
    paths         heading paths of 100 drawn answers, against the HTML source
    superscripts  50 drawn super- and subscripts, against the source
    pdf           words that lost their spaces, running heads inside sentences
    time          `index add` before and now, in turn, and reading alone; needs an idle machine
    memory        the peak of `index add` over 100 MB of text

Prints a Markdown table, and updates the measured parts of the results.  With --notes it writes
what to read by eye into a folder: the misses, the most frequent faults, 200 sentences of PDFs.
--page writes the table of the results into a page.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from benchmarks.common import describe_machine
from benchmarks.manuals.answers import AnswerRates, read_questions
from benchmarks.manuals.cost import measure_peaks, measure_time
from benchmarks.manuals.heading_paths import HeadingPathRates
from benchmarks.manuals.offered import OfferedRates
from benchmarks.manuals.packages import fetch_manuals, read_words
from benchmarks.manuals.pages import Page
from benchmarks.manuals.pdf_faults import PdfFaults, find_running_heads, find_vocabulary
from benchmarks.manuals.readers import READERS, ROOT, find_readers, run_reader
from benchmarks.manuals.superscripts import SuperscriptRates, find_in_pages, find_in_pdfs
from benchmarks.manuals.table import write_table

RESULTS = ROOT / "benchmarks" / "results" / "extraction.json"
BEGIN, END = "<!-- extraction: begin -->\n", "<!-- extraction: end -->\n"


class Part(Protocol):
    """Measures the pages of one reader."""

    def add(self, page: Page) -> None:
        """Measure one page."""
        ...

    def report(self) -> dict[str, Any]:
        """Return the rates."""
        ...

    def list_notes(self) -> list[str]:
        """Return lines to read by eye."""
        ...


def main() -> None:
    options = parse_options()
    if options.page:
        write_page(json.loads(options.results.read_text(encoding="utf-8")), options.page)
        return
    fetch_manuals(options.manuals)
    result = {}
    if options.results.exists():
        result = json.loads(options.results.read_text(encoding="utf-8"))
    result["machine"] = describe_machine()
    chosen = options.only or [*PARTS, "time", "memory"]
    measure_readers(result, options, chosen)
    trees = {"before": options.before.resolve(), "rejoinder": ROOT}
    if "time" in chosen:
        result["time"] = measure_time(trees, options.manuals, options.rounds)
    if "memory" in chosen:
        result["memory"] = measure_peaks(trees)
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(write_table(result, by_package=options.by_package))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*PARTS, "time", "memory"]
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--before", type=Path, metavar="TREE")
    parser.add_argument("--only", choices=names, action="append")
    parser.add_argument("--reader", choices=READERS, action="append")
    parser.add_argument("--words", type=Path, help="a dictionary; wamerican is downloaded if none")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--by-package", action="store_true")
    parser.add_argument("--notes", type=Path, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if not options.page and not (options.questions and options.before):
        parser.error("--questions and --before are needed")
    return options


def measure_readers(
    result: dict[str, Any], options: argparse.Namespace, chosen: Iterable[str]
) -> None:
    """Run all readers, each once for all parts, and put their rates into the result."""
    makers = {name: PARTS[name](options) for name in chosen if name in PARTS}
    for reader in options.reader or find_readers() if makers else ():
        print(f"reading with {reader}", file=sys.stderr)
        parts = {name: make() for name, make in makers.items()}
        for page in run_reader(reader, options.manuals, options.before):
            for part in parts.values():
                part.add(page)
        rates = result.setdefault("readers", {}).setdefault(reader, {})
        rates.update({name: part.report() for name, part in parts.items()})
        if options.notes:
            options.notes.mkdir(parents=True, exist_ok=True)
            for name, part in parts.items():
                lines = "".join(f"{line}\n" for line in part.list_notes())
                (options.notes / f"{reader}-{name}.txt").write_text(lines, encoding="utf-8")


def prepare_offered(options: argparse.Namespace) -> Callable[[], Part]:
    return lambda: OfferedRates(options.manuals)


def prepare_answers(options: argparse.Namespace) -> Callable[[], Part]:
    questions = read_questions(options.questions)
    return lambda: AnswerRates(questions)


def prepare_paths(options: argparse.Namespace) -> Callable[[], Part]:
    questions = read_questions(options.questions)
    return lambda: HeadingPathRates(questions, options.manuals)


def prepare_superscripts(options: argparse.Namespace) -> Callable[[], Part]:
    found = find_in_pages(options.manuals) + find_in_pdfs(options.manuals)
    return lambda: SuperscriptRates(found)


def prepare_pdf(options: argparse.Namespace) -> Callable[[], Part]:
    words = read_words(options.words)
    known = words | find_vocabulary(options.manuals)
    heads = find_running_heads(options.manuals)
    return lambda: PdfFaults(words, known, heads)


PARTS: dict[str, Callable[[argparse.Namespace], Callable[[], Part]]] = {
    "offered": prepare_offered,
    "answers": prepare_answers,
    "paths": prepare_paths,
    "superscripts": prepare_superscripts,
    "pdf": prepare_pdf,
}
"""Prepare what all readers share, and return a maker of one reader's part."""


def write_page(result: dict[str, Any], page: Path) -> None:
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page}: no lines {BEGIN.strip()} and {END.strip()}")
    page.write_text(before + BEGIN + write_table(result) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
