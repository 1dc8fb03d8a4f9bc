from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from rejoinder.models.selector.context import TOPICS, ContextConfig
from rejoinder.models.selector.pair_reader import (
    CANDIDATE,
    MAX_HEADING_TOKENS,
    MAX_TITLE_TOKENS,
    PAGE,
    QUESTION,
    PairReader,
    PairTokens,
    read_topic,
)
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Candidate, Document

PIECES = WordPiece(["[UNK]", "[CLS]", "[SEP]", "who", "sang", "##s", "the", "song", "?"])
CLS, SEP, WHO, SANG, S, THE, SONG, MARK = range(1, 9)


@pytest.fixture
def tokens() -> PairTokens:
    return PairTokens(PIECES, max_tokens=12)


def test_a_pair_is_the_question_then_the_candidate(tokens: PairTokens) -> None:
    ids, kinds = tokens.join(tokens.tokenize("Who sang?"), tokens.tokenize("The songs"))
    assert ids.tolist() == [CLS, WHO, SANG, MARK, SEP, THE, SONG, S, SEP]
    assert kinds.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_a_long_candidate_is_truncated(tokens: PairTokens) -> None:
    ids, kinds = tokens.join([WHO], [THE] * 50)
    assert ids.tolist() == [CLS, WHO, SEP] + [THE] * 8 + [SEP]
    assert len(ids) == len(kinds) == 12


def test_a_long_question_leaves_half_of_the_room(tokens: PairTokens) -> None:
    ids, _ = tokens.join([WHO] * 50, [THE] * 50)
    assert ids.tolist() == [CLS] + [WHO] * 4 + [SEP] + [THE] * 5 + [SEP]


@pytest.mark.parametrize(
    ("question", "candidate", "too_long"),
    [(4, 5, False), (4, 6, True), (5, 0, True), (0, 9, False)],
)
def test_pairs_that_would_be_truncated_are_recognised(
    tokens: PairTokens, question: int, candidate: int, too_long: bool
) -> None:
    assert tokens.is_too_long([WHO] * question, [[], [THE] * candidate]) is too_long


def test_an_empty_candidate_is_a_pair_too(tokens: PairTokens) -> None:
    assert tokens.join([WHO], [])[0].tolist() == [CLS, WHO, SEP, SEP]


def test_stored_pieces_are_read_as_they_are(tokens: PairTokens) -> None:
    stored = np.array([THE, SONG, S], dtype="<i4")

    ids, kinds = tokens.join([WHO], stored)

    assert ids.tolist() == [CLS, WHO, SEP, THE, SONG, S, SEP]
    assert kinds.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert ids.dtype == kinds.dtype == np.int64


TOPIC_WORDS = ["song", "is", "old", "folk", "music", "verse", *(f"h{at}" for at in range(40))]
TOPIC_PIECES = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[", "]", ".", "who", *TOPIC_WORDS])
FOLK_SONG = Candidate(
    "0", "song is old", Document("d", "Folk music", ("song is old",)), 0, ("H1", "Verse")
)


def show(ids: Iterable[int]) -> str:
    return " ".join(TOPIC_PIECES.vocabulary[id_] for id_ in ids)


def read(form: str, candidate: Candidate, *, max_tokens: int = 64) -> tuple[str, list[int]]:
    """Return the tokens and the kinds of a pair."""
    tokens = PairTokens(TOPIC_PIECES, max_tokens=max_tokens)
    (feed,) = PairReader(tokens, ContextConfig(form), None).read("who", [candidate])
    assert feed["mask"].tolist() == [[1] * feed["ids"].size]
    return show(feed["ids"][0]), feed["kinds"][0].tolist()


def read_words(candidate: Candidate, *, with_headings: bool = True) -> str:
    """Return the tokens of a topic."""
    return show(read_topic(candidate, TOPIC_PIECES.to_ids, with_headings=with_headings))


