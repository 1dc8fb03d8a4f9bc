"""`rejoinder rank`: rank candidates for a question."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, print_trace, say, tell_runtime

if TYPE_CHECKING:
    from rejoinder.models.scorer import Scorer
    from rejoinder.types import Ranking


@click.command(
    epilog=options.example(
        'rejoinder rank "when does green tea turn bitter?" examples/candidates.txt',
        'rejoinder rank "who wrote it?" hits.txt --scorer cascade.toml --budget-ms 50 --explain',
    )
)
@click.argument("question")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--scorer", help=f"{options.SCORER}  [default: default]")
@options.provider
@options.words
@click.option("--in-order", is_flag=True, help="Let scorers use the order of the lines.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="For bm25: count word frequencies in this file, one text per line.",
)
@click.option("--top", type=click.IntRange(min=1), help="Print only so many.")
@options.budget_ms
@options.min_confidence
@click.option("--explain", is_flag=True, help="Show what each stage did, and its time.")
@options.as_json
def rank(
    question: str,
    file: Path,
    scorer: str | None,
    provider: str,
    words: str,
    in_order: bool,
    corpus: Path | None,
    top: int | None,
    budget_ms: float | None,
    min_confidence: float | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Rank the candidates in FILE, or on stdin, for QUESTION.

    Candidates are one per line, or JSON lines with a `text` field.
    """
    from rejoinder.datasets.readers.candidates import read_candidates
    from rejoinder.models.ranking import rank as run

    if not as_json:
        tell_runtime()
    source = sys.stdin.buffer if str(file) == "-" else file
    candidates = read_candidates(source, in_order=in_order)
    loaded = _load(scorer, provider, words, corpus)
    ranking = run(
        *(question, candidates),
        scorer=loaded,
        budget_ms=budget_ms,
        min_confidence=min_confidence,
    )
    if as_json:
        print_json(_to_dict(ranking, top, explain))
    else:
        _print(ranking, top, explain)


def _to_dict(ranking: "Ranking", top: int | None, explain: bool) -> dict[str, Any]:
    from dataclasses import asdict

    rows = []
    for item in ranking.items[:top]:
        stage = {"stage": item.stage} if explain else {}
        candidate = {"id": item.candidate.id, "text": item.candidate.text}
        rows.append({"rank": item.rank, "score": item.score, **stage, **candidate})
    result: dict[str, Any] = {
        "question": ranking.question,
        "scorer": ranking.scorer,
        "candidates": rows,
    }
    if ranking.confidence is not None:
        result |= {"confidence": ranking.confidence, "abstains": ranking.abstains}
    return result | ({"trace": [asdict(stage) for stage in ranking.trace]} if explain else {})


def _print(ranking: "Ranking", top: int | None, explain: bool) -> None:
    if ranking.confidence is not None:
        verdict = "no candidate answers" if ranking.abstains else "the first candidate answers"
        say(f"{verdict} (confidence {ranking.confidence:.2f})")
    names = [*(stage.scorer for stage in ranking.trace), "–"]  # stage -1: out of time
    rows = [
        [str(item.rank), f"{item.score:.4f}", names[item.stage], item.candidate.text]
        for item in ranking.items[:top]
    ]
    if not explain:
        print_table(["rank", "score", "candidate"], [[*row[:2], row[3]] for row in rows])
        return
    print_table(["rank", "score", "stage", "candidate"], rows)
    click.echo()
    print_trace(ranking.trace)


def _load(name: str | None, provider: str, words: str, corpus: Path | None) -> "Scorer":
    from rejoinder.cascade.loading import DEFAULT, load
    from rejoinder.datasets.files import read_lines
    from rejoinder.errors import InputError
    from rejoinder.models.lexical.scorers import Bm25, CorpusStatistics
    from rejoinder.text.words import get_word_splitter

    split = get_word_splitter(words)
    if corpus is None:
        return load(name or DEFAULT, words=words, provider=provider)
    if name not in (None, "bm25"):
        raise InputError(f"scorer {name!r} uses no word frequencies; remove --corpus")
    texts = (text for _, text in read_lines(corpus))
    return Bm25(split, corpus=CorpusStatistics.from_texts(texts, split))
