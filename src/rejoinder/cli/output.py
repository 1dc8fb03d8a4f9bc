"""Output: results to stdout, messages to stderr."""

import json
import shlex
import sys
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
    """Print a JSON value on one line; infinity and NaN, which JSON does not have, become null."""
    click.echo(json.dumps(_replace_infinite(value), ensure_ascii=False, allow_nan=False))


def _replace_infinite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replace_infinite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns; numbers are right-aligned."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(is_number(cell) for cell in column) for column in zip(*cells[1:], strict=True)
    ] or [False] * len(header)
    for row in cells:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        click.echo("  ".join(aligned).rstrip())


def print_trace(trace: "Sequence[StageTrace]") -> None:
    """Print the stages of a ranking."""
    print_table(
        ["stage", "given", "scored", "unread", "kept", "ms", "timed out"],
        [
            [
                stage.scorer,
                str(stage.given),
                str(stage.scored),
                str(stage.unread),
                str(stage.kept),
                f"{stage.milliseconds:.1f}",
                "yes" if stage.timed_out else "no",
            ]
            for stage in trace
        ],
    )


def say(text: str) -> None:
    """Print a message to stderr."""
    click.echo(text, err=True)


def tell_runtime() -> None:
    """Say on a terminal, once, why a slower runtime than the kernel scores, if one does."""
    import logging

    logger = logging.getLogger("rejoinder.models.encoders.network")
    if sys.stderr.isatty() and not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("note: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


@contextmanager
def show_progress(
    title: str, *, in_bytes: bool = False, shown: bool = True
) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that updates a progress bar; only shown on a terminal."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        "{task.description}",
        progress.BarColumn(),
        progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        "{task.fields[note]}",
    )
    with progress.Progress(
        *columns, console=console, transient=True, disable=not (shown and console.is_terminal)
    ) as bar:
        task = bar.add_task(title, total=None, note="")
        yield lambda done, total, note: bar.update(task, completed=done, total=total, note=note)


def percent(value: float) -> str:
    """Return a fraction as papers print it: 64.21."""
    return f"{100 * value:.2f}"


def show_interval(interval: "Interval") -> str:
    """Return an interval of fractions in percentage points: -1.20 to +0.40."""
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 sentence, 30 sentences."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write JSON lines atomically."""
    from rejoinder.errors import InputError
    from rejoinder.storage.files import atomic_write

    try:
        with atomic_write(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or has none."""
    return not cell or cell[0] in "+-0123456789–"


def get_command() -> str:
    """Return this process's command, for a bundle's manifest."""
    return shlex.join(["rejoinder", *sys.argv[1:]])
