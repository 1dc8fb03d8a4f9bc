import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from tests.models.selectors import TOKENIZER, WORDS, make_selector  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.datasets.readers.jsonl import write_examples  # noqa: E402
from rejoinder.datasets.stream import ExampleStream  # noqa: E402
from rejoinder.errors import BundleError  # noqa: E402
from rejoinder.models.selector.export import get_encoder, reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module.classifier import Classifier  # noqa: E402
from rejoinder.papers.context import costs, memory  # noqa: E402
from rejoinder.papers.context import data as context_data  # noqa: E402
from rejoinder.papers.context import rows as context_rows  # noqa: E402
from rejoinder.papers.context.data import DataChoice, read_data, spread  # noqa: E402
from rejoinder.papers.context.results import summarise_sets  # noqa: E402
from rejoinder.papers.context.rows import BASE, LOCAL, ROWS, name_start, set_rows  # noqa: E402
from rejoinder.papers.context.training import (  # noqa: E402
    ContextRun,
    ContextTableOptions,
    _Trainer,
    train_rows,
)
from rejoinder.papers.ingredients import Ingredients  # noqa: E402
from rejoinder.papers.table import OnProgress, Reporter, read_runs  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.types import Candidate, Document, Example  # noqa: E402

ROWS_TRIED = "shipped,none,ensemble,multi-way/dot,multi-way/own,cosinet,cosinet/context"


def make_run(row: str, seed: int, *rights: float) -> ContextRun:
    values = {f"set:dev {name}": list(rights) for name in ("P@1", "MAP", "MRR")}
    return ContextRun("context, 100 pairs", row, seed, values, precision="int8")


def make_examples() -> list[Example]:
    """Return questions over pages of 24 sentences, two candidates each."""
    examples = []
    for number in range(6):
        sentences = tuple(
            f"the {WORDS[(number + place) % len(WORDS)]} is {WORDS[place]}" for place in range(24)
        )
        document = Document(f"page {number}", f"page {number}", sentences)
        candidates = tuple(
            Candidate(f"{number}-{place}", sentences[place], document, place) for place in (3, 4)
        )
        word = WORDS[(number + 3) % len(WORDS)]
        examples.append(Example(str(number), f"where is the {word}?", candidates, (True, False)))
    return examples


def test_questions_are_spread_evenly() -> None:
    examples = make_examples()  # two pairs each

    assert [item.id for item in spread(examples, 6)] == ["0", "2", "5"]
    assert spread(examples, 1000) == examples
    assert len(spread(examples, 3, most=1)) == 3


def test_the_base_row_reads_no_context() -> None:
    assert BASE.form == "none"
    assert BASE.is_seeded


def test_every_row_that_is_trained_follows_the_seeds() -> None:
    assert [row.name for row in ROWS if not row.is_seeded] == ["shipped"]


def test_a_cascade_scores_only_the_kept_candidates() -> None:
    run = ContextRun(
        "context", "none", 0, {}, labels=[[False, True, True]], scores=[[0.5, 0.7, 0.9]]
    )

    assert [run.measure_cascade(keep) for keep in (1, 2, 3)] == [[0.0], [1.0], [1.0]]


def test_a_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    run = make_run("none", 0, 1)
    (tmp_path / "runs.jsonl").write_text(json.dumps(run.to_dict()) + "\n")

    assert read_runs(tmp_path / "runs.jsonl", ContextRun) == [run]


def test_a_gain_is_over_the_same_seeds_without_context() -> None:
    runs = [make_run("none", 0, 0, 1, 0, 1), make_run("none", 1, 1, 1, 1, 1)]
    runs += [make_run("local", 0, 1, 1, 0, 1)]

    none, local = summarise_sets([BASE, LOCAL], runs)

    assert none.summary.means["P@1"] == 75.0  # 50 and 100
    assert none.summary.deviations["P@1"] == pytest.approx(50 / 2**0.5)
    assert none.gain is None
    assert local.gain is not None
    assert local.gain.mean == pytest.approx(0.25)  # 75 - 50, seed 0 alone
    assert 0 <= local.gain.interval.low <= 0.25 <= local.gain.interval.high


