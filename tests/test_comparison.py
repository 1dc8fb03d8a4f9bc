"""The comparison: a small form with the light contenders, interruptions, and failures."""

import argparse
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import compare_all
from benchmarks.comparison import costs, measure
from benchmarks.comparison.contenders import CONTENDERS, INDEXES, OURS, is_ours
from benchmarks.comparison.costs import (
    find_missing,
    measure_install,
    measure_install_sizes,
    name_packages,
)
from benchmarks.comparison.lexical import ENGINES
from benchmarks.comparison.measure import Run, TaskError, list_tasks, measure_sets, work
from benchmarks.comparison.sets import (
    CorpusSet,
    ExampleSet,
    QuestionSet,
    draw,
    read_set,
    shuffle,
)
from benchmarks.comparison.setting import Sentence, complete, sort_by, take_five
from benchmarks.comparison.summary import describe_contenders, summarize
from benchmarks.corpora.questions import Question

from rejoinder.types import Candidate, Document, Example

LIGHT = ("bm25s", "fts5", "tantivy", OURS, "ours-20", "cosinet")
DOCUMENTS = [
    Document("tower", "Tower", ("The tower is old.", "Ada Byron built it in 1850 from stone.")),
    Document("lake", "Lake", ("The lake is deep.", "Many fish live in the cold lake.")),
]
ASKED = {
    "Who built the tower in 1850?": "adabyronbuiltitin1850fromstone",
    "Which fish live in the cold lake?": "manyfishliveinthecoldlake",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, tmp_path, None)


@pytest.fixture
def corpus() -> CorpusSet:
    questions = [
        Question(f"{text[:5]}", text, "a", frozenset([gold])) for text, gold in ASKED.items()
    ]
    return CorpusSet("pooled", "Pooled", questions, DOCUMENTS)


@pytest.fixture
def examples() -> ExampleSet:
    texts = ("The lake is deep.", "Why?", "Ada Byron built the tower in 1850.")
    candidates = tuple(Candidate(str(at), text) for at, text in enumerate(texts))
    example = Example("1", "Who built the tower?", candidates, (False, False, True))
    return ExampleSet("wikiqa", "WikiQA", [example, replace(example, id="2")])


def list_light() -> list[str]:
    return [name for name in LIGHT if not find_missing(CONTENDERS[name], None)]


def test_light_contenders_are_measured_and_an_interrupted_run_continues(
    run: Run, corpus: CorpusSet, examples: ExampleSet
) -> None:
    names = list_light()
    sets: list[QuestionSet] = [examples, corpus]
    assert {"fts5", "tantivy", OURS, "cosinet"} <= set(names)

    assert measure_sets(run, sets, names, (1,)) == {}

    entries = run.read()
    assert "rank wikiqa cosinet 1" in entries
    assert "search pooled cosinet 1" not in entries
    for name in names:
        ranked = entries[f"rank wikiqa {name} 1"]
        assert ranked["values"]["P@1"] == ranked["values"]["MAP"] == [1, 1]
        assert len(ranked["ms"]) == 2
        assert ranked["cold_ms"] > ranked["ms"][0] > 0
        assert 5 < ranked["peak_mb"] < 1000
    for name in set(names) - {"cosinet"}:
        assert entries[f"search pooled {name} 1"]["values"] == {"first": [1, 1], "five": [1, 1]}
    assert entries["index pooled rejoinder 2"]["seconds"] > 0
    assert entries["index pooled fts5 2"]["mb"] > 0

    *kept, lost = run.journal.read_text(encoding="utf-8").splitlines(keepends=True)
    run.journal.write_text("".join(kept) + lost[:20], encoding="utf-8")
    assert measure_sets(run, sets, names, (1,)) == {}

    again = run.journal.read_text(encoding="utf-8").splitlines(keepends=True)
    assert again[:-1] == kept
    assert json.loads(again[-1])["key"] == json.loads(lost)["key"]

    result = summarize(entries, [{"name": own.name, **own.describe()} for own in sets], (1,))
    row = result["rows"]["pooled"]["1"]["fts5"]
    assert row["values"]["first"]["points_interval"] == [0, 0]
    assert "points" not in result["rows"]["pooled"]["1"][OURS]["values"]["first"]
    assert set(result["indexes"]["pooled"]) >= {"rejoinder", "fts5", "tantivy"}


def test_an_index_whose_entry_was_lost_is_built_again(run: Run, corpus: CorpusSet) -> None:
    measure_sets(run, [corpus], ["fts5"], (1,))
    run.journal.unlink()

    assert measure_sets(run, [corpus], ["fts5"], (1,)) == {}
    assert run.read()["search pooled fts5 1"]["values"]["first"] == [1, 1]


