"""Measure what the stages of the shipped cascades cost, and write it into their files.

Usage: python -m benchmarks.costs --data DATA --cache CACHE [--scorer NAME]... [--tuned FILE]

The lists are what an index finds for questions of the corpus `pooled` (CACHE is the folder that
benchmarks.open_corpus fills): candidates with stored tokens, and with passages where a stage reads
them.  They are timed as `rejoinder tune` does it.  With --tuned, the `[[frontier]]` of that file,
which `rejoinder tune` wrote, becomes that of `default`.  Run it on an idle machine.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from benchmarks.confidence import find
from benchmarks.corpora.questions import Question, sample
from benchmarks.open_corpus import open_corpus
from rejoinder.cascade.budget import Cost
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import read_cascade_file, write_cascade_file
from rejoinder.cascade.loading import DEFAULT, THOROUGH, find_cascade, load
from rejoinder.evaluation.timing import TIMED_QUESTIONS, measure_cost
from rejoinder.index.index import Index
from rejoinder.types import Example


def main() -> None:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--scorer", action="append", choices=(DEFAULT, THOROUGH))
    parser.add_argument("--tuned", type=Path, metavar="FILE")
    parser.set_defaults(questions=None, typos=None, index=None)
    options = parser.parse_args()
    with open_corpus("pooled", options) as (index, _, questions):
        for name in options.scorer or (DEFAULT, THOROUGH):
            scorer = load(name)
            assert isinstance(scorer, Cascade)
            costs = measure_stages(scorer, index, sample(questions, TIMED_QUESTIONS))
            for stage, cost in zip(scorer.stages, costs, strict=True):
                print(f"{name:10} {stage.scorer.name:30} {cost}")
            write_costs(find_cascade(name), costs)
    if options.tuned:
        copy_frontier(options.tuned, find_cascade(DEFAULT))


def measure_stages(scorer: Cascade, index: Index, questions: Sequence[Question]) -> list[Cost]:
    """Return the cost of each stage on what an index finds for the questions."""
    examples = []
    for question in questions:
        found = tuple(find(index, question, scorer))
        examples.append(Example(question.id, question.text, found, (False,) * len(found)))
    return [measure_cost(stage.scorer, examples) for stage in scorer.stages]


def write_costs(path: Path, costs: Sequence[Cost]) -> None:
    """Put the costs of the stages into a cascade file."""
    cascade = read_cascade_file(path)
    stages = tuple(
        structs.replace(stage, cost=cost) for stage, cost in zip(cascade.stages, costs, strict=True)
    )
    write_cascade_file(path, structs.replace(cascade, stages=stages))


def copy_frontier(tuned: Path, path: Path) -> None:
    """Put the frontier of a tuned cascade file into another file."""
    frontier = read_cascade_file(tuned).frontier
    write_cascade_file(path, structs.replace(read_cascade_file(path), frontier=frontier))


if __name__ == "__main__":
    main()
