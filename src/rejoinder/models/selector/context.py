"""The context of a candidate: its neighbours, and the most similar sentences of its page.

Han et al. 2021, "Modeling Context in Answer Sentence Selection Systems on a Latency Budget".
Local context are the k sentences before and after; global context are the title and the h
sentences of the document that are most like question and candidate together.

A candidate's place is its position, even where the document has another text there.  Without a
position, or with one outside the document, it has no neighbours, and without a document no
context at all.  Context depends on the question, the candidate and its document alone: neither
the order of documents nor other candidates change it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.selector.similarity import (
    Cosine,
    PreparedPage,
    Ratings,
    Similarity,
    VectorPage,
    Vectors,
)
from rejoinder.models.sidecar import SidecarRows
from rejoinder.types import Candidate, Document

TOPICS = ("title", "headings", "prefix")
"""Forms that read what a candidate is about: its title, and all but the first its headings."""
FORMS = (
    "none",
    *TOPICS,
    "local",
    "global",
    "concatenation",
    "ensemble",
    "multi-way",
    "stored",
)
SIMILARITIES = ("ngrams", "static", "encoder")
ATTENTIONS = ("scaled", "concat", "bilinear", "dot", "minus", "mixed")
"""Functions of multi-way attention: ours, the four of Tan et al. 2018, and all four together."""
MAX_TITLE = 200
"""Characters of a title that are read."""
MAX_CACHED = 50_000
"""Sentences of the documents in the cache, without those of the last one."""


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """Which context a selector reads, how it is found, and in which form it is read."""

    form: str = "none"
    similarity: str = "static"
    """How the page's sentences are chosen: ngrams, static (vectors) or encoder."""
    neighbours: int = 1
    """k: the number of sentences before, and after."""
    sentences: int = 5
    """h: the number of sentences of the page."""
    max_tokens: int = 128
    vector_width: int = 0
    """The width of the vectors that are read instead of tokens; 0 for tokens."""
    encoder: str = ""
    """The encoder of the similarity `encoder`: a folder, or a name on a hub."""
    attention: str = "scaled"
    """The function of multi-way attention, one of `ATTENTIONS`."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise UnknownNameError("form of context", self.form, FORMS)
        if self.similarity not in SIMILARITIES:
            raise UnknownNameError("similarity", self.similarity, SIMILARITIES)
        if self.attention not in ATTENTIONS:
            raise UnknownNameError("attention", self.attention, ATTENTIONS)
        if self.attention != "scaled" and not self.is_multi_way:
            raise InputError(
                f"attention {self.attention!r} is a function of multi-way attention, and context"
                f" {self.form!r} has none; choose multi-way or stored"
            )
        if self.form == "stored" and self.similarity == "ngrams":
            raise InputError(
                "stored context needs vectors, and n-grams have none; choose static or encoder"
            )

    @property
    def has_local(self) -> bool:
        """Whether neighbours are read."""
        return self.form not in ("none", *TOPICS, "global")

    @property
    def has_page(self) -> bool:
        """Whether sentences of the page are read, and its title."""
        return self.form not in ("none", *TOPICS, "local")

    @property
    def has_topic(self) -> bool:
        """Whether the title and the headings are read, and no other sentence of the document."""
        return self.form in TOPICS

    @property
    def reads_tokens(self) -> bool:
        """Whether sentences are read as tokens behind the pair."""
        return self.form not in ("none", "prefix", "stored")

    @property
    def is_multi_way(self) -> bool:
        """Whether the question attends to each part of the context separately."""
        return self.form in ("multi-way", "stored")

    @property
    def is_vectors(self) -> bool:
        """Whether sentences are read as vectors."""
        return self.form == "stored"


@dataclass(eq=False)
class PreparedDocument:
    """A document and all that depends on it alone, computed on first use."""

    document: Document
    _similarity: Similarity | None
    _tokenize: Callable[[str], Sequence[int]]
    _stored: SidecarRows | None
    _pieces: dict[int, Sequence[int]] = field(default_factory=dict)

    @property
    def title_place(self) -> int:
        """The title comes after the sentences, as one more."""
        return len(self.document.sentences)

    def get_pieces(self, place: int) -> Sequence[int]:
        """Return the word pieces of a sentence, or of the title."""
        if place not in self._pieces:
            is_title = place == self.title_place
            title, sentences = self.document.title[:MAX_TITLE], self.document.sentences
            self._pieces[place] = self._tokenize(title if is_title else sentences[place])
        return self._pieces[place]

    def get_vectors(self, places: Sequence[int]) -> Vectors:
        """Return the vectors of sentences, (places, D)."""
        assert isinstance(self.page, VectorPage), "only a cosine has vectors"
        return self.page.vectors[list(places)]

    @cached_property
    def texts(self) -> Sequence[str]:
        """All sentences, in one query where they are stored."""
        return self.document.sentences[:]

    @cached_property
    def page(self) -> PreparedPage:
        """The sentences and the title, prepared to be rated."""
        assert self._similarity is not None, "this form of context rates no sentences"
        rows = self._stored.find_document(self.document) if self._stored else None
        if rows is not None and len(rows) == len(self.document.sentences) + 1:
            assert isinstance(self._similarity, Cosine), "only vectors are stored"
            return VectorPage(self._similarity, rows.view("<f4"))
        return self._similarity.prepare(list_texts(self.texts, self.document.title))


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one candidate, as places in its document."""

    document: PreparedDocument
    neighbours: tuple[int, ...] = ()
    """In the order of the text."""
    page: tuple[int, ...] = ()
    """The title, then sentences, the most alike first."""


