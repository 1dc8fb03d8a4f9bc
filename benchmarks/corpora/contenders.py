"""The contenders: what each of them finds and answers.

A contender takes questions and yields a reply to each.  Milliseconds are those of one answer, as
a user waits for it; the rest of a reply is found out after the clock has stopped.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora.before import COMMIT, ask_before
from benchmarks.corpora.cross_encoder import CROSS_ENCODER, CrossEncoder
from benchmarks.corpora.embeddings import ENCODERS, NearestNeighbours, has_torch
from benchmarks.corpora.indexes import Blocks, list_entries
from benchmarks.corpora.passages import PassageSearch
from benchmarks.corpora.reply import ANSWERS, FOUND, Reply
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import DEFAULT, load
from rejoinder.engine.engine import Engine
from rejoinder.index.candidates import get_number
from rejoinder.index.index import Index
from rejoinder.models.staged import Deadline, Staged
from rejoinder.types import Candidate

RERANKED = 20
FUSION = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""

Contender = Callable[[Sequence[str]], Iterator[Reply]]


class Found(NamedTuple):
    """A sentence that was found."""

    title: str
    text: str
    document: int
    position: int


Search = Callable[[str], Sequence[Found]]


@dataclass(frozen=True)
class Setting:
    """What contenders are made from."""

    corpus: str
    index: Index
    content: Path
    """The folder of the files, or the JSON lines of the documents."""
    options: argparse.Namespace


def make_before(setting: Setting) -> Contender:
    """Make the default of an earlier commit, with its own readers, index and weights."""
    tree: Path = setting.options.before.resolve()
    stem = setting.corpus if setting.content.is_dir() else setting.content.stem
    folder = setting.options.cache / f"{stem}-{COMMIT}"
    return lambda questions: ask_before(tree, folder.resolve(), setting.content, questions)


def make_retrieval(setting: Setting) -> Contender:
    """Make this tree's search alone."""
    return _answer_with(_search_index(setting.index), setting)


def make_staged(setting: Setting) -> Contender:
    """Make this tree's default without its last stage."""
    *stages, last, _ = _load_cascade().stages
    return make_engine(setting.index, Cascade("staged", [*stages, replace(last, keep=None)]))


def make_default(setting: Setting) -> Contender:
    """Make this tree's default."""
    return make_engine(setting.index, _load_cascade())


def make_thorough(setting: Setting) -> Contender:
    """Make this tree's cascade that reads passages."""
    return make_engine(setting.index, _load_cascade("thorough"))


def make_passages(setting: Setting) -> Contender:
    """Make SQLite's FTS5 over passages; a passage counts as all its sentences in their order."""
    search = PassageSearch(list_entries(setting.index))

    def answer(question: str) -> Reply:
        start = time.perf_counter()
        passages = search.search(question, FOUND)
        milliseconds = 1000 * (time.perf_counter() - start)
        sentences = [sentence for passage in passages for sentence in passage][:FOUND]
        shown = [" ".join(passage) for passage in passages[:ANSWERS]]
        return Reply(sentences, sentences[:ANSWERS], shown, None, milliseconds)

    return one_by_one(answer)


def make_minilm(setting: Setting) -> Contender:
    """Make the nearest neighbours by all-MiniLM-L6-v2."""
    return _answer_with(_search_vectors("minilm-l6", setting), setting)


def make_bge(setting: Setting) -> Contender:
    """Make the nearest neighbours by bge-small."""
    return _answer_with(_search_vectors("bge-small", setting), setting)


def make_hybrid(setting: Setting) -> Contender:
    """Make this tree's search merged with all-MiniLM-L6-v2, by reciprocal ranks."""
    return _answer_with(_search_both(setting), setting)


def make_reranked(setting: Setting) -> Contender:
    """Make this tree's search, reranked by ms-marco-MiniLM-L-12."""
    return _rerank(_search_index(setting.index), setting)


def make_hybrid_reranked(setting: Setting) -> Contender:
    """Make both searches merged, reranked by ms-marco-MiniLM-L-12."""
    return _rerank(_search_both(setting), setting)


ROWS: dict[str, tuple[str, Callable[[Setting], Contender], tuple[str, ...]]] = {
    "before": (f"the default of commit {COMMIT}", make_before, ("--before",)),
    "retrieval": ("retrieval", make_retrieval, ()),
    "staged": ("default without its last stage", make_staged, ()),
    "default": ("**default**", make_default, ()),
    "thorough": ("**thorough**", make_thorough, ()),
    "fts5": ("SQLite FTS5, passages of 8 sentences", make_passages, ()),
    "minilm": ("all-MiniLM-L6-v2, nearest neighbours", make_minilm, ("minilm-l6",)),
    "bge": ("bge-small-en-v1.5, nearest neighbours", make_bge, ("bge-small",)),
    "hybrid": ("retrieval + all-MiniLM-L6-v2", make_hybrid, ("minilm-l6",)),
    "reranked": ("retrieval → ms-marco-MiniLM-L-12", make_reranked, (CROSS_ENCODER,)),
    "hybrid-reranked": (
        "retrieval + all-MiniLM-L6-v2 → ms-marco-MiniLM-L-12",
        make_hybrid_reranked,
        ("minilm-l6", CROSS_ENCODER),
    ),
}
"""Label, maker, and what the row needs."""