@pytest.mark.parametrize(
    ("form", "words", "kinds"),
    [
        (
            "none",
            "[CLS] who [SEP] song is old [SEP]",
            [QUESTION] * 3 + [CANDIDATE] * 4,
        ),
        (
            "title",
            "[CLS] who [SEP] song is old [SEP] folk music . [SEP]",
            [QUESTION] * 3 + [CANDIDATE] * 4 + [PAGE] * 4,
        ),
        (
            "headings",
            "[CLS] who [SEP] song is old [SEP] folk music . h1 . verse . [SEP]",
            [QUESTION] * 3 + [CANDIDATE] * 4 + [PAGE] * 8,
        ),
        (
            "prefix",
            "[CLS] who [SEP] folk music . h1 . verse . song is old [SEP]",
            [QUESTION] * 3 + [CANDIDATE] * 11,
        ),
    ],
)
def test_a_topic_stands_behind_the_pair_or_before_the_candidate(
    form: str, words: str, kinds: list[int]
) -> None:
    assert read(form, FOLK_SONG) == (words, kinds)


def test_each_candidate_has_its_own_topic() -> None:
    other = replace(FOLK_SONG, document=Document("e", "Music"), headings=())
    reader = PairReader(PairTokens(TOPIC_PIECES, max_tokens=64), ContextConfig("headings"), None)

    feeds = reader.read("who", [FOLK_SONG, other, replace(FOLK_SONG, document=None)])

    assert [show(feed["ids"][0][feed["kinds"][0] == PAGE]) for feed in feeds] == [
        "folk music . h1 . verse . [SEP]",
        "music . [SEP]",
        "h1 . verse . [SEP]",
    ]


@pytest.mark.parametrize(
    ("form", "reads_topic", "reads_context", "reads_tokens"),
    [
        ("none", False, False, False),
        ("title", True, True, True),
        ("headings", True, True, True),
        ("prefix", True, True, False),
        ("local", False, True, True),
    ],
)
def test_a_reader_says_what_it_reads(
    form: str, reads_topic: bool, reads_context: bool, reads_tokens: bool
) -> None:
    config = ContextConfig(form)
    reader = PairReader(PairTokens(TOPIC_PIECES, max_tokens=64), config, None)

    assert (reader.reads_topic, reader.reads_context) == (reads_topic, reads_context)
    assert config.reads_tokens is reads_tokens
    if reads_topic:
        assert not config.has_local
        assert not config.has_page
        assert not config.is_vectors


@pytest.mark.parametrize("form", TOPICS)
@pytest.mark.parametrize(
    ("document", "headings"),
    [
        (None, ()),
        (Document("d"), ()),
        (Document("d", "", ("song is old", "verse")), ()),
        (Document("d", " \x00\x1b\n"), ()),
        (Document("d"), ("", " \x00\u200b")),
    ],
)
def test_without_title_and_headings_it_is_the_plain_pair(
    form: str, document: Document | None, headings: tuple[str, ...]
) -> None:
    bare = replace(FOLK_SONG, document=document, headings=headings)

    assert read(form, bare) == read("none", FOLK_SONG)


def test_only_the_title_is_read_by_its_form() -> None:
    assert read_words(FOLK_SONG, with_headings=False) == "folk music ."
    assert read("title", replace(FOLK_SONG, document=None)) == read("none", FOLK_SONG)


