"""A question and a candidate, with the context around them, as the inputs of a selector's network.

The tokens are [CLS] question [SEP] candidate [SEP], or the encoder's own special tokens in their
places, then each sentence of the context with a [SEP] of its own; each token has the kind of its
part.  Without context it is the plain pair.  A pair that is too long is truncated at the
candidate's end; the question keeps at most half of the tokens.

Training and the runtime read the same inputs.  Every input has the axes (pairs, items, …), and
zeros are padding.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.kernel import Ids
from rejoinder.models.onnx_session import Feed, to_feed
from rejoinder.models.selector.context import MAX_TITLE, Context, ContextConfig, ContextFinder
from rejoinder.models.selector.similarity import Similarity
from rejoinder.models.sidecar import SidecarRows
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.types import Candidate

QUESTION, CANDIDATE, LOCAL, PAGE = range(4)
"""The kinds of tokens, which the encoder reads as token types."""
KINDS = 4
MAX_NEIGHBOUR = 48
"""Tokens of a neighbour, so that two of them leave room for the page."""
MAX_TITLE_TOKENS = 16
MAX_HEADING_TOKENS = 12
"""Tokens of all headings above a candidate; the outermost are left out first."""
Pieces = Sequence[int] | NDArray[np.integer[Any]]
"""The word pieces of a text; arrays, as they are stored, are not read one by one."""
ContextPieces = tuple[int, Sequence[int]]
"""The kind and the word pieces of a sentence of the context."""
SECOND = "page_"
"""The prefix of the second encoder's inputs in an ensemble."""


class PairTokens:
    """Joins the tokens of a question with those of its candidates."""

    def __init__(self, tokenizer: Tokenizer, *, max_tokens: int) -> None:
        self._frame = tokenizer.frame
        self._max_tokens = max_tokens
        self._max_question = max_tokens // 2 - len(self._frame.first) - len(self._frame.between)
        self.tokenize = tokenizer.to_ids

    def join(
        self,
        question: Pieces,
        candidate: Pieces,
        around: Sequence[ContextPieces] = (),
        *,
        max_around: int = 0,
    ) -> tuple[Ids, Ids]:
        """Return ids and kinds of a pair.

        Args:
            around: the most important first.  A neighbour that is too long is truncated, a
                sentence of the page is left out.
            max_around: the maximum number of context tokens.
        """
        begin, between, end = self._frame
        first = [begin, question[: self._max_question], between]
        asked = sum(map(len, first))
        second = [candidate[: self._max_tokens - asked - len(end)], end]
        parts, kinds = [*first, *second], [QUESTION] * 3 + [CANDIDATE] * 2
        room = min(max_around, self._max_tokens - sum(map(len, parts)))
        for kind, pieces in around:
            kept = pieces[: min(MAX_NEIGHBOUR, room - len(end))] if kind == LOCAL else pieces
            if kept and len(kept) + len(end) <= room:
                parts += [kept, end]
                kinds += [kind] * 2
                room -= len(kept) + len(end)
        return _concatenate(parts, kinds)

    def is_too_long(self, question: Pieces, candidates: Iterable[Pieces]) -> bool:
        """Return whether `join` would truncate the pair itself."""
        room = self._max_tokens - sum(map(len, self._frame))
        return len(question) > self._max_question or any(
            len(question) + len(candidate) > room for candidate in candidates
        )


def _concatenate(parts: Sequence[Pieces], kinds: Sequence[int]) -> tuple[Ids, Ids]:
    """Return the ids of all parts one after another, and the kind of each.

    Slices are filled in place, because numpy's own functions take longer for parts so small.
    """
    total = sum(map(len, parts))
    ids, own = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    start = 0
    for part, kind in zip(parts, kinds, strict=True):
        end = start + len(part)
        ids[start:end], own[start:end] = part, kind
        start = end
    return ids, own


