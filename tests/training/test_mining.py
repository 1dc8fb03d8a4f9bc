"""Lists that are mined from small data sets and from a folder of Markdown and HTML."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.readers.jsonl import read_examples, write_examples  # noqa: E402
from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example  # noqa: E402
from rejoinder.errors import DataError, InputError, RejoinderError, UnknownNameError  # noqa: E402
from rejoinder.index.index import Index  # noqa: E402
from rejoinder.training.mining import (  # noqa: E402
    MinedLists,
    Query,
    clean_heading,
    find_title,
    is_question,
    mine_lists,
    normalize,
)
from rejoinder.training.options import MiningOptions  # noqa: E402
from rejoinder.types import Candidate, Document, Example, ScoredCandidate, Where  # noqa: E402

TOWNS = {"Aldby": "May", "Brenton": "June", "Corva": "July", "Dunmere": "August"}
HELD = "The {town} festival is held in {month}."
OTHERS = (
    "Visitors of the {town} festival sleep in tents.",
    "A ticket for the {town} festival costs nine crowns.",
    "The mayor of {town} opens the festival with a song.",
    "The {town} festival is famous for its lanterns.",
    "Rain has never stopped the {town} festival.",
    "The {town} festival ends with a boat race.",
)


def make_example(town: str, *, title: str | None = None) -> Example:
    """Return the question when a town's festival is held, about a page with this title."""
    judged = [
        Judged(OTHERS[0].format(town=town), False),
        Judged(HELD.format(town=town, month=TOWNS[town]), True),
        *(Judged(text.format(town=town), False) for text in OTHERS[1:]),
    ]
    question = f"When is the {town} festival held?"
    return to_ordered_example(
        town.lower(), question, judged, title=town if title is None else title
    )


