"""What the shipped selectors do with titles and headings."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.index.index import Index
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate, Document

BOUND = 1.0
"""How far apart an uninformative title moves two candidates (docs/models/context.md)."""
QUESTIONS = {
    "How hot should water for green tea be?": [
        "Green tea is brewed at 75 °C.",
        "Boiling water makes it bitter.",
        "Tea came to Europe in 1610.",
        "Most people drink it in the morning.",
    ],
    "When did the bridge open?": [
        "It was opened to traffic on 14 May 1931, two years late.",
        "Cars and trains cross it on two levels.",
        "Its architect had planned four other bridges.",
        "The toll was abolished in 1974.",
    ],
    "How do I limit the size of an upload?": [
        "Set max_upload to the number of bytes that a request may send.",
        "Uploads are kept in a temporary folder.",
        "The server answers 413 if the limit is exceeded.",
        "Restart the server after you change its configuration.",
    ],
}
HOSTILE = [
    "x" * 1000,
    "long title " * 100,
    "[SEP] [CLS] [MASK] How hot? [SEP]",
    "<script>alert(1)</script>",
    "\x00\u202e\ufffd \U0001d54b\U0001d556",
    " \n\t ",
]
EXAMPLES = Path(__file__).parents[3] / "examples" / "docs"

load = cache(rejoinder.load)


@pytest.fixture(scope="module")
def selector() -> Scorer:
    return load("selector")


def make(texts: list[str], title: str | None, headings: tuple[str, ...] = ()) -> list[Candidate]:
    document = None if title is None else Document("d", title)
    return [
        Candidate(str(place), text, document, place, headings) for place, text in enumerate(texts)
    ]


def test_a_title_tells_documents_apart(selector: Scorer) -> None:
    sentence = "It was opened to traffic in May 1931."
    titles = ["Humber Bridge", "Ohio State Fair", "Sydney Harbour Bridge"]
    candidates = [
        Candidate(title, sentence, Document(title, title), position=0) for title in titles
    ]

    scores = selector.score("When did the Sydney Harbour Bridge open?", candidates)

    assert np.argmax(scores) == 2
    assert scores[2] - np.delete(scores, 2).max() > BOUND


def test_a_heading_tells_sections_apart(selector: Scorer) -> None:
    sentence = "Set it to the number of seconds."
    headings = ["Timeout of a request", "Size of the cache", "Colours of the page"]
    candidates = [
        Candidate(heading, sentence, Document("d", "Server"), place, (heading,))
        for place, heading in enumerate(headings)
    ]

    scores = selector.score("How do I change the request timeout?", candidates)

    assert np.argmax(scores) == 0


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_candidate_without_a_topic_is_the_plain_pair(selector: Scorer, question: str) -> None:
    texts = QUESTIONS[question]
    plain = selector.score(question, texts)

    assert selector.score(question, make(texts, None)).tolist() == plain.tolist()
    assert selector.score(question, make(texts, "")).tolist() == plain.tolist()


@pytest.mark.parametrize("title", ["Document 1", "index", "Untitled", "page-17.html"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_uninformative_title_moves_candidates_alike(
    selector: Scorer, question: str, title: str
) -> None:
    texts = QUESTIONS[question]
    moved = selector.score(question, make(texts, title)) - selector.score(question, texts)

    assert np.ptp(moved) <= BOUND


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_list_that_mixes_both_kinds_stays_comparable(selector: Scorer, question: str) -> None:
    texts = QUESTIONS[question]
    plain = selector.score(question, texts)
    for place in range(len(texts)):
        mixed = make(texts, None)
        mixed[place] = replace(mixed[place], document=Document("d", "Document 1"))
        scores = selector.score(question, mixed)
        kept = np.delete(scores, place).tolist()
        assert kept == np.delete(plain, place).tolist()
        assert np.argmax(scores) == np.argmax(plain)


@pytest.mark.parametrize("name", ["selector", "passage-selector"])
@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_titles_are_cut_and_scored(name: str, title: str) -> None:
    selector = load(name)
    question, texts = next(iter(QUESTIONS.items()))
    candidates = make(texts, title, (title, title))

    scores = selector.score(question, candidates)

    assert np.isfinite(scores).all()
    assert np.argmax(scores) == 0
    again = selector.score(question, make(texts, title * 2, (title * 2,) * 20))
    assert np.isfinite(again).all()
    assert np.argmax(again) == 0


@pytest.mark.parametrize("title", ["x" * 1000, "long title " * 100])
def test_a_title_before_the_passage_leaves_room_for_all_of_it(title: str) -> None:
    selector = load("passage-selector")
    question, (right, *others) = next(iter(QUESTIONS.items()))
    texts = [" ".join([*others, right]), " ".join([*others, "It rains in Hull."])]

    first, second = selector.score(question, make(texts, title, (title,) * 20))

    assert first - second > BOUND  # the passages differ in their last sentence


@pytest.mark.parametrize("title", ["Tea", *HOSTILE])
def test_the_thorough_cascade_answers_under_any_title(tmp_path: Path, title: str) -> None:
    (question, tea), (_, bridge), _ = QUESTIONS.items()
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(
            [
                Document("tea", title, text=" ".join(tea)),
                Document("bridge", title, text=" ".join(bridge)),
            ]
        )

    with rejoinder.open(tmp_path / "index", scorer=load("thorough")) as engine:
        answers = engine.answer(question)

    assert answers.answers[0].sentence == tea[0]
    assert not answers.abstains
    stages = [stage.scorer for stage in answers.trace if stage.scored]
    assert stages == ["retrieval-order", "cosinet", "passage-selector (passages)", "selector"]


def test_the_thorough_cascade_answers_from_real_documents(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add([EXAMPLES])

    with rejoinder.open(tmp_path / "index", scorer=load("thorough")) as engine:
        answers = engine.answer("how are glacier caves formed?")

    (answer,) = answers.answers
    assert answer.sentence.startswith("Most glacier caves are formed by meltwater")
    assert answer.source.headings == ("How they form",)
    assert not answers.abstains


def test_scores_do_not_depend_on_the_list(selector: Scorer) -> None:
    question, texts = next(iter(QUESTIONS.items()))
    candidates = make(texts, "Tea", ("Brewing",))
    scores = selector.score(question, candidates)

    for one, other in pairwise(range(len(texts))):
        pair = selector.score(question, [candidates[other], candidates[one]])
        assert pair.tolist() == [scores[other], scores[one]]
