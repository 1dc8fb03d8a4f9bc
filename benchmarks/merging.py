"""Compare ways to merge words and meaning, on the questions of benchmarks/open_corpus.py.

Usage: python -m benchmarks.merging --data DATA --manuals FOLDER --cache FOLDER
           [--results benchmarks/results/merging.json]

Each row merges the same two lists of 200 sentences, the best by words and the nearest by meaning.
Columns are the shares of questions with a right sentence among the first 20 and 100, on the two
corpora, and with a typo in one content word of each question.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from benchmarks.corpora.contenders import FUSION
from benchmarks.corpora.questions import Question, add_typo
from benchmarks.corpora.reply import FOUND, Reply
from benchmarks.corpora.trials import judge, summarize
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.index import merging
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.index import MIN_SEARCHED, Index
from rejoinder.index.sqlite.documents import Place

RESULTS = ROOT / "benchmarks" / "results" / "merging.json"
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5)


class Lists(NamedTuple):
    """What both sources find for a question."""

    question: Question
    words: dict[Place, float]
    meaning: dict[Place, float]
    texts: dict[Place, str]


Merge = Callable[[Lists], list[Place]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.index = options.questions = options.typos = None
    results: dict[str, dict[str, dict[str, float]]] = {row: {} for row in list_rows()}
    for corpus in CORPORA:
        with open_corpus(corpus, options) as (index, _, asked):
            answerable = [question for question in asked if question.is_answerable]
            misspelt = [add_typo(question, 1) for question in answerable]
            for name, questions in ((corpus, answerable), (f"{corpus}, typos", misspelt)):
                lists = search(index, questions)
                for row, merge in list_rows().items():
                    results[row][name] = rate(lists, merge)
                    print(row, name, results[row][name], sep="\t", flush=True)
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def list_rows() -> dict[str, Merge]:
    """Return the ways to merge."""
    return {
        "words": lambda lists: list(lists.words),
        "meaning": lambda lists: list(lists.meaning),
        **{f"meaning {weight}": partial(merge_scores, weight) for weight in WEIGHTS},
        "reciprocal ranks": merge_ranks,
    }


def search(index: Index, questions: Sequence[Question]) -> list[Lists]:
    """Return what both sources find for each question."""
    full_text = FullTextIndex(index.folder, index.store).current
    found = []
    for question in questions:
        words = full_text.search(question.text, MIN_SEARCHED, None)
        meaning = index.vectors.search(full_text.correct(question.text), MIN_SEARCHED, None)
        sentences = index.store.find_sentences(words.keys() | meaning.keys())
        texts = {place: sentence.text for place, sentence in sentences.items()}
        found.append(Lists(question, words, meaning, texts))
    return found


def merge_scores(weight: float, lists: Lists) -> list[Place]:
    """Merge as the product does, with another weight of the meaning."""
    with mock.patch.object(merging, "MEANING", weight):
        return list(merging.merge(lists.words, lists.meaning))


def merge_ranks(lists: Lists) -> list[Place]:
    """Merge by reciprocal ranks."""
    scores: dict[Place, float] = {}
    for source in (lists.words, lists.meaning):
        for rank, place in enumerate(source, start=1):
            scores[place] = scores.get(place, 0) + 1 / (FUSION + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))


def rate(found: Sequence[Lists], merge: Merge) -> dict[str, float]:
    """Return rates in per cent, averaged over sets."""
    trials = []
    for lists in found:
        texts = dict.fromkeys(lists.texts[place] for place in merge(lists))
        trials.append(judge(lists.question, Reply(list(texts)[:FOUND], [], [], None, 0.0)))
    rates = summarize(trials)
    return {name: rates[name] for name in ("found_20", "found_100")}


if __name__ == "__main__":
    main()
