"""HAS from the command line: train, store, ask, reproduce."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.cli.research import reproduce_has  # noqa: E402
from rejoinder.models.has.module import HasConfig  # noqa: E402
from rejoinder.papers import has_tables  # noqa: E402
from rejoinder.papers import has_training as has_reproduction  # noqa: E402
from rejoinder.papers.has_tables import HasRow, HasTable  # noqa: E402
from rejoinder.papers.reproduction import Run  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.has import RECIPE  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_train_store_and_ask(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here. It rained in winter.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    options: list[str | Path] = [
        "--encoder",
        encoder,
        "--epochs",
        "2",
        "--dev",
        dataset,
        "--keep-best",
    ]

    trained = run("train", "has", dataset, "--to", bundle, *options, "--precision", "fp32")
    added = run("index", "add", docs, "--index", index, "--sidecar", bundle)
    cascade = tmp_path / "c.toml"
    cascade.write_text(
        '[[stage]]\nscorer = "bm25"\nkeep = 5\n[[stage]]\nscorer = "has"\nmissing = "leave"\n'
    )
    asked = run("ask", "where is the ice?", "--index", index, "--scorer", cascade, "--json")

    assert trained.exit_code == 0, trained.output
    assert "of bits differ" in trained.stdout
    assert " MAP " in trained.stdout
    assert open_bundle(bundle).manifest.training["kept"] == "best epoch on dev"
    assert added.exit_code == 0, added.output
    assert asked.exit_code == 0, asked.output
    stages = json.loads(asked.stdout)["trace"]
    assert [(stage["scorer"], stage["scored"]) for stage in stages] == [("bm25", 2), ("has", 2)]


def test_later_additions_are_stored_unasked(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    run("train", "has", dataset, "--to", bundle, "--encoder", encoder, "--epochs", "1")
    run("index", "add", docs, "--index", index, "--sidecar", bundle)
    (docs / "rock.txt").write_text("The rock is here.", encoding="utf-8")

    run("index", "add", docs, "--index", index)
    checked = run("index", "check", "--index", index)
    bundle.rename(tmp_path / "elsewhere")
    (docs / "cave.txt").write_text("The cave is here.", encoding="utf-8")
    added = run("index", "add", docs, "--index", index)

    assert checked.exit_code == 0, checked.output
    assert added.exit_code == 0
    assert "new documents are not stored" in added.stderr
    assert "1 documents are missing" in run("index", "check", "--index", index).stderr


def test_another_bundle_in_the_place_of_the_first_takes_nothing_over_unasked(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    options: list[str | Path] = ["--encoder", encoder, "--epochs", "1"]
    run("train", "has", dataset, "--to", bundle, *options)
    run("index", "add", docs, "--index", index, "--sidecar", bundle)
    (stored,) = index.glob("sidecar/answers-*")
    bundle.rename(tmp_path / "first")
    run("train", "has", dataset, "--to", bundle, *options, "--seed", "1")

    unasked = run("index", "compact", "--index", index)
    assert unasked.exit_code == 0, unasked.output
    assert "is another bundle now" in unasked.stderr
    assert [*index.glob("sidecar/answers-*")] == [stored]

    asked = run("index", "add", docs, "--index", index, "--sidecar", bundle)
    assert asked.exit_code == 0, asked.output
    assert [*index.glob("sidecar/answers-*")] != [stored]


def test_a_bundle_of_another_kind_is_refused_before_anything_is_added(tmp_path: Path) -> None:
    result = run("index", "add", tmp_path, "--index", tmp_path / "i", "--sidecar", tmp_path)

    assert result.exit_code == 1
    assert "not a bundle" in result.stderr
    assert not (tmp_path / "i").exists()


@pytest.fixture
def _tiny(dataset: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> object:
        from rejoinder.datasets.readers.jsonl import read_examples
        from rejoinder.papers.has_training import HasData

        examples = list(read_examples(dataset))
        return HasData(examples[:4], examples[4:6], examples[6:])

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
        "a",
        "b",
        "c",
        ("MAP",),
        (*rows, HasRow("has+relatedness", config)),
        1,
        note="a note",
    )
    monkeypatch.setattr(has_tables, "TABLES", (table,))
    monkeypatch.setattr("rejoinder.papers.has_training.read_data", read)
    monkeypatch.setattr("rejoinder.papers.has_costs.ANSWERS", 5)


@pytest.mark.usefixtures("_tiny")
def test_reproduce_goes_on_from_its_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    options: list[str | Path] = [
        "--tables",
        "tiny",
        "--seeds",
        "1",
        "--runs",
        runs,
        "--precision",
        "fp32",
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
    found = json.loads(again.stdout)
    on_dev = {row["row"]: row["measured"]["dev MAP"] for row in found["tables"][0]["rows"]}
    assert [*on_dev] == ["pooling", "attention", "has", "has+relatedness"]
    # Relatedness has a share of nothing among those it is chosen from.
    assert on_dev["has+relatedness"] >= on_dev["has"] > 0
    costs = {cost["name"]: cost for cost in found["costs"]}
    # 32 numbers of 25 words: 32 bits against 32 floats
    assert costs["attention (stored)"]["disk_bytes"] > 25 * 32 * 4
    assert costs["has"]["disk_bytes"] < 25 * 4 * 1.2
    assert costs["attention (recalculated)"]["disk_bytes"] is None


@pytest.mark.usefixtures("_tiny")
def test_reproduce_goes_on_from_a_training_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    table = has_tables.TABLES[0]
    seen: list[tuple[str, int, int]] = []

    def go_on(stop_at: int | None) -> list[Run]:
        def note(row: HasRow, seed: int, step: Step) -> None:
            seen.append((row.name, seed, step.number))
            if step.number == stop_at:
                raise KeyboardInterrupt

        runs = has_reproduction.run_rows(
            table,
            table.rows[:1],
            replace(RECIPE, epochs=4),
            seeds=1,
            read=lambda: has_reproduction.read_data(table, None),
            precision="fp32",
            beside=tmp_path / "runs.jsonl",
            on_step=note,
        )
        return list(runs)

    with pytest.raises(KeyboardInterrupt):
        go_on(2)
    assert (tmp_path / "runs.jsonl-tiny-pooling-0.checkpoint").exists()
    (found,) = go_on(None)

    assert seen == [("pooling", 0, number) for number in (1, 2, 3, 4)]
    assert {name: len(values) for name, values in found.values.items()} == {"MAP": 2, "dev MAP": 2}
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.usefixtures("_tiny")
def test_a_kept_run_without_a_measure_of_the_table_is_made_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    lacking = Run("tiny, 1 epochs at 2e-05, fp32", "pooling", 0, 1, 1.0, {"MAP": [1.0]})
    runs.write_text(json.dumps(lacking.to_dict()) + "\n", encoding="utf-8")
    options = ["--tables", "tiny", "--models", "pooling", "--seeds", "1", "--precision", "fp32"]

    result = run("reproduce", "has", *options, "--runs", runs)

    assert result.exit_code == 0, result.output
    _, made = (json.loads(line) for line in runs.read_text(encoding="utf-8").splitlines())
    assert made["values"].keys() == {"MAP", "dev MAP"}


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize(
    ("options", "problem"),
    [(["--tables", "tine"], "did you mean 'tiny'"), (["--tables", "tiny", "--models", "x"], "row")],
)
def test_reproduce_names_what_there_is(options: list[str], problem: str) -> None:
    result = run("reproduce", "has", *options)

    assert result.exit_code == 1
    assert problem in result.stderr


def test_reproduce_leaves_out_what_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setattr(reproduce_has, "_measure_costs", lambda _: [])

    result = run("reproduce", "has", "--tables", "yahooqa", "--data", tmp_path)

    assert result.exit_code == 0, result.output
    assert "left out: yahooqa" in result.stderr


def test_the_study_covers_both_settings_of_the_paper() -> None:
    rows = has_tables.STUDY.rows

    assert [row.config.beta for row in rows] == [1, 2, 5, 10, 20, 5, 5, 5, 5]
    assert [row.config.delta for row in rows] == [1e-6] * 5 + [0, 1e-7, 1e-5, 1e-4]
    assert rows[0].name == "beta=1 delta=1e-06"
    assert len({row.name for row in rows}) == len(rows)
