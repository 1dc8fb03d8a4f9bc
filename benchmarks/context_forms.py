"""Compare what a selector reads around a candidate, asked of whole corpora.

Usage: python -m benchmarks.context_forms --data DATA --manuals FOLDER --training-manuals FOLDER
           --start BUNDLE --cache FOLDER --to FOLDER [--form FORM]... [--results FILE]
       python -m benchmarks.context_forms --page docs/models/context.md

Every form is trained by one short recipe on the same lists, from one selector that reads the
sentence alone: BUNDLE is the one that was included before it read titles (the files of
`git ls-tree ad76d74^:src/rejoinder/weights/selector`).  The lists are mined as those of the
included selector (`benchmarks.corpus_lists`), with the sentences of the documents.  Each trained
selector is then the last stage of the default cascade, over as many candidates as the default
keeps, and answers the questions of `benchmarks.open_corpus`.

Milliseconds per pair are CPU time of one thread, from text to score, over the candidates of the
last stage; all forms take turns, and the median of the questions is kept.  They include the search
for the context in a document that is known already, not its reading from disk.

An interrupted run resumes: the lists, the bundles, and the answers of each form are kept.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.corpora.contenders import make_engine
from benchmarks.corpora.trials import RATES, Trial, compare, judge, summarize
from benchmarks.corpus_lists import DATA, MANUALS, UNREAD, list_excluded
from benchmarks.manuals.packages import fetch_packages
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.bundle.folder import open_bundle
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.training.mining import mine_lists
from rejoinder.training.options import MiningOptions, SelectorOptions
from rejoinder.training.selector import train_selector
from rejoinder.types import Candidate

RESULTS = ROOT / "benchmarks" / "results" / "context_forms.json"
BEGIN, END = "<!-- context forms: begin -->\n", "<!-- context forms: end -->\n"
FORMS = {
    "none": "nothing",
    "title": "title",
    "headings": "title and headings",
    "local": "previous and next sentence",
    "stored": "both, and the page, as stored vectors",
    "multi-way": "both, and the page, with multi-way attention",
}
SHARE = 0.025
"""The share of the questions of the included selector's lists."""
HEADINGS = 110
CANDIDATES = 6
"""Candidates of a list: few, because reading pages is slow."""
TEACHER = "selector"
TEACHER_SHARE = 0.4
TIMED = 40
"""Questions of each corpus whose pairs are timed."""
SHOWN = ("first", "five", "passage_first")


def main() -> None:
    options = parse_options()
    path: Path = options.results
    result: dict[str, Any] = {"forms": {}}
    if path.exists():
        result = json.loads(path.read_text(encoding="utf-8"))
    if options.page:
        write_page(result, options.page)
        return
    for form in options.form or FORMS:
        bundle = train(form, options)
        for corpus in CORPORA:
            own = result["forms"].setdefault(form, {"training": describe(bundle), "trials": {}})
            if corpus not in own["trials"]:
                say(f"{form}: answering the questions of {corpus}")
                own["trials"][corpus] = [asdict(trial) for trial in ask(bundle, corpus, options)]
                write(result, path)
    trained = {form: options.to / form for form in FORMS if form in result["forms"]}
    for corpus in CORPORA:
        for form, milliseconds in time_forms(trained, corpus, options).items():
            result["forms"][form].setdefault("pair_ms", {})[corpus] = milliseconds
    result["machine"] = describe_machine()
    write(result, path)
    print("\n".join(write_table(result)))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--training-manuals", type=Path, default=Path("training-manuals"))
    parser.add_argument("--start", type=Path, metavar="BUNDLE")
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--to", type=Path, default=Path("context-forms"), metavar="FOLDER")
    parser.add_argument("--form", choices=FORMS, action="append")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    parser.set_defaults(index=None, questions=None, typos=None)
    options = parser.parse_args()
    if not options.page and not options.start:
        parser.error("--start is missing")
    return options


def train(form: str, options: argparse.Namespace) -> Path:
    """Return the selector that reads this form; it is trained unless it is there already."""
    target: Path = options.to / form
    if target.exists():
        return target
    lists = mine(options)
    say(f"{form}: training")
    recipe = SelectorOptions(
        to=target,
        start=[str(options.start)],
        context=form,
        teacher=[TEACHER],
        teacher_share=TEACHER_SHARE,
        questions_per_step=8,
        learning_rate=3e-5,
    )
    # All forms learn from the same opinions, so they are asked for once.
    scores, kept = options.to / "teacher.jsonl", Path(f"{target}.teacher.jsonl")
    if scores.exists() and not kept.exists():
        kept.write_bytes(scores.read_bytes())
    trained = train_selector(recipe, [str(lists)], say=say)
    kept.replace(scores)
    return trained.bundle


def mine(options: argparse.Namespace) -> Path:
    """Return lists with the sentences of their documents; they are mined once."""
    target: Path = options.to / "lists.jsonl.gz"
    if target.exists():
        return target
    options.to.mkdir(parents=True, exist_ok=True)
    fetch_packages(MANUALS, options.training_manuals, unread=UNREAD)
    with tempfile.TemporaryDirectory() as folder:
        exclude = Path(folder, "exclude.txt")
        exclude.write_text("".join(f"{text}\n" for text in list_excluded(options.data)))
        mining = MiningOptions(
            to=target,
            documents=[options.training_manuals],
            headings=HEADINGS,
            candidates=CANDIDATES,
            exclude=exclude,
            sentences=True,
            untitled=0.0,
            data_folder=options.data,
        )
        mined = mine_lists(mining, list(scale_data()), say=say)
    say(str(mined))
    return target


