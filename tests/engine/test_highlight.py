import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rejoinder
from rejoinder.cascade.calibration import SentenceCalibration, StageCalibration
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.highlight import Highlights, highlight, highlight_texts
from rejoinder.engine.layout import place_sentences
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import WordOverlap

CAVES = """\
# Glacier caves

A glacier cave is a hollow inside the ice.

## How they form

Most glacier caves are formed by meltwater that runs along
cracks in the ice. 🧊 Guides go in only in winter.

## What to bring

You need the following things:

- a helmet against falling ice
- crampons

Tickets are sold at the door.
"""


def lexical() -> Cascade:
    """Return a cascade that rates by word overlap alone: 0.5 for two words in common."""
    calibration = SentenceCalibration(
        {"word-overlap": StageCalibration(-2.0, 1.0, 0.0)}, 0.0, 64, 0.5, 0.2
    )
    return Cascade("lexical", [Stage(WordOverlap())], sentences=calibration)


@pytest.fixture(scope="module")
def caves() -> Highlights:
    return rejoinder.highlight("how are glacier caves formed?", CAVES)


def test_the_answer_is_highlighted_where_it_is(caves: Highlights) -> None:
    (answer,) = caves.highlighted

    assert answer.sentence.startswith("Most glacier caves are formed by meltwater")
    assert CAVES[answer.start : answer.end].replace("\n", " ") == answer.sentence
    assert answer.score > 0.8
    assert caves.threshold < 0.5
    assert [stage.scorer for stage in caves.trace] == ["cosinet", "selector"]
    assert caves.note == ""


def test_every_sentence_has_a_score_and_headings_have_none(caves: Highlights) -> None:
    assert len(caves.sentences) == 7
    assert all(0 <= item.score <= 1 for item in caves.sentences)
    assert [item.start for item in caves.sentences] == sorted(
        item.start for item in caves.sentences
    )
    assert all("How they form" not in item.sentence for item in caves.sentences)


def test_a_pruned_text_keeps_the_answer_under_its_headings(caves: Highlights) -> None:
    pruned = caves.prune(caves.threshold)

    assert pruned.text == (
        "# Glacier caves\n\n## How they form\n\n"
        "Most glacier caves are formed by meltwater that runs along\ncracks in the ice."
    )
    assert pruned.compression == pytest.approx(1 - len(pruned.text) / len(CAVES))
    assert all(CAVES[start:end] in pruned.text for start, end in pruned.spans)
    assert len(caves.prune().text) >= len(pruned.text)
    assert caves.prune(0.0).text.split() == CAVES.split()


def test_an_item_keeps_its_lead_in_and_not_its_neighbours() -> None:
    found = highlight("helmet falling", CAVES, scorer=lexical())

    assert [item.sentence for item in found.highlighted] == ["a helmet against falling ice"]
    assert found.prune(0.5).text == (
        "# Glacier caves\n\n## What to bring\n\n"
        "You need the following things:\n\n- a helmet against falling ice"
    )


def test_a_lead_in_keeps_what_it_introduces_first() -> None:
    text = "Options.\n\n--slurp/-s:\n\nAll input is read into one array. It is large.\n\nEnd."

    found = highlight("slurp s", text, scorer=lexical())

    assert found.prune(0.5).text == "--slurp/-s:\n\nAll input is read into one array."


def test_a_nested_lead_in_is_kept_and_a_paragraph_ends_it() -> None:
    text = "First:\n\nNow do this:\n\n- one\n- two\n\nSo it ends. It is over."
    placed = place_sentences(text)

    assert [(item.span.extract(text), item.lead_in) for item in placed] == [
        ("First:", None),
        ("Now do this:", 0),
        ("one", 1),
        ("two", 1),
        ("So it ends.", None),
        ("It is over.", None),
    ]


def test_nothing_is_left_where_nothing_answers() -> None:
    pruned = highlight("quantum chromodynamics", CAVES, scorer=lexical()).prune()

    assert (pruned.text, pruned.spans, pruned.compression) == ("", (), 1.0)


@pytest.mark.parametrize("text", ["", " \n\n", "---\n", "\u200b"])
def test_a_text_without_sentences_has_no_highlights(text: str) -> None:
    found = highlight("who?", text)

    assert found.highlighted == ()
    assert found.prune().text.strip() == found.prune().text


def test_a_text_of_headings_alone_has_its_headings_as_sentences() -> None:
    found = highlight("what is sold?", "# Green tea\n\n# Black tea", scorer=lexical())

    assert [item.sentence for item in found.sentences] == ["Green tea", "Black tea"]


def test_other_languages_are_scored_with_a_note() -> None:
    found = highlight("Wie hoch ist der Turm?", "Der Turm ist 30 Meter hoch. Er ist alt.")

    assert len(found.sentences) == 2
    assert found.note.startswith("the question and the text seem to be in another language")


