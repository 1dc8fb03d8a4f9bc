"""`rejoinder cite`: for each sentence of an answer, the sentences of sources that support it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.documents.ask import open_engine, pause_collector, show_source
from rejoinder.cli.output import print_json, say

if TYPE_CHECKING:
    from rejoinder.types import Citations, Statement

SIGNS = {"supported": ("+", "green"), "unsupported": ("?", "yellow"), "skipped": (" ", "white")}


@click.command(
    epilog=options.example(
        'rejoinder cite "Green tea is brewed at 75 °C. It is always blue." examples/docs',
        "rejoinder cite answer.txt --index my-index --json",
        "my-assistant | rejoinder cite - reports/2024.pdf reports/2025.pdf",
    )
)
@click.argument("answer")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--index",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Cite the documents of this index instead of files.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Print at most so many citations of a sentence.",
)
@click.option(
    "--min-support",
    type=options.SHARE,
    default=0.5,
    show_default=True,
    help="Call a sentence supported from this probability on.",
)
@click.option(
    "--where",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only cite documents whose metadata match; as in `ask`.",
)
@options.as_json
def cite(
    answer: str,
    sources: tuple[Path, ...],
    folder: Path | None,
    top: int,
    min_support: float,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the sentences of SOURCES that support each sentence of ANSWER.

    ANSWER is a text, the path of a file that holds it, or - for stdin.  SOURCES are files and
    folders in any format that `ask` reads.  A sentence that no source supports is marked with a
    question mark: check it, or leave it out.
    """
    from rejoinder.engine.citing import cite as run
    from rejoinder.errors import InputError

    if bool(folder) == bool(sources):
        raise InputError("give sources or --index, one of the two")
    text = _read_answer(answer)
    where = options.parse_filters(pairs)
    with pause_collector():
        engine = open_engine(folder, sources, "retrieval-order")
    with engine:
        citations = run(text, engine, top=top, min_support=min_support, where=where or None)
    if as_json:
        print_json(asdict(citations))
        return
    for statement in citations.statements:
        _print(statement)
    _say_counts(citations)


def _read_answer(answer: str) -> str:
    from rejoinder.errors import InputError

    if answer == "-":
        content = sys.stdin.buffer.read()
    else:
        try:
            if not Path(answer).is_file():
                return answer
            content = Path(answer).read_bytes()
        except (OSError, ValueError):  # a text may be too long for a path
            return answer
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{answer}: is not UTF-8 text (byte {error.start})") from error


def _print(statement: "Statement") -> None:
    sign, colour = SIGNS[statement.verdict]
    percent = "" if statement.support is None else f"  {100 * statement.support:.0f} %"
    click.echo(f"{click.style(sign, fg=colour)} {click.style(statement.text, bold=True)}{percent}")
    for citation in statement.citations:
        click.echo(f"    {citation.sentence}")
        click.echo(f"    {show_source(citation.source)}")


def _say_counts(citations: "Citations") -> None:
    judged = citations.supported + citations.unsupported
    say(f"{citations.supported} of {judged} sentences are supported")
    if citations.note:
        say(f"note: {citations.note}")
