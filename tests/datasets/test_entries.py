from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.entries import PARTS, SplitFiles, is_held_out, with_dev
from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example
from rejoinder.types import Example


def read_pages(_: Path) -> Iterator[Example]:
    for page in range(400):
        for question in range(3):
            judged = [Judged("Yes.", True), Judged("No.", False)]
            yield to_ordered_example(f"{page}/{question}", "Is it?", judged, title=f"Page {page}")


def read(split: str) -> list[Example]:
    (source,) = with_dev(SplitFiles(("x",), read_pages))[split]
    return list(source.read(Path("x")))


def get_titles(examples: list[Example]) -> set[str]:
    return {item.document.title for e in examples for item in e.candidates if item.document}


def test_fit_and_dev_are_train_in_two_parts() -> None:
    assert sorted(e.id for e in read("fit") + read("dev")) == sorted(e.id for e in read("train"))


def test_no_document_is_in_both_parts() -> None:
    assert not get_titles(read("fit")) & get_titles(read("dev"))


def test_about_a_twentieth_is_held_out() -> None:
    assert 0.5 < PARTS * len(read("dev")) / len(read("train")) < 2


def test_the_same_page_is_held_out_of_every_set() -> None:
    first = to_ordered_example("1", "Is it?", [Judged("Yes.", True)], title="Page 7")
    other = to_ordered_example("2", "Was it?", [Judged("No.", True)], title="Page 7")
    assert is_held_out(first) == is_held_out(other)


def test_without_a_document_the_id_decides() -> None:
    examples = [to_unordered_example(str(at), "Is it?", [Judged("Yes.", True)]) for at in range(99)]
    examples.append(Example("none", "Is it?", (), ()))
    assert 0 < sum(map(is_held_out, examples)) < 20