def scale_data() -> Iterator[str]:
    """Yield the data of the included selector's lists with smaller shares."""
    for choice in DATA:
        name, _, weight = choice.partition("@")
        yield f"{name}@{SHARE * float(weight or 1):.4f}"


def describe(bundle: Path) -> dict[str, Any]:
    training = open_bundle(bundle).manifest.training
    return {name: training[name] for name in ("steps", "seconds", "epochs", "learning_rate")}


def ask(bundle: Path, corpus: str, options: argparse.Namespace) -> Iterator[Trial]:
    """Yield the trials of the default cascade with this selector as its last stage."""
    default = load_default()
    stages = [replace(item, scorer=CachedScorer(item.scorer)) for item in default.stages[:-1]]
    last = replace(default.stages[-1], scorer=CachedScorer(open_selector(bundle, threads=2)))
    with open_corpus(corpus, options) as (index, _, questions):
        replies = make_engine(index, Cascade(bundle.name, [*stages, last]))(
            [question.text for question in questions]
        )
        for question, reply in zip(questions, replies, strict=True):
            yield judge(question, reply)


def load_default() -> Cascade:
    cascade = load()
    assert isinstance(cascade, Cascade)
    return cascade


def open_selector(bundle: Path, *, threads: int) -> SelectorScorer:
    return SelectorScorer(open_bundle(bundle), Runtime(threads=threads))


class Recorder:
    """Keeps the lists that the last stage of a cascade receives; gives every candidate 0."""

    name = "recorder"
    is_pointwise = True

    def __init__(self) -> None:
        self.lists: list[tuple[str, list[Candidate]]] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return zeros."""
        kept = [item for item in candidates if isinstance(item, Candidate)]
        self.lists.append((question, kept))
        return np.zeros(len(candidates))


def time_forms(
    bundles: dict[str, Path], corpus: str, options: argparse.Namespace
) -> dict[str, float]:
    """Return the median milliseconds per pair of each form, over the same candidates."""
    scorers = {form: open_selector(bundle, threads=1) for form, bundle in bundles.items()}
    *stages, last = load_default().stages
    recorder = Recorder()
    cascade = Cascade("recorded", [*stages, replace(last, scorer=recorder)])
    taken: dict[str, list[float]] = {form: [] for form in scorers}
    with open_corpus(corpus, options) as (index, _, questions):
        step = max(1, len(questions) // TIMED)
        for question in questions[::step][:TIMED]:
            hits = index.search(question.text, stages[0].keep or 200)
            recorder.lists.clear()
            cascade.score(question.text, [hit.candidate for hit in hits])
            (pairs,) = recorder.lists
            for form, scorer in scorers.items():
                scorer.score(*pairs)  # documents are read, and prepared once
                start = time.process_time()  # other work on the machine must not count
                scorer.score(*pairs)
                taken[form].append(1000 * (time.process_time() - start) / len(pairs[1]))
    return {form: round(median(own), 3) for form, own in taken.items()}


def write(result: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(result, indent=None) + "\n", encoding="utf-8")


def write_table(result: dict[str, Any]) -> Iterator[str]:
    """Yield the table of each corpus in Markdown."""
    names = {"first": "first answer right", "five": "among five", "passage_first": "passage first"}
    known = [form for form in FORMS if form in result["forms"]]
    for corpus in CORPORA:
        trials = {form: read_trials(result["forms"][form], corpus) for form in known}
        done = [form for form in known if trials[form]]
        if not done:
            continue
        columns = " | ".join(names[name] for name in SHOWN)
        yield f"| {corpus}: reads | {columns} | ms per pair |"
        yield f"|---|{'---:|' * (len(SHOWN) + 1)}"
        for form in done:
            cells = describe_rates(trials[form], trials[done[0]] if form != done[0] else None)
            taken = result["forms"][form].get("pair_ms", {}).get(corpus)
            yield f"| {FORMS[form]} | {' | '.join(cells)} | {taken or '–'} |"
        yield ""


def read_trials(own: dict[str, Any], corpus: str) -> list[Trial]:
    return [Trial(**row) for row in own["trials"].get(corpus, [])]


def describe_rates(trials: Sequence[Trial], others: Sequence[Trial] | None) -> list[str]:
    """Return the rates, with the intervals of their differences from the first form."""
    rates = summarize(trials)
    changes = compare(others, trials) if others else {}
    cells = []
    for name in SHOWN:
        assert name in RATES
        change = changes.get(name)
        interval = f" ({change[1]:+.1f} to {change[2]:+.1f})" if change else ""
        cells.append(f"{rates[name]:.1f}{interval}")
    return cells


def write_page(result: dict[str, Any], page: Path) -> None:
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page}: no lines {BEGIN.strip()} and {END.strip()}")
    table = "\n".join(write_table(result))
    page.write_text(before + BEGIN + "\n" + table + "\n" + END + after, encoding="utf-8")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