def find_missing(row: str, options: argparse.Namespace) -> list[str]:
    """Return what a row needs and this machine lacks."""

    def is_there(name: str) -> bool:
        if name == "--before":
            return bool(options.before)
        if name in ENCODERS:
            return has_torch() and ENCODERS[name].find(options.weights) is not None
        return bool(options.weights and (options.weights / name / "model.int8.onnx").is_file())

    return [name for name in ROWS[row][2] if not is_there(name)]


def one_by_one(answer: Callable[[str], Reply]) -> Contender:
    """Return a contender that answers the first question twice: caches are cold at first."""

    def ask(questions: Sequence[str]) -> Iterator[Reply]:
        for question in questions[:1]:
            answer(question)
        yield from map(answer, questions)

    return ask


def _load_cascade(name: str = DEFAULT) -> Cascade:
    scorer = load(name)
    assert isinstance(scorer, Cascade)
    return scorer


class RememberingCascade(Cascade):
    """A cascade that scores the same list only once when it is asked several times in a row."""

    _last: tuple[object, Staged] | None = None

    def forget(self) -> None:
        """Score the next list in any case."""
        self._last = None

    def score_in_stages(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        deadline: Deadline | None = None,
        only_first: bool = False,
    ) -> Staged:
        """Return the scores of the last call if it had the same list."""
        can_stop = only_first and self.stages[-1].stop is not None
        key = question, [candidate.id for candidate in candidates], can_stop
        if self._last is None or self._last[0] != key:
            self._last = (
                key,
                super().score_in_stages(
                    question, candidates, deadline=deadline, only_first=only_first
                ),
            )
        return self._last[1]


def make_engine(index: Index, scorer: Cascade) -> Contender:
    """Make this tree's engine with a cascade."""
    cascade = RememberingCascade(scorer.name, scorer.stages, calibration=scorer.calibration)
    engine = Engine(index, cascade)
    blocks = Blocks(index)

    def answer(question: str) -> Reply:
        cascade.forget()
        start = time.perf_counter()
        result = engine.answer(question)
        milliseconds = 1000 * (time.perf_counter() - start)
        # Sentences are judged one by one; a user who is shown passages sees each of them once.
        sentences = engine.answer(question, top=ANSWERS, context="sentence").answers
        passages = engine.answer(question, top=ANSWERS).answers
        return Reply(
            [hit.candidate.text for hit in index.search(question, FOUND)],
            _put_first([item.sentence for item in [*result.answers, *sentences]]),
            _put_first([blocks.show_source(item.source) for item in [*result.answers, *passages]]),
            result.abstains if scorer.calibration else None,
            milliseconds,
        )

    return one_by_one(answer)


def _put_first(texts: Sequence[str]) -> list[str]:
    """Return the answer that was asked for alone, then those of five.

    It may be another than their first, because a stage that looks for one answer stops early.
    """
    return list(dict.fromkeys(texts))[:ANSWERS]


def _answer_with(search: Search, setting: Setting) -> Contender:
    blocks = Blocks(setting.index)

    def answer(question: str) -> Reply:
        start = time.perf_counter()
        found = search(question)
        milliseconds = 1000 * (time.perf_counter() - start)
        best = found[:ANSWERS]
        return Reply(
            [item.text for item in found],
            [item.text for item in best],
            [blocks.show(item.document, item.position) for item in best],
            None,
            milliseconds,
        )

    return one_by_one(answer)


def _rerank(search: Search, setting: Setting) -> Contender:
    encoder = CrossEncoder(setting.options.weights / CROSS_ENCODER)
    blocks = Blocks(setting.index)

    def answer(question: str) -> Reply:
        start = time.perf_counter()
        found = search(question)
        first = found[:RERANKED]
        scores = encoder.score(question, [f"{item.title}: {item.text}" for item in first])
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        milliseconds = 1000 * (time.perf_counter() - start)
        best = [first[place] for place in order[:ANSWERS]]
        return Reply(
            [item.text for item in found],
            [item.text for item in best],
            [blocks.show(item.document, item.position) for item in best],
            None,
            milliseconds,
        )

    return one_by_one(answer)


def _search_index(index: Index) -> Search:
    def search(question: str) -> list[Found]:
        return [_to_found(hit.candidate) for hit in index.search(question, FOUND)]

    return search


def _to_found(candidate: Candidate) -> Found:
    document, position = candidate.document, candidate.position
    assert document is not None
    assert position is not None
    return Found(document.title, candidate.text, get_number(document), position)


def _search_vectors(encoder: str, setting: Setting) -> Search:
    entries = [
        Found(entry.title, entry.text, entry.document, entry.position)
        for entry in list_entries(setting.index)
        if entry.may_answer
    ]
    options = setting.options
    nearest = NearestNeighbours(
        encoder, options.weights, options.cache, [f"{item.title}. {item.text}" for item in entries]
    )

    def search(question: str) -> list[Found]:
        found: dict[str, Found] = {}
        for place in nearest.search(question, 2 * FOUND):
            found.setdefault(entries[place].text, entries[place])
        return list(found.values())[:FOUND]

    return search


def _search_both(setting: Setting) -> Search:
    searches = (_search_index(setting.index), _search_vectors("minilm-l6", setting))

    def search(question: str) -> list[Found]:
        found: dict[str, Found] = {}
        scores: dict[str, float] = {}
        for source in searches:
            for rank, item in enumerate(source(question), start=1):
                found.setdefault(item.text, item)
                scores[item.text] = scores.get(item.text, 0) + 1 / (FUSION + rank)
        best = sorted(scores, key=lambda text: -scores[text])[:FOUND]
        return [found[text] for text in best]

    return search
