"""`rejoinder rank`: rank candidates for a question."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table

if TYPE_CHECKING:
    from rejoinder.runtime.scorer import Scorer


@click.command(
    epilog=options.example(
        'rejoinder rank "when does green tea turn bitter?" examples/candidates.txt'
    )
)
@click.argument("question")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--scorer", default="bm25", show_default=True, help="A name of `models list`.")
@options.words
@click.option("--in-order", is_flag=True, help="The lines are one text, in its order.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="For bm25: a file of texts, one per line, to count word frequencies in.",
)
@click.option("--top", type=click.IntRange(min=1), help="Show only so many.")
@options.as_json
def rank(
    question: str,
    file: Path,
    scorer: str,
    words: str,
    in_order: bool,
    corpus: Path | None,
    top: int | None,
    as_json: bool,
) -> None:
    """Rank the candidates in FILE, or on stdin, for QUESTION.

    Candidates stand one per line, or as JSON lines with a `text` each.
    """
    from rejoinder.data.candidates import read_candidates
    from rejoinder.runtime.ranking import rank as run

    source = sys.stdin.buffer if str(file) == "-" else file
    candidates = read_candidates(source, in_order=in_order)
    ranking = run(question, candidates, scorer=_load(scorer, words, corpus))
    items = ranking.items[:top]
    if as_json:
        rows = [
            {
                "rank": item.rank,
                "score": item.score,
                "id": item.candidate.id,
                "text": item.candidate.text,
            }
            for item in items
        ]
        print_json({"question": question, "scorer": ranking.scorer, "candidates": rows})
    else:
        print_table(
            ["rank", "score", "candidate"],
            [[str(item.rank), f"{item.score:.4f}", item.candidate.text] for item in items],
        )


def _load(name: str, words: str, corpus: Path | None) -> "Scorer":
    from rejoinder.data.files import read_lines
    from rejoinder.errors import InputError
    from rejoinder.runtime.bm25 import Bm25, CorpusStatistics
    from rejoinder.runtime.catalogue import load
    from rejoinder.text.words import get_cut

    if corpus is None:
        return load(name, words=words)
    if name != "bm25":
        raise InputError(f"scorer {name!r} counts no word frequencies; leave out --corpus")
    cut = get_cut(words)
    return Bm25(
        cut, corpus=CorpusStatistics.from_texts((text for _, text in read_lines(corpus)), cut)
    )
