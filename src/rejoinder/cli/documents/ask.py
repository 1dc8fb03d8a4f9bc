"""`rejoinder ask`: answer a question with a sentence of the user's documents."""

import gc
import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import (
    count,
    print_json,
    print_trace,
    say,
    show_progress,
    tell_runtime,
)
from rejoinder.types import Answer, Answers, FileChange, Source, WordMatch

if TYPE_CHECKING:
    from rejoinder.engine.engine import Engine
    from rejoinder.index.report import FileEvent

    AnswerBatch = Callable[[Sequence[str]], list[Answers]]
    Show = Callable[[Answers], None]

STDIN = Path("-")
CHANGES: Mapping[FileChange | None, str] = {
    "changed": "the file has changed since it was indexed",
    "gone": "the file is gone since it was indexed",
}
MAX_HEADING = 60
"""Characters of a heading that are printed."""


@click.command(
    epilog=options.example(
        'rejoinder ask "how are glacier caves formed?" examples/docs',
        'rejoinder ask "how are glacier caves formed?" --index my-index --explain',
        'rejoinder ask "how are glacier caves formed?" examples/docs --context paragraph',
        "rejoinder ask --index my-index",
        "rejoinder ask --questions questions.txt --index my-index --json",
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
@click.option(
    "--questions",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help='Answer the questions of this file, one per line; "-" for stdin.',
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
    help="Only search documents whose metadata match, or that are below a folder: `folder=docs`;"
    " repeatable, several values of a key are alternatives.",
)
@options.min_confidence
@click.option(
    "--context",
    type=click.Choice(("sentence", "paragraph", "section")),
    help="Print the paragraph (or list, or table) or the section around each sentence, too;"
    " `sentence` lists all sentences of a paragraph.",
)
@click.option("--open", "opens", is_flag=True, help="Open the first answer at its place.")
@click.option("--explain", is_flag=True, help="Show the matching words, and each stage.")
@options.as_json
def ask(
    question: str | None,
    paths: tuple[Path, ...],
    folder: Path | None,
    questions: Path | None,
    scorer: str,
    top: int,
    budget_ms: float | None,
    pairs: tuple[str, ...],
    min_confidence: float | None,
    context: str | None,
    opens: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION with a sentence of the documents in PATHS, or of an index.

    PATHS are files and folders, by default the current folder.  The documents are indexed in
    the user's cache, so that the next question is fast.

    Without QUESTION, you type questions at a prompt with line editing and a history; Ctrl-D
    ends it.  With --questions, all arguments are PATHS, and each answer is printed under its
    question.  Without QUESTION and without a terminal, questions are read as with --questions -.
    """
    is_typed = sys.stdin.isatty() and questions in (None, STDIN)
    if questions or (is_typed and not folder and not paths and _is_path(question)):
        # Without a question, the first argument is a path like the others.
        question, paths = None, (*map(Path, filter(None, [question])), *paths)
    _check_arguments(question, paths, folder)
    where = options.parse_filters(pairs)
    # numpy starts these threads when it is imported, and they wait busily for work of which a
    # question has none: large products are the kernel's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not as_json:
        tell_runtime()
    with pause_collector():
        engine = open_engine(folder, paths or (Path(),), scorer)
    with engine:
        answer = partial(
            engine.answer_many,
            top=top,
            budget_ms=budget_ms,
            where=where,
            min_confidence=min_confidence,
            context=context or "paragraph",
            explain=explain,
        )

        told: list[str] = []

        def show(answers: Answers) -> None:
            if as_json:
                print_json(asdict(answers))
            else:
                shown = answers if context else _drop_context(answers)
                _print(shown, explain, is_filtered=bool(where), is_list=top > 1)
                _mention_threshold(answers, told)
                if answers.note:
                    say(f"note: {answers.note}")
            if opens and answers.answers:
                _open_source(answers.answers[0].source)

        documents, sentences = engine.index.count()
        size = f"{count(sentences, 'sentence')} in {count(documents, 'document')}"
        if question is not None:
            show(*answer([question]))
        elif is_typed:
            say(f"{size}; type a question, or Ctrl-D to end")
            _answer_typed(answer, show)
        else:
            _answer_batches(questions or STDIN, answer, show, has_headings=not as_json)
    if not is_typed or question is not None:
        say(size)


def _check_arguments(question: str | None, paths: tuple[Path, ...], folder: Path | None) -> None:
    from rejoinder.errors import InputError

    if folder and paths:
        raise InputError("give paths or --index, not both; 'rejoinder index add' adds paths")
    if question == "-":
        raise InputError("- is not a question; --questions - reads questions from stdin")
    if not folder and not paths and _is_path(question):
        remedy = "give the question before it, paths after it, or --questions FILE"
        raise InputError(f"{question} is a path; {remedy}")


def _answer_typed(answer: "AnswerBatch", show: "Show") -> None:
    """Answer what the user types."""
    from rejoinder.cli.prompt import go_on, read_typed

    for text in read_typed():
        with go_on():
            show(*answer([text]))


def _answer_batches(
    source: Path, answer: "AnswerBatch", show: "Show", *, has_headings: bool
) -> None:
    """Answer the questions of a file, each under its question where that is a heading."""
    from rejoinder.cli.questions import read_batches

    is_first = True
    for batch in read_batches(source):
        for answers in answer(batch):
            if has_headings:
                click.echo(f"{'' if is_first else chr(10)}? {answers.question}")
            show(answers)
            is_first = False


def _is_path(question: str | None) -> bool:
    try:
        return bool(question) and Path(question or "").exists()
    except (OSError, ValueError):  # a question may be too long for a path
        return False


def open_engine(folder: Path | None, paths: tuple[Path, ...], scorer: str) -> "Engine":
    """Open an index, or files through an index in the user's cache."""
    from rejoinder.cascade.loading import to_scorer
    from rejoinder.engine.engine import Engine, open_files
    from rejoinder.index.index import Index

    if folder:
        return Engine(Index(folder), to_scorer(scorer))  # to prepare it takes longer than it gains
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


def _print(answers: Answers, explain: bool, *, is_filtered: bool, is_list: bool) -> None:
    if not answers.answers:
        where = "that matches --where" if is_filtered else "here"
        click.echo(f"No sentence {where} matches the question.")
    elif answers.abstains:
        click.echo("Nothing here is sure to answer that. The closest:")
    for answer in answers.answers:
        confidence = "" if answer.confidence is None else f"  {100 * answer.confidence:.0f} %"
        click.secho((f"{answer.rank}. " if is_list else "") + answer.sentence, bold=True)
        around = _show_context(answer)
        if around and click.unstyle(around).split() != answer.sentence.split():
            click.echo(textwrap.indent(around, "    | ", lambda _: True))
        click.echo(f"    {show_source(answer.source)}{confidence}")
        if change := CHANGES.get(answer.source.file):
            click.secho(f"    {change}", fg="yellow")
        if answer.other_sources:
            first = show_source(answer.other_sources[0])
            others = len(answer.other_sources) - 1
            click.echo(f"    also {first}" + (f" and {others} more" if others else ""))
        if explain:
            _print_explanation(answer)
    if explain:
        say(f"{count(answers.retrieved, 'sentence')} retrieved, ranked by {answers.scorer}")
        print_trace(answers.trace)


def _print_explanation(answer: Answer) -> None:
    if words := _show_matches(answer.matches or ()):
        click.secho(f"    {words}", dim=True)
    if answer.found_by:
        click.secho(f"    found by {' and '.join(answer.found_by)}", dim=True)


def _show_matches(matches: Sequence[WordMatch]) -> str:
    """Return the matching words, the most telling first; function words are left out."""
    telling = sorted(filter(_weigh, matches), key=_weigh, reverse=True)
    return ", ".join(
        f"{match.question_word} ~ {match.sentence_word} {match.relatedness:.2f}"
        for match in telling
    )


def _weigh(match: WordMatch) -> float:
    return match.weight * max(0.0, match.relatedness)


def _mention_threshold(answers: Answers, told: list[str]) -> None:
    """Say at the first refusal which option would accept its sentence."""
    if told or not answers.abstains or answers.confidence is None:
        return
    lower = math.floor(100 * answers.confidence) / 100
    told.append(f"to accept sentences that are less sure, add --min-confidence {lower:g}")
    say(told[-1])


def _drop_context(answers: Answers) -> Answers:
    own = tuple(replace(answer, context=()) for answer in answers.answers)
    return replace(answers, answers=own)


def _show_context(answer: Answer) -> str:
    """Return the text around an answer, its own sentence in bold."""
    parts = []
    for number, block in enumerate(answer.context):
        first, last = answer.source.start - block.start, answer.source.end - block.start
        is_own = 0 <= first < len(block.text)
        text = (
            block.text[:first] + click.style(block.text[first:last], bold=True) + block.text[last:]
            if is_own
            else block.text
        )
        before = answer.context[number - 1].kind if number else block.kind
        # Items of a list, and rows of a table, follow each other without an empty line.
        is_close = before == block.kind and block.kind in ("item", "definition", "row")
        parts += ["\n" if is_close else "\n\n"] * bool(number)
        parts.append(f"- {text}" if block.kind == "item" else text)
    return "".join(parts)


def show_source(source: Source) -> str:
    """Return where an answer is, as people open it: file:line, file#anchor, or file and page."""
    place = (
        f", page {source.page}"
        if source.page
        else f"#{source.anchor}"
        if source.anchor and source.url.startswith("file:") and "#" in source.url
        else f":{source.line}"
        if source.line
        else ""
    )
    title = () if source.title in source.document else (source.title,)
    repeated = bool(title) and _repeats(source.title, source.headings)
    path = " \u203a ".join(map(_truncate, (*title, *source.headings[repeated:])))
    name = _shorten(source.document) + place
    if source.url.startswith("http"):
        name = source.url
    return name + (f" ({path})" if path else "")


def _repeats(title: str, headings: Sequence[str]) -> bool:
    """Return whether a title is the first heading and a name behind it, as on web pages."""
    rest = title.removeprefix(headings[0]) if headings else title
    return rest != title and rest.lstrip().startswith(("\u2014", "\u2013", "-", "|", ":", "\u00b7"))


def _truncate(heading: str) -> str:
    """Return a heading, shortened if it is longer than a line can take."""
    return (
        heading if len(heading) <= MAX_HEADING else heading[: MAX_HEADING - 1].rstrip() + "\u2026"
    )


def _open_source(source: Source) -> None:
    import webbrowser

    if not source.url:
        say(f"{_shorten(source.document)} has neither a file nor a URL to open")
    elif source.file == "gone" and source.url.startswith("file:"):
        say(f"{_shorten(source.document)} is gone since it was indexed, and cannot be opened")
    elif not webbrowser.open(source.url):
        say(f"no program opens {source.url}; name one in $BROWSER")


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
