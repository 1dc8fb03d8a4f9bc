"""Turns a question and its candidates into what a selector's network reads.

One way for training and for use, with context or without.  Every input of a network has the axes
(pairs, things, …), and zeros are padding, so that all are padded alike.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.selector.context import Context, ContextConfig, ContextFinder
from rejoinder.models.selector.similarity import Similarity
from rejoinder.models.selector.tokens import LOCAL, MAX_TITLE, PAGE, PairTokens
from rejoinder.models.sidecar import SidecarRows
from rejoinder.types import Candidate

Feed = dict[str, NDArray[np.generic]]
"""The inputs of a network for one pair, by name: shape (1, things, …)."""
SECOND = "page_"
"""What the names of the second encoder's inputs begin with, in an ensemble."""


class PairReader:
    """Makes the inputs of one network."""

    def __init__(
        self, tokens: PairTokens, config: ContextConfig, similarity: Similarity | None
    ) -> None:
        self._tokens = tokens
        self._config = config
        self._similarity = similarity
        self._finder = self._make_finder(None)

    def bind(self, stored: SidecarRows) -> "PairReader":
        """Return the same reader that takes what is stored of documents from there."""
        bound = copy.copy(self)
        bound._finder = self._make_finder(stored)
        return bound

    def read(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        pieces: Sequence[Sequence[int]] | None = None,
    ) -> list[Feed]:
        """Return the inputs for each candidate.

        Args:
            pieces: the word pieces of each candidate, where they are known already.
        """
        asked = self._tokens.cut(question)
        given = pieces or [self._tokens.cut(item.text) for item in candidates]
        contexts: list[Context | None] = [None] * len(candidates)
        if self._finder is not None:
            contexts = self._finder.find(question, candidates)
        return [
            self._join(asked, own, context) for own, context in zip(given, contexts, strict=True)
        ]

    def _make_finder(self, stored: SidecarRows | None) -> ContextFinder | None:
        if self._config.form == "none":
            return None
        return ContextFinder(self._config, self._similarity, cut=self._tokens.cut, stored=stored)

    def _join(self, asked: Sequence[int], given: Sequence[int], context: Context | None) -> Feed:
        if self._config.is_vectors:
            return {
                **to_feed(*self._tokens.join(asked, given)),
                "near": self._get_vectors(context, context.neighbours if context else ()),
                "page": self._get_vectors(context, context.page if context else ()),
            }
        if self._config.form == "ensemble":
            pages = to_feed(*self._join_tokens(asked, given, context, local=False))
            return {
                **to_feed(*self._join_tokens(asked, given, context, page=False)),
                **{f"{SECOND}{name}": value for name, value in pages.items()},
            }
        return to_feed(*self._join_tokens(asked, given, context))

    def _join_tokens(
        self,
        asked: Sequence[int],
        given: Sequence[int],
        context: Context | None,
        *,
        local: bool = True,
        page: bool = True,
    ) -> tuple[list[int], list[int]]:
        around: list[tuple[int, Sequence[int]]] = []
        if context is not None and local:
            get = context.document.get_pieces
            around += [(LOCAL, get(place)) for place in context.neighbours]
        if context is not None and page:
            title = context.document.title_place
            for place in context.page:
                pieces = context.document.get_pieces(place)
                around.append((PAGE, pieces[:MAX_TITLE] if place == title else pieces))
        return self._tokens.join(asked, given, around, max_around=self._config.max_tokens)

    def _get_vectors(self, context: Context | None, places: Sequence[int]) -> NDArray[np.float32]:
        if context is None or not places:
            return np.zeros((1, 1, self._config.vector_width), dtype=np.float32)
        return context.document.get_vectors(places)[None]


def to_feed(ids: Sequence[int], kinds: Sequence[int]) -> Feed:
    """Return a pair as the network's inputs."""
    return {
        "ids": np.array([ids], dtype=np.int64),
        "mask": np.ones((1, len(ids)), dtype=np.int64),
        "kinds": np.array([kinds], dtype=np.int64),
    }


def pad(feeds: Sequence[Feed]) -> Feed:
    """Return pairs as one input, padded with zeros."""
    padded = {}
    for name, first in feeds[0].items():
        longest = max(feed[name].shape[1] for feed in feeds)
        joined = np.zeros((len(feeds), longest, *first.shape[2:]), dtype=first.dtype)
        for row, feed in enumerate(feeds):
            joined[row, : feed[name].shape[1]] = feed[name][0]
        padded[name] = joined
    return padded


def split_form(config: ContextConfig) -> tuple[ContextConfig, ContextConfig]:
    """Return what the two encoders of an ensemble read."""
    return replace(config, form="local"), replace(config, form="global")
