"""Decides which sentences may be shown as an answer.

Headings, questions, fragments, navigation, code alone and bare names, numbers or links are never
an answer.  They still serve as context, and for finding.
"""

import re

from rejoinder.documents.blocks import Kind
from rejoinder.text.sentences import MAX_SENTENCE
from rejoinder.text.verbs import AUXILIARIES, has_verb, may_have_verb
from rejoinder.text.words import word_set

MIN_WORDS = 4
MIN_LISTED_WORDS = 3
"""Of an item, a row or a definition, which need no verb."""
MIN_REAL_WORDS = 2
"""Words that are not numbers, dates, links or paths."""

_NEVER: frozenset[Kind] = frozenset(("heading", "code"))
_LISTED: frozenset[Kind] = frozenset(("item", "row", "definition"))


def may_answer(kind: Kind, sentence: str) -> bool:
    """Whether a sentence of a block of this kind may be an answer.

    A lead-in with its code is one sentence: the code is on lines of its own, and the kind is that
    of the lead-in.

    >>> may_answer("paragraph", "Run make install twice."), may_answer("paragraph", "A guide to it")
    (True, False)
    """
    has_code = "\n" in sentence
    if kind in _NEVER or len(sentence) > MAX_SENTENCE or sentence.endswith("?"):
        return False
    if _is_open(sentence) and not has_code:
        return False
    tokens = sentence.split()
    is_long = len(tokens) > MAX_SHORT
    if is_long and sentence[-1] in ".)" and not AUXILIARIES.isdisjoint(tokens):
        return not _has_dot_leaders(sentence)  # most sentences end here
    words = _WORD.findall(sentence.lower().replace("\u2019", "'"))
    unspaced = 0 if sentence.isascii() else len(_UNSPACED.findall(sentence)) // 2
    count = unspaced + (len(tokens) if is_long else _count(tokens))
    if count < (MIN_LISTED_WORDS if kind in _LISTED else MIN_WORDS):
        return False
    if unspaced >= MIN_REAL_WORDS:
        return True
    if _NOTICE.match(sentence) or (not is_long and _is_bare(tokens, words)):
        return False
    if not has_code and _is_furniture(kind, sentence, tokens, words):
        return False
    if kind in _LISTED or (len(words) >= MIN_SENTENCE and sentence[-1] == "."):
        return True
    if has_verb(words) or (sentence[-1] in ".!" and may_have_verb(words)):
        return True
    return not _looks_english(sentence, words)


def _is_furniture(kind: Kind, sentence: str, tokens: list[str], words: list[str]) -> bool:
    """Whether a sentence is a menu, a line of contents, or code."""
    if (kind != "row" and _is_menu(sentence, tokens)) or _has_dot_leaders(sentence):
        return True
    return sentence[-1] in _CODE_ENDS and _PROSE.isdisjoint(words)


def _is_open(sentence: str) -> bool:
    """Whether a sentence is a question, or leads in what is not part of it."""
    if sentence[-1:] == "]":
        sentence = _NOTES.sub("", sentence)
    return sentence.rstrip(_CLOSING)[-1:] in _OPEN_ENDS


MAX_SHORT = 12
"""Tokens of a sentence that may be navigation, a date, or nothing but names."""
_CLOSING = " \t\r\n\"')]}>*_`\u201d\u2019\u00bb\u300d"
_OPEN_ENDS = ("", "?", ":", "\uff1f", "\uff1a", "\u061f", "\u00b6")
_CODE_ENDS = (";", "{", "}")
_PROSE = word_set("a an are be can is it of that the this to will with you your")
"""Words that prose has and code has not."""
_NOTES = re.compile(r"(?:\[[^\[\]]{1,40}\])+$")
MIN_SENTENCE = 8
"""Words of a sentence with a full stop that needs no known verb: so long fragments are rare."""
_DOT_LEADERS = re.compile(r"\.{5}|(?:\. ){4}|…{2}|·{4}|_{5,}\s*\d*$|(?:\.{3,}|…)\s*\d+$")
_WORD = re.compile(r"\w+(?:'\w+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Scripts without spaces between words; two characters count as a word."""


def _has_dot_leaders(sentence: str) -> bool:
    signs = (
        ".." in sentence,
        ". ." in sentence,
        "…" in sentence,
        "··" in sentence,
        "__" in sentence,
    )
    return any(signs) and _DOT_LEADERS.search(sentence) is not None


def _count(tokens: list[str]) -> int:
    return sum(1 for token in tokens if any(map(str.isalnum, token)))


_NAVIGATION = word_set(
    """
    about back bottom chapter content contents documentation down end first forward go home index
    jump last main menu navigation next of page pages prev previous search section sections site
    sitemap skip start table the this to toggle top up
    """
)
_DATES = word_set(
    """
    jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july
    august september october november december mon tue wed thu fri sat sun monday tuesday wednesday
    thursday friday saturday sunday am pm utc gmt on at of the th st nd rd date updated modified
    last version page
    """
)
_NOTICE = re.compile(
    r"©|\(c\)\s*(?:copyright|\d{4})|copyright\b\W*(?:©|\(c\)|\d{4}|by\b)|see also\b|all rights",
    re.IGNORECASE,
)
_LINK = re.compile(r"\W*(?:\w+://|www\.|[~.]{0,2}/|[A-Za-z]:\\|\S+@\S+\.\w)\S*")


def _is_bare(tokens: list[str], words: list[str]) -> bool:
    """Whether a short sentence is only navigation, a date, links or numbers."""
    names = [word for word in words if not word[0].isdigit()]
    if _NAVIGATION.issuperset(names) or _DATES.issuperset(names):
        return True
    if any(map(_LINK.match, tokens)):
        real = " ".join(token for token in tokens if not _LINK.match(token))
        names = [word for word in _WORD.findall(real) if not word[0].isdigit()]
    return sum(len(name) > 1 for name in names) < MIN_REAL_WORDS


_BARS = frozenset(("|", "»", "\u203a", ">", "«", "·", "•", "→", "::", "//"))


def _is_menu(sentence: str, tokens: list[str]) -> bool:
    """Whether a sentence is a row of links or the path of a page: short names between bars."""
    bars = sum(token in _BARS for token in tokens)
    return bars > 1 and len(tokens) - bars <= 3 * (bars + 1) and sentence[-1] not in ".!"


_ENGLISH = word_set(
    """
    a about after all also an and any are as at be but by can each for from has have if in into is
    it its may more most no not of on one only or other our should so some such than that the their
    then there these they this to was we were what when where which who will with would you your
    """
)
_NOT_ENGLISH = word_set(
    """
    al ao au aux auf av aus avec bei com como con da das de del dem den der des det di dos du een
    ein eine el em en er est et för für het il ist je jest la las le les los mais med mit na nach
    nel nem nicht nie não o och og os para pas per por pour que qui se sem sich sie som sono sous
    sul sur são um uma un una und une van von voor y zu zum zur é è się że på är att til ikke
    """
)
MIN_FOREIGN_WORDS = 8


def _looks_english(sentence: str, words: list[str]) -> bool:
    """Whether the rules of English apply: by its function words, or because nothing speaks against.

    Eight words of English without one function word are rare, as are letters with accents.
    """
    known = set(words)
    english, other = len(known & _ENGLISH), len(known & _NOT_ENGLISH)
    if english or other:
        return english >= other
    return len(words) < MIN_FOREIGN_WORDS and sentence.isascii()
