"""BM25 as a dot product, for engines that have sparse vectors but no BM25 over several fields.

The formula is that of the embedded index (index/fulltext/query.py): a term counts by the best of
its fields, and a little by the others.  All but the rarity of terms is known when a sentence is
stored, so it is stored as the sentence's sparse vector; a question's vector has the rarity.  The
lift of sentences below a heading that has most of the question is left out.
"""

from collections import Counter
from collections.abc import Mapping
from math import log
from zlib import crc32

from rejoinder.index.fulltext.query import BOOSTS, FUNCTION_WORD, OTHER_FIELDS
from rejoinder.retrieval.remote import SentenceQuery

K1, B = 1.2, 0.75
"""As in Tantivy."""
AVERAGE_TERMS = {"text": 16.0, "passage": 75.0, "headings": 6.0, "title": 4.0}
"""Terms of a field, about.  Fixed, so that a sentence need not be stored again when others are."""


def weigh_terms(terms: Mapping[str, str]) -> dict[str, float]:
    """Return the weight of each term of a sentence, before its rarity.

    Args:
        terms: the terms of each field, with spaces between them.

    >>> weights = weigh_terms({"text": "glacier cave", "title": "cave"})
    >>> weights["cave"] > weights["glacier"]
    True
    """
    scores: dict[str, list[float]] = {}
    for field, text in terms.items():
        own = text.split()
        length = K1 * (1 - B + B * len(own) / AVERAGE_TERMS[field])
        for term, count in Counter(own).items():
            scores.setdefault(term, []).append(BOOSTS[field] * count * (K1 + 1) / (count + length))
    return {term: max(own) + OTHER_FIELDS * (sum(own) - max(own)) for term, own in scores.items()}


def weigh_query(query: SentenceQuery, *, is_content: bool = False) -> dict[str, float]:
    """Return the weight of each term of a question, before its rarity.

    Args:
        is_content: leave out function words.
    """
    weights = {} if is_content else dict.fromkeys(query.function, FUNCTION_WORD)
    return weights | {term: 1.0 for word in query.content for term in word.terms}


def compute_rarity(sentences: int, total: int) -> float:
    """Return the factor (inverse document frequency) of a term that so many sentences have."""
    return log(1 + (total - sentences + 0.5) / (sentences + 0.5))


def number_term(term: str) -> int:
    """Return the dimension of a term; two of a million terms may share one."""
    return crc32(term.encode()) & 0x1FFFFFFF
