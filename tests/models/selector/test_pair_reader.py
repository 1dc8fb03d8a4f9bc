import numpy as np
import pytest

from rejoinder.models.selector.pair_reader import PairTokens
from rejoinder.text.wordpiece import WordPiece

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
