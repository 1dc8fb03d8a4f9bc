"""Draws what a table shows: quality against training time."""

from collections.abc import Sequence
from pathlib import Path

from rejoinder.errors import InputError
from rejoinder.papers.reproduction import Summary


def draw_quality_against_time(path: Path, measure: str, summaries: Sequence[Summary]) -> None:
    """Draw one point per row; hollow ones are the published figures on their machine.

    Raises:
        InputError: the file cannot be written, or its ending is no kind of picture.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for colour, model in enumerate(dict.fromkeys(item.row.label for item in summaries)):
        own = [item for item in summaries if item.row.label == model and item.seconds]
        seconds, values = [item.seconds for item in own], [item.means[measure] for item in own]
        axes.scatter(seconds, values, color=f"C{colour}", label=model)
        for item in own:
            place = (item.seconds, item.means[measure])
            axes.annotate(f" {item.row.loss[:4]} {item.row.head}", place, fontsize=7)
        published = [
            (item.row.seconds, item.row.published[measure])
            for item in own
            if item.row.seconds and measure in item.row.published
        ]
        if published:
            axes.scatter(*zip(*published, strict=True), facecolors="none", edgecolors=f"C{colour}")
    axes.set(xscale="log", xlabel="training seconds", ylabel=measure)
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot draw {path}: {error}") from error
    finally:
        plt.close(figure)
