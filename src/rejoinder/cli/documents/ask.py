"""`rejoinder ask`: answer a question with a sentence of the user's documents."""

import os
import sys
import tempfile
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
    from rejoinder.index.index import Index
    from rejoinder.index.update import FileEvent


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
    help="Ask this index instead of files.",
)
@click.option("--scorer", help=f"{options.SCORER}  [default: the cascade `default`]")
@click.option(
    "--top", type=click.IntRange(min=1), default=1, help="How many answers.  [default: 1]"
)
@click.option("--budget-ms", type=click.FloatRange(min=0), help="How long it may take.")
@click.option(
    "--where",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only documents of which this is so.",
)
@click.option("--explain", is_flag=True, help="Show the words that match, and each stage.")
@options.as_json
def ask(
    question: str | None,
    paths: tuple[Path, ...],
    folder: Path | None,
    scorer: str | None,
    top: int,
    budget_ms: float | None,
    pairs: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION with a sentence of the documents in PATHS, or of an index.

    PATHS are files and folders; without any, the current folder is read.  What was read is
    kept in the user's cache, so that asking again is fast.  Without a QUESTION, or where it is
    "-", questions are read line by line.
    """
    from rejoinder.cascade.loading import DEFAULT, load
    from rejoinder.engine.engine import Engine
    from rejoinder.errors import InputError

    if folder and paths:
        raise InputError("give paths or --index, not both; 'rejoinder index add' adds paths")
    if not folder and not paths and _is_path(question):
        raise InputError(f"{question} is a path; give the question before it, or paths after it")
    where = options.parse_pairs(pairs)
    with _opening(folder, paths or (Path(),)) as index:
        engine = Engine(index, load(scorer or DEFAULT))
        for asked in _read_questions() if question in (None, "-") else [question]:
            found = engine.answer(asked, top=top, budget_ms=budget_ms, where=where)
            if explain:
                found = _explain(found)
            if as_json:
                print_json(asdict(found))
            else:
                _print(found, explain, is_filtered=bool(where))
        documents, sentences, _ = index.count()
    say(f"{count(sentences, 'sentence')} in {count(documents, 'document')}")


def _is_path(question: str | None) -> bool:
    try:
        return bool(question) and Path(question or "").exists()
    except (OSError, ValueError):  # too long for a path, as questions may be
        return False


@contextmanager
def _opening(folder: Path | None, paths: tuple[Path, ...]) -> Iterator["Index"]:
    from rejoinder.errors import StoreError
    from rejoinder.index.index import Index, get_cached_index

    if folder:
        with Index(folder) as index:
            yield index
        return
    with tempfile.TemporaryDirectory() as spare:
        try:
            index = Index(get_cached_index(paths), create=True)
            _update(index, paths)
        except StoreError:  # in use, or nowhere to write: read everything, this once
            index = Index(Path(spare), create=True)
            _update(index, paths)
        with index:
            yield index


def _update(index: "Index", paths: tuple[Path, ...]) -> None:
    from rejoinder.documents.discovery import show_path
    from rejoinder.errors import InputError

    named = {show_path(path.resolve()) for path in paths}
    with show_progress("reading") as progress:

        def show(event: "FileEvent") -> None:
            progress(event.done, event.total, "")
            if event.what == "skipped":
                if event.path in named:
                    raise InputError(f"{_shorten(event.path)}: {event.reason}")
                say(f"skipped {_shorten(event.path)}: {event.reason}")

        index.add(paths, on_event=show)


def _read_questions() -> Iterator[str]:
    """Yield the lines that are typed, or that come through a pipe."""
    is_typed = sys.stdin.isatty()
    while True:
        if is_typed:
            click.echo("? ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _print(found: Answers, explain: bool, *, is_filtered: bool) -> None:
    if found.closest:
        click.echo("No sentence here answers that. The closest:")
    elif not found.answers:
        where = "that --where leaves" if is_filtered else "here"
        click.echo(f"No sentence {where} shares a word with the question.")
    for answer in found.answers or filter(None, [found.closest]):
        sure = "" if answer.confidence is None else f"  {100 * answer.confidence:.0f} %"
        click.secho(answer.sentence, bold=True)
        click.echo(f"    {_show_source(answer.source)}{sure}")
        if explain:
            words = [
                f"{match.question_word} ~ {match.sentence_word} {match.relatedness:.2f}"
                for match in answer.matches or ()
            ]
            click.secho(f"    {', '.join(words)}", dim=True)
    if explain:
        say(f"{count(found.retrieved, 'sentence')} found, ranked by {found.scorer}")
        print_trace(found.trace)


def _explain(answers: Answers) -> Answers:
    from rejoinder.engine.explain import explain_answers
    from rejoinder.models.static_vectors.vectors import load_vectors

    return explain_answers(answers, load_vectors())


def _show_source(source: Source) -> str:
    place = f":{source.line}" if source.line else f", page {source.page}" if source.page else ""
    title = "" if source.title in source.document else f" ({source.title})"
    return f"{_shorten(source.document)}{place}{title}"


def _shorten(path: str) -> str:
    """Return a path as one would type it here."""
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here)
