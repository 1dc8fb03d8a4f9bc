import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.bundle import folder as bundles
from rejoinder.bundle.folder import Manifest, parse_manifest
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.engine.engine import Engine, open_files
from rejoinder.engine.explain import match_words
from rejoinder.errors import InputError, StoreError
from rejoinder.index.index import Index
from rejoinder.index.vectors import store
from rejoinder.models import registry
from rejoinder.models.passages import PassageScorer
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.staged import Deadline
from rejoinder.models.static_vectors import vectors
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.retrieval import Retriever
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import (
    Answers,
    Candidate,
    Document,
    Mark,
    ScoredCandidate,
    Where,
    to_candidates,
)

PIECES = WordPiece(["[UNK]", "tea"])


class Shortest:
    """Ranks short sentences first, and keeps what it was given."""

    name = "shortest"

    def __init__(self, tokenizer: str | None = None) -> None:
        self.tokenizer = tokenizer
        self.given: list[Candidate] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        self.given = [item for item in candidates if isinstance(item, Candidate)]
        return np.array([-float(len(item.text)) for item in self.given])


class Elsewhere(Retriever):
    """Finds what no index holds."""

    def search(
        self,
        question: str,
        k: int,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> Sequence[ScoredCandidate]:
        return [ScoredCandidate(Candidate("1", "It rains."), 1.0, 1)][:k]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tea.md").write_text(
        "# How hot is tea?\n\nGreen tea is brewed\nat 75 °C. Black tea is boiled."
        " Milk will spoil it.",
        encoding="utf-8",
    )
    (docs / "bees.txt").write_text("Bees can dance well. A colony has one queen.", encoding="utf-8")
    (docs / "copy.txt").write_text("So: black tea is boiled.", encoding="utf-8")
    with Index(tmp_path / "index", create=True, tokenizer=PIECES) as index:
        index.add([docs])
        yield index


def test_an_answer_has_its_source(index: Index) -> None:
    found = Engine(index).answer("when is green tea brewed?")
    (answer,) = found.answers

    assert answer.sentence == "Green tea is brewed at 75 °C."
    assert answer.rank == 1
    assert answer.source.title == "How hot is tea?"
    assert answer.source.line == 3
    (document,) = [item for item in index.documents() if item.id == answer.source.document]
    text = index.get_text(document)
    assert text[answer.source.start : answer.source.end] == "Green tea is brewed\nat 75 °C."
    assert found.scorer == "retrieval-order"


def test_near_duplicates_count_once(index: Index) -> None:
    sentences = [answer.sentence for answer in Engine(index).answer("black tea", top=9).answers]

    assert len([sentence for sentence in sentences if "lack tea is boiled" in sentence]) == 1


def test_top_limits_and_sorts(index: Index) -> None:
    answers = Engine(index).answer("green tea is brewed", top=2).answers

    assert [answer.rank for answer in answers] == [1, 2]
    assert answers[0].score > answers[1].score


def test_no_shared_word_gives_no_answer_without_vectors(index: Index) -> None:
    index.drop_vectors()
    answers = Engine(index).answer("xylophones?")

    assert answers.answers == ()
    assert answers.abstains


def test_bad_questions_are_errors(index: Index) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        Engine(index).answer("  ")
    with pytest.raises(InputError, match="0 or more milliseconds, found -1"):
        Engine(index).answer("tea", budget_ms=-1)


def test_arguments_of_another_kind_are_errors(index: Index) -> None:
    engine = Engine(index)
    (answer,) = engine.answer("green tea").answers

    for top in (0, -1, "3"):
        with pytest.raises(InputError, match=r"top must be 1 or more, found"):
            engine.answer("tea", top=top)  # type: ignore[arg-type]
    for where in ({"a": 3}, {"a": ["b", 3]}, "suffix=.md"):
        with pytest.raises(InputError, match=r"where must be such as \{'suffix': '.md'\}"):
            engine.answer("tea", where=where)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the question must be text, found None"):
        engine.answer(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="right must be True, False or None, found 'no'"):
        engine.mark("green tea", answer, right="no")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="answer must be one of the answers, or its sentence"):
        engine.mark("green tea", engine.answer("tea"))  # type: ignore[arg-type]
    assert engine.marks() == []
    with pytest.raises(InputError, match=r"load it first: scorer=rejoinder.load\('bm25'\)"):
        Engine(index, "bm25")  # type: ignore[arg-type]


