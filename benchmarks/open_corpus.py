"""Measure how well a right sentence is found and answered in a whole corpus.

Usage: python -m benchmarks.open_corpus --data DATA --manuals FOLDER --cache FOLDER
           [--before TREE] [--weights FOLDER] [--corpus NAME]... [--row NAME]... [--questions N]
           [--typos SEED] [--index FOLDER] [--baseline before] [--notes FOLDER]
           [--results benchmarks/results/open_corpus.json]
       python -m benchmarks.open_corpus --page docs/retrieval.md

The corpora:

    pooled   documents of six data sets in one index, merged by title, among distractors from two
             more; 120 questions of each set, drawn by document (benchmarks/corpora/pooled.py).
             A sentence is right if it is the gold sentence: the same letters and digits.
    manuals  the manuals of Debian packages (downloaded where FOLDER lacks them), 341 questions of
             users, 37 of which no manual answers.  A sentence is right if the question's pattern
             is found in it.

Rates are averaged over sets.  First answers that are a heading, a question or a fragment by simple
rules (benchmarks/corpora/shapes.py) are counted over the questions with an answer.  `before` is
the default of commit 2a183ad: TREE is a checkout with an environment of its own (git worktree add
TREE 2a183ad; make -C TREE .venv/core), which has the compiled kernel; without it, times do not
compare.  The folder of weights holds
`ms-marco-minilm-l12` (with `model.int8.onnx` and `tokenizer.json`) and `bge-small`;
all-MiniLM-L6-v2 is a package (`rejoinder train static-vectors` names it).  Rows that lack something
are left out.  The cache keeps indexes and embeddings; an index is built again when the source that
builds it has changed.

--typos puts one typo into one content word of each question; rows are then compared with
themselves without typos.  --questions asks only so many of each set, and writes no results.
--index uses an index as it is.  --notes writes questions with their first answers, to read by eye.
The result of each question is kept in a folder beside the results, so that rows that were measured
in different runs are compared in pairs.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import describe_machine
from benchmarks.corpora.contenders import ROWS, Setting, find_missing
from benchmarks.corpora.indexes import build_index, compute_source_digest, write_documents
from benchmarks.corpora.pooled import read_pool
from benchmarks.corpora.questions import Question, add_typo, read_manual_questions, sample
from benchmarks.corpora.reply import Reply
from benchmarks.corpora.shapes import find_headings
from benchmarks.corpora.table import write_tables
from benchmarks.corpora.trials import Trial, compare, judge, read_trials, summarize, write_trials
from benchmarks.manuals.packages import fetch_manuals
from benchmarks.manuals.readers import ROOT
from rejoinder.index.index import Index

RESULTS = ROOT / "benchmarks" / "results" / "open_corpus.json"
BEGIN, END = "<!-- open corpus: begin -->\n", "<!-- open corpus: end -->\n"
CORPORA = ("pooled", "manuals")


def main() -> None:
    options = parse_options()
    result: dict[str, Any] = {"corpora": {}}
    if options.results.exists():
        result = json.loads(options.results.read_text(encoding="utf-8"))
    if options.page:
        write_page(result, options.page)
        return
    rows = []
    for row in options.row or ROWS:
        if missing := find_missing(row, options):
            print(f"{row}: left out, without {' and '.join(missing)}", file=sys.stderr)
        else:
            rows.append(row)
    measured = {"corpora": {}} if options.questions else result
    measured["machine"] = describe_machine()
    for corpus in options.corpus or CORPORA:
        measure_corpus(measured, corpus, rows, options)
        if not options.questions:
            options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(write_tables(measured))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--before", type=Path, metavar="TREE")
    parser.add_argument("--weights", type=Path, metavar="FOLDER")
    parser.add_argument("--corpus", "--only", choices=CORPORA, action="append")
    parser.add_argument("--row", choices=ROWS, action="append")
    parser.add_argument("--questions", type=int, metavar="N")
    parser.add_argument("--typos", type=int, metavar="SEED")
    parser.add_argument("--index", type=Path, metavar="FOLDER")
    parser.add_argument("--baseline", choices=ROWS, default="before")
    parser.add_argument("--notes", type=Path, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.index and len(options.corpus or CORPORA) != 1:
        parser.error("--index needs one --corpus")
    return options


def measure_corpus(
    result: dict[str, Any], corpus: str, rows: list[str], options: argparse.Namespace
) -> None:
    """Put the rates of all rows over one corpus into the result."""
    name = corpus if options.typos is None else f"{corpus}, typos {options.typos}"
    own = result["corpora"].setdefault(name, {"rows": {}})
    measured: dict[str, list[Trial]] = {}
    with open_corpus(corpus, options) as (index, content, questions):
        counts = index.count()
        own |= {
            "documents": counts.documents,
            "sentences": index.store.count_candidates(),
            "questions": len(questions),
            "answerable": sum(question.is_answerable for question in questions),
        }
        headings = find_headings(index)
        for row in rows:
            print(f"{name}: {row}", file=sys.stderr)
            setting = Setting(corpus, index, content, options)
            measured[row] = measure_row(row, setting, questions, name, headings)
            own["rows"][row] = summarize(measured[row])
            if not options.questions:
                write_trials(measured[row], find_trials(options, name, row))
    own["baseline"] = options.baseline if options.typos is None else "the same without typos"
    for row, rates in own["rows"].items():
        if options.typos is not None:
            others = read_trials(find_trials(options, corpus, row))
        elif row == options.baseline:
            continue
        else:
            path = find_trials(options, name, options.baseline)
            others = measured.get(options.baseline) or read_trials(path)
        trials = measured.get(row) or read_trials(find_trials(options, name, row))
        rates["against"] = compare(others, trials)


def find_trials(options: argparse.Namespace, name: str, row: str) -> Path:
    """Return the file with the result of each question."""
    folder: Path = options.results.with_suffix("")
    return folder / f"{to_stem(name)}-{row}.jsonl"


def to_stem(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


@contextmanager
def open_corpus(
    corpus: str, options: argparse.Namespace
) -> Iterator[tuple[Index, Path, list[Question]]]:
    """Yield the index, what it was built from, and the questions."""
    options.cache.mkdir(parents=True, exist_ok=True)
    if corpus == "manuals":
        fetch_manuals(options.manuals)
        questions, content = read_manual_questions(), options.manuals.resolve()
        index = build_index(find_index(corpus, options), content)
    else:
        documents, questions = read_pool(options.data)
        content = write_documents(documents, options.cache)
        index = build_index(find_index(content.stem, options), documents)
    questions = sample(questions, options.questions)
    if options.typos is not None:
        questions = [add_typo(question, options.typos) for question in questions]
    with index:
        yield index, content, questions


def find_index(stem: str, options: argparse.Namespace) -> Path:
    folder: Path = options.index or options.cache / f"{stem}-{compute_source_digest()}"
    return folder


def measure_row(
    row: str,
    setting: Setting,
    questions: list[Question],
    name: str,
    headings: frozenset[str],
) -> list[Trial]:
    contender = ROWS[row][1](setting)
    trials, notes = [], []
    replies = contender([question.text for question in questions])
    for question, reply in zip(questions, replies, strict=True):
        trials.append(judge(question, reply, headings))
        notes.append(describe(question, reply, trials[-1]))
    if setting.options.notes:
        setting.options.notes.mkdir(parents=True, exist_ok=True)
        path = setting.options.notes / f"{to_stem(name)}-{row}.txt"
        path.write_text("\n".join(notes), encoding="utf-8")
    return trials


def describe(question: Question, reply: Reply, trial: Trial) -> str:
    """Return a question with its answers, to read by eye; right answers have a plus."""
    rank = trial.found or "not"
    state = "abstains" if reply.abstains else "answers"
    lines = [f"{question.id}\t{question.text}\t{rank} found\t{state}"]
    for text, is_right, is_near in zip(reply.answers, trial.answers, trial.shown, strict=False):
        lines.append(f"  {'+' if is_right else '~' if is_near else '-'} {text}")
    return "".join(f"{line}\n" for line in lines)


def write_page(result: dict[str, Any], page: Path) -> None:
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page}: no lines {BEGIN.strip()} and {END.strip()}")
    text = before + BEGIN + "\n" + write_tables(result) + "\n" + END + after
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
