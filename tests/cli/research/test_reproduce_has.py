"""The HAS paper's tables from the command line, on a tiny encoder and data set."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from benchmarks.generated import write_insuranceqa, write_yahooqa  # noqa: E402
from tests.models.selectors import write_encoder  # noqa: E402

from rejoinder.cli import main  # noqa: E402
from rejoinder.cli.tables import FORMATS  # noqa: E402
from rejoinder.datasets.readers.jsonl import read_examples  # noqa: E402
from rejoinder.evaluation.plots import plotting  # noqa: E402
from rejoinder.models.has.module import HasConfig  # noqa: E402
from rejoinder.papers.has import measuring, reproduction, tables, training  # noqa: E402
from rejoinder.papers.has.tables import HasRow, HasTable, HasTableOptions  # noqa: E402
from rejoinder.papers.ingredients import Ingredients  # noqa: E402
from rejoinder.papers.table import OnProgress, Reporter, Run  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def _tiny(dataset: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> object:
        examples = list(read_examples(dataset))
        return measuring.HasData([Part(examples[:4])], examples[4:6], examples[6:])

    config = HasConfig(encoder=str(encoder), attention_width=6)
    rows = tuple(
        HasRow(name, HasConfig(str(encoder), composition, 6), {"MAP": 80.0})
        for name, composition in (
            ("pooling", "pooling"),
            ("attention", "attention"),
            ("has", "has"),
        )
    )
    table = HasTable(
        "tiny",
        "qed:fit",
        "qed:dev",
        "qed:dev",
        ("MAP",),
        (*rows, HasRow("has+relatedness", config)),
        1,
        paper=tables.PaperRecipe(1),
        note="a note",
    )
    monkeypatch.setattr(tables, "TABLES", (table,))
    monkeypatch.setattr(training, "read_data", read)
    monkeypatch.setattr("rejoinder.evaluation.stored_answers.ANSWERS", 5)


@pytest.mark.usefixtures("_tiny")
def test_finished_runs_are_not_trained_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    options: list[str | Path] = [
        "--tables",
        "tiny",
        "--seeds",
        "1",
        "--runs",
        runs,
        "--no-int8",
    ]

    first = run("reproduce", "has", *options)
    again = run("reproduce", "has", *options, "--json")
    other = run("reproduce", "has", *options, "--models", "pooling", "--learning-rate", "1e-3")

    assert first.exit_code == 0, first.output
    assert "attention over pooling" in first.stdout
    assert "has over attention" in first.stdout
    assert "attention (recalculated)" in first.stdout
    assert other.exit_code == 0, other.output
    kept = [json.loads(line) for line in runs.read_text().splitlines()]
    # One more: the run by another recipe is none of the first four.
    assert [row["table"] for row in kept] == [
        *["tiny, 1 epochs at 2e-05, fp32"] * 4,
        "tiny, 1 epochs at 0.001, fp32",
    ]
    printed = json.loads(again.stdout)
    on_dev = {row["row"]: row["measured"]["dev MAP"] for row in printed["tables"][0]["rows"]}
    assert [*on_dev] == ["pooling", "attention", "has", "has+relatedness"]
    # Relatedness has a share of nothing among those it is chosen from.
    assert on_dev["has+relatedness"] >= on_dev["has"] > 0
    costs = {cost["name"]: cost for cost in printed["costs"]}
    # 32 numbers of 25 words: 32 bits against 32 floats
    assert costs["attention (stored)"]["disk_bytes"] > 25 * 32 * 4
    assert costs["has"]["disk_bytes"] < 25 * 4 * 1.2
    assert costs["attention (recalculated)"]["disk_bytes"] is None


@pytest.mark.usefixtures("_tiny")
def test_a_run_with_another_encoder_or_recipe_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, other = tmp_path / "runs.jsonl", write_encoder(tmp_path / "other")
    monkeypatch.setattr(reproduction, "measure_untrained", lambda *_: [])
    command = ["reproduce", "has", "--tables", "tiny", "--seeds", "1", "--runs", str(runs)]
    command.append("--no-int8")
    trained: list[bool] = []
    train = training._train

    def note(*arguments: Any, freezes: bool) -> Any:
        fitted, tokenizer = train(*arguments, freezes=freezes)
        trained.append(next(fitted.model.encoder.embeddings.parameters()).requires_grad)
        return fitted, tokenizer

    monkeypatch.setattr(training, "_train", note)
    given: list[list[str]] = [["--models", "has"]]
    given += [["--models", "pooling", "--recipe", "paper"]]
    given += [["--models", "has", "--encoder", str(other)]]
    printed = [json.loads(run(*command, "--json", *more).stdout) for more in (*given, *given)]

    assert printed[:3] == printed[3:]
    # The paper's fine-tunes the vectors of tokens, too.
    assert trained == [False, True, False]
    made = [item["tables"][0]["rows"][0]["ingredients"] for item in printed[:3]]
    assert [item["recipe"] for item in made] == ["default", "paper", "default"]
    assert [item["encoder"].partition("#")[0] for item in made] == ["encoder", "encoder", "other"]
    kept = [json.loads(line) for line in runs.read_text(encoding="utf-8").splitlines()]
    assert len({one["ingredients"]["encoder"] for one in kept}) == 2


@pytest.mark.usefixtures("_tiny")
def test_relatedness_reads_the_given_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tmp_path / "crawl-300d.vec"
    vectors.write_text("ice 1 0\nriver 0 1\nstone 1 1\n", encoding="utf-8")
    monkeypatch.setattr(reproduction, "measure_untrained", lambda *_: [])
    command = ["reproduce", "has", "--tables", "tiny", "--seeds", "1", "--no-int8", "--json"]

    result = run(*command, "--models", "has+relatedness", "--vectors", vectors)

    (table,) = json.loads(result.stdout)["tables"]
    made = table["rows"][0]["ingredients"]
    assert made["vectors"].startswith("crawl-300d.vec#")
    assert "web text; no question data" in table["pretraining"][1]


@pytest.mark.usefixtures("_tiny")
def test_an_interrupted_training_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    table = tables.TABLES[0]
    seen: list[tuple[str, int, int]] = []

    def resume(stop_at: int | None) -> list[Run]:
        @contextmanager
        def progress(_: str) -> Iterator[OnProgress]:
            def note(number: int, _: int, text: str) -> None:
                row, seed = text.split()[:3:2]
                seen.append((row, int(seed), number))
                if number == stop_at:
                    raise KeyboardInterrupt

            yield note

        options = HasTableOptions(seeds=1, runs=tmp_path / "runs.jsonl", epochs=4, int8=False)
        return training.train_rows(table, table.rows[:1], options, Reporter(progress=progress))

    with pytest.raises(KeyboardInterrupt):
        resume(2)
    assert (tmp_path / "runs.jsonl-tiny-pooling-0.checkpoint").exists()
    (finished,) = resume(None)

    assert seen == [("pooling", 0, number) for number in (1, 2, 3, 4)]
    lengths = {name: len(values) for name, values in finished.values.items()}
    assert lengths == {"MAP": 2, "dev MAP": 2}
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.usefixtures("_tiny")
def test_a_kept_run_that_lacks_a_measure_is_trained_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    lacking = Run("tiny, 1 epochs at 2e-05, fp32", "pooling", 0, {"MAP": [1.0]}, 1, 1.0)
    runs.write_text(json.dumps(lacking.to_dict()) + "\n", encoding="utf-8")
    options = ["--tables", "tiny", "--models", "pooling", "--seeds", "1", "--no-int8"]

    result = run("reproduce", "has", *options, "--runs", runs)

    assert result.exit_code == 0, result.output
    _, made = (json.loads(line) for line in runs.read_text(encoding="utf-8").splitlines())
    assert made["values"].keys() == {"MAP", "dev MAP"}


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize(
    ("options", "problem"),
    [(["--tables", "tine"], "did you mean 'tiny'"), (["--tables", "tiny", "--models", "x"], "row")],
)
def test_unknown_names_are_refused_with_the_known_ones(options: list[str], problem: str) -> None:
    result = run("reproduce", "has", *options)

    assert result.exit_code == 1
    assert problem in result.stderr


def test_a_table_without_its_data_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setattr(reproduction, "measure_untrained", lambda *_: [])

    result = run("reproduce", "has", "--tables", "yahooqa", "--data", tmp_path)

    assert result.exit_code == 0, result.output
    assert "left out: yahooqa" in result.stderr


@pytest.mark.parametrize(
    ("recipe", "names"),
    [("default", ["wikiqa", "squad-pools"]), ("paper", ["wikiqa", "insuranceqa-v1", "yahooqa"])],
)
def test_the_default_tables_follow_the_recipe(
    recipe: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(reproduction, "measure_untrained", lambda *_: [])

    result = run("reproduce", "has", "--recipe", recipe, "--data", tmp_path)

    assert result.exit_code == 0, result.output
    missing = [line for line in result.stderr.splitlines() if line.startswith("left out")]
    assert len(missing) == len(names)
    for line, name in zip(missing, names, strict=True):
        assert line.startswith(f"left out: {'squad' if name == 'squad-pools' else name}")


def test_the_study_covers_both_settings_of_the_paper() -> None:
    rows = tables.STUDY.rows

    assert [row.config.beta for row in rows] == [1, 2, 5, 10, 20, 5, 5, 5, 5]
    assert [row.config.delta for row in rows] == [1e-6] * 5 + [0, 1e-7, 1e-5, 1e-4]
    assert rows[0].name == "beta=1 delta=1e-06"
    assert len({row.name for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("table", "measures", "others"),
    [
        ("insuranceqa-v1", ["P@1", "P@1 (test2)"], "Table 2"),
        ("yahooqa", ["P@1", "MRR"], "Table 3"),
    ],
)
def test_a_table_is_reproduced_on_generated_files_of_its_format(
    table: str, measures: list[str], others: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_insuranceqa(tmp_path, 0.001)
    write_yahooqa(tmp_path, 0.001)
    encoder = write_encoder(tmp_path / "encoder")
    monkeypatch.setattr(reproduction, "measure_untrained", lambda *_: [])
    command = ["reproduce", "has", "--tables", table, "--seeds", "1", "--no-int8"]
    command += ["--data", str(tmp_path), "--encoder", str(encoder), "--recipe", "paper"]
    command += ["--epochs", "1", "--runs", str(tmp_path / "runs.jsonl")]

    shown = run(*command, "--models", "pooling,has", "--max-tokens", "16", "--batch", "8")
    printed = run(
        *command, "--models", "pooling,has", "--max-tokens", "16", "--batch", "8", "--json"
    )

    assert shown.exit_code == 0, shown.output
    assert others in shown.stdout
    (result,) = json.loads(printed.stdout)["tables"]
    for row in result["rows"]:
        assert set(row["measured"]) == {*measures, "dev MAP"}
        assert set(row["published"]) == set(measures)
    kept = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [one["table"] for one in kept] == [
        f"{table}, 1 epochs at 5e-06, fp32, 8 triplets, 16 tokens"
    ] * 2


def test_the_study_is_reproduced_on_generated_files_of_insuranceqa(tmp_path: Path) -> None:
    write_insuranceqa(tmp_path, 0.001)
    encoder = write_encoder(tmp_path / "encoder")
    command = ["reproduce", "has", "--study", "--tables", "insuranceqa-v1", "--seeds", "1"]
    command += ["--models", "beta=1 ", "--epochs", "1", "--max-tokens", "16", "--batch", "8"]

    result = run(*command, "--data", tmp_path, "--encoder", encoder, "--no-int8")

    assert result.exit_code == 0, result.output
    assert "beta=1 delta=1e-06" in result.stdout
    assert "insuranceqa-v1:dev: " in result.stderr
    assert "the published file has 1,000 questions" in result.stderr


def test_widths_and_lengths_are_the_papers_or_those_given() -> None:
    paper = Ingredients(recipe="paper")
    table = next(item for item in tables.TABLES if item.name == "insuranceqa-v1")

    rows = tables.set_rows(table, paper)
    given = HasTableOptions(1, attention_width=7, max_tokens=9)
    changed = tables.set_rows(table, Ingredients(), given)

    assert {(row.config.attention_width, row.config.max_tokens) for row in rows} == {(768, 200)}
    assert {(row.name, row.config.attention_width) for row in changed} >= {
        ("has", 7),
        ("has-attention-32", 32),
    }
    assert {row.config.max_tokens for row in changed} == {9}
    recipe = training.make_recipe(table, HasTableOptions(1, ingredients=paper))
    assert (recipe.epochs, recipe.questions_per_step, recipe.learning_rate) == (60, 32, 5e-6)


def test_the_study_is_also_made_on_insuranceqa(tmp_path: Path) -> None:
    options = HasTableOptions(1, tables=("insuranceqa-v1", "yahooqa"), study=True)

    assert reproduction._choose_tables(options) == [tables.INSURANCEQA_STUDY]
    assert tables.INSURANCEQA_STUDY.dev == tables.INSURANCEQA_STUDY.test


KEPT = Path(__file__).parents[3] / "benchmarks" / "results" / "reproduce-has.jsonl"


def test_the_study_is_drawn_from_kept_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    drawn: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def keep(path: Path, *, panels: int) -> Iterator[Any]:
        with plotting(path, panels=panels) as axes:
            yield axes
            for panel in axes:
                (line,) = panel.get_lines()[:1]
                drawn[panel.get_xlabel()] = list(zip(*line.get_data(), strict=True))

    monkeypatch.setattr("rejoinder.papers.has.figures.plotting", keep)
    picture = tmp_path / "study.png"
    options = ["--study", "--epochs", "6", "--seeds", "1", "--data", str(tmp_path)]

    result = run("reproduce", "has", *options, "--runs", KEPT, "--plot", picture)

    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [beta for beta, _ in drawn["beta"]] == list(tables.BETAS)
    assert [delta for delta, _ in drawn["delta"]] == list(tables.DELTAS)
    both = {value for _, value in drawn["beta"]} & {value for _, value in drawn["delta"]}
    assert len(both) == 1, "the row that has both defaults"


def test_a_reproduced_table_is_printed_in_all_formats(tmp_path: Path) -> None:
    options = ["--study", "--epochs", "6", "--seeds", "1", "--runs", str(KEPT)]
    command = ["reproduce", "has", *options, "--data", str(tmp_path)]

    shown = {name: run(*command, "--format", name).stdout for name in FORMATS}

    rows = list(csv.reader(io.StringIO(shown["csv"])))
    assert [row[0] for row in rows] == ["model", *(row.name for row in tables.STUDY.rows)]
    assert len({len(row) for row in rows}) == 1
    assert shown["latex"].count(r" \\") == len(rows)
    assert all(f"\n{row[0]} " in f"\n{shown['table']}" for row in rows)
    assert shown["json"] == run(*command, "--json").stdout


def test_a_plot_without_the_study_is_refused(tmp_path: Path) -> None:
    result = run("reproduce", "has", "--plot", tmp_path / "study.png")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "--plot draws the study over beta and delta: give --study, too" in result.stderr
