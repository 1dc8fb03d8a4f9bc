from dataclasses import replace

import pytest

from rejoinder.models.onnx_session import pad
from rejoinder.models.selector import context as module
from rejoinder.models.selector.context import Context, ContextConfig, ContextFinder
from rejoinder.models.selector.pair_reader import (
    CANDIDATE,
    LOCAL,
    PAGE,
    QUESTION,
    PairReader,
    PairTokens,
)
from rejoinder.models.selector.similarity import Ngrams
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Candidate, Document

SENTENCES = ("a b c", "d e", "b c", "x y", "c", "a b")
DOCUMENT = Document("one", "letters", SENTENCES)
WORDS = ["a", "b", "c", "d", "e", "x", "y", "letters", *(f"w{at}" for at in range(20))]
PIECES = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
TOKENS = PairTokens(PIECES, max_tokens=24)


def at(position: int | None, *, document: Document | None = DOCUMENT, text: str = "") -> Candidate:
    known = document is not None and position is not None and 0 <= position < len(SENTENCES)
    return Candidate("id", text or (SENTENCES[position or 0] if known else "x"), document, position)


def find(config: ContextConfig, *candidates: Candidate, question: str = "b c") -> list[Context]:
    finder = ContextFinder(config, Ngrams(), tokenize=TOKENS.tokenize)
    found = finder.find(question, candidates)
    assert all(item is not None for item in found)
    return [item for item in found if item is not None]


@pytest.mark.parametrize(
    ("position", "k", "expected"),
    [(0, 1, (1,)), (5, 1, (4,)), (2, 1, (1, 3)), (1, 2, (0, 2, 3)), (3, 9, (0, 1, 2, 4, 5))],
)
def test_neighbours_stay_inside_the_document(
    position: int, k: int, expected: tuple[int, ...]
) -> None:
    (found,) = find(ContextConfig("local", neighbours=k), at(position))

    assert found.neighbours == expected
    assert found.page == ()


def test_the_document_beside_it_in_the_list_is_not_a_neighbour() -> None:
    other = Document("two", "", ("m n", "o p"))
    candidates = [at(5), Candidate("m", "m n", other, 0)]

    last, first = find(ContextConfig("local"), *candidates)

    assert last.neighbours == (4,)
    assert (first.document.document, first.neighbours) == (other, (1,))


@pytest.mark.parametrize("position", [None, -1, 6, 10**12])
def test_a_position_outside_has_no_neighbours_but_a_page(position: int | None) -> None:
    (found,) = find(ContextConfig("concatenation"), at(position, text="x y"))

    assert found.neighbours == ()
    # The title, then what shares most with "b c" and "x y"; its own text is not context.
    assert found.page == (6, 0, 2, 4, 5)


def test_candidates_of_the_same_position_have_the_same_neighbours() -> None:
    one, other = find(ContextConfig("local"), at(2), at(2, text="other words"))

    assert one.neighbours == other.neighbours == (1, 3)


def test_the_position_is_the_place_of_a_candidate_whatever_its_text() -> None:
    (found,) = find(ContextConfig("concatenation"), at(2, text="d e d"))

    assert found.neighbours == (1, 3)
    assert 2 not in found.page


def test_the_page_is_the_title_and_the_most_similar_other_sentences() -> None:
    alone, joined = (
        find(ContextConfig(form, sentences=2), at(0))[0] for form in ("global", "concatenation")
    )

    assert alone.page == (6, 2, 5)  # b, c, b c; then a, b, a b before c
    assert joined.page == (6, 2, 5)
    (beside,) = find(ContextConfig("concatenation", sentences=2), at(3))
    assert beside.neighbours == (2, 4)
    assert beside.page == (6, 0, 5)


def test_a_page_without_a_title_has_none() -> None:
    (found,) = find(ContextConfig("global"), at(0, document=replace(DOCUMENT, title="")))

    assert found.page == (2, 5, 4)


@pytest.mark.parametrize("form", ["local", "global", "concatenation"])
def test_a_document_of_one_sentence_has_no_context_but_its_title(form: str) -> None:
    document = Document("one", "", ("a b c",))

    (found,) = find(ContextConfig(form), Candidate("0", "a b c", document, 0))

    assert (found.neighbours, found.page) == ((), ())


