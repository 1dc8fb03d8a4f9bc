"""`rejoinder feedback`: mark answers right or wrong, for training."""

from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.documents.index import folder_option
from rejoinder.cli.output import count, print_json, print_table, say

question_argument = click.argument("question")
sentence_argument = click.argument("sentence")
QUESTION = '"how are glacier caves formed?" "Guides go in only from November to March."'


@click.group(epilog=options.example(f"rejoinder feedback wrong {QUESTION} --index my-index"))
def feedback() -> None:
    """Mark answers right or wrong; `rejoinder train --feedback` learns from it.

    A mark is kept with the index and counts while its sentence stands there.  Of the same
    question and sentence the last mark counts.
    """


@feedback.command(epilog=options.example(f"rejoinder feedback right {QUESTION} --index my-index"))
@question_argument
@sentence_argument
@folder_option
def right(question: str, sentence: str, folder: Path) -> None:
    """Say that SENTENCE, as `ask` prints it, answers QUESTION."""
    _mark(folder, question, sentence, right=True)


@feedback.command(epilog=options.example(f"rejoinder feedback wrong {QUESTION} --index my-index"))
@question_argument
@sentence_argument
@folder_option
def wrong(question: str, sentence: str, folder: Path) -> None:
    """Say that SENTENCE, as `ask` prints it, does not answer QUESTION."""
    _mark(folder, question, sentence, right=False)


@feedback.command(epilog=options.example(f"rejoinder feedback remove {QUESTION} --index my-index"))
@question_argument
@sentence_argument
@folder_option
def remove(question: str, sentence: str, folder: Path) -> None:
    """Take back what was said of SENTENCE as an answer to QUESTION."""
    from rejoinder.index.feedback import remove_mark
    from rejoinder.index.index import Index

    with Index(folder) as index:
        remove_mark(index.store, question, sentence)


@feedback.command(epilog=options.example("rejoinder feedback add marks.jsonl --index my-index"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@folder_option
def add(file: Path, folder: Path) -> None:
    """Add the marks of FILE, JSON lines as `list --json` prints them.

    Each line has `question`, `sentence` and `label`, 1 for right and 0 for wrong.
    """
    from rejoinder.datasets.files import read_json_lines
    from rejoinder.index.feedback import add_marks, describe_unknown
    from rejoinder.index.index import Index
    from rejoinder.types import Mark

    marks = [
        Mark(row.get("question", str), row.get("sentence", str), row.get_label("label"))
        for row in read_json_lines(file)
    ]
    with Index(folder) as index:
        unknown = add_marks(index.store, marks)
    for mark in unknown:
        say(f"skipped: {describe_unknown(mark.sentence)}")
    click.echo(f"{count(len(marks) - len(unknown), 'mark')} kept, {len(unknown)} skipped")


@feedback.command("list", epilog=options.example("rejoinder feedback list --index my-index"))
@folder_option
@options.as_json
def list_(folder: Path, as_json: bool) -> None:
    """List the marks whose sentences stand in the index."""
    from rejoinder.index.feedback import get_marks
    from rejoinder.index.index import Index

    with Index(folder) as index:
        marks = [stored.mark for stored in get_marks(index.store)]
    if as_json:
        for mark in marks:
            print_json(
                {"question": mark.question, "sentence": mark.sentence, "label": int(mark.right)}
            )
        return
    print_table(
        ["mark", "question", "sentence"],
        [["right" if mark.right else "wrong", mark.question, mark.sentence] for mark in marks],
    )


@feedback.command(epilog=options.example("rejoinder feedback export --index my-index > mine.jsonl"))
@folder_option
def export(folder: Path) -> None:
    """Print what a training learns from, as JSON lines that every command reads.

    One line per marked question: what is marked, and where a sentence is right, the best of
    what retrieval finds beside it, as wrong ones.
    """
    from rejoinder.datasets.readers.jsonl import to_line
    from rejoinder.engine.feedback import read_feedback

    for example in read_feedback(folder):
        click.echo(to_line(example), nl=False)


def _mark(folder: Path, question: str, sentence: str, *, right: bool) -> None:
    from rejoinder.errors import InputError
    from rejoinder.index.feedback import add_marks, describe_unknown
    from rejoinder.index.index import Index
    from rejoinder.types import Mark

    with Index(folder) as index:
        if add_marks(index.store, [Mark(question, sentence, right)]):
            raise InputError(describe_unknown(sentence))