def test_a_contender_that_fails_is_left_out_and_the_others_go_on(
    run: Run,
    examples: ExampleSet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = replace(CONTENDERS["tantivy"], ranker="lexical:nowhere")
    monkeypatch.setitem(CONTENDERS, "tantivy", broken)

    failed = measure_sets(run, [examples], ["tantivy", "fts5"], (1,))

    assert "has no attribute 'nowhere'" in failed["tantivy, wikiqa"]
    assert "tantivy, wikiqa: left out: " in capsys.readouterr().err
    assert set(run.read()) == {"rank wikiqa fts5 1"}


def test_an_index_that_fails_leaves_its_contenders_out(
    run: Run, corpus: CorpusSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INDEXES, "tantivy", replace(INDEXES["tantivy"], function="lexical:no"))

    failed = measure_sets(run, [corpus], ["tantivy", "fts5"], (1,))

    assert list(failed) == ["tantivy, pooled"]
    assert "search pooled fts5 1" in run.read()


def test_a_worker_that_takes_too_long_is_stopped(run: Run, examples: ExampleSet) -> None:
    measure.prepare_set(run, examples)
    (task,) = list_tasks("fts5", examples, (1,))

    with pytest.raises(TaskError, match="it takes more than 0 minutes"):
        work(run, task, None, 0.001)


def test_a_run_ends_after_its_minutes_and_is_continued(run: Run, examples: ExampleSet) -> None:
    failed = measure_sets(replace(run, minutes=-1.0), [examples], ["fts5"], (1,))

    assert failed["fts5, wikiqa"].endswith("the same command continues it")
    assert measure_sets(run, [examples], ["fts5"], (1,)) == {}
    assert "rank wikiqa fts5 1" in run.read()


def test_a_contender_without_its_packages_or_weights_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "HOME", tmp_path)
    broken = replace(CONTENDERS["tantivy"], modules=("no_such_module",))
    monkeypatch.setitem(CONTENDERS, "tantivy", broken)

    found = compare_all.find_left_out(["tantivy", "onnxruntime", "fts5"], tmp_path)

    assert found["tantivy"] == "without no_such_module"
    assert found["onnxruntime"].endswith("ms-marco-minilm-l12/model.int8.onnx")
    assert "fts5" not in found
    assert "tantivy: left out, without no_such_module" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["fts5", "tantivy"])
def test_questions_without_content_words_find_something_or_nothing(name: str) -> None:
    engine = ENGINES[name]()
    engine.build([Sentence(0, "", "What is it?"), Sentence(1, "", "It rained.")])

    assert {item.place for item in engine.find("What is it?", 5)} >= {0}
    assert engine.find("???", 5) == []


def test_every_place_is_ranked_once_and_equal_scores_keep_their_order() -> None:
    assert complete([2, 0, 2], 4) == [2, 0, 1, 3]
    assert sort_by([1, 3, 1, 3]) == [1, 3, 0, 2]
    same = [Sentence(0, "", "a"), Sentence(1, "", "b"), Sentence(2, "t", "a")]
    assert take_five(same) == ["a", "b"]
    assert [item.titled for item in same[1:]] == ["b", "t: a"]


def test_questions_are_drawn_with_a_seed_and_sentences_keep_their_labels(
    examples: ExampleSet,
) -> None:
    many = [replace(examples.examples[0], id=str(number)) for number in range(20)]

    drawn = draw(many, 5)
    assert drawn == draw(many, 5)
    assert len({item.id for item in drawn}) == 5
    assert draw(many, None) == many
    shuffled = [shuffle(item) for item in many]
    assert len({item.labels for item in shuffled}) == 3
    for item in shuffled:
        assert item.candidates[item.labels.index(True)].id == "2"


def test_the_published_sets_have_their_questions(data_folder: Path) -> None:
    def read(name: str, questions: int = 300) -> QuestionSet:
        return read_set(name, data_folder, Path("manuals"), questions)

    assert len(read("wikiqa")) == 243
    assert len(read("trecqa")) == 68
    assert len(read("squad")) == len(read("selqa")) == 300
    assert len(read("wikiqa", 3)) == 3
    trecqa = read("trecqa")
    assert isinstance(trecqa, ExampleSet)
    assert sum(example.labels[0] for example in trecqa.examples) < 40


def test_every_contender_can_be_opened_and_says_what_it_needs() -> None:
    for name, contender in CONTENDERS.items():
        assert contender.ranker or contender.search, name
        assert set(contender.indexes) <= set(INDEXES), name
        assert bool(contender.search) == bool(contender.indexes), name
        environments = {
            contender.environment,
            *(INDEXES[own].environment for own in contender.indexes),
        }
        for environment in environments - {""}:
            assert (costs.REQUIREMENTS / f"{environment}.txt").is_file(), name
    assert [name for name in CONTENDERS if is_ours(name)] == [
        *(OURS, "ours-5", "ours-20", "thorough", "cosinet", "selector")
    ]


def test_the_size_of_an_installation_is_that_of_its_files(tmp_path: Path) -> None:
    wheel = tmp_path / "large-1.0-py3-none-any.whl"
    info = "large-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("large.py", "#" * 3_000_000)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: large\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")

    assert measure_install([str(wheel)]) == 3.0


def test_sizes_that_are_known_are_not_measured_again() -> None:
    *_, sizes = measure_install_sizes(["tantivy", "fts5"], {"tantivy": 9.0, "other": 1.0})

    assert sizes == {"": 0.0, "tantivy": 9.0, "other": 1.0}


def test_a_size_belongs_to_the_packages_of_a_contender() -> None:
    described = describe_contenders([OURS, "fts5"], {OURS: 200.0}, {"fts5": 0.0})

    assert described[OURS]["install_mb"] == 200.0
    assert described["fts5"]["install_mb"] is None
    assert name_packages(CONTENDERS["fts5"].packages) == ""


def test_another_source_or_number_of_questions_is_another_run(tmp_path: Path) -> None:
    options = argparse.Namespace(
        cache=tmp_path, questions=3, again=False, embed_minutes=1.0, minutes=1.0
    )
    first = compare_all.open_run(options, None)
    options.questions = 4
    other = compare_all.open_run(options, None)
    (first.folder / "old").touch()
    options.questions, options.again = 3, True

    assert other.folder != first.folder
    assert compare_all.open_run(options, None).folder == first.folder
    assert not (first.folder / "old").exists()
