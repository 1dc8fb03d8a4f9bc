"""Plots accuracy against latency, and precision against answer rate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.evaluation.calibration.confidence import CalibrationReport
from rejoinder.evaluation.replay import Outcome


def plot_frontier(
    path: Path, outcomes: Sequence[Outcome], frontier: Sequence[Outcome], chosen: Outcome
) -> None:
    """Plot cascades as dots (colour: last stage), the frontier as a line, the chosen as a star."""

    def place(items: Sequence[Outcome]) -> tuple[list[float], list[float]]:
        return [item.latency_ms for item in items], [100 * item.accuracy for item in items]

    with plotting(path) as axes:
        for number, last in enumerate(dict.fromkeys(item.names[-1] for item in outcomes)):
            own = [item for item in outcomes if item.names[-1] == last]
            style = {"color": f"C{number % 10}", "alpha": 0.4, "label": f"last stage: {last}"}
            axes.plot(*place(own), ".", **style)
        axes.plot(*place(frontier), color="black", linewidth=1, label="frontier")
        axes.plot(*place([chosen]), "k*", markersize=12, label=chosen.label)
        axes.set(xscale="log", xlabel="milliseconds per question", ylabel="P@1")


def plot_curves(path: Path, reports: Mapping[str, CalibrationReport]) -> None:
    """Plot precision against answer rate, one line for each data set."""
    with plotting(path) as axes:
        for name, report in reports.items():
            # Long names would leave no room for the curve.
            short = shorten(name, 40, placeholder=" …")
            label = f"{short} ({100 * report.area_share:.0f} % of the oracle)"
            axes.plot(100 * report.curve.rates, 100 * report.curve.precisions, label=label)
            axes.plot(100 * report.answer_rate, 100 * report.precision, "k.")
        axes.set(xlabel="answer rate", ylabel="precision", xlim=(0, 100), ylim=(0, 101))


def plot_learning_curves(
    path: Path, curves: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]
) -> None:
    """Plot the loss of each epoch as lines, and the measure on dev as dashes.

    Args:
        curves: by name, the epochs of each seed (`LearningCurve.epochs`).
    """
    everything = [epochs for seeds in curves.values() for epochs in seeds]
    measures = ", ".join(dict.fromkeys(name for epochs in everything for name in epochs[0]["dev"]))
    with plotting(path) as axes:
        axes.set(xlabel="epoch", ylabel="loss")
        axes.xaxis.get_major_locator().set_params(integer=True)
        dev = axes.twinx() if measures else None
        for number, (label, seeds) in enumerate(curves.items()):
            style = {"color": f"C{number % 10}", "linewidth": 1}
            axes.plot([], [], ".-", label=f"{label} loss".strip(), **style)
            for epochs in seeds:
                places = [epoch["epoch"] for epoch in epochs]
                axes.plot(places, [epoch["loss"] for epoch in epochs], ".-", **style)
                for name in epochs[0]["dev"]:
                    values = [100 * epoch["dev"].get(name, float("nan")) for epoch in epochs]
                    assert dev is not None, "there is a measure on dev"
                    dev.plot(places, values, ".--", **style)
        if dev is not None:
            axes.plot([], [], "k.--", linewidth=1, label=f"{measures} on dev")
            dev.set(ylabel=f"{measures} on dev")
            axes.set_zorder(dev.get_zorder() + 1)  # the legend over the lines
            axes.patch.set_visible(False)


@contextmanager
def plotting(path: Path, *, panels: int = 1, legend_beside: bool = False) -> Iterator[Any]:
    """Yield the axes of a new picture, then save it with a grid and a legend.

    Args:
        panels: side by side, on one scale; the axes are an array if there are several.
        legend_beside: one legend for all panels, beside them, for many lines.

    Raises:
        InputError: the file cannot be written, or its suffix is not a known image format.
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("a plot", extra="tune") from error

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    size = ((7 if panels == 1 else 4.5 * panels) + 3.5 * legend_beside, 4.5)
    figure, axes = plt.subplots(ncols=panels, sharey=True, figsize=size, layout="constrained")
    try:
        yield axes
        for panel in figure.axes if panels > 1 else [axes]:
            panel.grid(alpha=0.3)
            if not legend_beside:
                panel.legend(fontsize=8)
        if legend_beside:
            lines = figure.axes[0].get_legend_handles_labels()
            figure.legend(*lines, loc="outside right center", fontsize=8)
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot plot {path}: {error}") from error
    finally:
        plt.close(figure)