def test_without_a_document_there_is_no_context() -> None:
    finder = ContextFinder(ContextConfig("concatenation"), Ngrams(), tokenize=TOKENS.tokenize)

    assert finder.find("b c", [Candidate("0", "a b"), at(0)])[0] is None
    assert finder.find("b c", []) == []


def test_a_document_whose_sentences_are_not_known_has_only_a_title() -> None:
    (found,) = find(ContextConfig("concatenation"), at(3, document=Document("x", "letters")))

    assert (found.neighbours, found.page) == ((), (0,))
    assert found.document.get_pieces(0) == TOKENS.tokenize("letters")


@pytest.mark.parametrize("similarity", ["ngrams", "static"])
def test_a_document_of_twenty_thousand_sentences(similarity: str) -> None:
    from rejoinder.models.selector.scorer import get_static

    sentences = tuple(f"word{place} and {place % 7} c" for place in range(20_000))
    document = Document("long", "letters", sentences)
    chosen = Ngrams() if similarity == "ngrams" else get_static()
    finder = ContextFinder(ContextConfig("concatenation"), chosen, tokenize=TOKENS.tokenize)

    (found,) = finder.find("where is word 19000", [Candidate("0", sentences[7], document, 7)])

    assert found is not None
    assert found.neighbours == (6, 8)
    assert len(found.page) == 6


def test_the_document_cache_is_bounded_and_never_mixed_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 8)
    finder = ContextFinder(ContextConfig("local"), None, tokenize=TOKENS.tokenize)
    same_id = Document("one", "", ("m", "n", "o"))

    for document in (DOCUMENT, same_id, replace(DOCUMENT, id="two"), DOCUMENT):
        found = finder.find("b", [at(1, document=document)])[0]

        assert found is not None
        assert found.document.document is document
    assert len(finder._cache) == 1


def read(config: ContextConfig, candidate: Candidate) -> tuple[list[str], list[int]]:
    (feed,) = PairReader(TOKENS, config, Ngrams()).read("b", [candidate])
    return [PIECES.vocabulary[id_] for id_ in feed["ids"][0]], feed["kinds"][0].tolist()


def test_context_follows_the_pair_in_parts() -> None:
    words, kinds = read(ContextConfig("concatenation", sentences=1), at(1))

    assert " ".join(words) == (
        "[CLS] b [SEP] d e [SEP] a b c [SEP] b c [SEP] letters [SEP] a b [SEP]"
    )
    assert kinds == [QUESTION] * 3 + [CANDIDATE] * 3 + [LOCAL] * 7 + [PAGE] * 5


def test_context_is_limited_by_truncating_neighbours_and_dropping_sentences() -> None:
    words, _ = read(ContextConfig("concatenation", sentences=2, max_tokens=6), at(1))

    # a b c [SEP] leaves two of six: one piece of the neighbour after it.
    assert " ".join(words) == "[CLS] b [SEP] d e [SEP] a b c [SEP] b [SEP]"
    words, _ = read(ContextConfig("global", max_tokens=5), at(1))
    assert " ".join(words) == "[CLS] b [SEP] d e [SEP] letters [SEP] b c [SEP]"


def test_a_pair_that_fills_the_room_leaves_none_for_context() -> None:
    long = at(1, text="d " * 40)

    words, kinds = read(ContextConfig("concatenation"), long)

    assert len(words) == 24
    assert set(kinds) == {QUESTION, CANDIDATE}


def test_a_title_of_ten_thousand_characters_is_truncated() -> None:
    document = replace(DOCUMENT, title="a b " * 2500)

    words, kinds = read(ContextConfig("global"), at(1, document=document))

    assert kinds.count(PAGE) == 17  # 16 pieces of the title and its mark
    assert words[6:22] == ["a", "b"] * 8


def test_without_context_the_input_is_the_plain_pair() -> None:
    bare = at(1, document=None, text="d e")

    assert read(ContextConfig("concatenation"), bare) == read(ContextConfig(), at(1))


def test_inputs_are_padded_with_zeros() -> None:
    reader = PairReader(TOKENS, ContextConfig("local"), None)
    short, long = reader.read("b", [at(1, document=None, text="d"), at(1)])

    joined = pad([short, long])

    assert joined["ids"].shape == (2, long["ids"].size)
    assert joined["mask"].sum(axis=1).tolist() == [short["ids"].size, long["ids"].size]
    assert joined["ids"][0, short["ids"].size :].tolist() == [0] * (13 - 5)
