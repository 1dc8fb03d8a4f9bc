import io

import pytest

from rejoinder.documents.blocks import Block
from rejoinder.documents.formats.subtitles import MAX_WORDS, read
from rejoinder.errors import InputError


def read_blocks(text: str) -> list[Block]:
    (document,) = read(io.BytesIO(text.encode()))
    return list(document.blocks)


def make_cues(texts: list[str]) -> str:
    """Return cues of one second each, without a pause."""
    return "\n".join(
        f"{n}\n00:{n // 60:02}:{n % 60:02},000 --> 00:{n // 60:02}:{n % 60:02},900\n{text}\n"
        for n, text in enumerate(texts)
    )


def test_cues_are_joined_and_pauses_end_paragraphs() -> None:
    text = (
        "1\n00:01:13,500 --> 00:01:15,000\n<i>Tea</i> is\n{\\an8}hot &amp;\n\n"
        "2\n00:01:15,100 --> 00:01:16,000\ngreen.\n\n"
        "3\n01:00:18,000 --> 01:00:19,000\n- Milk\n4\n01:00:19,000 --> 01:00:20,000\nspoils it.\n"
    )

    assert read_blocks(text) == [
        Block("paragraph", "Tea is hot & green.", line=2, anchor="t=73"),
        Block("paragraph", "Milk spoils it.", line=11, anchor="t=3618"),
    ]


def test_webvtt_without_notes_styles_and_sounds() -> None:
    text = (
        "\ufeffWEBVTT - Tea\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE\nhidden\n\n"
        "REGION\nid:x\n\nintro\n00:01.000 --> 00:02.000 align:start position:0%\n"
        "<v.loud Ann Lee>Is it <c.x>hot</c>?</v>\n[Music]\n\n"
        "00:02.000 --> 00:03.000\n<v Ann Lee>I <00:02.500>ask.\n\n"
        "00:03.000 --> 00:04.000\n<v Bob>Yes.\n(coughs)\n"
    )

    assert [(block.text, block.anchor) for block in read_blocks(text)] == [
        ("Ann Lee: Is it hot? I ask.", "t=1"),
        ("Bob: Yes.", "t=3"),
    ]


def test_rolling_captions_are_read_once() -> None:
    text = make_cues(["tea is", "tea is\nhot and", "hot and\ngreen", "", "green"])

    assert [block.text for block in read_blocks(text)] == ["tea is hot and green"]


def test_long_speech_is_cut_at_sentences_or_without_them_by_words() -> None:
    punctuated = make_cues([f"tea number {n} is so very hot." for n in range(30)])
    unpunctuated = make_cues([f"tea number {n} is so very hot" for n in range(30)])

    for text in (punctuated, unpunctuated):
        blocks = read_blocks(text)
        assert [len(block.text.split()) for block in blocks] == [63, 63, 63, 21]
        assert [block.anchor for block in blocks] == ["t=0", "t=9", "t=18", "t=27"]


def test_a_long_sentence_is_not_cut_in_its_middle() -> None:
    texts = ["Hot. " + "a " * (MAX_WORDS - 3), "tea is", "here."]

    assert len(read_blocks(make_cues(texts))) == 1


def test_text_without_times_is_refused() -> None:
    with pytest.raises(InputError, match="without times"):
        read_blocks("Tea is hot.")
    assert read_blocks("") == []
