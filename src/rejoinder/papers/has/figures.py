"""The study of beta and delta as a picture: Figures 2 and 3 of Xu & Li 2020."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.evaluation.plots import plotting
from rejoinder.papers.table import Summary

if TYPE_CHECKING:
    from rejoinder.papers.has.tables import HasRow

LEAST_DELTA = 1e-7
"""A logarithmic axis has no zero: below this one, the axis of delta is linear."""


def plot_study(path: Path, studies: "Mapping[str, Sequence[Summary[HasRow]]]") -> None:
    """Plot a study's first measure against beta, and against delta; one line for each data set.

    Bars are the deviation over seeds.  Each line keeps the other number at its default.
    """
    with plotting(path, panels=2) as (betas, deltas):
        for name, summaries in studies.items():
            measure = next(iter(summaries[0].means))
            for axes, field, other in ((betas, "beta", "delta"), (deltas, "delta", "beta")):
                fixed = _find_default(summaries, other)
                own = [item for item in summaries if getattr(item.row.config, other) == fixed]
                own.sort(key=lambda item: getattr(item.row.config, field))
                axes.errorbar(
                    [getattr(item.row.config, field) for item in own],
                    [item.means[measure] for item in own],
                    [item.deviations[measure] for item in own],
                    fmt=".-",
                    capsize=3,
                    label=f"{name}: {measure}, {other} = {fixed:g}",
                )
        betas.set(xscale="log", xlabel="beta", ylabel="per cent")
        deltas.set_xscale("symlog", linthresh=LEAST_DELTA)
        deltas.set(xlabel="delta")


def _find_default(summaries: "Sequence[Summary[HasRow]]", name: str) -> float:
    """Return the value that most rows have: the other number is varied at it."""
    values: list[float] = [getattr(item.row.config, name) for item in summaries]
    return max(values, key=values.count)
