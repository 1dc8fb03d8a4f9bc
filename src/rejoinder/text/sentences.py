"""Sentence splitting, with offsets into the text.

`blocks.py` finds the blocks of a text, and no sentence crosses the border of a block.  Inside a
block, sentencex finds the ends of sentences; rules of our own then undo its wrong cuts, which are
those inside names with dots and after abbreviations, and cut sentences that are too long.  The
rules are for English.  Other languages are split by the same rules: their punctuation is known,
their abbreviations are not.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from rejoinder.errors import is_panic
from rejoinder.text.blocks import TextBlock, find_blocks
from rejoinder.text.words import word_set

MAX_SENTENCE = 1000
"""Characters; a longer sentence is cut."""
MAX_WORDS = 60
"""Words of a sentence that has no punctuation at its end; a longer one is cut."""

MAX_WINDOW = 2000
"""Characters that sentencex reads at once; its time is quadratic in unpaired quotation marks."""


class SentenceSpan(NamedTuple):
    """A sentence at `text[start:end]`, without white space at its ends."""

    start: int
    end: int
    is_heading: bool = False

    def extract(self, text: str) -> str:
        """Return the sentence on one line, as `fold_lines` does."""
        return fold_lines(text[self.start : self.end])


def split_sentences(text: str) -> list[SentenceSpan]:
    """Return the sentences of a text in order; they never overlap.

    Only white space, list marks, heading marks, rules and page headers are between them.

    >>> text = "Dr. Smith came. He left."
    >>> [text[s.start : s.end] for s in split_sentences(text)]
    ['Dr. Smith came.', 'He left.']
    """
    return [sentence for _, sentences in split_blocks(text) for sentence in sentences]


def split_blocks(text: str) -> Iterator[tuple[TextBlock, list[SentenceSpan]]]:
    """Yield the blocks of a text in order, each with its sentences."""
    for block in find_blocks(text):
        is_heading = block.kind == "heading"
        yield (
            block,
            [
                SentenceSpan(block.start + start, block.start + end, is_heading)
                for start, end in _split_block(text, block)
            ],
        )


def _split_block(text: str, block: TextBlock) -> list[tuple[int, int]]:
    content = text[block.start : block.end]
    if block.kind in ("heading", "code"):
        # Any number of words: lines of code belong together.
        return list(_cut_long(content, 0, len(content), max_words=MAX_SENTENCE))
    return split_prose(content)


def fold_lines(text: str) -> str:
    r"""Return text on one line; a word that is hyphenated at a line end is joined.

    The hyphen stays where the part before it is a word that often begins a compound: "well-known"
    may break at its own hyphen, and a wrong "wellknown" is harder to find than "in-to".

    >>> fold_lines("The inter-\n  net is a well-\n  known net.")
    'The internet is a well-known net.'
    """
    if "-\n" in text or "-\r" in text:
        text = _HYPHENATED.sub(_join_word, text)
    return " ".join(text.split())


_HYPHENATED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-(?:\r\n|\r|\n)[^\S\r\n]*(?=[a-z])")
_COMPOUND = word_set(
    """
    all built case client cross double eight ever first five four full half high left long low nine
    non off one open read right self semi seven server short single six so ten the third three two
    well what wide write
    """
)


def _join_word(match: re.Match[str]) -> str:
    half = match[1]
    return f"{half}-" if len(half) == 1 or half.lower() in _COMPOUND else half


def split_prose(text: str) -> list[tuple[int, int]]:
    """Return the sentences of one block of prose, as offsets.

    They are trimmed, in order, never overlap, have at most `MAX_SENTENCE` characters, and only
    white space is between them.

    >>> text = "Send the .NET file, e.g. by mail. Then wait."
    >>> [text[start:end] for start, end in split_prose(text)]
    ['Send the .NET file, e.g. by mail.', 'Then wait.']
    """
    if not text.isascii():
        # sentencex cannot encode a lone surrogate, and panics at white space of several bytes.
        text = _WIDE_SPACE.sub(" ", _SURROGATE.sub("\ufffd", text))
    sentences: list[tuple[int, int]] = []
    begin, length = 0, len(text)
    for found in _find_cuts(text):
        cut = found if found >= length else _correct_cut(text, begin, found)
        if cut <= begin:
            continue
        piece = text[begin:cut]
        stripped = piece.strip()
        if stripped:
            start = begin + piece.index(stripped[0])
            end = start + len(stripped)
            if end - start < MIN_LONG:
                sentences.append((start, end))
            else:
                sentences.extend(_cut_if_long(text, start, end))
        begin = cut
    return sentences


_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


def _find_cuts(text: str) -> list[int]:
    """Return the ends of sentences, the last of which is the end of the text."""
    cuts: list[int] = []
    start, end = 0, len(text)
    while end - start > MAX_WINDOW:
        stop = _find_pause(text, start, start + MAX_WINDOW)
        found = _find_boundaries(text[start:stop])
        if not _ends_sentence(text, start, stop):
            found.pop()
        cuts.extend(start + cut for cut in found)
        start = stop
    found = _find_boundaries(text[start:] if start else text)
    return cuts + [start + cut for cut in found] if start else found


def _find_boundaries(text: str) -> list[int]:
    try:
        boundaries = get_sentence_boundaries("en", text)
    except BaseException as error:
        if not is_panic(error):
            raise
        return [len(text)]
    cuts = [boundary["end_index"] for boundary in boundaries]
    return sorted({*cuts, *_find_parentheses(text)}) if ".)" in text else cuts


def _find_parentheses(text: str) -> Iterator[int]:
    """Yield the ends of sentences in parentheses, where sentencex does not cut.

    (These two sentences show what is meant.) A phrase (e.g. this.) Is no sentence.
    """
    for match in _CLOSING.finditer(text):
        opening = text.rfind("(", max(0, match.start() - MAX_SENTENCE), match.start())
        before = text[max(0, opening - 4) : opening].rstrip()
        is_sentence = text.count(" ", opening, match.start()) > 2
        if is_sentence and opening >= 0 and (not before or before[-1] in ".!?:"):
            yield match.end()


_CLOSING = re.compile(r"[.!?]\)\s+(?=[A-Z(])")


def _find_pause(text: str, start: int, stop: int) -> int:
    """Return a place before `stop` where a sentence seems to end, else a line, else a word."""
    for marks in ((". ", ".\n", "? ", "! ", "?\n", "!\n"), ("\n",), (" ",)):
        place = max(text.rfind(mark, start, stop) + len(mark) for mark in marks)
        if place > start + MAX_WINDOW // 2:
            return place
    return stop


def _correct_cut(text: str, begin: int, cut: int) -> int:
    """Return where the sentence that begins at `begin` ends; 0 where it does not end at `cut`."""
    follows = text[cut]
    if not (text[cut - 1].isspace() or follows.isspace()):
        return _correct_glued_cut(text, cut)
    if follows.isupper():
        # A number or letter alone is the mark of a list item.
        is_mark = cut - begin < 8 and _ENUMERATION.fullmatch(text[begin:cut].strip())
        return 0 if is_mark else cut
    before = text[max(begin, cut - MAX_ABBREVIATION) : cut].split()
    word = before[-1].lstrip(_OPENING) if before else ""
    if len(word) == 1 and word in ".!?":
        return 0  # a sign that is spoken of, as in "cmake --build . -t all"
    name = word.lower()
    if name in _ABBREVIATED or (name in _NUMBERED and not follows.isalpha()):
        return 0
    return cut


def _correct_glued_cut(text: str, cut: int) -> int:
    """Correct a cut where no space is: before a footnote mark, or in a name with a dot."""
    if note := _NOTE.match(text, cut):
        return note.end()
    word = _GLUED_WORD.match(text, cut)
    begins_sentence = word is not None and word[0] in _BEGINS_SENTENCE
    return cut if text[cut - 1] != "." or begins_sentence else 0


_OPENING = "([\"'\u201c\u2018"
MAX_ABBREVIATION = 12
_ENUMERATION = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z])[.)]")
_ABBREVIATED = word_set(
    """a.k.a. aka. approx. ca. cf. e.g. eg. esp. etc. excl. i.e. ie. incl. max. min. opt. resp.
    s.t. viz. vs. w.r.t."""
)
_NUMBERED = word_set(
    """app. appx. approx. art. ca. ch. chap. chaps. col. def. ed. eq. eqn. eqs. ex. fig. figs. lem.
    max. min. no. nos. nr. p. par. para. pp. prop. pt. ref. refs. sec. sect. secs. st. tab. tabs.
    thm. v. ver. vers. vol. vols."""
)
_NOTE = re.compile(r"(?:\[[^\]\r\n]{1,40}\]|:\d{1,4}(?:[,–-] ?\d{1,4})*)+\.?(?=\s|$)")
_GLUED_WORD = re.compile(r"[A-Z][a-z]*(?=[\s,])")
_BEGINS_SENTENCE = word_set(
    """A After All Also Although An And Are As At Before Both But By Can Do Does Each For From Has
    Have He Her Here His How However I If In Is It Its Many Most No Not Note Of On One Or Other Our
    Please See She Since So Some Such That The Their Then There These They This Those Thus To Under
    Until Use Was We What When Where Which While Who Why With You Your"""
)


MIN_LONG = 2 * MAX_WORDS
_ENDS_SENTENCE = re.compile(
    r"""[.!?:;…。！？।؟]["'”’)\]`*_]*(?:\[[^\]\r\n]{1,40}\]|(?::|,? ?)\d{1,4}(?!\d))*\s*$"""
)
_SENTENCE_END = re.compile(r"""[.!?]["'”’)\]]*\s+(?=[^\W\d_a-z])""")
_CLAUSE = re.compile(r"[,;:]\s|\s[–—-]+\s|[\uff0c、\uff1b\uff1a]")
_LINE_END, _SPACE, _WORD = re.compile(r"[\r\n]"), re.compile(r"\s"), re.compile(r"\S+")


