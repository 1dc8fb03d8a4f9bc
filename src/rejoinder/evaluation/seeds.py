"""Evaluates a scorer once per seed, and tells mean and deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from rejoinder.evaluation.evaluate import Report, evaluate
from rejoinder.evaluation.measures import DEFAULT_MEASURES
from rejoinder.evaluation.protocol import Protocol
from rejoinder.models.registry import list_named
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class SeededReport:
    """The reports of runs that differ in their seed alone."""

    reports: tuple[Report, ...]

    @property
    def means(self) -> dict[str, float]:
        """Of each measure, the mean over seeds."""
        return {name: fmean(values) for name, values in self._by_measure().items()}

    @property
    def deviations(self) -> dict[str, float]:
        """Of each measure, the sample standard deviation over seeds; needs two or more."""
        return {name: stdev(values) for name, values in self._by_measure().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return means with their protocol, and deviations where there are several seeds."""
        first = self.reports[0].to_dict()
        if len(self.reports) == 1:
            return first
        return first | self.means | {"seeds": len(self.reports), "deviations": self.deviations}

    def _by_measure(self) -> dict[str, list[float]]:
        means = [report.means for report in self.reports]
        return {name: [run[name] for run in means] for name in means[0]}


def evaluate_named(
    scorer: str,
    examples: Sequence[Example],
    *,
    protocol: Protocol,
    measures: Sequence[str] = DEFAULT_MEASURES,
    seeds: int = 1,
) -> SeededReport:
    """Load a scorer by name, with the protocol's words, and evaluate it once per seed.

    Raises:
        UnknownNameError: no scorer has this name.
        InputError: several seeds for a scorer that draws no random numbers.
    """
    runs = [load(scorer, words=protocol.words, seed=seed) for seed in range(seeds)]
    named = list_named()
    if seeds > 1 and not (scorer in named and named[scorer].is_seeded):
        raise InputError(f"scorer {scorer!r} draws no random numbers; leave out the seeds")
    return SeededReport(
        tuple(evaluate(run, examples, protocol=protocol, measures=measures) for run in runs)
    )
