"""`rejoinder ask`: answer a question with a sentence of the user's documents."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, print_json, print_trace, say, show_progress
from rejoinder.types import Answers, Source

if TYPE_CHECKING:
    from rejoinder.engine.engine import Engine
    from rejoinder.index.report import FileEvent


@click.command(
    epilog=options.example(
        'rejoinder ask "how are glacier caves formed?" examples/docs',
        'rejoinder ask "how are glacier caves formed?" --index my-index --explain',
    )
)
@click.argument("question", required=False)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--index",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Search this index instead of files.",
)
@options.scorer
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Print the best so many sentences.",
)
@options.budget_ms
@click.option(
    "--where",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only search documents whose metadata match.",
)
@click.option(
    "--min-confidence",
    type=options.SHARE,
    help="Call a sentence an answer from this confidence on.  [default: the scorer's threshold]",
)
@click.option("--explain", is_flag=True, help="Show the matching words, and each stage.")
@options.as_json
def ask(
    question: str | None,
    paths: tuple[Path, ...],
    folder: Path | None,
    scorer: str,
    top: int,
    budget_ms: float | None,
    pairs: tuple[str, ...],
    min_confidence: float | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION with a sentence of the documents in PATHS, or of an index.

    PATHS are files and folders, by default the current folder.  The documents are indexed in
    the user's cache, so that the next question is fast.  Without QUESTION, or if it is "-",
    questions are read from stdin, one per line.
    """
    from rejoinder.errors import InputError

    if folder and paths:
        raise InputError("give paths or --index, not both; 'rejoinder index add' adds paths")
    if not folder and not paths and _is_path(question):
        raise InputError(f"{question} is a path; give the question before it, or paths after it")
    where = options.parse_pairs(pairs)
    # numpy starts these threads when it is imported, and they wait busily for work of which a
    # question has none: large products are the kernel's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with pause_collector():
        engine = _open_engine(folder, paths or (Path(),), scorer)
    with engine:
        for text in _read_questions() if question in (None, "-") else [question]:
            answers = engine.answer(
                text,
                top=top,
                budget_ms=budget_ms,
                where=where,
                min_confidence=min_confidence,
                explain=explain,
            )
            if as_json:
                print_json(asdict(answers))
            else:
                _print(answers, explain, is_filtered=bool(where), is_list=top > 1)
        documents, sentences = engine.index.count()
    say(f"{count(sentences, 'sentence')} in {count(documents, 'document')}")


def _is_path(question: str | None) -> bool:
    try:
        return bool(question) and Path(question or "").exists()
    except (OSError, ValueError):  # a question may be too long for a path
        return False


def _open_engine(folder: Path | None, paths: tuple[Path, ...], scorer: str) -> "Engine":
    from rejoinder.engine.engine import open, open_files

    if folder:
        return open(folder, scorer=scorer)
    with show_progress("reading", in_bytes=True) as progress:

        def show(event: "FileEvent") -> None:
            if event.what == "skipped":
                say(f"skipped {_shorten(event.path)}: {event.reason}")

        return open_files(
            paths,
            scorer=scorer,
            on_event=show,
            on_progress=lambda done, total: progress(done, total, ""),
        )


def _read_questions() -> Iterator[str]:
    """Yield the lines of stdin, with a prompt on a terminal."""
    is_typed = sys.stdin.isatty()
    while True:
        if is_typed:
            click.echo("? ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _print(answers: Answers, explain: bool, *, is_filtered: bool, is_list: bool) -> None:
    if not answers.answers:
        where = "that matches --where" if is_filtered else "here"
        click.echo(f"No sentence {where} matches the question.")
    elif answers.abstains:
        click.echo("Nothing here is sure to answer that. The closest:")
    for answer in answers.answers:
        confidence = "" if answer.confidence is None else f"  {100 * answer.confidence:.0f} %"
        click.secho((f"{answer.rank}. " if is_list else "") + answer.sentence, bold=True)
        click.echo(f"    {_show_source(answer.source)}{confidence}")
        if answer.other_sources:
            first = _show_source(answer.other_sources[0])
            others = len(answer.other_sources) - 1
            click.echo(f"    also {first}" + (f" and {others} more" if others else ""))
        if explain:
            words = [
                f"{match.question_word} ~ {match.sentence_word} {match.relatedness:.2f}"
                for match in answer.matches or ()
            ]
            click.secho(f"    {', '.join(words)}", dim=True)
            if answer.found_by:
                click.secho(f"    found by {' and '.join(answer.found_by)}", dim=True)
    if explain:
        say(f"{count(answers.retrieved, 'sentence')} retrieved, ranked by {answers.scorer}")
        print_trace(answers.trace)


def _show_source(source: Source) -> str:
    place = f":{source.line}" if source.line else f", page {source.page}" if source.page else ""
    title = () if source.title in source.document else (source.title,)
    path = " \u203a ".join((*title, *source.headings))
    return f"{_shorten(source.document)}{place}" + (f" ({path})" if path else "")


def _shorten(path: str) -> str:
    """Return a path relative to the current folder if it is below it."""
    return path.removeprefix(str(Path.cwd()) + os.sep)


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the garbage collector in a block that creates many objects and hardly any garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