def _cut_if_long(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    is_open = not _ends_sentence(text, start, end)
    if end - start > MAX_SENTENCE or (is_open and len(text[start:end].split()) > MAX_WORDS):
        return _cut_long(text, start, end, max_words=MAX_WORDS)
    return ((start, end),)


def _ends_sentence(text: str, start: int, end: int) -> bool:
    return text[end - 1] in ".!?" or bool(_ENDS_SENTENCE.search(text, max(start, end - 60), end))


def _cut_long(text: str, start: int, end: int, *, max_words: int) -> Iterator[tuple[int, int]]:
    """Yield parts of at most so many words, cut at line ends or clauses where there are any."""
    while start < end:
        stop = _find_limit(text, start, end, max_words)
        if stop < end:
            stop = _find_break(text, start, stop)
        part = text[start:stop]
        body = part.strip()
        if body:
            first = start + part.index(body[0])
            yield first, first + len(body)
        start = stop


def _find_limit(text: str, start: int, end: int, max_words: int) -> int:
    """Return where a part must end at the latest."""
    stop = min(end, start + MAX_SENTENCE)
    for number, word in enumerate(_WORD.finditer(text, start, stop), 1):
        if number > max_words:
            return word.start()
    return stop


def _find_break(text: str, start: int, stop: int) -> int:
    """Return the best place to cut before `stop`: after a sentence, a line, a clause or a word."""
    least = start + (stop - start) // 3
    for pattern in (_SENTENCE_END, _LINE_END, _CLAUSE, _SPACE):
        places = [match.end() for match in pattern.finditer(text, least, stop)]
        if places:
            return places[-1]
    return stop