def test_an_interrupted_training_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    start = tmp_path / "start"
    write_selector(start, make_selector(), TOKENIZER, training={}, sample=[])
    monkeypatch.setattr(context_rows, "START", str(start))
    examples = make_examples() * 4  # three steps of eight questions
    data = context_data.ContextData(examples, {"pages": examples[:2]}, [])
    seen: list[int] = []

    def resume(stop_at: int | None) -> list[ContextRun]:
        @contextmanager
        def progress(_: str) -> Iterator[OnProgress]:
            def note(number: int, _: int, __: str) -> None:
                seen.append(number)
                if number == stop_at:
                    raise KeyboardInterrupt

            yield note

        fp16 = Ingredients(precision="fp16")
        options = ContextTableOptions(seeds=1, pairs=1, to=tmp_path, ingredients=fp16)
        return train_rows(ROWS[1:2], lambda: data, options, Reporter(progress=progress))

    with pytest.raises(KeyboardInterrupt):
        resume(2)
    (run,) = resume(None)

    assert seen == [1, 2, 3]
    assert open_bundle(tmp_path / f"{ROWS[1].name}-0").manifest.training["precision"] == "fp16"
    assert len(run.values["pages P@1"]) == 2
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_rows_start_from_the_given_encoder(encoder: Path, tmp_path: Path, recipe: str) -> None:
    data = context_data.ContextData(make_examples(), {"pages": make_examples()}, [])
    ingredients = Ingredients(str(encoder), recipe=recipe, precision="fp32")
    options = ContextTableOptions(1, pairs=12, to=tmp_path, ingredients=ingredients)
    rows = [row for row in set_rows(ingredients) if row.name in ("none", "global")]

    runs = train_rows(rows, lambda: data, options, Reporter())

    assert [row.similarity for row in rows][1] == ("encoder" if recipe == "paper" else "static")
    for run in runs:
        assert run.ingredients["encoder"].startswith("encoder#")
        assert run.ingredients["recipe"] == recipe
    # Bundles of other ingredients are kept beside those of the table's own.
    (folder,) = tmp_path.glob("none-0-*")
    training = open_bundle(folder).manifest.training
    assert training["from"] == str(encoder)
    more = " --recipe paper" if recipe == "paper" else ""
    command = f"rejoinder reproduce context --models none --pairs 12 --encoder {encoder}{more}"
    assert training["command"] == command
    assert training["loss"] == ("pointwise" if recipe == "paper" else "anchored")
    # The paper's have a feed-forward layer over the first state, and all weights learn.
    model, _ = reopen_selector(folder)
    assert isinstance(model, Classifier) == (recipe == "paper")
    vectors = get_encoder(model).get_input_embeddings().weight
    assert vectors.requires_grad == (recipe == "paper")


def test_by_the_papers_recipe_all_pairs_are_read() -> None:
    paper = Ingredients(recipe="paper")

    assert ContextTableOptions(1, ingredients=paper).most_pairs == float("inf")
    assert ContextTableOptions(1, pairs=5, ingredients=paper).most_pairs == 5
    assert ContextTableOptions(1).most_pairs == 10_000
    assert name_start(paper) == (None, "all-MiniLM-L6-v2", "classifier")
    assert "shipped" not in [row.name for row in set_rows(paper)]


def test_a_manifest_names_a_command_that_can_be_run(tmp_path: Path) -> None:
    paper = Ingredients(recipe="paper", train=("qed", "selqa:dev@0.5"))
    options = ContextTableOptions(1, to=tmp_path, ingredients=paper)
    trainer = _Trainer("context", lambda: pytest.fail("reads nothing"), options, tmp_path)

    assert trainer._get_command(BASE) == (
        "rejoinder reproduce context --models none --train qed --train selqa:dev@0.5 --recipe paper"
    )


def test_a_row_that_int8_rounds_badly_is_tested_in_fp32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start"
    write_selector(start, make_selector(), TOKENIZER, training={}, sample=[])
    monkeypatch.setattr(context_rows, "START", str(start))
    steps: list[int] = []

    def refuse_int8(*arguments: Any, precision: str, **options: Any) -> None:
        if precision == "int8":
            raise BundleError("too far off")
        write_selector(*arguments, precision=precision, **options)

    @contextmanager
    def progress(_: str) -> Iterator[OnProgress]:
        yield lambda number, *_: steps.append(number)

    monkeypatch.setattr("rejoinder.training.selector.write_selector", refuse_int8)
    data = context_data.ContextData(make_examples(), {"pages": make_examples()}, [])
    options = ContextTableOptions(seeds=1, pairs=1)

    (run,) = train_rows(ROWS[1:2], lambda: data, options, Reporter(progress=progress))

    assert run.precision == "fp32"
    assert steps == [1]  # not trained a second time


