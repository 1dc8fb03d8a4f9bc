"""A sentence of many documents is found once, with its other places."""

from pathlib import Path

import pytest

from rejoinder.engine.engine import Engine
from rejoinder.index.candidates import MAX_COPIES
from rejoinder.index.index import Index
from rejoinder.types import Candidate, Document

NOTICE = "Copyright notices are very boring."


@pytest.fixture
def copies(index: Index, docs: Path) -> Index:
    """Return an index in which a hundred files hold the same sentence."""
    for number in range(100):
        text = f"{NOTICE} Report {number} is about copyright."
        (docs / f"{number:03}.txt").write_text(text, encoding="utf-8")
    index.add([docs])
    return index


def get_names(index: Index, candidate: Candidate) -> list[str]:
    return [Path(source.document).stem for source in index.locate_copies(candidate)]


def test_copies_take_one_place_of_the_best(copies: Index) -> None:
    hits = copies.search("copyright notices", 10)

    texts = [item.candidate.text for item in hits]
    assert texts[0] == NOTICE
    assert len(set(texts)) == len(texts) == 10
    assert [item.rank for item in hits] == list(range(1, 11))
    assert [item.score for item in hits] == sorted((item.score for item in hits), reverse=True)


def test_sampled_sentences_are_of_documents_that_are_spread(tmp_path: Path) -> None:
    with Index(tmp_path / "own", create=True) as index:
        assert index.store.sample_sentences(3) == []

        texts = ["It rained all day.", "It rained all day.", "It was cold.", "Snow fell."]
        index.add_documents(Document(str(at), sentences=(own,)) for at, own in enumerate(texts))

        assert index.store.sample_sentences(4) == ["It rained all day.", "It was cold."]
        assert index.store.sample_sentences(1) == ["It rained all day."]


def test_the_first_other_places_are_located(copies: Index) -> None:
    candidate = copies.search("copyright notices", 1)[0].candidate
    assert candidate.document

    names = get_names(copies, candidate)

    own = Path(candidate.document.id).stem
    others = [f"{number:03}" for number in range(100) if f"{number:03}" != own]
    assert names == others[:MAX_COPIES]
    assert (copies.locate_copies(candidate)[0].start, copies.locate_copies(candidate)[0].end) == (
        0,
        len(NOTICE),
    )


def test_a_sentence_without_copies_has_no_other_place(index: Index) -> None:
    candidate = index.search("hot", 1)[0].candidate

    assert index.locate_copies(candidate) == []
    assert index.locate_copies(Candidate("elsewhere", "It rains.")) == []


def test_copies_may_differ_in_white_space_but_not_in_case(index: Index, docs: Path) -> None:
    candidate = index.search("hot", 1)[0].candidate
    (docs / "a.txt").write_text("Tea is\nalways  hot.", encoding="utf-8")
    (docs / "b.txt").write_text("TEA is always hot.", encoding="utf-8")
    index.add([docs])

    assert get_names(index, candidate) == ["a"]


def test_copies_may_differ_in_quotation_marks_and_dashes(index: Index, docs: Path) -> None:
    plain = """It's "hot" tea -- never cold, always --- as ever..."""
    (docs / "plain.txt").write_text(plain, encoding="utf-8")
    rich = "It’s “hot” tea – never cold, always — as ever…"
    (docs / "rich.txt").write_text(rich, encoding="utf-8")
    (docs / "other.txt").write_text(plain.replace('"', ""), encoding="utf-8")
    index.add([docs])

    found = {hit.candidate.text: hit.candidate for hit in index.search("never cold", 9)}
    assert get_names(index, found[plain]) == ["rich"]
    assert get_names(index, found[rich]) == ["plain"]


def test_copies_that_may_not_answer_are_no_places(index: Index, docs: Path) -> None:
    candidate = index.search("hot", 1)[0].candidate
    (docs / "heading.md").write_text("# Tea is always hot.\n\nIt is never cold.", encoding="utf-8")
    index.add([docs])

    assert index.locate_copies(candidate) == []