class PairReader:
    """Makes the inputs of one network."""

    def __init__(
        self, tokens: PairTokens, config: ContextConfig, similarity: Similarity | None
    ) -> None:
        self._tokens = tokens
        self._config = config
        self._similarity = similarity
        self._finder = self._make_finder(None)

    @property
    def reads_context(self) -> bool:
        """Whether the inputs depend on the candidates' documents."""
        return self._config.form != "none"

    @property
    def reads_topic(self) -> bool:
        """Whether all that is read of a document are its title and headings."""
        return self._config.has_topic

    def bind(self, stored: SidecarRows) -> "PairReader":
        """Return the same reader that reads stored page vectors."""
        bound = copy.copy(self)
        bound._finder = self._make_finder(stored)
        return bound

    def read(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        pieces: Sequence[Pieces] | None = None,
    ) -> list[Feed]:
        """Return the inputs for each candidate.

        Args:
            pieces: the word pieces of each candidate, where they are known already.
        """
        question_ids = self._tokens.tokenize(question)
        candidate_ids: Sequence[Pieces] = pieces or [
            self._tokens.tokenize(item.text) for item in candidates
        ]
        if self._config.has_topic:
            return self._read_topics(question_ids, candidates, candidate_ids)
        contexts: list[Context | None] = [None] * len(candidates)
        if self._finder is not None:
            contexts = self._finder.find(question, candidates)
        return [
            self._join(question_ids, own, context)
            for own, context in zip(candidate_ids, contexts, strict=True)
        ]

    def _read_topics(
        self, question_ids: Pieces, candidates: Sequence[Candidate], candidate_ids: Sequence[Pieces]
    ) -> list[Feed]:
        feeds = []
        # Candidates of one document share its title, and often their headings.
        tokenize, with_headings = cache(self._tokens.tokenize), self._config.form != "title"
        for candidate, own in zip(candidates, candidate_ids, strict=True):
            topic = read_topic(candidate, tokenize, with_headings=with_headings)
            if self._config.form == "prefix":
                joined = self._tokens.join(question_ids, [*topic, *own])
            else:
                around = [(PAGE, topic)]
                joined = self._tokens.join(question_ids, own, around, max_around=len(topic) + 2)
            feeds.append(to_feed(*joined))
        return feeds

    def _make_finder(self, stored: SidecarRows | None) -> ContextFinder | None:
        if self._config.form == "none" or self._config.has_topic:
            return None
        return ContextFinder(
            self._config, self._similarity, tokenize=self._tokens.tokenize, stored=stored
        )

    def _join(self, question_ids: Pieces, candidate_ids: Pieces, context: Context | None) -> Feed:
        if self._config.is_vectors:
            return {
                **to_feed(*self._tokens.join(question_ids, candidate_ids)),
                "near": self._get_vectors(context, context.neighbours if context else ()),
                "page": self._get_vectors(context, context.page if context else ()),
            }
        near, page = _list_around(context) if context else ([], [])
        max_around = self._config.max_tokens
        join = partial(self._tokens.join, question_ids, candidate_ids, max_around=max_around)
        if self._config.form == "ensemble":
            second = {f"{SECOND}{name}": value for name, value in to_feed(*join(page)).items()}
            return {**to_feed(*join(near)), **second}
        return to_feed(*join([*near, *page]))

    def _get_vectors(self, context: Context | None, places: Sequence[int]) -> NDArray[np.float32]:
        if context is None or not places:
            return np.zeros((1, 1, self._config.vector_width), dtype=np.float32)
        return context.document.get_vectors(places)[None]


def read_topic(
    candidate: Candidate,
    tokenize: Callable[[str], Sequence[int]],
    *,
    with_headings: bool = True,
) -> list[int]:
    """Return the pieces of a candidate's title and of the headings above it, each with a full stop.

    A candidate without both has none.  Long titles are truncated; of many headings, the innermost
    are read.
    """
    stop = tokenize(".")
    title = candidate.document.title if candidate.document else ""
    pieces = tokenize(title[:MAX_TITLE])[:MAX_TITLE_TOKENS]
    topic = [*pieces, *stop] if pieces else []
    room, headings = MAX_HEADING_TOKENS, list[int]()
    for heading in reversed(candidate.headings if with_headings else ()):
        pieces = tokenize(heading[:MAX_TITLE])[:room]
        own = [*pieces, *stop] if pieces else []
        headings[:0] = own
        room -= len(own)
        if room <= 0:
            break
    return topic + headings


def _list_around(context: Context) -> tuple[list[ContextPieces], list[ContextPieces]]:
    """Return the neighbours, and the sentences of the page."""
    get, title = context.document.get_pieces, context.document.title_place
    near = [(LOCAL, get(place)) for place in context.neighbours]
    kept = [get(place)[: MAX_TITLE_TOKENS if place == title else None] for place in context.page]
    return near, [(PAGE, pieces) for pieces in kept]


def split_form(config: ContextConfig) -> tuple[ContextConfig, ContextConfig]:
    """Return the contexts that the two encoders of an ensemble read."""
    return replace(config, form="local"), replace(config, form="global")