EXAMPLES = [make_example(town) for town in TOWNS]
OWN = Path("own.jsonl")
Mine = Callable[..., list[Example]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name files without their folder: the name of a data set decides what is drawn."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def festivals() -> Path:
    write_examples(Path("festivals.jsonl"), EXAMPLES)
    return Path("festivals.jsonl")


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    """Return a folder of documents with headings."""
    folder = tmp_path / "manuals"
    folder.mkdir()
    (folder / "kettle.md").write_text(
        "# The kettle manual\n\nThis manual is about the kettle.\n\n"
        "## 1. How to boil the water\n\nFill the kettle and press the switch. Wait two minutes.\n\n"
        "### 1.1. Choosing the right temperature\n\nGreen tea needs water of eighty degrees.\n\n"
        "## 2. Options\n\nThe switch has two positions.\n\n"
        "## 3. Cleaning the old kettle\n\nPour vinegar into the kettle once a month.\n",
        encoding="utf-8",
    )
    (folder / "mail.html").write_text(
        "<title>Routing of all mail</title><h1>Routing of all mail</h1>"
        "<p>Mail is routed by the table of hosts.</p>"
        "<h2>When a mail is deferred</h2><p>The queue keeps the mail for five days.</p>"
        "<p>After that it is returned to the sender.</p>"
        "<h2>Common notes and hints</h2><p>The log has a line for each mail.</p>",
        encoding="utf-8",
    )
    (folder / "tea.md").write_text(
        "# Tea in the office\n\nThe office drinks tea at four.\n\n"
        "## Common notes and hints\n\nThe water of the office is hard.\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture
def mine() -> Mine:
    """Return a function that mines and reads the lists, without drawing lots by default."""

    def mine(*data: str | Path, **options: Any) -> list[Example]:
        given = {"unanswerable": 0.0, "untitled": 0.0, **options}
        target = Path("mined.jsonl.gz")
        mined = mine_lists(MiningOptions(to=target, **given), [*map(str, data)])
        assert mined.path == target
        return list(read_examples(target))

    return mine


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that hides a sentence from the search."""
    search, hidden = Index.search, set[str]()

    def miss(
        index: Index, question: str, k: int, where: Where | None = None
    ) -> list[ScoredCandidate]:
        hits = search(index, question, k, where=where)
        return [hit for hit in hits if hit.candidate.text not in hidden]

    monkeypatch.setattr(Index, "search", miss)
    return hidden.add


def get_answers(example: Example) -> list[Candidate]:
    return [item for item, label in zip(example.candidates, example.labels, strict=True) if label]


def get_negatives(example: Example) -> list[Candidate]:
    return [
        item for item, label in zip(example.candidates, example.labels, strict=True) if not label
    ]


def get_documents(candidates: Sequence[Candidate]) -> set[str]:
    return {item.document.id for item in candidates if item.document}


def find_list(lists: Sequence[Example], question: str) -> Example:
    (found,) = [example for example in lists if example.question == question]
    return found


def test_negatives_come_from_the_right_document_and_from_others(
    mine: Mine, festivals: Path
) -> None:
    lists = mine(festivals)

    assert {example.question for example in lists} == {item.question for item in EXAMPLES}
    for example in lists:
        (answer,) = get_answers(example)
        (town,) = [town for town in TOWNS if town in example.question]
        assert answer.text == HELD.format(town=town, month=TOWNS[town])
        assert answer.document == Document(f"title/{town.lower()}", town)
        documents = [item.document.id for item in get_negatives(example) if item.document]
        assert documents.count(f"title/{town.lower()}") == round(9 * 0.35)
        assert len(set(documents)) > 2
        assert len(example.candidates) == 10
        assert len({item.id for item in example.candidates}) == 10


@pytest.mark.parametrize("found", [None, 20])
def test_no_negative_contains_the_words_that_answer(mine: Mine, found: int | None) -> None:
    told = "People who were there say that it was in {month}, and that it rained."
    wrong = "The {town} festival is loved by all people in mayoral offices."
    examples = []
    for town, month in TOWNS.items():
        made = make_example(town)
        texts = [told.format(month=month), wrong.format(town=town)]
        judged = [
            *zip((item.text for item in made.candidates), made.labels, strict=True),
            *((text, False) for text in texts),
        ]
        examples.append(
            to_ordered_example(
                made.id,
                made.question,
                [Judged(*item) for item in judged],
                title=town,
                answer_strings=[f"in {month}"],
            )
        )
    plain = [replace(example, answer_strings=()) for example in examples]
    options = {"found": found, "candidates": 40, "unanswerable": float(found is not None)}

    def mine_negatives(given: list[Example]) -> dict[str, set[str]]:
        write_examples(Path("told.jsonl"), given)
        lists = mine("told.jsonl", **options)
        return {example.question: {i.text for i in get_negatives(example)} for example in lists}

    kept, all_ = mine_negatives(examples), mine_negatives(plain)

    for example, (town, month) in zip(examples, TOWNS.items(), strict=True):
        dropped = all_[example.question] - kept[example.question]
        assert told.format(month=month) in dropped
        assert wrong.format(town=town) in kept[example.question]


def test_short_answer_strings_are_in_many_sentences_by_chance() -> None:
    query = Query("1", "How many?", (), answer_strings=("Five", "5", "U.S."))

    assert query.may_be_answered_by("They were five.")
    assert not query.may_be_answered_by("They were 5, in the US.")
    assert not query.may_be_answered_by("They were fivefold.")


def test_candidates_of_a_document_stand_together_in_its_order(mine: Mine, festivals: Path) -> None:
    for example in mine(festivals):
        places = [(item.document.id, item.position) for item in example.candidates if item.document]
        groups = list(dict.fromkeys(name for name, _ in places))
        assert places == sorted(places, key=lambda place: (groups.index(place[0]), place[1] or 0))


def test_a_list_is_as_long_as_asked_for(mine: Mine, festivals: Path) -> None:
    assert {len(example.candidates) for example in mine(festivals, candidates=4)} == {4}


def test_lists_can_have_passages(mine: Mine, festivals: Path) -> None:
    for example in mine(festivals, found=20, passages=True, unanswerable=0, untitled=0):
        for item in example.candidates:
            assert item.passage is not None
            assert item.text in item.passage
            assert (
                HELD.split("{")[0] + (item.document.title if item.document else "") in item.passage
            )
    assert all(item.passage is None for example in mine(festivals) for item in example.candidates)


def test_no_passage_of_an_unanswerable_list_holds_the_answer(mine: Mine, festivals: Path) -> None:
    lists = mine(festivals, found=20, passages=True, unanswerable=1, untitled=0)

    for example in lists:
        (town,) = [town for town in TOWNS if town in example.question]
        answer = HELD.format(town=town, month=TOWNS[town])
        passages = [item.passage for item in example.candidates]
        assert not any(answer in (passage or "") for passage in passages)
        assert any(f"The mayor of {town}" in (passage or "") for passage in passages)


def test_lists_inside_a_document_are_not_searched_for(
    mine: Mine, festivals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Index, "search")

    lists = mine(festivals, in_document=True, unanswerable=0, untitled=0)

    assert {example.id for example in lists} == {f"festivals.jsonl/{t.lower()}" for t in TOWNS}
    for example in lists:
        (original,) = [item for item in EXAMPLES if item.question == example.question]
        assert [item.text for item in example.candidates] == [
            item.text for item in original.candidates
        ]
        assert example.labels == original.labels
        assert {item.document.title for item in example.candidates if item.document} == {
            original.candidates[0].document.title if original.candidates[0].document else ""
        }


def test_lists_inside_a_document_keep_the_order_of_its_sentences(
    mine: Mine, festivals: Path
) -> None:
    for example in mine(festivals, in_document=True):
        (original,) = [item for item in EXAMPLES if item.question == example.question]
        positions = [item.position or 0 for item in example.candidates]
        assert positions == [item.position for item in original.candidates]
        assert positions == sorted(set(positions))


def test_long_lists_inside_a_document_are_cut_in_its_order(mine: Mine, festivals: Path) -> None:
    for example in mine(festivals, in_document=True, candidates=4, unanswerable=0):
        (original,) = [item for item in EXAMPLES if item.question == example.question]
        places = [item.text for item in original.candidates]
        found = [places.index(item.text) for item in example.candidates]
        assert found == sorted(found)
        assert len(found) == 4
        assert sum(example.labels) == 1


def test_lists_inside_a_document_lack_answers_and_titles_as_asked_for(
    mine: Mine, festivals: Path
) -> None:
    lists = mine(festivals, in_document=True, unanswerable=1, untitled=1)

    assert len(lists) == len(TOWNS)
    for example in lists:
        (original,) = [item for item in EXAMPLES if item.question == example.question]
        assert not any(example.labels)
        assert [item.text for item in example.candidates] == [
            item.text
            for item, label in zip(original.candidates, original.labels, strict=True)
            if not label
        ]
        assert not any(item.document for item in example.candidates)


def test_a_document_of_one_sentence_has_no_list_of_its_own(mine: Mine) -> None:
    alone = to_ordered_example("one", "Who?", [Judged("She did.", True)], title="Alone")
    write_examples(OWN, [alone, EXAMPLES[0]])

    (example,) = mine(OWN, in_document=True, unanswerable=0)
    assert example.question == EXAMPLES[0].question

    write_examples(OWN, [alone])
    with pytest.raises(InputError, match="no question's document has two sentences"):
        mine(OWN, in_document=True)


def test_an_answer_without_text_is_not_asked_for(mine: Mine) -> None:
    empty = to_ordered_example("empty", "Who?", [Judged(" ", True)], title="Empty")
    write_examples(OWN, [empty, EXAMPLES[0]])

    lists = mine(OWN, in_document=True, unanswerable=0)

    assert [example.question for example in lists] == [EXAMPLES[0].question]


def test_a_seed_gives_the_same_file(festivals: Path, manuals: Path) -> None:
    targets = [Path(f"{number}.jsonl.gz") for number in range(3)]

    for target, seed in zip(targets, (1, 1, 2), strict=True):
        options = MiningOptions(to=target, documents=[manuals], unanswerable=0.5, seed=seed)
        mine_lists(options, [f"{festivals}@0.5"])

    first, again, other = (target.read_bytes() for target in targets)
    assert first == again != other


def test_near_duplicates_of_an_answer_are_no_negatives(mine: Mine) -> None:
    copies = [
        "The Aldby festival is always held in May.",
        "THE ALDBY FESTIVAL IS HELD IN MAY",
        "Is the Aldby festival held in May?",
    ]
    calendar = to_ordered_example(
        "calendar",
        "What does the calendar list?",
        [Judged("All towns have a festival.", True), *(Judged(text, False) for text in copies)],
        title="Calendar",
    )
    write_examples(OWN, [*EXAMPLES, calendar])

    found = find_list(mine(OWN, candidates=40), EXAMPLES[0].question)

    answers = [item.text for item in get_answers(found)]
    assert {normalize(text) for text in answers} == {normalize(copies[1])}
    texts = {item.text for item in get_negatives(found)}
    assert texts.isdisjoint(copies)
    assert "All towns have a festival." in texts


def test_a_copy_with_other_hyphens_is_no_negative(mine: Mine) -> None:
    text = "The festival is held mid-May by lantern-light at river-side."
    copy = "The festival is held midMay by lanternlight at riverside."
    question = "When is the festival by the river held?"
    example = to_ordered_example("q", question, [Judged(text, True)], title="Aldby")
    other = to_ordered_example("c", "Which month?", [Judged(copy, False)], title="Calendar")
    write_examples(OWN, [example, other, *EXAMPLES[1:]])

    found = find_list(mine(OWN, candidates=30), example.question)

    assert {item.text for item in get_answers(found)} == {text, copy}


def test_at_most_two_answers_are_kept_and_the_others_are_no_negatives(mine: Mine) -> None:
    judged = [
        Judged(f"The Aldby festival has {what} for children.", True)
        for what in ("swings", "puppets", "a small train", "sweets", "a clown")
    ]
    example = to_ordered_example("q", "What does the Aldby festival have?", judged, title="Aldby")
    write_examples(OWN, [example, *EXAMPLES[1:]])

    found = find_list(mine(OWN), example.question)

    right = {item.text for item in judged}
    assert len(get_answers(found)) == 2
    assert {item.text for item in get_answers(found)} < right
    assert right.isdisjoint(item.text for item in get_negatives(found))


def test_an_answer_that_the_search_misses_is_in_the_list(
    mine: Mine, festivals: Path, hide: Callable[[str], None]
) -> None:
    held = HELD.format(town="Aldby", month="May")
    hide(held)

    found = find_list(mine(festivals), EXAMPLES[0].question)

    (answer,) = get_answers(found)
    assert (answer.text, answer.document) == (held, Document("title/aldby", "Aldby"))
    documents = [item.document.id for item in get_negatives(found) if item.document]
    assert documents.count("title/aldby") == round(9 * 0.35)


@pytest.mark.parametrize("is_found", [True, False])
def test_sentences_around_a_candidate_are_written_where_they_are_asked_for(
    mine: Mine, festivals: Path, manuals: Path, hide: Callable[[str], None], is_found: bool
) -> None:
    held = HELD.format(town="Aldby", month="May")
    if not is_found:
        hide(held)

    lists = mine(festivals, documents=[manuals], sentences=True)
    bare = mine(festivals, documents=[manuals])

    for example in lists:
        for item in example.candidates:
            assert item.document
            assert item.position is not None
            assert item.document.sentences[item.position] == item.text
    (answer,) = get_answers(find_list(lists, EXAMPLES[0].question))
    assert answer.document
    assert answer.document.sentences == tuple(item.text for item in EXAMPLES[0].candidates)
    assert {item.text for item in join_candidates(lists)} == {
        item.text for item in join_candidates(bare)
    }
    assert not any(item.document.sentences for item in join_candidates(bare) if item.document)


def test_a_heading_that_is_asked_for_is_no_neighbour_of_its_answer(
    mine: Mine, manuals: Path
) -> None:
    for example in mine(documents=[manuals], sentences=True):
        around = [
            text for item in example.candidates if item.document for text in item.document.sentences
        ]
        assert normalize(example.question) not in [
            normalize(clean_heading(text)) for text in around
        ]


def test_a_question_that_finds_too_little_has_no_list(mine: Mine) -> None:
    example = to_ordered_example("q", "Who?", [Judged("Nobody at all.", True)], title="None")
    write_examples(OWN, [example])

    with pytest.raises(InputError, match="nothing was mined: the search finds no sentences"):
        mine(OWN)


@pytest.mark.parametrize(
    "asked", ["When is the Aldby festival held?", "when is THE Aldby  festival held"]
)
def test_documents_of_excluded_questions_are_left_out(
    mine: Mine, festivals: Path, asked: str
) -> None:
    second = to_ordered_example(
        "second",
        "Who opens the Aldby festival?",
        [Judged("The mayor of Aldby.", True), Judged("No one else does it.", False)],
        title="Aldby",
    )
    write_examples(Path("second.jsonl"), [second])
    Path("exclude.txt").write_text(f"\n{asked}\nAnother one?\n", encoding="utf-8")

    for data in ([festivals, Path("second.jsonl")], [Path("second.jsonl"), festivals]):
        lists = mine(*data, exclude="exclude.txt")

        assert {example.question for example in lists} == {
            example.question for example in EXAMPLES[1:]
        }
        assert all("Aldby" not in item.text for item in join_candidates(lists))


def join_candidates(lists: Sequence[Example]) -> Iterator[Candidate]:
    return (item for example in lists for item in example.candidates)


def test_unanswerable_lists_have_no_answer(mine: Mine, festivals: Path) -> None:
    lists = mine(festivals, unanswerable=1.0)

    assert len(lists) == len(EXAMPLES)
    assert not any(any(example.labels) for example in lists)
    for example in lists:
        texts = {item.text for item in example.candidates}
        assert len(texts) == 9
        assert texts.isdisjoint(
            HELD.format(town=town, month=month)
            for town, month in TOWNS.items()
            if town in example.question
        )


def test_untitled_lists_have_no_documents_and_no_headings(
    mine: Mine, festivals: Path, manuals: Path
) -> None:
    lists = mine(festivals, documents=[manuals], untitled=1.0)

    assert any(example.id.startswith("heading/") for example in lists)
    for item in join_candidates(lists):
        assert (item.document, item.position, item.headings) == (None, None, ())


def test_lists_of_data_sets_without_titles_have_none(mine: Mine) -> None:
    write_examples(OWN, [make_example(town, title="") for town in TOWNS])

    candidates = list(join_candidates(mine(OWN)))

    assert {item.document.title for item in candidates if item.document} == {""}
    assert len(get_documents(candidates)) == 4
    assert all(name.startswith("untitled/") for name in get_documents(candidates))


@pytest.mark.parametrize("title", ["aldby", "Aldby!", "Ald%62y", "Aldby_", "Al\x00dby", " Aldby"])
@pytest.mark.parametrize("is_found", [True, False])
def test_pages_of_the_same_title_are_one_document(
    mine: Mine,
    festivals: Path,
    hide: Callable[[str], None],
    title: str,
    is_found: bool,
) -> None:
    judged = [Judged("In May, the Aldby festival is open.", True), Judged("Rain falls.", False)]
    other = to_ordered_example("q", "When is the Aldby festival?", judged, title=title)
    write_examples(OWN, [other])
    if not is_found:
        hide(judged[0].text)

    found = find_list(mine(festivals, OWN), other.question)

    (answer,) = get_answers(found)
    assert answer.document == Document("title/aldby", "Aldby")
    assert "title/aldby" in get_documents(get_negatives(found))


def test_a_title_with_control_characters_is_the_same_in_all_candidates(
    mine: Mine, hide: Callable[[str], None]
) -> None:
    title = "\x07Aldby  \x1btown"
    write_examples(OWN, [make_example("Aldby", title=title), *EXAMPLES[1:]])
    hide(HELD.format(town="Aldby", month="May"))

    found = find_list(mine(OWN), EXAMPLES[0].question)

    (answer,) = get_answers(found)
    assert answer.document
    assert answer.document.id == "title/aldbytown"
    assert answer.document.title.split() == ["Aldby", "town"]
    assert answer.document.id in get_documents(get_negatives(found))


def test_headings_of_documents_are_questions(mine: Mine, manuals: Path) -> None:
    lists = mine(documents=[manuals])

    answers = {example.question: [item.text for item in get_answers(example)] for example in lists}
    assert answers == {
        "The kettle manual": ["This manual is about the kettle."],
        "How to boil the water": ["Fill the kettle and press the switch."],
        "Choosing the right temperature": ["Green tea needs water of eighty degrees."],
        "Cleaning the old kettle": ["Pour vinegar into the kettle once a month."],
        "Routing of all mail": ["Mail is routed by the table of hosts."],
        "When a mail is deferred": ["The queue keeps the mail for five days."],
        "Tea in the office": ["The office drinks tea at four."],
    }
    assert all(example.id.startswith("heading/") for example in lists)


def test_drawn_headings_do_not_depend_on_the_place_of_the_files(
    mine: Mine, manuals: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(manuals, tmp_path / "another" / "place")

    first, second = (
        {
            (example.id, example.question, *(item.text for item in example.candidates))
            for example in mine(documents=[folder], headings=4, candidates=5)
        }
        for folder in (manuals, copy)
    )

    assert first == second
    assert len(first) == 4


def test_a_heading_is_hidden_where_it_is_asked_for(mine: Mine, manuals: Path) -> None:
    lists = mine(documents=[manuals], candidates=12)

    for example in lists:
        asked = normalize(example.question)
        for item in example.candidates:
            shown = [item.document.title if item.document else "", *item.headings]
            assert asked not in [normalize(clean_heading(text)) for text in shown]
    headings = {item.headings for item in join_candidates(lists)}
    assert ("1. How to boil the water", "1.1. Choosing the right temperature") in headings
    assert ("1. How to boil the water",) in headings
    assert {item.document.title for item in join_candidates(lists) if item.document} == {
        *("", "The kettle manual", "Routing of all mail", "Tea in the office")
    }


def test_a_heading_of_documents_stays_in_the_lists_of_data_sets(mine: Mine, manuals: Path) -> None:
    judged = [Judged("Fill it to the mark.", True), Judged("It is made of steel.", False)]
    example = to_ordered_example("q", "How to boil the water", judged, title="Water")
    write_examples(OWN, [example])

    (found,) = mine(OWN, documents=[manuals], headings=0)

    assert ("1. How to boil the water",) in {item.headings for item in found.candidates}


@pytest.mark.parametrize("is_found", [True, False])
def test_an_answer_shows_the_headings_above_the_one_that_is_asked_for(
    mine: Mine, manuals: Path, hide: Callable[[str], None], is_found: bool
) -> None:
    text = "Green tea needs water of eighty degrees."
    if not is_found:
        hide(text)

    found = find_list(mine(documents=[manuals]), "Choosing the right temperature")

    (answer,) = get_answers(found)
    assert answer.document
    assert (answer.text, answer.document.title) == (text, "The kettle manual")
    assert answer.headings == ("1. How to boil the water",)
    assert answer.id == f"{manuals}/kettle.md#{answer.position}"


def test_at_most_so_many_headings_are_drawn(mine: Mine, manuals: Path) -> None:
    assert len(mine(documents=[manuals], headings=3)) == 3
    with pytest.raises(InputError, match="nothing was mined"):
        mine(documents=[manuals], headings=0)


def test_documents_in_another_language_are_left_out(mine: Mine, manuals: Path) -> None:
    (manuals / "kettle_fr.md").write_text(
        "# Le manuel de la bouilloire\n\nCe manuel est pour la bouilloire.\n\n"
        "## Comment faire bouillir de l'eau\n\nIl faut la remplir avec de l'eau.\n",
        encoding="utf-8",
    )
    (manuals / "thanks.md").write_text(
        "# Thanks to all translators\n\nThe kettle manual was translated by Anne.\n\n"
        "All of the words that are in it were hers, and it was the first of its kind.\n\n"
        "She says: je vous remercie, et je ne bois pas de thé.\n",
        encoding="utf-8",
    )

    lists = mine(documents=[manuals], candidates=40)

    asked = {example.question for example in lists}
    assert "Le manuel de la bouilloire" not in asked
    assert "Thanks to all translators" in asked
    texts = {item.text for item in join_candidates(lists)}
    assert not any("bouilloire" in text for text in texts)
    assert "The kettle manual was translated by Anne." in texts


def test_a_share_of_the_questions_searches_all_documents(mine: Mine, festivals: Path) -> None:
    half = mine(f"{festivals}@0.5")

    assert len(half) == 2
    assert len(get_documents(list(join_candidates(half)))) > 2
    asked = [
        {example.question for example in mine(f"{festivals}@0.5", seed=seed)} for seed in range(4)
    ]
    assert any(questions != asked[0] for questions in asked)
    assert len(mine(f"{festivals}@3")) == 4, "no question is asked twice"


def test_a_data_set_of_weight_0_is_searched_and_not_asked(mine: Mine) -> None:
    write_examples(OWN, EXAMPLES[:1])
    write_examples(Path("others.jsonl"), EXAMPLES[1:])

    (found,) = mine(OWN, "others.jsonl@0")

    assert found.question == EXAMPLES[0].question
    assert len(get_documents(found.candidates)) > 1


def test_found_sentences_are_kept_as_they_are(mine: Mine, festivals: Path) -> None:
    lists = mine(festivals, found=12)

    for example in lists:
        (town,) = [town for town in TOWNS if town in example.question]
        assert len(example.candidates) == 12
        assert [item.text for item in get_answers(example)] == [
            HELD.format(town=town, month=TOWNS[town])
        ]
        scores = [item.retrieval_score for item in example.candidates]
        assert all(score is not None and score > 0 for score in scores)
        assert len(set(scores)) > 1
    bare = mine(festivals, found=12, unanswerable=1.0)
    assert {len(example.candidates) for example in bare} == {12}, "others take their place"
    assert not any(any(example.labels) for example in bare)


def test_an_unanswerable_heading_loses_its_folder(
    mine: Mine, festivals: Path, manuals: Path, tmp_path: Path
) -> None:
    office = tmp_path / "office"
    office.mkdir()
    (office / "tea.md").write_text("# Tea\n\nBoil the water twice. The water is hard.\n")

    lists = mine(festivals, documents=[manuals, office], found=12, unanswerable=1.0)

    boiling = find_list(lists, "How to boil the water")
    assert f"{office}/tea.md" in get_documents(boiling.candidates)
    assert not any(
        document.startswith(f"{manuals}/") for document in get_documents(boiling.candidates)
    )
    answered = find_list(mine(festivals, documents=[manuals, office], found=12), boiling.question)
    assert f"{manuals}/kettle.md" in get_documents(answered.candidates)


def test_questions_are_asked_elsewhere(mine: Mine, manuals: Path) -> None:
    judged = [("Water boils at a hundred degrees.", True), ("The water of the sea is salt.", False)]
    water = to_ordered_example(
        "w", "When does water boil?", [Judged(*item) for item in judged], title="Water"
    )
    write_examples(OWN, [water])

    lists = mine(OWN, documents=[manuals], found=12, elsewhere=1.0)

    moved = [example for example in lists if example.id.endswith("/elsewhere")]
    assert not any(any(example.labels) for example in moved)
    headings = [example for example in moved if example.id.startswith("heading/")]
    assert "How to boil the water" in {example.question for example in headings}
    for example in headings:
        assert get_documents(example.candidates) == {"title/water"}
    (asked,) = (example for example in moved if example not in headings)
    assert asked.question == water.question
    assert all(name.startswith(str(manuals)) for name in get_documents(asked.candidates))
    assert len(lists) - len(moved) == len(mine(OWN, documents=[manuals], found=12))


def test_without_files_there_is_no_elsewhere(mine: Mine, festivals: Path) -> None:
    assert len(mine(festivals, found=12, elsewhere=1.0)) == len(EXAMPLES)


def test_near_duplicates_of_an_answer_that_are_found_are_answers(mine: Mine) -> None:
    copy = "The Aldby festival is always held in May."
    calendar = to_ordered_example("c", "What?", [Judged(copy, False)], title="Calendar")
    write_examples(OWN, [EXAMPLES[0], calendar])

    found = find_list(mine(OWN, found=10), EXAMPLES[0].question)

    held = HELD.format(town="Aldby", month="May")
    assert {item.text for item in get_answers(found)} == {held, copy}


def test_the_counts_and_the_progress_are_reported(festivals: Path, manuals: Path) -> None:
    target = Path("mined.jsonl")
    seen: list[tuple[int, int]] = []
    told: list[str] = []
    options = MiningOptions(to=target, documents=[manuals], unanswerable=0.5)

    mined = mine_lists(
        options, [str(festivals)], on_mined=lambda *at: seen.append(at), say=told.append
    )

    lists = list(read_examples(target))
    assert mined == MinedLists(
        path=target,
        lists=len(lists),
        unanswerable=sum(not any(example.labels) for example in lists),
        candidates=sum(len(example.candidates) for example in lists),
        headings=sum(example.id.startswith("heading/") for example in lists),
    )
    assert 0 < mined.unanswerable < mined.lists
    assert 0 < mined.headings < mined.lists
    assert seen == [(number, 11) for number in range(12)]
    assert told == ["indexing 4 documents", f"reading {manuals}"]


def test_lists_are_shuffled(mine: Mine, festivals: Path, manuals: Path) -> None:
    ids = [example.id.startswith("heading/") for example in mine(festivals, documents=[manuals])]

    assert ids != sorted(ids)


def test_nothing_to_mine_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing to mine: name a DATASET, or --documents"):
        mine_lists(MiningOptions(to="m.jsonl"))


@pytest.mark.parametrize(
    ("data", "options", "kind", "problem"),
    [
        ("festivals.jsonl", {"exclude": "none.txt"}, DataError, r"none\.txt: No such file"),
        ("festivals.jsonl", {"exclude": "empty.txt"}, DataError, r"empty\.txt: the file is empty"),
        ("festivals.jsonl", {"documents": ["nowhere"]}, RejoinderError, "nowhere"),
        (
            "festivals.jsonl",
            {"to": "nowhere/m.jsonl"},
            InputError,
            r"cannot write .*nowhere/m\.jsonl",
        ),
        ("festivals.jsonl@x", {}, InputError, "must be a positive number"),
        ("none.jsonl", {}, DataError, "No such file"),
        ("wikqa", {}, UnknownNameError, "unknown data set 'wikqa'"),
    ],
)
def test_files_that_cannot_be_read_or_written_are_errors(
    festivals: Path,
    data: str,
    options: dict[str, Any],
    kind: type[RejoinderError],
    problem: str,
) -> None:
    Path("empty.txt").touch()

    with pytest.raises(kind, match=problem):
        mine_lists(MiningOptions(**{"to": "m.jsonl", **options}), [data])

    assert not Path("m.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("candidates", 2), ("unanswerable", 1.5), ("untitled", -0.1), ("headings", -1), ("found", 0)],
)
def test_a_value_out_of_range_is_refused(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}

    with pytest.raises(InputError, match=f"{name} cannot be {value}"):
        MiningOptions(to="m.jsonl", **options)


@pytest.mark.parametrize(
    ("heading", "cleaned"),
    [
        ("How mail is routed", "How mail is routed"),
        ("4 How mail is routed", "How mail is routed"),
        ("4.2. How mail is routed", "How mail is routed"),
        ("4.2.11) How mail is routed", "How mail is routed"),
        ("Chapter 7: How mail is routed", "How mail is routed"),
        ("appendix B. How mail is routed", "How mail is routed"),
        ("Section IV How mail is routed", "How mail is routed"),
        ("A.1 How mail is routed", "How mail is routed"),
        ("A mail is routed", "A mail is routed"),
        ("Chapters of the book", "Chapters of the book"),
        ("3D printing of parts", "3D printing of parts"),
        ("3 ways to do it", "3 ways to do it"),
        ("Section headings are bold", "Section headings are bold"),
        ("  How\nmail \t is routed ¶", "How mail is routed"),
        ("# How mail is routed #", "How mail is routed"),
        ("4.2.", "4.2."),
        ("", ""),
    ],
)
def test_a_heading_is_cleaned_of_its_number(heading: str, cleaned: str) -> None:
    assert clean_heading(heading) == cleaned


@pytest.mark.parametrize(
    ("heading", "says_enough"),
    [
        ("How mail is routed", True),
        ("Who (really) knows it?", True),
        ('The "old" kettle', True),
        ("How to use smtp_bind_address and maps_rbl here", True),
        ("Options", False),
        ("Two words", False),
        ("smtp_bind_address", False),
        ("Set a_1 b_2 c_3 to the value", False),
        ("1 2 3 4", False),
        ("A B C D", False),
        ("猫と犬 の 話 です", False),
        ("", False),
        ("word " * 19 + "words", True),
        ("word " * 20 + "words", False),
    ],
)
def test_a_heading_that_says_enough_is_a_question(heading: str, says_enough: bool) -> None:
    assert is_question(heading) is says_enough


SENTENCES = ("The hive has one queen.", "Bees dance.")


def make_page(title: str, sentences: Sequence[str] = SENTENCES) -> Example:
    return to_ordered_example("q", "Who?", [Judged(text, False) for text in sentences], title=title)


@pytest.mark.parametrize(
    ("title", "key", "shown"),
    [
        ("Honey bees", "title/honeybees", "Honey bees"),
        ("honey-BEES", "title/honeybees", "honey-BEES"),
        ("Honey_bees", "title/honeybees", "Honey bees"),
        ("Honey%20bees", "title/honeybees", "Honey bees"),
        (" Honey bees\n", "title/honeybees", "Honey bees"),
        ("Ruche d’été", "title/ruchedété", "Ruche d’été"),
        ("蜂", "title/蜂", "蜂"),
        ("?!", "title/?!", "?!"),
        ("The hive", "title/thehive", "The hive"),
    ],
)
def test_a_page_is_known_by_its_title(title: str, key: str, shown: str) -> None:
    assert find_title("own", make_page(title)) == (key, shown)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "  ",
        "_",
        "The hive of the village has one que",
        "The hive of the village has one queen.",
    ],
)
def test_a_long_beginning_of_the_first_sentence_is_no_title(title: str) -> None:
    page = make_page(title, ("The hive of the village has one queen.", "Bees dance."))
    key, shown = find_title("own", page)

    assert key.startswith("untitled/own/")
    assert shown == ""


def test_pages_without_titles_are_told_apart_by_their_first_sentence() -> None:
    keys = {
        find_title(name, make_page("", sentences))[0]
        for name, sentences in (
            ("own", SENTENCES),
            ("own", (SENTENCES[0], "Another second sentence.")),
            ("own", SENTENCES[::-1]),
            ("other", SENTENCES),
        )
    }

    assert len(keys) == 3


def test_lists_without_a_document_are_told_apart_by_their_ids() -> None:
    judged = [Judged(text, False) for text in SENTENCES]
    lists = [to_unordered_example(id_, "Who?", judged) for id_ in ("1", "2", "1")]
    empty = Example("3", "Who?", (), ())
    lone = Example(
        "4", "Who?", (Candidate("0", "\ud800", Document("d", "", ("\ud800",))),), (True,)
    )

    keys = [find_title("own", example) for example in (*lists, empty, lone)]

    assert keys[0] == keys[2]
    assert len(set(keys)) == 4
    assert {title for _, title in keys} == {""}
