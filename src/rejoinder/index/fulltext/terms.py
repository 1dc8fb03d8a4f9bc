"""The terms of the full-text index: stems of English words, and other words as they are."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log1p
from typing import NamedTuple

import tantivy

from rejoinder.documents.passages import Passage
from rejoinder.text.words import FUNCTION_WORDS, normalise, split_words

FIELDS = ("text", "passage", "headings", "title")
"""The fields with terms.  Only the text of a sentence keeps its function words."""
MAX_LENGTH = 40
"""Longer words are left out."""

_ANALYZER = (
    tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    .filter(tantivy.Filter.remove_long(MAX_LENGTH))
    .filter(tantivy.Filter.lowercase())
    .filter(tantivy.Filter.stemmer("english"))
    .build()
)
_FUNCTION_TERMS = frozenset(_ANALYZER.analyze(" ".join(FUNCTION_WORDS)))


def stem_words(text: str) -> list[str]:
    """Return the terms of a text; each Chinese character is a term.

    >>> stem_words("The caves of glaciers")
    ['the', 'cave', 'of', 'glacier']
    """
    if not text.isascii():
        text = " ".join(normalise(word.text) for word in split_words(text))
    return _ANALYZER.analyze(text)


class JoinedTerms(NamedTuple):
    """The terms of a text, with spaces between them."""

    all: str
    content: str
    """Without function words, unless there are no others."""


@lru_cache(maxsize=64)  # a sentence belongs to the passages of its neighbours
def join_terms(text: str) -> JoinedTerms:
    """Return the terms of a text in the form in which they are indexed.

    >>> join_terms("The caves of glaciers").content
    'cave glacier'
    """
    terms = stem_words(text)
    content = [term for term in terms if term not in _FUNCTION_TERMS]
    return JoinedTerms(" ".join(terms), " ".join(content or terms))


def join_fields(title: str, passage: Passage) -> dict[str, str]:
    """Return the terms of each field of a sentence, with spaces between them."""
    whole = (*passage.before, passage.sentence, *passage.after)
    return {
        "text": join_terms(passage.sentence.text).all,
        "passage": _join_content(each.text for each in whole),
        "headings": _join_content(_list_headings(passage)),
        "title": join_terms(title).content,
    }


def _join_content(texts: Iterable[str]) -> str:
    return " ".join([join_terms(text).content for text in texts])


def _list_headings(passage: Passage) -> tuple[str, ...]:
    """Return the headings, and the last question before a sentence: it heads an answer in a FAQ."""
    texts = (sentence.text for sentence in reversed(passage.before))
    question = next((text for text in texts if text.endswith("?")), None)
    return (*passage.headings, question) if question else passage.headings


def count_sentences(searcher: tantivy.Searcher, term: str) -> int:
    """Return how many sentences a term finds, by the field that finds most."""
    return max(searcher.doc_freq(field, term) for field in FIELDS)


def weigh_words(searcher: tantivy.Searcher, words: Iterable[str]) -> list[float]:
    """Return how rare each word is in sentences, from 0 to 1 (`weigh_counts`)."""
    stems = [stem_words(word) for word in words]
    counts = {term: searcher.doc_freq("text", term) for each in stems for term in each}
    return weigh_counts(stems, counts, searcher.num_docs)


def weigh_counts(
    stems: Iterable[Sequence[str]], counts: Mapping[str, int], total: int
) -> list[float]:
    """Return how rare each word is, from 0 to 1: BM25's IDF over the largest one.

    Of a word with several terms, the rarest counts.

    Args:
        stems: the terms of each word.
        counts: how many sentences have each term.
        total: how many sentences there are.
    """
    total = max(2, total)
    largest = _compute_idf(1, total)
    rarest = (min((counts.get(term, 0) for term in each), default=0) for each in stems)
    return [_compute_idf(min(max(1, count), total), total) / largest for count in rarest]


def _compute_idf(count: int, total: int) -> float:
    return log1p((total - count + 0.5) / (count + 0.5))
