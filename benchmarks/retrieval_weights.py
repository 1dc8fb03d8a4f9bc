"""Compare weights of full-text search, on the questions of benchmarks/open_corpus.py.

Usage: python -m benchmarks.retrieval_weights --data DATA --manuals FOLDER --cache FOLDER
           [--results benchmarks/results/retrieval_weights.json]

Each row changes one figure of `rejoinder.index.fulltext.query`, and has the shares of questions
with a right sentence among the first 20 and 100 found.  Besides the two corpora, the manuals are
asked their own questions: headings and other sentences that end with a question mark, word for
word.  A sentence below the heading, or one of the four after the question, is right.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.corpora.questions import Question
from benchmarks.corpora.reply import FOUND, Reply
from benchmarks.corpora.trials import judge, summarize
from benchmarks.manuals.pages import normalize
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.documents.passages import iterate_passages
from rejoinder.index.fulltext import query
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.index import Index

RESULTS = ROOT / "benchmarks" / "results" / "retrieval_weights.json"
OWN_QUESTIONS = 300
ROWS: dict[str, dict[str, Any]] = {
    "as shipped": {"BOOSTS": query.BOOSTS},
    "only the text of a sentence": {"BOOSTS": {"text": 1.0}},
    "without its passage": {"BOOSTS": {**query.BOOSTS, "passage": 0.0}},
    "without headings": {"BOOSTS": {**query.BOOSTS, "headings": 0.0}},
    "without the title": {"BOOSTS": {**query.BOOSTS, "title": 0.0}},
    "headings 0.3": {"BOOSTS": {**query.BOOSTS, "headings": 0.3}},
    "headings 1": {"BOOSTS": {**query.BOOSTS, "headings": 1.0}},
    "title 0.3": {"BOOSTS": {**query.BOOSTS, "title": 0.3}},
    "title 1": {"BOOSTS": {**query.BOOSTS, "title": 1.0}},
    "only the best field of a word": {"OTHER_FIELDS": 0.0},
    "all fields of a word": {"OTHER_FIELDS": 1.0},
    "without function words": {"FUNCTION_WORD": 0.0},
    "function words as other words": {"FUNCTION_WORDS": frozenset()},
    "headings lift nothing": {"HEADING_SHARE": 2.0},
    "misspelt words are left out": {"MAX_MISSPELT": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.index = options.questions = options.typos = None
    results: dict[str, dict[str, Any]] = {row: {} for row in ROWS}
    for corpus in CORPORA:
        with open_corpus(corpus, options) as (index, _, questions):
            sets = {corpus: [question for question in questions if question.is_answerable]}
            if corpus == "manuals":
                sets["own questions"] = list_own_questions(index)
            for row, figures in ROWS.items():
                for name, asked in sets.items():
                    with mock.patch.multiple(query, **figures):
                        results[row][name] = {"questions": len(asked), **measure(index, asked)}
                    print(row, name, results[row][name], sep="\t", flush=True)
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def list_own_questions(index: Index) -> list[Question]:
    """Return questions that stand above or before sentences, evenly spread."""
    below: dict[str, set[str]] = {}
    for document in index.store.get_documents():
        for passage in iterate_passages(index.store.iterate_blocks(document.id)):
            for text in (*passage.headings, *(sentence.text for sentence in passage.before)):
                if text.endswith("?"):
                    below.setdefault(text, set()).add(normalize(passage.sentence.text))
    asked = [Question(text, text, "own", frozenset(golds)) for text, golds in below.items()]
    return asked[:: max(1, len(asked) // OWN_QUESTIONS)]


def measure(index: Index, questions: Sequence[Question]) -> dict[str, float]:
    """Return rates of full-text search alone, in per cent."""
    current = FullTextIndex(index.folder, index.store).current
    trials = []
    for question in questions:
        places = list(current.search(question.text, 2 * FOUND, None))
        with index.store.reading_sentences(places) as rows:
            found = dict.fromkeys(row.text for row in rows)
        trials.append(judge(question, Reply(list(found)[:FOUND], [], [], None, 0.0)))
    rates = summarize(trials)
    return {name: rates[name] for name in ("found_20", "found_100")}


if __name__ == "__main__":
    main()