class ContextFinder:
    """Finds the context of candidates; safe from many threads."""

    def __init__(
        self,
        config: ContextConfig,
        similarity: Similarity | None,
        *,
        tokenize: Callable[[str], Sequence[int]],
        stored: SidecarRows | None = None,
    ) -> None:
        self.config = config
        self._similarity = similarity
        self._tokenize = tokenize
        self._stored = stored
        self._cache: OrderedDict[str, PreparedDocument] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, question: str, candidates: Sequence[Candidate]) -> list[Context | None]:
        """Return the context of each candidate; None where it has no document."""
        contexts: list[Context | None] = [None] * len(candidates)
        for document, places in _group(candidates):
            prepared = self._prepare(document)
            own = [candidates[place] for place in places]
            neighbours = [self._find_neighbours(candidate) for candidate in own]
            pages = self._find_pages(prepared, question, own, neighbours)
            for place, near, page in zip(places, neighbours, pages, strict=True):
                contexts[place] = Context(prepared, near, page)
        return contexts

    def _find_neighbours(self, candidate: Candidate) -> tuple[int, ...]:
        place = get_place(candidate)
        if not self.config.has_local or place is None or candidate.document is None:
            return ()
        first, last = place - self.config.neighbours, place + self.config.neighbours
        around = range(max(0, first), min(len(candidate.document.sentences), last + 1))
        return tuple(at for at in around if at != place)

    def _find_pages(
        self,
        prepared: PreparedDocument,
        question: str,
        candidates: Sequence[Candidate],
        neighbours: Sequence[tuple[int, ...]],
    ) -> list[tuple[int, ...]]:
        if not self.config.has_page:
            return [()] * len(candidates)
        rated = prepared.page.rate(question, [candidate.text for candidate in candidates])
        rated[:, prepared.title_place] = 0  # it comes first in any case
        for row, candidate, near in zip(rated, candidates, neighbours, strict=True):
            row[list(near)] = 0
            row[list(_find_itself(candidate, prepared))] = 0
        title = (prepared.title_place,) if prepared.document.title else ()
        return [title + places for places in _take_best(rated, self.config.sentences)]

    def _prepare(self, document: Document) -> PreparedDocument:
        with self._lock:
            known = self._cache.get(document.id)
            if known is None or known.document != document:
                known = PreparedDocument(document, self._similarity, self._tokenize, self._stored)
                self._cache[document.id] = known
            self._cache.move_to_end(document.id)
            self._evict()
            return known

    def _evict(self) -> None:
        """Evict the least recently used documents."""
        cached = sum(len(item.document.sentences) for item in self._cache.values())
        while cached > MAX_CACHED and len(self._cache) > 1:
            _, oldest = self._cache.popitem(last=False)
            cached -= len(oldest.document.sentences)


def list_texts(sentences: Sequence[str], title: str) -> list[str]:
    """Return the texts of a document that are rated: its sentences and, last, its title."""
    return [*sentences, title[:MAX_TITLE]]


def get_place(candidate: Candidate) -> int | None:
    """Return a candidate's place in its document; None where it is not known."""
    document, position = candidate.document, candidate.position
    if document is None or position is None or not 0 <= position < len(document.sentences):
        return None
    return position


def _find_itself(candidate: Candidate, prepared: PreparedDocument) -> list[int]:
    """Return the places that are the candidate: its own, else all with its text."""
    place = get_place(candidate)
    if place is not None:
        return [place]
    return [at for at, text in enumerate(prepared.texts) if text == candidate.text]


def _group(candidates: Sequence[Candidate]) -> Iterator[tuple[Document, list[int]]]:
    """Yield the documents, and the places of their candidates."""
    groups: dict[int, tuple[Document, list[int]]] = {}
    for place, candidate in enumerate(candidates):
        if candidate.document is not None:
            group = groups.setdefault(id(candidate.document), (candidate.document, []))
            group[1].append(place)
    yield from groups.values()


def _take_best(rated: Ratings, count: int) -> list[tuple[int, ...]]:
    """Return the places of each row's highest ratings above 0; the first of equal ones."""
    best_places: list[list[int]] = [[] for _ in rated]
    if not rated.size:
        return [()] * len(rated)
    rows = np.arange(len(rated))
    for _ in range(count):
        best = rated.argmax(axis=1)
        for row, place in enumerate(best.tolist()):
            if rated[row, place] > 0:
                best_places[row].append(place)
        rated[rows, best] = 0
    return [tuple(places) for places in best_places]
