"""Compares scorers with the first of them, question by question."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError
from rejoinder.evaluation.measures import DEFAULT_MEASURES, Protocol
from rejoinder.evaluation.reports import Report, evaluate, join_reports, open_examples
from rejoinder.evaluation.significance import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    randomisation_test,
)
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example

AnyScorer = str | Path | Scorer


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a scorer from the first one in one measure, with its significance."""

    mean: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The report of one scorer with its intervals; the first scorer has no differences."""

    report: Report
    intervals: dict[str, Interval]
    differences: dict[str, Difference]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON types."""
        return {
            **self.report.to_dict(),
            "intervals": {name: asdict(value) for name, value in self.intervals.items()},
            "differences": {name: asdict(value) for name, value in self.differences.items()},
        }


def compare(
    scorers: Sequence[AnyScorer | Sequence[AnyScorer]],
    dataset: str | Path | Iterable[Example],
    *,
    split: str | None = None,
    folder: Path | None = None,
    protocol: Protocol | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    seed: int = 0,
) -> list[Comparison]:
    """Evaluate every scorer, and compare each with the first by paired tests.

    The arguments are those of `evaluate`; `seed` is the seed of the tests.  A sequence of scorers
    is one model, trained with several seeds: its values are averaged over them, question by
    question.

    Raises:
        InputError: there are fewer than two scorers, or nothing can be measured.
        UnknownNameError: no scorer, data set, split or measure has this name.
    """
    if len(scorers) < 2:
        raise InputError("compare needs two scorers or more, and then the data set")
    groups = [_list_members(group) for group in scorers]
    members = [one for group in groups for one in group]
    name, split, opened = open_examples(dataset, split, folder, members)
    examples = list(opened)

    def measure(members: Sequence[AnyScorer]) -> Report:
        if not members:
            raise InputError("a group of scorers is empty")
        reports = [evaluate(one, examples, protocol=protocol, measures=measures) for one in members]
        joined = join_reports(reports, _name_group(members)) if len(reports) > 1 else reports[0]
        return replace(joined, dataset=name, split=split)

    reports = [measure(group) for group in groups]
    return [_compare(reports[0], report, seed) for report in reports]


def _list_members(group: AnyScorer | Sequence[AnyScorer]) -> list[AnyScorer]:
    if isinstance(group, Sequence) and not isinstance(group, str):
        return list(group)
    return [group]


def _name_group(members: Sequence[AnyScorer]) -> str:
    """Return what the names have in common, and their number: has-0 and has-1 are `has x2`."""
    names = [Path(item).name if isinstance(item, str | Path) else item.name for item in members]
    same = takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in same).rstrip("-_. 0123456789")
    return f"{common or ','.join(names)} x{len(names)}"


def _compare(first: Report, report: Report, seed: int) -> Comparison:
    intervals = {name: bootstrap_mean(values, seed=seed) for name, values in report.values.items()}
    differences = {
        name: Difference(
            report.means[name] - first.means[name],
            bootstrap_difference(first.values[name], values, seed=seed),
            randomisation_test(first.values[name], values, seed=seed),
        )
        for name, values in report.values.items()
        if report is not first
    }
    return Comparison(report, intervals, differences)
