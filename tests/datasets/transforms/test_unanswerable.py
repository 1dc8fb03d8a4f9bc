from rejoinder.datasets.transforms.unanswerable import remove_answers
from rejoinder.types import Candidate, Document, Example

DOCUMENT = Document("d", "D", ("zero", "one", "two", "three"))


def make(id: str, *labels: bool) -> Example:
    candidates = tuple(
        Candidate(str(place), DOCUMENT.sentences[place], DOCUMENT, place)
        for place in range(len(labels))
    )
    return Example(id, "q", candidates, labels)


def test_answers_are_removed_from_the_list_and_the_document() -> None:
    (result,) = remove_answers([make("1", False, True, False, False)], share=1)

    rest = Document("d", "D", ("zero", "two", "three"))
    assert result.candidates == (
        Candidate("0", "zero", rest, 0),
        Candidate("2", "two", rest, 1),
        Candidate("3", "three", rest, 2),
    )
    assert result.labels == (False, False, False)


def test_the_length_of_a_list_leaks_nothing() -> None:
    examples = [make(str(id), True, False, False) for id in range(400)]

    result = list(remove_answers(examples, share=0.5))

    assert {len(item.candidates) for item in result} == {2}
    assert 160 < sum(any(item.labels) for item in result) < 240
    assert result == list(remove_answers(examples, share=0.5))
    assert result[7] == next(remove_answers([examples[7]], share=0.5))


def test_a_question_without_an_answer_stays_unchanged() -> None:
    examples = [make("1", False, False), Example("2", "q", (), ())]

    assert list(remove_answers(examples, share=1)) == examples
    assert list(remove_answers([make("3", True)], share=0)) == [make("3", True)]


def test_candidates_without_documents_or_positions() -> None:
    plain = (Candidate("a", "x"), Candidate("b", "y", Document("other")), Candidate("c", "z"))
    example = Example("1", "q", (*plain, Candidate("d", "w", DOCUMENT)), (True, False, False, True))

    (result,) = remove_answers([example], share=1)

    assert result.candidates == plain[1:]
