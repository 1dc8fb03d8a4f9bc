"""Reads subtitles (.srt, .vtt) as running text: paragraphs of speech, linked to their times."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.encoding import decode
from rejoinder.errors import InputError

PAUSE = 2.0
"""Seconds of silence that end a paragraph."""
MAX_WORDS = 60
"""A longer paragraph ends with its sentence, or at once where it has no punctuation."""


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of a subtitle file."""
    text = decode(file.read())
    if text.strip() and not _TIMES.search(text):
        raise InputError("subtitles without times")
    yield ExtractedDocument("", _join_cues(_read_cues(text)))


@dataclass(slots=True)
class _Cue:
    start: float
    end: float
    line: int
    lines: list[str] = field(default_factory=list)


def _read_cues(text: str) -> Iterator[_Cue]:
    """Yield the cues; notes, styles and numbers stand outside them."""
    cue: _Cue | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        times = _TIMES.match(line)
        if times:
            if cue:  # a blank line is missing, so the last line is the number of this cue
                cue.lines = (
                    cue.lines[:-1] if cue.lines[-1:] and cue.lines[-1].isdecimal() else cue.lines
                )
                yield cue
            cue = _Cue(_to_seconds(times[1]), _to_seconds(times[2]), number)
        elif not line.strip():
            if cue:
                yield cue
            cue = None
        elif cue:
            cue.lines.append(line)
    if cue:
        yield cue


def _join_cues(cues: Iterator[_Cue]) -> Iterator[Block]:
    paragraph = _Paragraph()
    shown: set[str] = set()  # rolling captions repeat the lines of the cue before
    for cue in cues:
        texts = [(*_split_speaker(line), line) for line in cue.lines]
        lines = {line for _, _, line in texts}
        if paragraph.must_end(cue.start):
            yield from paragraph.end()
        for speaker, text, line in texts:
            if line in shown or not text:
                continue
            if speaker and speaker != paragraph.speaker:
                yield from paragraph.end()
                paragraph.speaker = speaker
                text = f"{speaker}: {text}"
            paragraph.add(text, cue)
        paragraph.end_time = max(paragraph.end_time, cue.end)
        shown = lines or shown
    yield from paragraph.end()


class _Paragraph:
    """Collects the text of cues."""

    def __init__(self) -> None:
        self.speaker = ""
        self.end_time = 0.0
        self._texts: list[str] = []
        self._words = 0
        self._words_in_sentence = 0
        self._first: _Cue | None = None

    def add(self, text: str, cue: _Cue) -> None:
        self._first = self._first or cue
        self._texts.append(text)
        count = text.count(" ") + 1
        self._words += count
        sentence_end = max(text.rfind(mark) for mark in ".?!…。")
        self._words_in_sentence = (
            self._words_in_sentence + count if sentence_end < 0 else text.count(" ", sentence_end)
        )

    def must_end(self, start: float) -> bool:
        is_long = self._words >= MAX_WORDS
        ends_sentence = not self._words_in_sentence
        is_pause = start - self.end_time >= PAUSE
        return is_pause or (is_long and (ends_sentence or self._words_in_sentence >= MAX_WORDS))

    def end(self) -> Iterator[Block]:
        if self._first:
            anchor = f"t={int(self._first.start)}"
            text = fold(sanitize(" ".join(self._texts)))
            yield Block("paragraph", text, line=self._first.line, anchor=anchor)
        self._first, self._texts, self._words, self._words_in_sentence = None, [], 0, 0


def _split_speaker(line: str) -> tuple[str, str]:
    """Return who speaks, where a voice tag says so, and the text without tags."""
    voice = _VOICE.search(line)
    text = html.unescape(_TAG.sub("", line))
    text = _SOUND.sub("", text).strip().removeprefix("- ").strip()
    return fold(html.unescape(voice[1])) if voice else "", text


def _to_seconds(time: str) -> float:
    seconds = 0.0
    for part in time.replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


_TIME = r"((?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3})"
_TIMES = re.compile(rf"^\s{{0,9}}{_TIME}[ \t]*-->[ \t]*{_TIME}", re.MULTILINE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,200})>")
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_SOUND = re.compile(r"\[[^\[\]]*\]|[♪♫]|^\s*\([^()]*\)\s*$")