def test_the_language_is_that_of_the_text_not_of_its_first_sentence() -> None:
    german = "Eiffelturm. Der Turm ist 30 Meter hoch und steht in Paris. Er ist alt."
    english = "Der Turm ist alt. " + "It is in Paris, and it was built by Eiffel in the city. " * 3

    first = highlight("how high is it?", german, scorer=lexical())
    second = highlight("how high is it?", english, scorer=lexical())

    assert first.note.startswith("the text seems to be in another language")
    assert second.note == ""


def test_several_texts_have_the_scores_they_have_alone() -> None:
    texts = [CAVES, "", "Caves are formed by water. Bees dance."]
    scorer = rejoinder.load()

    together = highlight_texts("how are caves formed?", texts, scorer=scorer)

    for text, found in zip(texts, together, strict=True):
        alone = highlight("how are caves formed?", text, scorer=scorer)
        assert [item.score for item in found.sentences] == pytest.approx(
            [item.score for item in alone.sentences]
        )


def test_a_text_that_is_html_does_not_fail_the_others() -> None:
    page = "<!doctype html><p>Caves are formed by water."

    found, unread = highlight_texts("caves formed", ["Caves are formed.", page], scorer=lexical())

    assert found.highlighted
    assert found.note == ""
    assert (unread.sentences, unread.highlighted) == ((), ())
    assert "the text is HTML; give its text" in unread.note
    assert unread.prune(1.0).text == page


def test_a_title_says_what_a_text_is_about() -> None:
    text = "It opened in 1889. It is 330 metres high."
    question = "when did the Eiffel tower open?"

    titled = highlight(question, text, title="Eiffel tower")

    assert titled.sentences[0].score > 0.8
    assert titled.sentences[0].is_highlighted


def test_a_budget_is_kept_with_the_scores_of_the_first_stage() -> None:
    text = " ".join(f"Number {number} is a number of caves that form." for number in range(200))

    found = highlight("how are caves formed?", text, budget_ms=0)

    assert len(found.sentences) == 200
    assert found.trace[1].timed_out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"question": " "}, "the question is empty"),
        ({"text": 3}, "the text to highlight must be text, found 3"),
        ({"text": "\ufeff<!-- x --><!DOCTYPE html><p>Ada."}, "text 0 is HTML; give its text"),
        ({"text": "<?xml version='1.0'?>\n<html><p>Ada."}, "text 0 is HTML; give its text"),
        ({"text": "a" * 20_000_001}, "20,000,001 characters; the limit is 20,000,000"),
        ({"threshold": 1.5}, "threshold must be from 0 to 1, found 1.5"),
        ({"threshold": "high"}, "threshold must be from 0 to 1, found 'high'"),
        ({"scorer": "jaccard"}, "jaccard does not rate single sentences"),
    ],
)
def test_bad_input_is_refused(options: dict[str, object], problem: str) -> None:
    given = {"question": "who?", "text": "Ada.", **options}
    with pytest.raises(InputError, match=problem):
        highlight(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["<p>Ada did it.</p>", "The tag <html> is first.", "<htmlx"])
def test_a_text_with_tags_is_no_page(text: str) -> None:
    assert highlight("who did it?", text, scorer=lexical()).sentences[0].sentence


def test_ten_megabytes_take_seconds() -> None:
    line = "Line {} of the long river tells of water and of stone number {}. "
    lines = [line.format(number, number * 7) for number in range(150_000)]
    lines.insert(100_000, "Glacier caves are formed by meltwater. ")
    text = "".join(lines)
    begun = time.process_time()

    found = highlight("how are glacier caves formed?", text)

    assert len(text) > 10_000_000
    assert [item.sentence for item in found.highlighted] == [lines[100_000].strip()]
    assert found.trace[-1].given <= 64  # what the selector reads does not grow with the text
    assert time.process_time() - begun < 60


def test_too_many_sentences_are_refused_before_they_are_rated() -> None:
    begun = time.process_time()

    with pytest.raises(InputError, match="the texts have 300,001 sentences; the limit is 300,000"):
        highlight_texts("who?", ["Ada did it. " * 300_000, "Ada."], scorer=lexical())

    assert time.process_time() - begun < 20


def test_one_text_is_not_a_list_of_letters() -> None:
    with pytest.raises(InputError, match="the candidates are one text"):
        highlight_texts("who?", "Ada.", scorer=lexical())


MARKED = st.text(st.sampled_from("ab \n:#-.*<>é\u200b🧊"), max_size=80)


@settings(deadline=None)
@given(MARKED, st.floats(0, 1))
def test_spans_are_in_order_and_inside_the_text(text: str, threshold: float) -> None:
    found = highlight("a b", text, scorer=lexical())
    pruned = found.prune(threshold)

    for spans in (pruned.spans, tuple((item.start, item.end) for item in found.sentences)):
        flat = [place for span in spans for place in span]
        assert flat == sorted(flat)
        assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(text[start:end] in pruned.text for start, end in pruned.spans)
    assert 0 <= pruned.compression <= 1
