"""Measure `cite`: which sentence it cites first, and which statements it flags.

Usage: python -m benchmarks.citing --data DATA --to benchmarks/results/citing.json \
           --page docs/citing.md

The lists are those of `benchmarks.statements` that are held back (dev).  Each list with a
supporting sentence counts twice: as it is, and with its support taken out, which has to be flagged.
Statements that are false are flagged rightly, too, and counted by themselves.  `cite` runs its
cascade, and flags at its own threshold.  The contenders score every sentence, and flag at the
threshold that is best on these very lists, with precision and recall as equal as they can be.

End to end, `cite` gets the statements made of questions, and an index of all their pages: it has
to find the sentences, too.  One core and two, in milliseconds per statement.

Prints the table, and writes it into a page between two marks.  8 minutes on two idle cores.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import get_percentiles
from benchmarks.statements import make_lists, read_asked
from rejoinder.cascade.calibration import to_probability
from rejoinder.engine.citing import MIN_SUPPORT, cite, load_citing
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.models.ranking import order
from rejoinder.models.registry import open_scorer
from rejoinder.types import Candidate, Document, Example

CITE = "cite"
CONTENDERS = {
    "passage-selector": "ms-marco-MiniLM-L-12, every sentence",
    "selector": "the `selector` as it is, every sentence",
}
GROUPS = {
    "pairs": "statements from question + answer",
    "fever": "FEVER",
    "fm2": "FoolMeTwice",
    "wice": "WiCE",
}
BEGIN, END = "<!-- benchmarks.citing -->\n", "<!-- end of benchmarks.citing -->"

Score = Callable[[str, Sequence[Candidate]], list[float]]
"""Scores the candidates of a statement; the lowest number for those that are not scored."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A list as a scorer saw it: with its support, and without it."""

    group: str
    labels: tuple[bool, ...]
    scores: list[float]
    without: list[float]
    """The scores of the candidates that do not support, in a list of their own."""

    @property
    def is_supported(self) -> bool:
        """Whether a sentence of the list supports the statement."""
        return any(self.labels)


def find_group(id: str) -> str:
    """Return the group of a list."""
    source = id.partition("/")[0].partition("-")[0]
    return source if source in GROUPS else "pairs"


