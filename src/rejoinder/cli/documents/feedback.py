"""`rejoinder feedback`: mark answers right or wrong, for training."""

from dataclasses import asdict
from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.documents.index import folder_option
from rejoinder.cli.output import count, print_json, print_table, say

QUESTION = '"how are glacier caves formed?" "Guides go in only from November to March."'


@click.group(epilog=options.example(f"rejoinder feedback wrong {QUESTION} --index my-index"))
def feedback() -> None:
    """Mark answers right or wrong; `rejoinder train --feedback` learns from the marks.

    A mark is stored with the index, and counts while the index has its sentence.  The last mark
    of a question and sentence counts.
    """


def _add_command(name: str, right: bool | None, text: str, done: str) -> None:
    @feedback.command(
        name,
        help=text,
        epilog=options.example(f"rejoinder feedback {name} {QUESTION} --index my-index"),
    )
    @click.argument("question")
    @click.argument("sentence")
    @folder_option
    def mark(question: str, sentence: str, folder: Path) -> None:
        from rejoinder.engine.engine import Engine
        from rejoinder.index.index import Index

        with Engine(Index(folder)) as engine:
            engine.mark(question, sentence, right=right)
            marks = len(engine.marks())
        click.echo(f"{done}; {count(marks, 'mark')} in the index")


_add_command(
    "right",
    True,
    "Mark SENTENCE, as `ask` prints it, as a right answer to QUESTION.",
    "saved: right",
)
_add_command(
    "wrong",
    False,
    "Mark SENTENCE, as `ask` prints it, as a wrong answer to QUESTION.",
    "saved: wrong",
)
_add_command("remove", None, "Remove the mark of SENTENCE for QUESTION.", "mark removed")


@feedback.command(epilog=options.example("rejoinder feedback add marks.jsonl --index my-index"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@folder_option
def add(file: Path, folder: Path) -> None:
    """Add the marks of FILE, JSON lines as `list --json` prints them.

    Each line has `question`, `sentence` and `right`, true or false.
    """
    from rejoinder.engine.feedback import read_marks
    from rejoinder.index.feedback import add_marks, describe_unknown
    from rejoinder.index.index import Index

    marks = read_marks(file)
    with Index(folder) as index:
        unknown = add_marks(index.store, marks)
    for mark in unknown:
        say(f"skipped: {describe_unknown(mark.sentence)}")
    click.echo(f"{count(len(marks) - len(unknown), 'mark')} added, {len(unknown)} skipped")


@feedback.command("list", epilog=options.example("rejoinder feedback list --index my-index"))
@folder_option
@options.as_json
def list_(folder: Path, as_json: bool) -> None:
    """List the marks whose sentences are in the index."""
    from rejoinder.engine.engine import Engine
    from rejoinder.index.index import Index

    with Engine(Index(folder)) as engine:
        marks = engine.marks()
    if as_json:
        for mark in marks:
            print_json(asdict(mark))
        return
    print_table(
        ["mark", "question", "sentence"],
        [["right" if mark.right else "wrong", mark.question, mark.sentence] for mark in marks],
    )
    if not marks:
        say("no answer is marked; see 'rejoinder feedback --help'")


@feedback.command(epilog=options.example("rejoinder feedback export --index my-index > mine.jsonl"))
@folder_option
def export(folder: Path) -> None:
    """Print the training data of the marks, as JSON lines that every command reads.

    One line per marked question: the marked sentences, and if one is right, the best retrieved
    sentences as negatives.
    """
    from rejoinder.datasets.readers.jsonl import to_line
    from rejoinder.engine.feedback import read_feedback

    for example in read_feedback(folder):
        click.echo(to_line(example), nl=False)
