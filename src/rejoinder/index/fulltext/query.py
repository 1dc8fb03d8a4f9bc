"""Turns a question into a query of the full-text index.

Each content word counts by the best of its fields, and a little by the others: a sentence that
has one half of the question, below a heading that has the other half, is better than one that has
the first half twice.  Function words only order the sentences that a content word has found: they
prefer whole sentences to fragments.  Sentences below a heading that has most of the question are
lifted.  Words that the index does not know are taken for misspelt.  With hardly any time, only the
rarest words are searched for.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from math import ceil

import tantivy
from tantivy import Occur, Query

from rejoinder.index.fulltext.spelling import find_similar
from rejoinder.index.fulltext.terms import FIELDS, count_sentences, stem_words
from rejoinder.text.words import FUNCTION_WORDS, normalise, normalise_words, split_words

BOOSTS = {"text": 1.0, "passage": 1.0, "headings": 0.6, "title": 0.6}
"""Weights of the fields, chosen on development data (docs/retrieval.md), as the other figures."""
OTHER_FIELDS = 0.4
"""Weight of all but the best field of a word."""
FUNCTION_WORD = 0.5
"""Weight of a function word in the text of a sentence."""
HEADING_SHARE = 0.8
"""The share of the content words that a heading path must have to lift the text below it."""
MAX_WORDS = 64
MAX_MISSPELT = 4
"""Words that are corrected, of those that the index does not know."""

MAX_ENTRIES = 20_000
"""Entries of the index that a brief search reads at most, unless one word has more."""

Terms = Sequence[str]
"""The terms that stand for one word of the question, the likeliest first."""


def build_query(schema: tantivy.Schema, searcher: tantivy.Searcher, question: str) -> Query | None:
    """Return the query of a question; None where it has no word that the index knows."""
    content, function_words = split_question(question)
    found = _find_terms(searcher, content)
    if not found:
        return None
    known = {term for terms in found for term in terms}
    others = sorted(set(stem_words(" ".join(function_words))) - known)
    return Query.boolean_query(
        [
            (Occur.Must, _any(_match_word(schema, terms) for terms in found)),
            (Occur.Should, _match_headings(schema, [terms[0] for terms in found])),
            *((Occur.Should, _match(schema, "text", term, FUNCTION_WORD)) for term in others),
        ]
    )


def build_brief_query(
    schema: tantivy.Schema, searcher: tantivy.Searcher, question: str
) -> Query | None:
    """Return a query of the rarest words of a question, which takes a fraction of the time.

    It corrects no words.  None where the index knows none of them.
    """
    content, _ = split_question(question)
    counts = {
        term: sum(searcher.doc_freq(field, term) for field in FIELDS)
        for word in content
        for term in stem_words(word)
    }
    chosen: list[str] = []
    entries = 0
    for term in sorted(filter(counts.__getitem__, counts), key=counts.__getitem__):
        entries += counts[term]
        if chosen and entries > MAX_ENTRIES:
            break
        chosen.append(term)
    return _any(_match_word(schema, [term]) for term in chosen) if chosen else None


def split_question(question: str) -> tuple[list[str], list[str]]:
    """Return the content words of a question, which find sentences, and its function words.

    >>> split_question("How are glacier caves formed?")
    (['glacier', 'caves', 'formed'], ['how', 'are'])
    """
    words = dict.fromkeys(normalise_words(question, split_words))
    function_words = [word for word in words if word in FUNCTION_WORDS]
    content = [word for word in words if word not in FUNCTION_WORDS] or function_words
    return content[:MAX_WORDS], function_words


def correct(searcher: tantivy.Searcher, question: str) -> str:
    """Return a question with the likeliest terms in place of words that the index does not know.

    Words that resemble nothing in the index stay as they are.
    """
    parts, end, unknown = [], 0, 0
    for word in split_words(question):
        terms = stem_words(word.text)
        if (
            unknown < MAX_MISSPELT
            and terms
            and not any(map(partial(count_sentences, searcher), terms))
        ):
            unknown += 1
            if similar := find_similar(searcher, normalise(word.text)):
                parts += [question[end : word.start], similar[0]]
                end = word.end
    return "".join([*parts, question[end:]])


def _find_terms(searcher: tantivy.Searcher, words: Sequence[str]) -> list[Terms]:
    """Return the terms of each word; words that nothing in the index resembles are left out."""
    found: dict[str, Terms] = {}
    unknown = 0
    for word in words:
        for term in stem_words(word):
            if count_sentences(searcher, term):
                found[term] = [term]
            elif unknown < MAX_MISSPELT:
                unknown += 1
                found[term] = find_similar(searcher, word)
    return [terms for terms in found.values() if terms]


def _match_word(schema: tantivy.Schema, terms: Terms) -> Query:
    matches = [
        Query.disjunction_max_query(
            [_match(schema, field, term, boost) for field, boost in BOOSTS.items()], OTHER_FIELDS
        )
        for term in terms
    ]
    return Query.disjunction_max_query(matches) if len(matches) > 1 else matches[0]


def _match_headings(schema: tantivy.Schema, terms: Terms) -> Query:
    matches = [_match(schema, "headings", term, 1.0) for term in terms]
    return _any(matches, ceil(HEADING_SHARE * len(terms)))


def _match(schema: tantivy.Schema, field: str, term: str, boost: float) -> Query:
    return Query.boost_query(Query.term_query(schema, field, term, "freq"), boost)


def _any(queries: Iterable[Query], least: int = 1) -> Query:
    return Query.boolean_query([(Occur.Should, query) for query in queries], least)
