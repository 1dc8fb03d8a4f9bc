from dataclasses import replace

from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example
from rejoinder.datasets.transforms.join_pages import join_pages


def judge(*texts: str) -> list[Judged]:
    return [Judged(text, place == 0) for place, text in enumerate(texts)]


def test_paragraphs_of_one_title_become_one_page() -> None:
    examples = [
        to_ordered_example("1", "q", judge("a", "b"), title="page"),
        to_ordered_example("2", "q", judge("c"), title="page"),
        to_ordered_example("3", "q", judge("a", "b"), title="page"),
        to_ordered_example("4", "q", judge("d"), title="other"),
    ]

    joined = join_pages(examples)

    pages = [item.candidates[0].document for item in joined]
    assert pages[0] is pages[1] is pages[2]
    assert pages[0] is not None
    assert pages[0].sentences == ("a", "b", "c")
    assert [[item.position for item in example.candidates] for example in joined] == [
        *([0, 1], [2], [0, 1], [0])
    ]
    for example in joined:
        for item in example.candidates:
            assert item.document is not None
            assert item.document.sentences[item.position or 0] == item.text


def test_candidates_without_a_page_stay_unchanged() -> None:
    untitled = to_ordered_example("1", "q", judge("a", "b"))
    unordered = to_unordered_example("2", "q", judge("a"))
    empty = replace(unordered, candidates=(), labels=())

    assert join_pages([untitled, unordered, empty]) == [untitled, unordered, empty]
