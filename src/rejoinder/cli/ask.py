"""`rejoinder ask`: answer a question with a sentence of the user's documents."""

from dataclasses import asdict
from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, print_json, say
from rejoinder.records import Answer


@click.command(
    epilog=options.example('rejoinder ask "how are glacier caves formed?" examples/docs')
)
@click.argument("question")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--top", type=click.IntRange(min=1), default=1, help="How many answers.  [default: 1]"
)
@options.as_json
def ask(question: str, paths: tuple[Path, ...], top: int, as_json: bool) -> None:
    """Answer QUESTION with a sentence of the text and Markdown files in PATHS.

    PATHS are files and folders; without any, the current folder is read.
    """
    from rejoinder.engine.documents import find_files, read_document
    from rejoinder.engine.engine import Engine
    from rejoinder.errors import InputError

    documents = []
    for path in find_files(paths or (Path(),)):
        try:
            documents.append(read_document(path))
        except InputError as error:
            if path in paths:
                raise
            say(f"skipped {error}")
    engine = Engine(documents)
    answers = engine.answer(question, top=top)
    if as_json:
        print_json({"question": question, "answers": [asdict(answer) for answer in answers]})
    else:
        _print_answers(answers)
    say(f"{count(engine.sentence_count, 'sentence')} in {count(len(documents), 'document')}")


def _print_answers(answers: list[Answer]) -> None:
    if not answers:
        click.echo("No sentence here shares a word with the question.")
    for answer in answers:
        source = answer.source
        title = "" if source.title in source.document else f" ({source.title})"
        click.secho(answer.sentence, bold=True)
        click.echo(f"    {source.document}:{source.line}{title}")