def test_the_tables_are_reproduced_on_a_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, data = tmp_path / "start", tmp_path / "pages.jsonl"
    write_selector(start, make_selector(), TOKENIZER, training={}, sample=[])
    write_examples(data, make_examples())
    monkeypatch.setattr(context_rows, "START", str(start))
    monkeypatch.setattr(costs, "SIMILARITIES", ("ngrams", "static"))
    monkeypatch.setattr(costs, "EQUAL_LENGTH", 64)
    monkeypatch.setattr(context_data, "LEAST_SENTENCES", 20)
    monkeypatch.setattr(context_data, "TRAIN", (str(data),))
    monkeypatch.setattr(context_data, "SETS", (str(data), "asnq:dev"))
    monkeypatch.setattr(context_data, "LISTS", str(data))
    runs = tmp_path / "runs.jsonl"
    arguments = [
        "reproduce",
        "context",
        "--data",
        str(tmp_path),
        "--models",
        ROWS_TRIED,
    ]
    arguments += ["--seeds", "2", "--pairs", "12", "--runs", str(runs), "--to", str(tmp_path / "b")]

    result = CliRunner().invoke(main, arguments)
    trained = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").glob("*/model.onnx")}
    first = [replace(run, curve=[]) for run in read_runs(runs, ContextRun)]
    runs.unlink()
    again = CliRunner().invoke(main, [*arguments, "--json"])

    assert result.exit_code == 0, result.output
    assert "left out: asnq" in result.stderr
    assert "questions, 12 pairs" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if line][2:9] == ROWS_TRIED.split(",")
    assert len(runs.read_text().splitlines()) == 13  # one of shipped, two of each other
    trained_rows = ["cosinet", "cosinet-context", "ensemble", "global", "local"]
    trained_rows += ["multi-way-dot", "multi-way-own", "none"]
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        f"{name}-{seed}" for name in trained_rows for seed in range(2)
    ]
    # Without the runs, selectors that were kept are tested again, not trained again.
    assert trained == {path: path.stat().st_mtime_ns for path in trained}
    assert [replace(run, curve=[]) for run in read_runs(runs, ContextRun)] == first
    printed = json.loads(again.stdout)
    assert [item["row"] for item in printed["quality"]] == ROWS_TRIED.split(",")
    assert printed["quality"][0]["questions"] == 6
    assert [item["row"] for item in printed["latency"]] == [
        *("none", "shipped", "ensemble", "multi-way/dot", "multi-way/own")
    ]
    assert all(item["natural_ms"] > 0 for item in printed["latency"])
    weights = {item["row"]: item["weights_mb"] for item in printed["latency"]}
    assert weights["none"] < weights["multi-way/dot"] < weights["multi-way/own"]
    shares = {item["row"]: item["published_share"] for item in printed["latency"]}
    assert shares == {
        **{"none": 1.0, "shipped": None, "multi-way/dot": None, "multi-way/own": None},
        "ensemble": pytest.approx(1.35, abs=0.005),  # 7.41 of 5.49 microseconds
    }
    assert [item["similarity"] for item in printed["construction"]] == ["ngrams", "static"]
    none, other = printed["verdict"][1:3]
    assert none == {
        **{"row": "none", "seeds": 2, "questions": 6, "keep": 20},
        **{"precision": none["precision"], "gain": None},
    }
    low, high = other["gain"]["interval"].values()
    assert low <= other["gain"]["mean"] <= high


def write_asnq(folder: Path) -> None:
    """Write three questions of ASNQ with 25 sentences each, and the list of its test half."""
    lines = [
        f"where is {q}?\tthe {WORDS[place % len(WORDS)]} is {q} {place}\t{4 if place == 3 else 1}\n"
        for q in range(3)
        for place in range(25)
    ]
    (folder / "asnq").mkdir(parents=True)
    (folder / "asnq" / "dev.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "asnq" / "train.tsv").write_text("".join(lines), encoding="utf-8")


def test_asnq_is_tested_in_the_form_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_data, "SETS", ())
    write_asnq(tmp_path)
    told: list[str] = []

    def read(**options: Any) -> context_data.ContextData:
        choice = DataChoice(30, train=["asnq:train"], folder=tmp_path, **options)
        return read_data(choice, told.append)

    whole = read()
    (tmp_path / "asnq" / "unique.test").write_text("where is 1?\n", encoding="utf-8")
    half = read()

    assert list(whole.tests) == ["asnq:dev"]
    assert [item.question for item in half.tests["asnq:cascade-test"]] == ["where is 1?"]
    assert [len(read(test_pairs=count).tests) for count in (1, 10)] == [1, 1]
    # The half's own list has no published counts; the training file is read each time.
    told_of = Counter(text.partition(" with")[0] for text in told)
    assert told_of == {"asnq:dev: 3 questions": 1, "asnq:train: 3 questions": 4}


