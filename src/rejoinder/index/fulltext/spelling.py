"""Finds the terms of an index that an unknown word may be a misspelling of.

Edits are made to the word before it is stemmed: "revertng" and "revert" differ by three letters,
"revertng" and "reverting" by one.
"""

from collections.abc import Iterator
from string import ascii_lowercase

import tantivy

from rejoinder.index.fulltext.terms import FIELDS, MAX_LENGTH, count_sentences, stem_words

MIN_LENGTH = 4
"""Shorter words are not corrected."""
MIN_LENGTH_TWICE = 6
"""Shorter words are corrected by one edit only."""
KEPT_LETTERS = 2
"""The first letters are right where two edits are needed, so that few terms are compared."""
MAX_TERMS = 3
MAX_COMPARED = 3_000


def find_similar(searcher: tantivy.Searcher, word: str) -> list[str]:
    """Return the most frequent of the terms that are one edit away from a word, else two.

    An edit drops a letter, adds or replaces one, or swaps two.
    """
    if not word.isalpha() or not MIN_LENGTH <= len(word) <= MAX_LENGTH:
        return []
    edited = list_edited(word)
    counts = {term: count for term in edited if (count := count_sentences(searcher, term))}
    if not counts and len(word) >= MIN_LENGTH_TWICE:
        counts = _find_nearby(searcher, edited, word[:KEPT_LETTERS])
    return sorted(counts, key=lambda term: (-counts[term], term))[:MAX_TERMS]


def list_edited(word: str) -> set[str]:
    """Return the terms of all words that are one edit away from a word."""
    return set(stem_words(" ".join(set(_edit(word)))))


def _find_nearby(searcher: tantivy.Searcher, edited: set[str], prefix: str) -> dict[str, int]:
    """Return the frequencies of terms that are one more edit away."""
    near = set().union(*map(_drop_letter, edited))
    return {
        term: count
        for field in FIELDS
        for term, count in searcher.terms_with_prefix(field, prefix, limit=MAX_COMPARED)
        if len(term) >= MIN_LENGTH and not near.isdisjoint(_drop_letter(term))
    }


def _edit(word: str) -> Iterator[str]:
    letters = {*ascii_lowercase, *word}
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
            yield before + after[1:2] + after[0] + after[2:]


def _drop_letter(word: str) -> set[str]:
    """Return a word without each of its letters, and the word: similar words share one."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}