def cite_statement(statement: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return the support of each candidate, as `rejoinder.cite` scores it; 0 if it is dropped."""
    scorer = load_citing()
    places = {candidate.id: place for place, candidate in enumerate(candidates)}
    found = [0.0] * len(candidates)
    for item in order(statement, candidates, scorer=scorer).items:
        if item.stage == len(scorer.stages) - 1:
            found[places[item.candidate.id]] = to_probability(item.score)
    return found


def run(
    score: Score, examples: Sequence[Example], *, is_pointwise: bool
) -> tuple[list[Seen], float]:
    """Return what a scorer makes of the lists, and its milliseconds per statement."""
    score(examples[0].question, examples[0].candidates)  # the first call opens its weights
    seen, seconds = [], 0.0
    for example in examples:
        start = time.perf_counter()
        scores = score(example.question, example.candidates)
        seconds += time.perf_counter() - start
        others = [place for place, label in enumerate(example.labels) if not label]
        without = [scores[place] for place in others]
        if any(example.labels) and not is_pointwise:
            without = score(example.question, [example.candidates[place] for place in others])
        seen.append(Seen(find_group(example.id), example.labels, scores, without))
    return seen, 1000 * seconds / len(examples)


def find_threshold(seen: Sequence[Seen]) -> float:
    """Return the threshold with the best of the lower of precision and recall."""
    both = [item for item in seen if item.is_supported]
    values = np.unique([max(scores) for item in both for scores in (item.scores, item.without)])
    tried = values[np.linspace(0, len(values) - 1, min(500, len(values))).astype(int)]
    return float(max(tried, key=lambda value: min(rate_flags(both, value))))


def rate_flags(seen: Sequence[Seen], threshold: float) -> tuple[float, float]:
    """Return precision and recall of flagging lists whose support was taken out."""
    both = [item for item in seen if item.is_supported]
    right = sum(max(item.without) < threshold for item in both)
    wrong = sum(max(item.scores) < threshold for item in both)
    return right / max(1, right + wrong), right / max(1, len(both))


def measure(seen: Sequence[Seen], threshold: float) -> dict[str, Any]:
    """Return the measures of a group in percent."""
    both = [item for item in seen if item.is_supported]
    false = [item for item in seen if not item.is_supported]
    precision, recall = rate_flags(seen, threshold)
    first = [item.labels[int(np.argmax(item.scores))] for item in both]
    cited = [
        label
        for item in both
        for label, score in zip(item.labels, item.scores, strict=True)
        if score >= threshold
    ]
    supporting = sum(sum(item.labels) for item in both)
    flagged = [max(item.scores) < threshold for item in false]
    return {
        "statements": len(both),
        "first": _percent(sum(first), len(both)),
        "flag_precision": round(100 * precision, 1),
        "flag_recall": round(100 * recall, 1),
        "sentence_precision": _percent(sum(cited), len(cited)),
        "sentence_recall": _percent(sum(cited), supporting),
        "false": len(false),
        "false_flagged": _percent(sum(flagged), len(false)),
    }


def _percent(count: int, of: int) -> float | None:
    return round(100 * count / of, 1) if of else None


def measure_all(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the measures of `cite` and of the contenders, by group."""
    result: dict[str, Any] = {}
    for name in (CITE, *CONTENDERS):
        is_cite = name == CITE
        score = cite_statement if is_cite else _score_with(name)
        seen, milliseconds = run(score, examples, is_pointwise=not is_cite)
        result[name] = {"ms_per_statement": round(milliseconds, 1)}
        for group in GROUPS:
            own = [item for item in seen if item.group == group]
            threshold = MIN_SUPPORT if is_cite else find_threshold(own)
            result[name][group] = measure(own, threshold)
    return result


def read_paragraphs(data: Path) -> dict[str, list[Sequence[str]]]:
    """Return the held-back paragraphs of each title."""
    found: dict[str, dict[Sequence[str], None]] = {}
    for item in read_asked(data):
        if item.held_out:
            found.setdefault(item.title, {})[item.sentences] = None
    return {title: list(own) for title, own in found.items()}


def measure_end_to_end(
    paragraphs: Mapping[str, Sequence[Sequence[str]]], examples: Sequence[Example], folder: Path
) -> dict[str, Any]:
    """Return the measures of `cite` over an index of pages, and its times by number of cores."""
    with Index(folder, create=True) as index:
        index.add_documents(
            Document(title, title, text="\n\n".join(map(" ".join, own)))
            for title, own in paragraphs.items()
        )
        sentences = index.count().sentences
    result: dict[str, Any] = {"pages": len(paragraphs), "sentences": sentences}
    cores = sorted(os.sched_getaffinity(0))
    for count in {1, len(cores)}:
        os.sched_setaffinity(0, cores[:count])
        load_citing.cache_clear()
        try:
            with Engine(Index(folder)) as engine:
                measured, times = _cite_all(examples, engine)
        finally:
            os.sched_setaffinity(0, cores)
        result[f"{count} cores"] = get_percentiles(times, 50, 95)
        result |= measured
    return result


def _cite_all(examples: Sequence[Example], engine: Engine) -> tuple[dict[str, Any], list[float]]:
    cite("Nothing is known.", engine)  # the first call opens the weights
    times, first, listed, flagged = [], [], [], []
    for example in examples:
        found = cite(example.question, engine)
        times.append(found.milliseconds)
        right = [text for text, label in zip(_texts(example), example.labels, strict=True) if label]
        citations = [item.sentence for own in found.statements for item in own.citations]
        if right:
            hits = [any(text in cited or cited in text for text in right) for cited in citations]
            first.append(hits[:1] == [True])
            listed.append(any(hits))
        else:
            flagged.append(not citations)
    return {
        "statements": len(first),
        "first": _percent(sum(first), len(first)),
        "listed": _percent(sum(listed), len(listed)),
        "false": len(flagged),
        "false_flagged": _percent(sum(flagged), len(flagged)),
    }, times


def _texts(example: Example) -> list[str]:
    return [candidate.text for candidate in example.candidates]


def _score_with(name: str) -> Score:
    scorer = open_scorer(name)
    return lambda statement, candidates: scorer.score(statement, candidates).tolist()


def render(result: dict[str, Any]) -> str:
    """Return the table of a page."""
    columns = {
        "first": "support first",
        "flag_precision": "flagged: precision",
        "flag_recall": "recall",
        "sentence_precision": "cited: precision",
        "sentence_recall": "recall",
        "false_flagged": "false ones flagged",
    }
    names = {CITE: "**`cite`**", **CONTENDERS}
    lines = [
        f"| statements | scorer | {' | '.join(columns.values())} |",
        "|---|---|" + "---|" * len(columns),
    ]
    for group, title in GROUPS.items():
        for name, shown in names.items():
            own = result[name][group]
            cells = " | ".join(f"{own[column]}" for column in columns)
            lines.append(
                f"| {title}: {own['statements']}, {own['false']} false | {shown} | {cells} |"
            )
    times = [f"{shown} {result[name]['ms_per_statement']}" for name, shown in names.items()]
    lines += ["", f"Milliseconds per statement: {', '.join(times)}.", ""]
    if own := result.get("end_to_end"):
        by_cores = [f"{own[key]['p50_ms']:.0f} ({key})" for key in own if key.endswith(" cores")]
        lines += [
            f"End to end, over an index of the {own['pages']:,} pages"
            f" ({own['sentences']:,} sentences) of the first row's statements: a supporting"
            f" sentence is cited first for {own['first']} % of {own['statements']}, among three"
            f" for {own['listed']} %; {own['false_flagged']} % of {own['false']} false ones are"
            " flagged."
            f" Milliseconds per statement (p50): {', '.join(by_cores)}.",
            "",
        ]
    return "\n".join(lines)


def write_page(page: Path, table: str, begin: str = BEGIN, end: str = END) -> None:
    """Write the table between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    lists = make_lists(arguments.data)["dev"]
    result = measure_all(lists)
    with TemporaryDirectory() as folder:
        asked = [example for example in lists if find_group(example.id) == "pairs"]
        pages = read_paragraphs(arguments.data)
        result["end_to_end"] = measure_end_to_end(pages, asked, Path(folder) / "index")
    if arguments.to:
        arguments.to.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_page(arguments.page, render(result))
    print(render(result))


if __name__ == "__main__":
    main()