def test_asnq_is_trained_on_as_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_data, "SETS", ())
    write_asnq(tmp_path)

    choice = DataChoice(float("inf"), train=["asnq:train"], folder=tmp_path)
    data = read_data(choice, lambda _: None)
    few = read_data(replace(choice, pairs=10), lambda _: None)

    assert isinstance(data.train, ExampleStream)
    assert [item.id for item in data.train] == [item.id for item in data.train] == ["0", "1", "2"]
    assert data.parts[0].examples is data.train
    assert data.get_timed() == list(data.train)
    assert isinstance(few.train, list)
    assert len(few.train) == 1


def test_the_papers_rows_are_reproduced_on_files_of_asnqs_format(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_data, "SETS", ())
    write_asnq(tmp_path)
    arguments = ["reproduce", "context", "--models", "none,ensemble", "--seeds", "1", "--no-costs"]
    arguments += ["--encoder", str(encoder), "--recipe", "paper", "--train", "asnq:train"]

    result = CliRunner().invoke(main, [*arguments, "--data", str(tmp_path), "--precision", "fp32"])

    assert result.exit_code == 0, result.output
    assert "asnq:dev: 3 questions" in result.stdout
    assumed = "neighbours: the order of the file is assumed to be the page's"
    assert f"Training on asnq:train: {assumed}." in result.stdout
    assert "asnq:train: 3 questions with 75 candidates; the published file has" in result.stderr


def test_runs_on_other_test_pairs_are_other_runs() -> None:
    assert ContextTableOptions(1).table == "context, 10000 pairs"
    assert ContextTableOptions(1, pairs=5).table == "context, 5 pairs"
    whole = ContextTableOptions(1, test_pairs=float("inf"))
    assert whole.table == "context, 10000 pairs, all pairs of each test set"
    assert ContextTableOptions(1, test=("wikiqa:dev",)).table.endswith("tested on wikiqa:dev")


def write_lists(path: Path) -> Path:
    """Write a question about one of two documents that share a title, as `rejoinder mine` does."""
    pages = [
        Document(name, "Manual", tuple(f"{name} {word}" for word in WORDS[:size]))
        for name, size in (("short", 5), ("long", 30))
    ]
    candidates = tuple(
        Candidate(f"{page.id}{place}", page.sentences[place], page, place)
        for page in pages
        for place in (1, 2)
    )
    write_examples(path, [Example("q", "where?", candidates, (False, False, True, False))] * 4)
    return path


def test_lists_of_a_file_span_documents(tmp_path: Path) -> None:
    lists = str(write_lists(tmp_path / "lists.jsonl"))
    choice = DataChoice(8, train=[lists], test=[lists], folder=tmp_path)

    data = read_data(choice, lambda _: pytest.fail("nothing is missing"))

    (tested, *_) = data.tests[lists]
    documents = {item.document.id: item.document for item in tested.candidates if item.document}
    assert {name: len(item.sentences) for name, item in documents.items()} == {
        "short": 5,
        "long": 30,
    }
    assert len(list(data.train)) == 2  # eight pairs, though the first document is short


def test_costs_come_alone_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SIMILARITIES", ("ngrams",))
    monkeypatch.setattr(costs, "EQUAL_LENGTH", 64)
    start, lists = tmp_path / "start", write_lists(tmp_path / "lists.jsonl")
    write_selector(start, make_selector(), TOKENIZER, training={}, sample=[])
    monkeypatch.setattr(context_rows, "START", str(start))
    arguments = ["reproduce", "context", "--models", "none", "--seeds", "1", "--json"]
    arguments += ["--train", str(lists), "--test", str(lists), "--data", str(tmp_path)]

    result = CliRunner().invoke(main, [*arguments, "--no-costs"])
    alone = CliRunner().invoke(main, [*arguments, "--costs"])

    assert result.exit_code == 0, result.output
    assert alone.exit_code == 0, alone.output
    only = json.loads(alone.stdout)
    assert (only["quality"], only["verdict"]) == ([], [])
    (cost,) = only["latency"]
    assert cost["row"] == "none"
    assert cost["peak_mb"] > cost["weights_mb"] > 0
    printed = json.loads(result.stdout)
    assert {*printed} == {"quality", "tests", "pretraining"}
    assert printed["tests"] == {str(lists): "16 pairs"}


def test_memory_is_that_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, questions = tmp_path / "m", tmp_path / "questions.jsonl"
    write_selector(folder, make_selector(), TOKENIZER, training={}, sample=[])
    write_examples(questions, make_examples())

    peak = memory.measure_peak(folder, make_examples())

    assert peak is not None
    assert 20 < peak < memory.score_all(folder, questions)  # this process has torch in it
    monkeypatch.setattr(memory, "STATUS", tmp_path / "nothing")
    assert memory.measure_peak(folder, make_examples()) is None
