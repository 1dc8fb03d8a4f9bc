"""Search by words and meaning, end to end with the shipped encoder."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rejoinder.cascade.loading import load
from rejoinder.documents.passages import iterate_passages
from rejoinder.engine.engine import Engine
from rejoinder.index import index as index_module
from rejoinder.index.index import Index
from rejoinder.models.registry import open_sentence_encoder
from rejoinder.types import Document, ScoredCandidate
from tests.index.conftest import PIECES

DOCTOR = "A physician examines the ill child."
CAR = "The automobile needs fuel before it drives."
BAKER = "Flour and yeast rise in the oven overnight."
BANK = "The bank lends money to young companies."
GUIDE = "Turn the key to start the engine."


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    documents = [
        Document("health", "Medicine", (DOCTOR,), metadata={"kind": "health"}),
        Document("cars", "Vehicles", (CAR, GUIDE), metadata={"kind": "cars"}),
        Document("bread", "Bakery", (BAKER,), metadata={"kind": "food"}),
        Document("money", "Finance", (BANK,), metadata={"kind": "money"}),
    ]
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(documents)
        yield index


def find(index: Index, question: str, k: int = 5, **where: str) -> list[ScoredCandidate]:
    return index.search(question, k, where=where or None)


def get_sources(found: ScoredCandidate) -> tuple[str, ...]:
    assert found.candidate.retrieval
    return found.candidate.retrieval.sources


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Which doctor treats sick kids?", DOCTOR), ("Why did our car run out of gasoline?", CAR)],
)
def test_a_paraphrase_is_found_by_meaning_alone(index: Index, question: str, expected: str) -> None:
    best = find(index, question)[0]

    assert best.candidate.text == expected
    assert get_sources(best) == ("meaning",)
    assert best.candidate.retrieval
    assert best.score == best.candidate.retrieval.merged
    index.drop_vectors()
    assert expected not in [item.candidate.text for item in find(index, question)]


def test_shared_words_are_found_by_both(index: Index) -> None:
    best, *others = find(index, "Who lends money to companies?")

    assert best.candidate.text == BANK
    assert get_sources(best) == ("words", "meaning")
    assert [item.rank for item in (best, *others)] == list(range(1, len(others) + 2))
    scores = [item.score for item in (best, *others)]
    assert scores == sorted(scores, reverse=True)


def test_the_corrected_question_reaches_the_vectors(index: Index) -> None:
    encoder = open_sentence_encoder()
    vectors = [
        encoder.encode_question(f"Does the {word} help?") for word in ("physicain", "physician")
    ]
    assert vectors[0] @ vectors[1] < 0.9

    misspelt = find(index, "Does the physicain help?")[0].candidate
    correct = find(index, "Does the physician help?")[0].candidate

    assert misspelt.text == correct.text == DOCTOR
    assert misspelt.retrieval
    assert correct.retrieval
    assert misspelt.retrieval.meaning == pytest.approx(correct.retrieval.meaning, abs=1e-6)


def test_filters_hold_for_both_sources(index: Index) -> None:
    question = "Which doctor lends money?"
    assert {DOCTOR, BANK} <= {item.candidate.text for item in find(index, question)}

    for kind, expected in (("health", {DOCTOR}), ("food", {BAKER}), ("cars", {CAR, GUIDE})):
        assert {item.candidate.text for item in find(index, question, kind=kind)} <= expected
    assert [item.candidate.text for item in find(index, question, kind="health")] == [DOCTOR]
    assert find(index, question, kind="none") == []


def test_sentences_that_are_not_about_the_question_are_left_out(index: Index) -> None:
    least = open_sentence_encoder().min_cosine

    found = find(index, "Which doctor treats sick kids?", 10)

    cosines = [item.candidate.retrieval.meaning for item in found if item.candidate.retrieval]
    assert all(cosine is not None and cosine >= least > 0 for cosine in cosines)
    assert BAKER not in [item.candidate.text for item in found]
    assert find(index, "xylophone") == []


def test_removed_sentences_are_found_by_neither(index: Index) -> None:
    index.remove_document("health")

    found = find(index, "Which doctor treats sick kids? A physician?", 10)

    assert DOCTOR not in [item.candidate.text for item in found]


def test_copies_of_a_sentence_leave_room_for_others(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MIN_SEARCHED", 1)
    filler = tuple(f"Line {number} of this list." for number in range(60))
    copies = [Document(f"copy {number}", "Medicine", (DOCTOR,)) for number in range(12)]
    index.add_documents([*copies, Document("list", "List", filler)])

    found = find(index, "A physician examines the ill child for money", 2)

    assert [item.candidate.text for item in found] == [DOCTOR, BANK]
    assert [item.rank for item in found] == [1, 2]


def test_an_answer_says_what_found_it(index: Index) -> None:
    engine = Engine(index, scorer=load("original-order"))

    by_meaning = engine.answer("Which doctor treats sick kids?").answers[0]
    by_both = engine.answer("Who lends money to companies?").answers[0]

    assert (by_meaning.sentence, by_meaning.found_by) == (DOCTOR, ("meaning",))
    assert (by_both.sentence, by_both.found_by) == (BANK, ("words", "meaning"))
    index.drop_vectors()
    assert engine.answer("Who lends money?").answers[0].found_by == ("words",)


def test_without_vectors_one_warning_is_logged(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    index.drop_vectors()
    with Index(index.folder) as reopened, caplog.at_level(logging.WARNING):
        for question in ("Who lends money?", "Which physician?", "Who lends money?"):
            found = find(reopened, question)
            assert [get_sources(item) for item in found] == [("words",)] * len(found)

    assert [record.getMessage() for record in caplog.records] == [
        f"{index.folder}: has no vectors; questions are answered by words"
    ]


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   \n\t ",
        "the of and to",
        "?!…",
        "🙂🚗🚗",
        "\ud800",
        "\x00 car \x00",
        "où est le médecin ?",
        "医生在哪里？",
        "где находится врач?",
        "أين الطبيب؟",
        "หมออยู่ที่ไหน",
        "car " * 2_500,
        "x" * 10_000,
        "qzxw " * 2_000,
        'text:car AND (OR "',
    ],
)
def test_odd_questions_never_fail(index: Index, question: str) -> None:
    found = find(index, question)

    assert all(np.isfinite(item.score) for item in found)
    assert len({item.candidate.text for item in found}) == len(found) <= 5
    if question.strip():
        Engine(index, scorer=load("bm25")).answer(question)


def test_tokens_of_another_tokenizer_do_not_change_the_vectors(tmp_path: Path) -> None:
    document = Document("health", "Medicine", (DOCTOR, CAR))
    encoder = open_sentence_encoder()
    questions = ("Which doctor treats sick kids?", "Which car?")
    cosines = []
    for name, tokenizer in (("default", None), ("other", PIECES)):
        with Index(tmp_path / name, create=True, tokenizer=tokenizer) as index:
            index.add_documents([document])
            cosines.append([index.vectors.search(question, 2, None) for question in questions])
            index.compact()
            blocks = index.store.iterate_blocks(1)
            passages = [
                passage._replace(
                    sentence=passage.sentence._replace(tokens=None),
                    before=tuple(item._replace(tokens=None) for item in passage.before),
                    after=tuple(item._replace(tokens=None) for item in passage.after),
                )
                for passage in iterate_passages(blocks)
            ]
    vectors = encoder.encode_passages("Medicine", passages)

    assert cosines[0] == cosines[1]
    for question, found in zip(questions, cosines[0], strict=True):
        exact = vectors @ encoder.encode_question(question)
        for (_, position), cosine in found.items():
            assert cosine == pytest.approx(exact[position], abs=0.01)
