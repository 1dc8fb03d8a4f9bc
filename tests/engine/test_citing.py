"""`cite`: every citation is a sentence of a source, at its place."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.engine.citing import MAX_STATEMENTS, SourceTexts, cite, load_citing
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError, StoreError
from rejoinder.index.index import Index
from rejoinder.models.encoders import network
from rejoinder.models.staged import Deadline
from rejoinder.text.sentences import fold_lines
from rejoinder.types import Citations, Document

TEA = "# Green tea\n\nGreen tea is brewed at 75 °C. Boiling water makes\nit bitter."
BEES = "A strong colony holds about 50,000 bees in summer. It has one queen."
SOURCES = [TEA, BEES]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    index = Index(tmp_path_factory.mktemp("index") / "own", create=True)
    documents = [
        Document("tea", "Green tea", text=TEA, metadata={"team": "kitchen"}),
        Document("bees", "Bees", text=BEES, metadata={"team": "garden"}),
    ]
    index.add_documents(documents)
    with Engine(index) as opened:
        yield opened


def list_sentences(found: Citations) -> list[list[str]]:
    return [[item.sentence for item in own.citations] for own in found.statements]


@pytest.mark.parametrize("is_compiled", [True, False])
def test_the_example_of_the_docs_is_far_from_the_threshold_in_every_runtime(
    monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    if not is_compiled:
        monkeypatch.setattr(network, "_find_transformer", lambda: None)
    load_citing.cache_clear()
    page = Path(__file__).parents[2] / "docs" / "citing.md"
    (example,) = re.findall(r'\$ rejoinder cite "(.*)" examples/docs', page.read_text("utf-8"))
    sources = [path.read_text("utf-8") for path in page.parents[1].glob("examples/docs/*.*")]

    try:
        found = cite(example, sources, min_support=0.0)
    finally:
        load_citing.cache_clear()

    first, second = (own.citations[0].support for own in found.statements)
    assert first > 0.9
    assert second < 0.1


def test_a_supported_statement_has_its_sentence_first() -> None:
    found = cite("You brew green tea at 75 °C. A colony has 50,000 bees in summer.", SOURCES)

    first, second = found.statements
    assert first.citations[0].sentence == "Green tea is brewed at 75 °C."
    assert second.citations[0].sentence == "A strong colony holds about 50,000 bees in summer."
    assert (found.supported, found.unsupported) == (2, 0)
    assert first.support == first.citations[0].support > 0.5
    assert first.citations[0].source.document == "0"
    assert first.citations[0].source.line == 3


def test_a_statement_without_support_has_none() -> None:
    found = cite("Lighthouses were built of granite.", SOURCES)

    (statement,) = found.statements
    assert statement.verdict == "unsupported"
    assert statement.citations == ()
    assert statement.support is not None
    assert statement.support < 0.5


def test_offsets_are_those_of_the_sentences() -> None:
    answer = "# Summary\n\nBoiling water makes tea bitter. The colony has\none queen."
    found = cite(answer, SOURCES)

    for statement in found.statements:
        assert fold_lines(answer[statement.start : statement.end]) == statement.text
        for item in statement.citations:
            text = SOURCES[int(item.source.document)]
            assert fold_lines(text[item.source.start : item.source.end]) == item.sentence
    assert "Boiling water makes it bitter." in list_sentences(found)[1]


def test_headings_and_questions_are_skipped_unless_there_is_nothing_else() -> None:
    found = cite("# Tea\n\nGreen tea is brewed at 75 °C. Do you like it?", SOURCES)

    assert [own.verdict for own in found.statements] == ["skipped", "supported", "skipped"]
    assert found.statements[0].support is None
    assert cite("Tea brewed at 75 °C", SOURCES).statements[0].verdict == "supported"


def test_top_and_min_support_limit_the_citations() -> None:
    twice = [Document("a", text=TEA), Document("b", text=TEA)]

    one, two = (cite("Green tea is brewed at 75 °C.", twice, top=top) for top in (1, 2))
    none = cite("Green tea is brewed at 75 °C.", twice, min_support=1)

    assert [item.source.document for item in one.statements[0].citations] == ["a"]
    assert [item.source.document for item in two.statements[0].citations] == ["a", "b"]
    assert none.statements[0].verdict == "unsupported"


def test_what_a_budget_leaves_unread_is_not_called_unsupported() -> None:
    answer = "# Tea\n\nGreen tea is brewed at 75 °C. Lighthouses were built of granite."

    found = cite(answer, SOURCES, budget_ms=0)
    whole = cite(answer, SOURCES, budget_ms=60_000)

    assert [own.verdict for own in found.statements] == ["skipped", "unread", "unread"]
    assert all(own.support is None and own.citations == () for own in found.statements)
    assert (found.supported, found.unsupported, found.unread) == (0, 0, 2)
    assert all(stage.timed_out for stage in found.trace)
    assert [own.verdict for own in whole.statements] == ["skipped", "supported", "unsupported"]
    assert whole.unread == 0
    assert whole.trace[-1].scorer == "support"
    assert 2 <= whole.trace[-1].scored <= 16
    assert not any(stage.timed_out for stage in whole.trace)


class Ticking:
    """A clock that says, after some readings, that all time is over."""

    def __init__(self, readings: int) -> None:
        self._left = readings

    def __call__(self) -> float:
        self._left -= 1
        return 0.0 if self._left >= 0 else 1e6


def test_time_may_be_up_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"Green tea of kind {number} is brewed hot." for number in range(60))
    answer = "Green tea is brewed in the moonlight. Tea is hot."
    whole = [own.verdict for own in cite(answer, text).statements]
    assert whole == ["unsupported", "supported"]

    seen = []
    for readings in range(12):
        deadline = Deadline(1.0, Ticking(readings))
        monkeypatch.setattr(Deadline, "after", lambda _, given=deadline: given)
        found = cite(answer, text, budget_ms=1000)
        verdicts = [own.verdict for own in found.statements]
        assert all(own in ("unread", full) for own, full in zip(verdicts, whole, strict=True))
        assert all((own.support is None) == (own.verdict == "unread") for own in found.statements)
        assert any(stage.timed_out for stage in found.trace) == ("unread" in verdicts)
        seen.append((tuple(verdicts), found.trace[0].scored))

    # Before the first, in the midst of it, between both, in the midst of the second, and never.
    assert list(dict.fromkeys(seen)) == [
        (("unread", "unread"), 0),
        (("unread", "unread"), 50),
        (("unsupported", "unread"), 50),
        (("unsupported", "unread"), 100),
        (("unsupported", "supported"), 100),
    ]


def test_an_index_is_cited_with_places(engine: Engine) -> None:
    found = cite("Green tea is brewed at 75 °C.", engine)

    (item, *_) = found.statements[0].citations
    assert item.source.document == "tea"
    assert item.source.document_id
    text = engine.index.store.get_text(item.source.document_id)
    assert text[item.source.start : item.source.end] == item.sentence


def test_where_filters_the_documents_of_an_index(engine: Engine) -> None:
    found = cite("Green tea is brewed at 75 °C.", engine, where={"team": "garden"})

    assert found.supported == 0


def test_where_needs_an_index() -> None:
    with pytest.raises(InputError, match="where filters documents of an index"):
        cite("Tea is hot.", SOURCES, where={"team": "garden"})


def test_an_index_that_is_gone_is_an_error(tmp_path: Path) -> None:
    index = Index(tmp_path / "index", create=True)
    index.add_documents([Document("tea", text=TEA)])
    with Engine(index) as opened:
        (tmp_path / "index").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError):
            cite("Tea is hot.", opened)


@pytest.mark.parametrize(
    ("answer", "sources", "options", "problem"),
    [
        ("", SOURCES, {}, "the answer has no sentence"),
        (" \n", SOURCES, {}, "the answer has no sentence"),
        (7, SOURCES, {}, "the answer must be text, found 7"),
        ("a" * 100_001, SOURCES, {}, "100,001 characters; the limit is 100,000"),
        ("It is so. " * (MAX_STATEMENTS + 1), SOURCES, {}, "201 sentences; the limit is 200"),
        ("It is.", [], {}, "give sources"),
        ("It is.", None, {}, "give sources"),
        ("It is.", [7], {}, "source 0 is neither text nor a document: 7"),
        ("It is.", ["a", " "], {}, "source 1 has no text"),
        ("It is.", ["<!DOCTYPE html><p>It is."], {}, "source 0 is HTML; give its text"),
        ("It is.", ["a"], {"top": 0}, "top must be 1 or more"),
        ("It is.", ["a"], {"min_support": 1.1}, "min_support must be from 0 to 1"),
        ("It is.", ["a"], {"budget_ms": -1}, "a budget must be 0 or more milliseconds"),
    ],
)
def test_bad_arguments_are_named(
    answer: str, sources: list[str], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        cite(answer, sources, **options)


def test_sources_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.engine.given.MAX_CHARACTERS", 10)

    with pytest.raises(InputError, match="the sources have 12 characters; the limit is 10"):
        cite("It is.", ["It is.", "It is."])


def test_an_answer_may_be_longer_than_its_sources() -> None:
    found = cite("Tea is brewed at 75 °C. " * 20, "Tea is brewed at 75 °C.")

    assert found.supported == 20


def test_another_language_gets_a_note() -> None:
    german = "Grüner Tee wird nicht mit kochendem Wasser aufgegossen."

    assert "the answer seems to be in another language" in cite(german, SOURCES).note
    assert "the answer and the sources seem" in cite(german, german).note
    assert cite("Tea is hot.", SOURCES).note == ""


def test_ten_megabytes_of_sources_take_seconds() -> None:
    line = "Line {} of the long river tells of water and of stone number {}. "
    text = "".join(line.format(number, number * 7) for number in range(150_000))
    begun = time.process_time()

    found = cite("Line 77777 of the river tells of water and stone.", text)

    assert len(text) > 10_000_000
    assert "Line 77777 " in found.statements[0].citations[0].sentence
    assert time.process_time() - begun < 60


def test_words_that_no_source_has_are_found_nowhere() -> None:
    texts = SourceTexts([Document("0", text="Tea is hot.")])

    (candidate,) = texts.find("Xylophones!")
    assert candidate.retrieval_score == 0


@settings(max_examples=25)
@given(st.text(min_size=1, max_size=80), st.lists(st.text(max_size=200), min_size=1, max_size=3))
def test_no_span_is_invented(answer: str, sources: list[str]) -> None:
    try:
        found = cite(answer, sources, min_support=0)
    except InputError:
        return
    for statement in found.statements:
        assert fold_lines(answer[statement.start : statement.end]) == statement.text
        for item in statement.citations:
            text = sources[int(item.source.document)]
            assert fold_lines(text[item.source.start : item.source.end]) == item.sentence
