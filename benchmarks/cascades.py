"""Compare cascades over the dev corpora, without scoring a pair twice.

Usage: python -m benchmarks.cascades CASCADE... --data DATA --manuals FOLDER --cache FOLDER
           [--corpus NAME]... [--scores FOLDER]

CASCADE is a name or a file (TOML); give the one that keeps most candidates first.  Every cascade
answers every question of `benchmarks.open_corpus` through the engine.  The scores of each stage are
kept in memory, and in the folder of scores if one is given, so a second cascade over the same
models costs seconds: use it to choose how many candidates a stage keeps, priors and fusions.
Differences are against the first cascade, paired by question.  Nothing is timed.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.corpora.contenders import make_engine
from benchmarks.corpora.trials import Trial, compare, judge, summarize
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.scorer import Scorer

SHOWN = ("first", "five", "passage_first", "passage_five")


def main() -> None:
    options = parse_options()
    cache = ScoreCaches(options.scores)
    cascades = [cache.open(name) for name in options.cascades]
    for corpus in options.corpus or CORPORA:
        print(f"{corpus:40} {' '.join(f'{name:>22}' for name in SHOWN)}")
        with open_corpus(corpus, options) as (index, _, questions):
            texts = [question.text for question in questions]
            first: list[Trial] | None = None
            for name, cascade in zip(options.cascades, cascades, strict=True):
                replies = make_engine(index, cascade)(texts)
                trials = [judge(*pair) for pair in zip(questions, replies, strict=True)]
                first = first or trials
                print(f"{Path(name).stem:40} {describe(first, trials)}", flush=True)


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cascades", nargs="+", metavar="CASCADE")
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--scores", type=Path, metavar="FOLDER")
    parser.set_defaults(index=None, questions=None, typos=None)
    return parser.parse_args()


class ScoreCaches:
    """Opens cascades that share the scores of their models."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._cached: dict[str, CachedScorer] = {}

    def open(self, name: str) -> Cascade:
        """Open a cascade whose stages keep their scores."""
        cascade = load(name)
        assert isinstance(cascade, Cascade), f"{name} is no cascade"
        stages = [replace(stage, scorer=self._cache(stage.scorer)) for stage in cascade.stages]
        return Cascade(cascade.name, stages, calibration=cascade.calibration)

    def _cache(self, scorer: Scorer) -> Scorer:
        if scorer.name not in self._cached:
            path = self._folder and self._folder / f"{scorer.name}.jsonl"
            self._cached[scorer.name] = CachedScorer(scorer, path=path)
        return self._cached[scorer.name]


def describe(first: list[Trial], trials: list[Trial]) -> str:
    """Return the rates, with the intervals of their differences from the first cascade."""
    rates, shown = summarize(trials), []
    differences = {} if trials is first else compare(first, trials)
    for name in SHOWN:
        change = differences.get(name)
        interval = "" if change is None else f" ({change[1]:+.1f} to {change[2]:+.1f})"
        shown.append(f"{rates[name]:.1f}{interval}".rjust(22))
    return " ".join(shown)


if __name__ == "__main__":
    main()
