"""Compare ways to merge words and meaning, on the questions of benchmarks/open_corpus.py.

Usage: python -m benchmarks.merging --data DATA --manuals FOLDER --cache FOLDER
           [--results benchmarks/results/merging.json]

Each row merges the same two lists of 200 sentences, the best by words and the nearest by meaning.
Columns are the shares of questions with a right sentence among the first 20 and 100, on the two
corpora, and with a typo in one content word of each question.

The last row says how near right sentences are, and what the encoder's `min_cosine` costs.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from benchmarks.corpora.contenders import FUSION
from benchmarks.corpora.indexes import encode_sentences
from benchmarks.corpora.questions import Question, add_typo
from benchmarks.corpora.reply import FOUND, Reply
from benchmarks.corpora.trials import judge, summarize
from benchmarks.manuals.pages import normalize
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.documents.blocks import fold
from rejoinder.index import merging
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.index import MIN_SEARCHED, Index
from rejoinder.index.sqlite.documents import Place
from rejoinder.models.registry import open_sentence_encoder

RESULTS = ROOT / "benchmarks" / "results" / "merging.json"
COSINE = "cosine of the nearest right sentence"
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
    results: dict[str, dict[str, dict[str, float]]] = {row: {} for row in (*list_rows(), COSINE)}
    for corpus in CORPORA:
        with open_corpus(corpus, options) as (index, _, asked):
            answerable = [question for question in asked if question.is_answerable]
            misspelt = [add_typo(question, 1) for question in answerable]
            for name, questions in ((corpus, answerable), (f"{corpus}, typos", misspelt)):
                lists = search(index, questions)
                for row, merge in list_rows().items():
                    results[row][name] = rate(lists, merge)
                    print(row, name, results[row][name], sep="\t", flush=True)
            results[COSINE][corpus] = rate_cosines(index, answerable)
            print(COSINE, corpus, results[COSINE][corpus], sep="\t", flush=True)
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
        with index.store.reading_sentences(words.keys() | meaning.keys()) as rows:
            texts = {(row.number, row.position): row.text for row in rows}
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


def rate_cosines(index: Index, questions: Sequence[Question]) -> dict[str, float]:
    """Return percentiles of the cosine of each question's nearest right sentence.

    `lost` is the share of questions, in per cent, for which it is among the nearest sentences
    but below the encoder's `min_cosine`.
    """
    correct = FullTextIndex(index.folder, index.store).current.correct
    encoder = open_sentence_encoder()
    texts, vectors = encode_sentences(index.store, encoder)
    cosines, lost = [], 0
    for question, rows in zip(questions, find_right(texts, questions), strict=True):
        if rows:
            found = vectors @ encoder.encode_question(correct(question.text))
            cosines.append(float(found[rows].max()))
            is_near = (found > cosines[-1]).sum() < MIN_SEARCHED
            lost += int(is_near and cosines[-1] < encoder.min_cosine)
    percentiles = {f"p{at}": round(float(np.percentile(cosines, at)), 3) for at in (1, 5, 50)}
    return {"questions": len(cosines), **percentiles, "lost": round(100 * lost / len(cosines), 2)}


def find_right(texts: Sequence[str], questions: Sequence[Question]) -> Iterator[list[int]]:
    """Yield the places of each question's right sentences, as `Question.accepts` finds them."""
    folded, places = [fold(text) for text in texts], defaultdict(list)
    for place, text in enumerate(texts):
        places[normalize(text)].append(place)
    for question in questions:
        if question.pattern:
            search = question.pattern.search
            yield [place for place, text in enumerate(folded) if search(text)]
        else:
            yield [place for gold in question.golds for place in places.get(gold, ())]


if __name__ == "__main__":
    main()