def test_a_scorer_gets_documents_in_their_order(index: Index) -> None:
    scorer = Shortest()

    found = Engine(index, scorer).answer("milk in boiled green tea, say bees", top=9)

    tea = [item for item in scorer.given if item.document and "tea.md" in item.document.id]
    assert [item.position for item in tea] == sorted(item.position or 0 for item in tea)
    assert len(tea) > 1
    names = [item.document.id for item in scorer.given if item.document]
    assert len(set(names)) == len(
        [n for n, m in zip(names, [None, *names], strict=False) if n != m]
    )
    assert found.answers[0].sentence == min((item.text for item in scorer.given), key=len)
    assert found.scorer == "shortest"


def test_only_a_scorer_with_the_same_tokenizer_gets_tokens(index: Index) -> None:
    same, other = Shortest(PIECES.hash), Shortest("another")
    Engine(index, same).answer("tea")
    Engine(index, other).answer("tea")

    assert all(item.tokens is not None for item in same.given)
    assert all(item.tokens is None for item in other.given)


def test_no_time_left_means_the_order_of_retrieval(index: Index) -> None:
    assert Engine(index, Shortest()).answer("tea", budget_ms=0).scorer == "retrieval-order"
    assert Engine(index, Shortest()).answer("tea", budget_ms=60_000).scorer == "shortest"


def test_a_budget_that_words_use_up_leaves_the_meaning_out(index: Index) -> None:
    late = Engine(index).answer("tea", budget_ms=0)
    in_time = Engine(index).answer("tea", budget_ms=60_000)

    assert late.answers[0].found_by == ("words",)
    assert in_time.answers[0].found_by == ("words", "meaning")


