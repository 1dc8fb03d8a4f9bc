"""Holds scorers against the first of them, question by question."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rejoinder.evaluation.evaluate import Report
from rejoinder.evaluation.significance import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    randomisation_test,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a scorer is from the first one in one measure, and how sure that is."""

    mean: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One scorer's report with its intervals; the first has no differences."""

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


def compare(reports: Sequence[Report], *, seed: int = 0) -> list[Compared]:
    """Compare every report with the first, by paired tests over the same questions."""
    first = reports[0]
    if any(_question_ids(report) != _question_ids(first) for report in reports):
        raise ValueError("reports cover different questions")
    return [
        Compared(
            report,
            {name: bootstrap_mean(values, seed=seed) for name, values in report.values.items()},
            {} if report is first else _differences(first, report, seed),
        )
        for report in reports
    ]


def _question_ids(report: Report) -> list[str]:
    return [item.question_id for item in report.judged]


def _differences(first: Report, report: Report, seed: int) -> dict[str, Difference]:
    means = {name: report.means[name] - first.means[name] for name in report.values}
    return {
        name: Difference(
            means[name],
            bootstrap_difference(first.values[name], values, seed=seed),
            randomisation_test(first.values[name], values, seed=seed),
        )
        for name, values in report.values.items()
    }
