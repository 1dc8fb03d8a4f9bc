"""The tables of a command, in the format that the user chose: text, CSV, LaTeX or JSON."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from io import StringIO
from typing import Any

import click

from rejoinder.cli.output import is_number, print_json, print_table, say

FORMATS = ("table", "csv", "latex", "json")
Row = Sequence[str]
_MEAN = re.compile(r"(-?[\d.]+) ±([\d.]+)")
_COUNT = re.compile(r"\d{1,3}(,\d{3})+")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "\N{MINUS SIGN}": "$-$",
    "×": r"$\times$",
    "–": "--",
    "…": r"\ldots{}",
    # At the beginning of a line they would belong to the line break before it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Quotes, and pairs of signs, have meanings of their own.
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


@dataclass(slots=True)
class Output:
    """Where a command's results go: tables to stdout, or one JSON value."""

    format: str = "table"
    shown: int = 0
    """How many tables were printed; there is an empty line between two."""

    @property
    def is_json(self) -> bool:
        """Whether the command prints JSON instead of tables."""
        return self.format == "json"

    def show(
        self,
        header: Row,
        rows: Sequence[Row],
        *,
        title: str = "",
        notes: Sequence[str] = (),
        footer: Sequence[str] = (),
    ) -> None:
        """Print a table; nothing where the command prints JSON.

        Args:
            title: a line above it.
            notes: its protocol; to stderr, and into the caption in LaTeX.
            footer: lines below it; to stderr in CSV.
        """
        if self.is_json:
            return
        if self.shown:
            click.echo()
        self.shown += 1
        if self.format == "latex":
            caption = " ".join(_end(line) for line in (*notes, title, *footer) if line)
            click.echo(to_latex(header, rows, caption=caption), nl=False)
            return
        for note in notes:
            say(note)
        is_csv = self.format == "csv"
        if title:
            click.echo(title, err=is_csv)
        if is_csv:
            click.echo(to_csv(header, rows), nl=False)
        else:
            print_table(header, rows)
        for line in footer:
            click.echo(line, err=is_csv)

    def show_json(self, value: Any) -> None:
        """Print the whole result; nothing where the command prints tables."""
        if self.is_json:
            print_json(value)


def takes_format(command: Callable[..., None]) -> Callable[..., None]:
    """Add --format and --json, and pass them as `output`."""

    @wraps(command)
    def run(format_: str, as_json: bool, **given: Any) -> None:
        command(output=Output("json" if as_json else format_), **given)

    as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
    chosen = click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default=FORMATS[0],
        show_default=True,
        help="How to print the result; LaTeX needs the packages booktabs and textcomp.",
    )
    return chosen(as_json(run))


def to_csv(header: Row, rows: Sequence[Row]) -> str:
    r"""Return a table as CSV (RFC 4180): a deviation has a column of its own, counts no commas.

    >>> to_csv(["model", "MAP"], [["a, b", "75.62 ±0.80"], ["c", "1,000"]])
    'model,MAP,MAP ±\n"a, b",75.62,0.80\nc,1000,\n'
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    has_deviation = [
        any(_MEAN.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True)
    ]
    has_deviation = has_deviation or [False] * len(header)
    writer.writerow(_split_header(header, has_deviation))
    writer.writerows(list(_split_cells(row, has_deviation)) for row in rows)
    return text.getvalue()


def _split_header(header: Row, has_deviation: Sequence[bool]) -> Iterator[str]:
    for name, splits in zip(header, has_deviation, strict=True):
        yield name
        if splits:
            yield f"{name} ±"


def _split_cells(row: Row, has_deviation: Sequence[bool]) -> Iterator[str]:
    for cell, splits in zip(row, has_deviation, strict=True):
        found = _MEAN.fullmatch(cell)
        mean = found[1] if found else cell
        yield mean.replace(",", "") if _COUNT.fullmatch(mean) else mean
        if splits:
            yield found[2] if found else ""


def to_latex(header: Row, rows: Sequence[Row], *, caption: str = "") -> str:
    """Return a table as LaTeX, with the rules of booktabs; numbers are right-aligned."""
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    kinds = ["r" if all(map(is_number, column)) else "l" for column in columns]
    lines = [
        r"\begin{table}",
        *([f"\\caption{{{escape_latex(caption)}}}"] if caption else []),
        f"\\begin{{tabular}}{{{''.join(kinds)}}}",
        r"\toprule",
        _to_line(header),
        r"\midrule",
        *map(_to_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _to_line(row: Row) -> str:
    return f"{' & '.join(map(escape_latex, row))} \\\\"


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> escape_latex("P@1 of 50 % & a_b, ±0.3")
    'P@1 of 50 \\% \\& a\\_b, $\\pm$0.3'
    """
    # A hyphen before a number is a minus, and two hyphens would become a dash.
    signs = re.sub(r"(?<![\w-])-(?=\d)", "\N{MINUS SIGN}", text)
    parts = re.split("(-(?=-))", signs)
    return "".join(
        "-{}" if part == "-" else "".join(_LATEX.get(sign, sign) for sign in part) for part in parts
    )


def _end(line: str) -> str:
    return line if line.endswith((".", "!", "?")) else f"{line}."
