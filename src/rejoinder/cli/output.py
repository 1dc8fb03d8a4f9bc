"""The one place that prints: results to stdout, talk to stderr."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rejoinder.evaluation.significance import Interval
    from rejoinder.types import StageTrace


def print_json(value: Any) -> None:
    """Print one JSON value on one line; JSON has no infinity, which becomes null."""
    click.echo(json.dumps(_take_finite(value), ensure_ascii=False, allow_nan=False))


def _take_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _take_finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_take_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell; numbers stand to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(_is_number(cell) for cell in column) for column in zip(*cells[1:], strict=True)
    ] or [False] * len(header)
    for row in cells:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        click.echo("  ".join(aligned).rstrip())


def print_trace(trace: "Sequence[StageTrace]") -> None:
    """Print what each stage of a ranking did."""
    print_table(
        ["stage", "given", "scored", "kept", "ms", "timed out"],
        [
            [
                stage.scorer,
                str(stage.given),
                str(stage.scored),
                str(stage.kept),
                f"{stage.milliseconds:.1f}",
                "yes" if stage.timed_out else "no",
            ]
            for stage in trace
        ],
    )


def say(text: str) -> None:
    """Tell the user something that is not the result."""
    click.echo(text, err=True)


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """Give a function that shows how far a long work is; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        "{task.fields[note]}",
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(title, total=None, note="")
        yield lambda done, total, note: progress.update(
            task, completed=done, total=total, note=note
        )


def percent(value: float) -> str:
    """Return a fraction of 1 the way papers print it: 64.21."""
    return f"{100 * value:.2f}"


def show_interval(interval: "Interval") -> str:
    """Return an interval of fractions in points: -1.20 to +0.40."""
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}"


def count(number: int, noun: str) -> str:
    """Return the number with its noun: 1 sentence, 30 sentences."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON value per line, all of them or nothing.

    Raises:
        InputError: the file cannot be written.
    """
    from rejoinder.errors import InputError
    from rejoinder.storage.atomic import atomic_write

    try:
        with atomic_write(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _is_number(cell: str) -> bool:
    return not cell or cell[0] in "+-0123456789–"
