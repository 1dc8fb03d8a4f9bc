"""`rejoinder highlight`: the sentences of a text that answer, or the text without the others."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_trace, say

if TYPE_CHECKING:
    from rejoinder.engine.highlight import Highlights

STDIN = Path("-")


@click.command(
    epilog=options.example(
        'rejoinder highlight "how are glacier caves formed?" examples/docs/glacier-caves.md',
        'cat page.txt | rejoinder highlight "who wrote it?" - --prune',
    )
)
@click.argument("question")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--threshold",
    type=options.SHARE,
    help="Take sentences from this score on.  [default: the one that was fitted]",
)
@click.option("--prune", is_flag=True, help="Print the text with everything else removed.")
@click.option("--title", help="What the text is about.  [default: the file's title]")
@click.option("--scorer", default="default", show_default=True, help="A cascade with [sentences].")
@options.budget_ms
@click.option("--explain", is_flag=True, help="Show what each stage did, and its time.")
@options.as_json
def highlight(
    question: str,
    file: Path,
    threshold: float | None,
    prune: bool,
    title: str | None,
    scorer: str,
    budget_ms: float | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Show the sentences of FILE, or of the text on stdin, that answer QUESTION.

    Each comes with its score, the probability that it answers.  --prune prints the text with only
    these sentences, their headings and the lead-ins of lists, from a lower threshold on; offsets
    of --json count in the text, which is extracted from formats such as HTML or PDF.
    """
    from rejoinder.engine.highlight import highlight as run

    own, text = _read(file)
    found = run(
        *(question, text),
        title=own if title is None else title,
        threshold=threshold,
        budget_ms=budget_ms,
        scorer=scorer,
    )
    if as_json:
        print_json(_to_dict(found, threshold if prune else None, prune))
    elif prune:
        _print_pruned(found, threshold)
    else:
        _print(found, file)
    if explain and not as_json:
        click.echo()
        print_trace(found.trace)
    if found.note:
        say(f"note: {found.note}")


def _read(file: Path) -> tuple[str, str]:
    """Return the title and the text of a file, or of stdin."""
    from rejoinder.documents.encoding import decode
    from rejoinder.documents.reading import read_text_file
    from rejoinder.documents.sandbox import SandboxedReader

    if file == STDIN:
        return "", decode(sys.stdin.buffer.read())
    with SandboxedReader() as sandbox:
        return read_text_file(file, sandbox=sandbox)


def _to_dict(found: "Highlights", threshold: float | None, prune: bool) -> dict[str, Any]:
    from dataclasses import asdict

    result = asdict(found)
    del result["text"]
    return result | ({"pruned": asdict(found.prune(threshold))} if prune else {})


def _print(found: "Highlights", file: Path) -> None:
    name = "" if file == STDIN else f"{file}:"
    for item in found.highlighted:
        line = found.text.count("\n", 0, item.start) + 1
        click.echo(f"{item.sentence}\n    {name}{line}  {item.score:.0%}".replace("%", " %"))
    if not found.highlighted:
        best = max((item.score for item in found.sentences), default=0.0)
        say(f"no sentence reaches {found.threshold:g}; the best has {best:.2f}")


def _print_pruned(found: "Highlights", threshold: float | None) -> None:
    pruned = found.prune(threshold)
    if pruned.text:
        click.echo(pruned.text)
    say(f"dropped {pruned.compression:.0%} of {len(found.text)} characters")
