"""Draws what a table shows: accuracy against latency, precision against answer rate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.evaluation.calibrate import Calibrated
from rejoinder.evaluation.tune import Outcome


def draw_frontier(
    path: Path, outcomes: Sequence[Outcome], frontier: Sequence[Outcome], chosen: Outcome
) -> None:
    """Draw every cascade as a dot, those that nothing beats as a line, the chosen as a star.

    Colours tell the last stage: it is what has the last word.

    Raises:
        InputError: the file cannot be written, or its ending is no kind of picture.
    """
    with _drawing(path) as axes:
        for colour, last in enumerate(dict.fromkeys(item.names[-1] for item in outcomes)):
            own = [item for item in outcomes if item.names[-1] == last]
            axes.plot(
                [item.latency_ms for item in own],
                [100 * item.accuracy for item in own],
                ".",
                color=f"C{colour % 10}",
                alpha=0.4,
                label=f"last: {last}",
            )
        axes.plot(
            [item.latency_ms for item in frontier],
            [100 * item.accuracy for item in frontier],
            color="black",
            linewidth=1,
            label="nothing beats these",
        )
        axes.plot(chosen.latency_ms, 100 * chosen.accuracy, "k*", markersize=12, label=chosen.label)
        axes.set(xscale="log", xlabel="milliseconds per question", ylabel="P@1")


def draw_curves(path: Path, curves: Mapping[str, Calibrated]) -> None:
    """Draw precision against answer rate, one line for each set of questions.

    Raises:
        InputError: the file cannot be written, or its ending is no kind of picture.
    """
    with _drawing(path) as axes:
        for name, found in curves.items():
            # Ten names of data sets would leave no room for the curve.
            short = shorten(name, 40, placeholder=" …")
            label = f"{short} ({100 * found.area_share:.0f} % of the oracle)"
            axes.plot(100 * found.curve.rates, 100 * found.curve.precisions, label=label)
            axes.plot(100 * found.answer_rate, 100 * found.precision, "k.")
        axes.set(xlabel="answer rate", ylabel="precision", xlim=(0, 100), ylim=(0, 101))


@contextmanager
def _drawing(path: Path) -> Iterator[Any]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("a picture", extra="tune") from error

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    try:
        yield axes
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot draw {path}: {error}") from error
    finally:
        plt.close(figure)