def test_few_sentences_are_read_once_time_is_up(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.index.index.READ_LATE", 1)

    assert Engine(index).answer("tea water", budget_ms=0).retrieved == 1
    assert Engine(index).answer("tea water", budget_ms=60_000).retrieved > 1


def test_a_budget_of_1_ms_is_kept(tmp_path: Path) -> None:
    words = np.random.default_rng(0).choice([f"word{n}" for n in range(300)], (3000, 12)).tolist()
    documents = [
        Document(str(at), f"Page {at}", tuple(" ".join(row).capitalize() + "." for row in rows))
        for at, rows in enumerate(words[start : start + 30] for start in range(0, 3000, 30))
    ]
    with Index(tmp_path / "large", create=True) as index:
        index.add_documents(documents)
        engine = Engine(index, rejoinder.load())
        engine.prepare()
        answers, milliseconds = [], []
        for row in words[:60]:
            start = time.process_time()
            answers.append(engine.answer(" ".join(row[:8]), budget_ms=1))
            milliseconds.append(1000 * (time.process_time() - start))

    # CPU time of all threads: it is at least the time that an answer takes on an idle machine, and
    # other work does not add to it while it has the core.  It still makes single answers slower,
    # because it empties caches, so the median is compared; the wall-clock time of the fastest
    # answer shows that none of them waits.
    assert statistics.median(milliseconds) <= 1 + 5
    assert min(item.milliseconds for item in answers) <= 1 + 5
    assert all(item.answers for item in answers)


def test_what_no_word_finds_is_found_by_meaning_in_any_time(index: Index) -> None:
    late = Engine(index).answer("beverage", budget_ms=0)

    assert [answer.found_by for answer in late.answers] == [("meaning",)]


CASCADE = """
[[stage]]
scorer = "jaccard"
keep = 5

[[stage]]
scorer = "word-overlap"

[calibration]
intercept = -4.0
best = 2.0
margin = 0.0
count = 0.0
threshold = 0.5
"""


def test_a_calibrated_cascade_answers_or_abstains(index: Index, tmp_path: Path) -> None:
    # Confidence is the logistic function of 2 · shared words - 4: half at two words.
    path = tmp_path / "calibrated.toml"
    path.write_text(CASCADE, encoding="utf-8")
    engine = Engine(index, rejoinder.load(path))

    sure = engine.answer("is green tea brewed?", top=3)
    unsure = engine.answer("who has milk?", top=3)

    assert sure.answers[0].sentence == "Green tea is brewed at 75 °C."
    assert sure.confidence == pytest.approx(1 / (1 + np.exp(-(2 * 4 - 4))))
    assert [answer.confidence for answer in sure.answers] == [sure.confidence, None, None]
    assert not sure.abstains
    assert unsure.abstains
    assert unsure.answers[0].sentence in {"Milk will spoil it.", "A colony has one queen."}
    assert [answer.confidence for answer in unsure.answers] == [unsure.confidence, None, None]
    assert unsure.confidence == pytest.approx(1 / (1 + np.exp(-(2 * 1 - 4))))
    assert [stage.scorer for stage in unsure.trace] == ["jaccard", "word-overlap"]


def test_the_caller_may_choose_the_least_confidence(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "calibrated.toml"
    path.write_text(CASCADE, encoding="utf-8")
    engine = Engine(index, rejoinder.load(path))

    one, other = "who has milk?", "is green tea brewed?"  # 12 % and 98 %
    assert not engine.answer(one, min_confidence=0.1).abstains
    assert engine.answer(one, min_confidence=0.2).abstains
    assert not engine.answer(other, min_confidence=0.9).abstains
    assert engine.answer(other, min_confidence=1).abstains
    assert [found.abstains for found in engine.answer_many([one, other], min_confidence=0)] == [
        False,
        False,
    ]
    assert asyncio.run(engine.aanswer(one, min_confidence=0.2)).abstains


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_the_least_confidence_is_a_probability(index: Index, tmp_path: Path, least: float) -> None:
    path = tmp_path / "calibrated.toml"
    path.write_text(CASCADE, encoding="utf-8")

    with pytest.raises(InputError, match="min_confidence must be from 0 to 1, found"):
        Engine(index, rejoinder.load(path)).answer("tea", min_confidence=least)


def test_a_scorer_without_confidence_has_no_least_one(index: Index) -> None:
    for engine, name in (
        (Engine(index), "retrieval order"),
        (Engine(index, rejoinder.load("bm25")), "bm25"),
    ):
        with pytest.raises(InputError, match=f"{name} has none; use a cascade"):
            engine.answer("tea", min_confidence=0.5)


def test_without_time_for_the_last_stage_there_is_no_confidence(
    index: Index, tmp_path: Path
) -> None:
    path = tmp_path / "calibrated.toml"
    path.write_text(CASCADE, encoding="utf-8")

    found = Engine(index, rejoinder.load(path)).answer("who has milk?", budget_ms=0)

    assert found.answers
    assert found.confidence is None


def test_where_restricts(index: Index) -> None:
    (answer,) = Engine(index).answer("tea", where={"suffix": ".txt"}).answers

    assert answer.sentence == "So: black tea is boiled."


def test_another_retriever_may_return_sentences_outside_the_index(index: Index) -> None:
    (answer,) = Engine(index, retriever=Elsewhere()).answer("does it rain?").answers

    assert answer.sentence == "It rains."
    assert (answer.source.document, answer.source.line) == ("", None)


def without_times(answers: Answers) -> Answers:
    trace = tuple(replace(stage, milliseconds=0) for stage in answers.trace)
    return replace(answers, milliseconds=0, trace=trace)


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_many_questions_have_the_answers_of_each(index: Index, threads: int | None) -> None:
    engine = Engine(index, rejoinder.load("word-overlap"))
    questions = ["is black tea boiled?", "xylophones?", "has a colony a queen?"] * 10

    answers = engine.answer_many(questions, top=2, where={"suffix": ".md"}, threads=threads)

    assert [without_times(item) for item in answers] == [
        without_times(engine.answer(question, top=2, where={"suffix": ".md"}))
        for question in questions
    ]
    assert engine.answer_many([]) == []


def test_a_bad_question_of_many_is_refused_before_any_is_answered(index: Index) -> None:
    engine = Engine(index, retriever=Elsewhere())

    with pytest.raises(InputError, match="the questions are one text; give a list of texts"):
        engine.answer_many("is black tea boiled?")
    with pytest.raises(InputError, match="the question is empty"):
        engine.answer_many(["does it rain?", " "])
    with pytest.raises(InputError, match="top must be 1 or more"):
        engine.answer_many(["does it rain?"], top=0)


def test_files_are_indexed_in_the_cache(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    events: list[str] = []
    for _ in range(2):
        with open_files(
            [tmp_path / "docs"],
            scorer="word-overlap",
            on_event=lambda event: events.append(event.what),
        ) as engine:
            (answer,) = engine.answer("is black tea boiled?").answers
            assert "lack tea is boiled" in answer.sentence

    assert events == ["added"] * 3 + ["unchanged"] * 3


def test_files_are_indexed_elsewhere_if_the_cache_cannot_be_written(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    with open_files([str(tmp_path / "docs")], scorer="word-overlap") as engine:
        folder = engine.index.folder
        assert engine.answer("is black tea boiled?").answers

    assert not folder.exists()


def test_a_file_that_is_given_must_be_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\x7fELF\0\0" * 100)

    with pytest.raises(InputError, match=r"bad\.txt: not text"):
        open_files([bad])


def test_an_engine_is_opened_by_its_folder(index: Index) -> None:
    with rejoinder.open(index.folder, scorer="word-overlap") as engine:
        found = asyncio.run(engine.aanswer("is black tea boiled"))

    assert found.scorer == "word-overlap"
    assert "lack tea is boiled" in found.answers[0].sentence
    with pytest.raises(StoreError, match="no index there"):
        rejoinder.open(index.folder / "nowhere")


def test_an_answer_is_marked_and_unmarked(index: Index) -> None:
    engine = Engine(index)
    (answer,) = engine.answer("when is green tea brewed?").answers

    engine.mark("when is green tea brewed?", answer)
    engine.mark("when is green tea brewed?", "Milk will spoil it.", right=False)
    assert engine.marks() == [
        Mark("when is green tea brewed?", "Green tea is brewed at 75 °C.", True),
        Mark("when is green tea brewed?", "Milk will spoil it.", False),
    ]

    engine.mark("when is green tea brewed?", answer, right=None)
    assert [mark.right for mark in engine.marks()] == [False]
    with pytest.raises(InputError, match="is not marked"):
        engine.mark("when is green tea brewed?", answer, right=None)
    with pytest.raises(InputError, match=r"the index has no sentence 'Milk.'; give all of it"):
        engine.mark("when?", "Milk.")


def test_an_explained_answer_has_its_matching_words(index: Index) -> None:
    engine = Engine(index)

    (plain,) = engine.answer("green tea").answers
    (explained,) = engine.answer("green tea", explain=True).answers

    assert plain.matches is None
    assert explained.matches
    assert [match.question_word for match in explained.matches] == ["green", "tea"]


def test_the_vectors_are_opened_once_for_index_scorer_and_explanations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def parse_counted(text: str, folder: Path) -> Manifest:
        opened.append(folder)
        return parse_manifest(text, folder)

    monkeypatch.setattr(bundles, "parse_manifest", parse_counted)
    vectors._load_shipped.cache_clear()
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tea", text="Green tea is brewed at 75 °C.")])
    with rejoinder.open(tmp_path / "index") as engine:
        for question in ("green tea", "when is it brewed?", "green tea"):
            assert engine.answer(question, explain=True).answers[0].matches

    assert opened.count(vectors.SHIPPED_VECTORS) == 1
    assert load_vectors() is load_vectors(vectors.SHIPPED_VECTORS)


def test_the_first_question_opens_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(Index(index.folder)) as engine:
        monkeypatch.setattr(registry, "open_bundle", pytest.fail)
        monkeypatch.setattr(store, "map_current", pytest.fail)
        monkeypatch.setattr(store.MappedVectors, "verify", pytest.fail)

        (answer,) = engine.answer("green tea").answers

    assert "meaning" in answer.found_by


FIRST = """
import sys
import time
import rejoinder
with rejoinder.open(sys.argv[1]) as engine:
    known = {*sys.modules}
    assert engine.answer("How hot is tea, \u2615?").answers
    print(*{*sys.modules} - known)
"""


def test_the_first_question_imports_nothing(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tea", text="Green tea is hot. The first name was made.")])

    imported = subprocess.run(
        [sys.executable, "-c", FIRST, str(tmp_path / "index")],
        check=True,
        capture_output=True,
        text=True,
    )

    assert imported.stdout.split() == []


def test_a_scorer_that_is_loaded_ranks_before_the_first_question(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[str] = []
    score = RankerScorer.score

    def record(self: RankerScorer, question: str, candidates: Candidates) -> Scores:
        ranked.extend(candidate.text for candidate in to_candidates(candidates))
        return score(self, question, candidates)

    monkeypatch.setattr(RankerScorer, "score", record)

    with rejoinder.open(index.folder, scorer="cosinet"):
        pass

    assert "A colony has one queen." in ranked


def test_an_own_scorer_is_asked_the_callers_questions_only(index: Index) -> None:
    scorer = Shortest()
    with rejoinder.open(index.folder, scorer=scorer) as engine:
        assert scorer.given == []
        engine.answer("How hot is tea?")
        assert scorer.given != []


def test_an_empty_index_is_opened(index: Index) -> None:
    for document in list(index.documents()):
        index.remove_document(document.id)

    with rejoinder.open(index.folder) as engine:
        assert engine.answer("How hot is tea?").answers == ()


def test_an_engine_with_another_retriever_opens_no_vectors(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "prepare", pytest.fail)

    assert Engine(index, retriever=Elsewhere()).answer("green tea").retrieved


def test_matches_pair_each_word_with_its_closest() -> None:
    shipped = load_vectors()

    matches = match_words("how hot?", "It is warm, how nice.", shipped)

    assert [match.question_word for match in matches] == ["how", "hot"]
    assert matches[0].sentence_word == "how"
    assert matches[0].relatedness == pytest.approx(1, abs=1e-3)
    assert matches[1].sentence_word == "warm"
    assert match_words("?", "It is warm.", shipped) == []


def test_matches_of_rare_words_weigh_more(tmp_path: Path) -> None:
    with Index(tmp_path / "many", create=True) as index:
        index.add_documents(
            [
                Document(
                    "harbour", text=" ".join(f"The harbour has {n} cranes." for n in range(30))
                ),
                Document(
                    "tar", text="The harbour burns tar at noon. Some harbour lights burn oil."
                ),
            ]
        )
        explained = Engine(index).answer("Who burns tar in the harbour?", explain=True)

    weights = {match.question_word: match.weight for match in explained.answers[0].matches or ()}
    assert weights["who"] == weights["in"] == weights["the"] == 0
    assert 0 < weights["harbour"] < 0.1
    assert 0.5 < weights["burns"] < weights["tar"] == 1


def test_matches_without_counts_weigh_one(index: Index) -> None:
    explained = Engine(index, retriever=Elsewhere()).answer("does it rain?", explain=True)

    matches = {match.question_word: match for match in explained.answers[0].matches or ()}
    assert (matches["rain"].sentence_word, matches["rain"].weight) == ("rains", 1)
    assert matches["it"].weight == 0


def test_a_stage_that_reads_passages_gets_those_of_the_index(index: Index) -> None:
    reader = Shortest()
    reader.is_pointwise = True  # type: ignore[attr-defined]
    cascade = Cascade("thorough", [Stage(PassageScorer(reader), 9), Stage(Shortest())])

    found = Engine(index, cascade).answer("black tea", top=9)

    read = {item.text for item in reader.given}
    assert "Green tea is brewed at 75 °C. Black tea is boiled. Milk will spoil it." in read
    assert len(read) < sum(stage.given for stage in found.trace[:1])
    assert [stage.scorer for stage in found.trace] == ["shortest (passages)", "shortest"]
    sentences = Shortest()
    Engine(index, sentences).answer("black tea")
    assert {item.passage for item in sentences.given} == {None}


def test_a_candidate_from_elsewhere_is_scored_by_its_own_text(index: Index) -> None:
    reader = Shortest()
    reader.is_pointwise = True  # type: ignore[attr-defined]

    Engine(index, Cascade("c", [Stage(PassageScorer(reader))]), retriever=Elsewhere()).answer(
        "rain"
    )

    assert [item.text for item in reader.given] == ["It rains."]