@pytest.mark.parametrize("form", TOPICS)
def test_a_title_of_a_thousand_characters_is_truncated_to_its_first_tokens(form: str) -> None:
    long = replace(FOLK_SONG, document=Document("d", "folk music " * 91), headings=())

    words, kinds = read(form, long)

    topic = "folk music " * (MAX_TITLE_TOKENS // 2) + "."
    if form == "prefix":
        assert words == f"[CLS] who [SEP] {topic} song is old [SEP]"
    else:
        assert words == f"[CLS] who [SEP] song is old [SEP] {topic} [SEP]"
        assert kinds.count(PAGE) == MAX_TITLE_TOKENS + 2


def test_only_the_first_characters_of_a_title_and_of_a_heading_are_tokenised() -> None:
    text = f"{'x' * 99} " * 10  # two of the ten words are within 200 characters

    long = replace(FOLK_SONG, document=Document("d", text), headings=(text,))

    assert read_words(long) == "[UNK] [UNK] . [UNK] [UNK] ."


def test_of_many_headings_the_innermost_are_read_in_order() -> None:
    many = replace(FOLK_SONG, document=None, headings=tuple(f"h{at}" for at in range(40)))

    words = read_words(many).split()

    # Each heading has two tokens with its full stop: 6 of them fill the room.
    assert words == [word for at in range(34, 40) for word in (f"h{at}", ".")]
    assert len(words) == MAX_HEADING_TOKENS


def test_a_long_heading_leaves_what_room_there_is_to_the_one_above_it() -> None:
    inner = "verse " * 8
    headings = ("h1", "song is old song is old", inner)

    words = read_words(replace(FOLK_SONG, document=None, headings=headings))

    # 12 tokens without 8 of the inner heading and its full stop leave three.
    assert words == f"song is old . {inner}."
    longest = replace(FOLK_SONG, document=None, headings=("h1", "verse " * 33))
    assert read_words(longest) == "verse " * MAX_HEADING_TOKENS + "."


def test_the_title_is_read_whatever_the_number_of_headings() -> None:
    many = replace(FOLK_SONG, headings=tuple(f"h{at}" for at in range(40)))

    assert read_words(many).startswith("folk music . h34 . h35 .")


@pytest.mark.parametrize("form", ["title", "headings"])
def test_a_topic_that_does_not_fit_behind_the_pair_is_left_out(form: str) -> None:
    titled = replace(FOLK_SONG, headings=())

    assert read(form, titled, max_tokens=7 + 3) == read("none", FOLK_SONG)
    assert read(form, titled, max_tokens=7 + 4) == read(form, titled)


def test_a_long_candidate_is_truncated_behind_its_prefix() -> None:
    words, kinds = read("prefix", replace(FOLK_SONG, text="old " * 90), max_tokens=20)

    assert words == f"[CLS] who [SEP] folk music . h1 . verse . {'old ' * 9}[SEP]"
    assert kinds == [QUESTION] * 3 + [CANDIDATE] * 17


@pytest.mark.parametrize("form", TOPICS)
def test_stored_pieces_are_read_beside_a_topic(form: str) -> None:
    reader = PairReader(PairTokens(TOPIC_PIECES, max_tokens=64), ContextConfig(form), None)
    stored = np.array(TOPIC_PIECES.to_ids("song is old"), dtype="<i4")

    (found,) = reader.read("who", [replace(FOLK_SONG, text="another text")], pieces=[stored])

    (expected,) = reader.read("who", [FOLK_SONG])
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


HOSTILE = [
    "[SEP]",
    "[CLS] who [SEP] song [SEP]",
    "folk [SEP][SEP] music [PAD]",
    "\x00\x07\x1b[31m music \x7f",
    "\u202e\u200b\ufeff music",
    "\U0001f600 \U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7",
    "x" * 100_000,
    "\ud800 music",
    "\r\nmusic\t",
    "." * 1000,
    "猫と犬 한국어 Ελληνικά",
]


@pytest.mark.parametrize("form", TOPICS)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_titles_and_headings_add_no_special_tokens(form: str, text: str) -> None:
    for document, headings in (
        (Document("d", text), ("H1",)),
        (Document("d", "Folk music"), (text,)),
        (Document("d", text), (text,) * 30),
    ):
        hostile = replace(FOLK_SONG, document=document, headings=headings)

        words, kinds = read(form, hostile)

        harmless, _ = read(form, FOLK_SONG)
        for special in ("[CLS]", "[SEP]", "[PAD]"):
            assert words.count(special) == harmless.count(special)
        assert len(kinds) <= 64