def test_a_removed_copy_is_no_place(copies: Index, docs: Path) -> None:
    candidate = copies.search("copyright notices", 1)[0].candidate
    before = get_names(copies, candidate)

    copies.remove([docs / f"{name}.txt" for name in before[:3]])

    assert get_names(copies, candidate)[: MAX_COPIES - 3] == before[3:]


def test_an_answer_lists_its_other_sources(copies: Index) -> None:
    (answer,) = Engine(copies).answer("what are copyright notices?").answers

    assert answer.sentence == NOTICE
    assert len(answer.other_sources) == MAX_COPIES
    assert answer.source not in answer.other_sources
    assert len({source.document for source in answer.other_sources}) == MAX_COPIES


def test_other_sources_match_the_filter(index: Index) -> None:
    # A filter may keep one team from the documents of another.
    teams = ("red", "blue", "green", "red", "blue")
    index.add_documents(
        Document(str(number), text=NOTICE, metadata={"team": team, 'a"b': "c"})
        for number, team in enumerate(teams)
    )
    engine = Engine(index)

    def ask(**where: str | list[str]) -> list[str]:
        (answer,) = engine.answer("copyright notices", where=where).answers
        return sorted(source.document for source in (answer.source, *answer.other_sources))

    assert ask() == ["0", "1", "2", "3", "4"]
    assert ask(team="red") == ["0", "3"]
    assert ask(team=["red", "green"]) == ["0", "2", "3"]
    assert ask(team="blue", **{'a"b': "c"}) == ["1", "4"]


def publish(folder: Path, sentence: str, of_source: str) -> None:
    """Write a page as Sphinx publishes it, and its source beside it."""
    (folder / "_sources").mkdir(parents=True)
    (folder / "guide.html").write_text(
        "<title>Guide \u2014 The Manual</title><body><h1>Guide</h1>"
        f"<p>Milk goes bad.</p><p>{sentence}</p>"
    )
    source = f"Guide\n=====\n\nMilk goes bad.\n\n{of_source}\n"
    (folder / "_sources" / "guide.rst.txt").write_text(source, encoding="utf-8")


@pytest.mark.parametrize(
    "of_source",
    [
        "The kettle's water boils -- at a hundred degrees.",
        "The kettle's water boils at (about) a hundred degrees.",
    ],
)
@pytest.mark.parametrize("is_source_added_first", [True, False])
def test_a_page_is_shown_before_its_source(
    tmp_path: Path, of_source: str, is_source_added_first: bool
) -> None:
    sentence = "The kettle\u2019s water boils \u2013 at a hundred degrees."
    publish(tmp_path / "html", sentence, of_source)
    order = ["_sources/guide.rst.txt", "guide.html"]
    with Index(tmp_path / "index", create=True) as index:
        for name in order if is_source_added_first else order[::-1]:
            index.add([tmp_path / "html" / name])

        answers = Engine(index).answer("kettle water boils", top=3).answers

    best = answers[0]
    assert (Path(best.source.document).name, best.sentence) == ("guide.html", sentence)
    assert [Path(source.document).name for source in best.other_sources] == ["guide.rst.txt"]
    assert best.context[0].text == sentence
    assert best.source.url.endswith("/html/guide.html")
    assert [answer.sentence for answer in answers].count(sentence) == 1


def test_a_source_without_a_page_is_shown_itself(tmp_path: Path) -> None:
    publish(tmp_path / "html", "Tea is never cold.", "The kettle boils at a hundred degrees.")
    with Index(tmp_path / "index", create=True) as index:
        index.add([tmp_path / "html"])
        best = Engine(index).answer("kettle boils").answers[0]
        outside = Engine(index).answer("milk goes bad", where={"suffix": ".rst.txt"}).answers[0]

    assert Path(best.source.document).name == "guide.rst.txt"
    assert best.other_sources == ()
    assert Path(outside.source.document).name == "guide.rst.txt", "only where the filter allows"
