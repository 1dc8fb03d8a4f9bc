import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from rejoinder.cli import main  # noqa: E402
from rejoinder.datasets.readers.jsonl import write_examples  # noqa: E402
from rejoinder.datasets.readers.judged import Judged, to_ordered_example  # noqa: E402
from rejoinder.errors import InputError  # noqa: E402
from rejoinder.models import registry  # noqa: E402
from rejoinder.models.registry import open_scorer  # noqa: E402
from rejoinder.models.selector.module.classifier import Classifier  # noqa: E402
from rejoinder.papers.cosinet.reproduction import (  # noqa: E402
    RankerTableOptions,
    _leave_out_missing,
    measure_gains,
    plot_quality_against_time,
    show_related,
)
from rejoinder.papers.cosinet.rows import (  # noqa: E402
    TABLES,
    UNSEEN,
    RankerRow,
    RankerTable,
)
from rejoinder.papers.cosinet.training import (  # noqa: E402
    MATSUBARA,
    RankerTrainer,
    TrainedRow,
)
from rejoinder.papers.ingredients import Ingredients, _hash  # noqa: E402
from rejoinder.papers.pretraining import VECTORS  # noqa: E402
from rejoinder.papers.table import Reporter, Run, Summary  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer  # noqa: E402

NONE, BIRNN = "cosinet/listwise/none", "cosinet/listwise/birnn"
EXAMPLES = [
    to_ordered_example(
        word,
        f"where is the {word}?",
        [Judged(f"The {word} is here.", True), Judged("It rained all day.", False)],
    )
    for word in ("cat", "dog", "cow", "owl", "hen")
]


def make_run(row: str, seed: int, *values: float) -> Run:
    return Run("wikiqa", row, seed, {"MAP": list(values)}, 10, 2.0 + seed)


def test_a_recurrent_head_is_compared_with_none() -> None:
    runs = [make_run(NONE, 0, 0.2, 0.4), make_run(NONE, 1, 0.4, 0.6)]
    runs += [make_run(BIRNN, 0, 0.5, 0.7), make_run(BIRNN, 1, 0.5, 0.7)]

    (gain,) = measure_gains(TABLES["wikiqa"][0], runs)

    # averages (0.3, 0.5) and (0.5, 0.7)
    assert (gain.row, gain.over) == (BIRNN, NONE)
    assert gain.mean == pytest.approx(0.2)
    assert (gain.interval.low, gain.interval.high) == pytest.approx((0.2, 0.2))


def test_all_tables_have_data_that_exists() -> None:
    from rejoinder.datasets.catalogue import DATASETS

    for tables in TABLES.values():
        for table in tables:
            for choice in (table.test, table.train):
                name, _, split = choice.partition(":")
                assert (split or "train") in DATASETS[name].splits


def test_rows_whose_encoder_is_missing_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.models.encoders.loading.PACKAGE", "not_installed")
    table = TABLES["wikiqa"][0]
    journal = tmp_path / "runs.jsonl"
    run = replace(make_run("selector/anchored/none", 0, 0.5), seconds=1.0)
    journal.write_text(json.dumps(run.to_dict()) + "\n", encoding="utf-8")
    said: list[str] = []

    def leave_out(runs: Path | None) -> list[str]:
        options = RankerTableOptions(seeds=1, runs=runs)
        kept = _leave_out_missing(table, table.rows, options, Reporter(said.append))
        return [row.name for row in table.rows if row not in kept]

    assert leave_out(None) == ["selector/anchored/none", "selector-3-layers/anchored/none"]
    assert said[0].startswith("left out selector/anchored/none: all-MiniLM-L6-v2 is not on this")
    assert leave_out(journal) == ["selector-3-layers/anchored/none"]


@pytest.fixture
def nq(tmp_path: Path) -> Path:
    """Return a data folder with three of Natural Questions' pages as train and dev."""
    folder = tmp_path / "data" / "nq"
    folder.mkdir(parents=True)
    rows = [to_nq(place, animal) for place, animal in enumerate(["cat", "dog", "cow"])]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for name in nq_files():
        (folder.parent / name).write_text(text, encoding="utf-8")
    return folder.parent


def test_natural_questions_are_reproduced_on_a_fixture(nq: Path, tmp_path: Path) -> None:
    runs, plot = tmp_path / "runs.jsonl", tmp_path / "p.png"
    arguments = ["reproduce", "nq-la", "--data", str(nq), "--seeds", "2"]
    arguments += ["--models", "cosinet/listwise", "--runs", str(runs), "--plot", str(plot)]

    result = CliRunner().invoke(main, arguments)
    again = CliRunner().invoke(main, [*arguments, "--json"])

    assert result.exit_code == 0, result.output
    header, order, overlap, _, none, birnn, gain, pretraining = result.stdout.splitlines()
    assert header.split()[:4] == ["model", "loss", "head", "seeds"]
    assert order.split()[:6] == ["original-order", "–", "–", "–", "57.30", "50.00"]
    assert overlap.split()[:6] == ["word-overlap", "–", "–", "–", "38.08", "100.00"]
    assert none.split()[:5] == ["cosinet", "listwise", "none", "2", "68.16"]
    assert birnn.split()[:5] == ["cosinet", "listwise", "birnn", "2", "73.28"]
    assert none.endswith(
        tuple(
            f"static-vectors, train nq-la, recipe default, cpu, {name}" for name in ("bf16", "fp32")
        )
    )
    assert gain.startswith(f"{BIRNN} over {NONE} ")
    assert pretraining.startswith("In pretraining static-vectors saw: the encoder all-MiniLM-L6")
    assert plot.stat().st_size > 1000
    assert len(runs.read_text().splitlines()) == 4
    (table,) = json.loads(again.stdout)
    assert table["test"] == "nq-la:dev"
    assert len(table["baselines"]) == 3
    assert [row["seeds"] for row in table["rows"]] == [2, 2]


def test_a_row_is_made_of_the_given_ingredients(nq: Path, tmp_path: Path) -> None:
    vectors, mine, runs = tmp_path / "glove.txt", tmp_path / "mine.jsonl", tmp_path / "runs.jsonl"
    vectors.write_text("cat 1 0 0\ndog 0 1 0\ncow 0 0 1\nis 1 1 1\n", encoding="utf-8")
    write_examples(mine, EXAMPLES)
    arguments = ["reproduce", "nq-la", "--data", str(nq), "--seeds", "1", "--json"]
    arguments += ["--models", NONE, "--runs", str(runs)]
    given = ["--vectors", str(vectors), "--train", str(mine), "--precision", "fp32"]

    (own,) = json.loads(CliRunner().invoke(main, arguments).stdout)
    (table,) = json.loads(CliRunner().invoke(main, [*arguments, *given]).stdout)
    again = CliRunner().invoke(main, [*arguments, *given])
    vectors.write_text(vectors.read_text() + "hen 1 1 0\n", encoding="utf-8")
    _hash.cache_clear()
    other = CliRunner().invoke(main, [*arguments, *given])

    assert (again.exit_code, other.exit_code) == (0, 0)
    made = table["rows"][0]["ingredients"]
    assert made["vectors"].startswith("glove.txt#")
    assert made["train"].startswith("mine.jsonl#")
    assert {name: made[name] for name in ("recipe", "device", "precision")} == {
        **{"recipe": "default", "device": "cpu", "precision": "fp32"}
    }
    assert table["rows"][0]["parameters"] < own["rows"][0]["parameters"]
    assert table["pretraining"] == [
        f"In pretraining glove.txt saw: {VECTORS['glove'].saw}.",
    ]
    # One run for each: the shipped vectors, the file, and the file with one more word.
    kept = [json.loads(line)["ingredients"]["vectors"] for line in runs.read_text().splitlines()]
    assert len(kept) == len({*kept}) == 3
    assert kept[0] == "static-vectors"


def test_an_ingredient_that_no_row_reads_is_refused(nq: Path, encoder: Path) -> None:
    arguments = ["reproduce", "nq-la", "--data", str(nq), "--models", NONE]

    result = CliRunner().invoke(main, [*arguments, "--encoder", str(encoder)])

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        "Error: --encoder: none of these rows reads it; choose others (--models)"
    )


@pytest.mark.parametrize(("recipe", "loss", "steps"), [("paper", "pointwise", 6)])
def test_bert_is_trained_as_a_classifier_by_the_papers_recipe(
    encoder: Path, recipe: str, loss: str, steps: int
) -> None:
    ingredients = Ingredients(str(encoder), recipe=recipe, device="cpu")
    rows = TABLES["wikiqa"][0].list_rows(ingredients)
    (row,) = (item for item in rows if item.model == "selector")

    trained, taken = train_row(row, ingredients)

    assert [row.name for row in rows][:2] == ["cosinet/pointwise/none", NONE]
    assert (row.name, row.loss, taken) == (f"selector/{loss}/none", loss, steps)
    assert all(row.published for row in rows)
    assert isinstance(trained.scorer, SelectorTorchScorer)
    assert isinstance(trained.scorer._model, Classifier)


def test_compare_aggregate_stops_early_by_its_papers_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev = tmp_path / "dev.jsonl"
    write_examples(dev, EXAMPLES)
    monkeypatch.setattr("rejoinder.papers.cosinet.training.PATIENCE", 1)
    monkeypatch.setattr(
        "rejoinder.papers.cosinet.training.MATSUBARA", replace(MATSUBARA, learning_rate=1e-9)
    )
    ingredients = Ingredients(recipe="paper", device="cpu")
    rows = TABLES["trecqa"][0].list_rows(ingredients)
    table = replace(TABLE, dev=str(dev))

    _, steps = train_row(rows[0], ingredients, table)

    assert rows[0].name == "compare-aggregate-bilstm/pointwise/none"
    assert steps == 2  # the second epoch is no better than the first, so it is the last


def test_the_papers_pointwise_rows_read_pairs_in_batches_of_a_fixed_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rejoinder.papers.cosinet.training.PAIRS_PER_STEP", 4)
    row = RankerRow("cosinet", "none", "pointwise")

    _, ours = train_row(row)
    _, paper = train_row(row, Ingredients(recipe="paper", device="cpu"))
    _, listwise = train_row(
        replace(row, loss="listwise"), Ingredients(recipe="paper", device="cpu")
    )

    # Three epochs of five questions with two candidates each: 4 lists, or 4 pairs, per step.
    assert (ours, paper, listwise) == (6, 9, 6)


def nq_files() -> list[str]:
    from rejoinder.datasets.catalogue import DATASETS

    splits = DATASETS["nq-la"].splits
    return [
        next(file for source in splits[split] for file in source.files if not file.endswith(".gz"))
        for split in ("train", "dev")
    ]


def to_nq(place: int, animal: str) -> dict[str, object]:
    words = f"<P> It rained . </P> <P> The {animal} is here . </P>".split()
    spans = [(0, 5), (5, 12)]
    return {
        "example_id": place,
        "question_text": f"where is the {animal}",
        "document_text": " ".join(words),
        "long_answer_candidates": [
            {"start_token": start, "end_token": end, "top_level": True} for start, end in spans
        ],
        "annotations": [{"long_answer": {"start_token": 5, "end_token": 12, "candidate_index": 1}}],
    }


TABLE = RankerTable("tiny", "none", "none", ("MAP",), ())


def train_row(
    row: RankerRow, ingredients: Ingredients | None = None, table: RankerTable = TABLE
) -> tuple[TrainedRow, int]:
    """Return the row, trained on EXAMPLES, and its number of steps."""
    steps: list[Step] = []
    trainer = RankerTrainer(ingredients or Ingredients(device="cpu"), table)
    trainer.read_parts = cache(lambda: [Part(EXAMPLES)])
    return trainer.train(row, 0, steps.append), len(steps)


def train(row: RankerRow, precision: str | None = None) -> tuple[list[float], int, float, int]:
    trained, steps = train_row(row, Ingredients(device="cpu", precision=precision))
    scores = trained.scorer.score(EXAMPLES[0].question, EXAMPLES[0].candidates)
    return scores.tolist(), trained.parameters, trained.seconds, steps


def test_a_small_ranker_is_trained_from_new_weights() -> None:
    scores, parameters, seconds, steps = train(RankerRow("cosinet", "none", "listwise"))
    assert (len(scores), parameters, steps) == (2, 772_201, 6)
    assert seconds > 0


def test_rows_are_trained_in_the_chosen_precision() -> None:
    row = RankerRow("cosinet", "none", "listwise")

    assert train(row, "fp32")[0] == train(row, "fp32")[0] != train(row, "bf16")[0]


def test_the_shipped_selector_is_measured_as_it_is() -> None:
    scores, parameters, seconds, steps = train(
        RankerRow("selector", "none", UNSEEN, is_shipped=True)
    )
    assert (seconds, steps) == (0.0, 0)
    assert parameters > 20_000_000
    example = EXAMPLES[0]
    assert scores == open_scorer("selector").score(example.question, example.candidates).tolist()


def test_the_shipped_selector_is_adapted() -> None:
    before, *_ = train(RankerRow("selector", "none", UNSEEN, is_shipped=True))
    scores, _, _, steps = train(RankerRow("selector", "none", "anchored", is_shipped=True))
    assert steps == 2
    assert scores != before
    assert scores[0] > scores[1]


def test_missing_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "WEIGHTS", tmp_path)
    with pytest.raises(InputError, match="the weights of selector are not installed"):
        train(RankerRow("selector", "none", UNSEEN, is_shipped=True))


def test_compare_aggregate_of_matsubara_is_a_row_of_wikiqa_by_the_papers_recipe() -> None:
    table = TABLES["wikiqa"][0]

    (row,) = (
        item for item in table.list_rows(Ingredients(recipe="paper")) if "bilstm/" in item.name
    )

    assert row.name == "compare-aggregate-bilstm/pointwise/none"
    assert row.published == {"MAP": 71.5, "MRR": 72.5}
    assert table.dev == "wikiqa:dev"
    assert row not in table.list_rows(Ingredients())


def test_related_work_stands_beside_our_rows() -> None:
    table = TABLES["wikiqa"][0]
    means, none = {"MAP": 77.0, "MRR": 78.0, "P@1": 66.0}, {"MAP": 0.2, "MRR": 0.3, "P@1": 0.4}
    small = Summary(RankerRow("cosinet", "birnn", "listwise"), 5, 3, 10, 1.0, means, none)
    adapted = RankerRow("selector", "none", "anchored", is_shipped=True)
    large = Summary(adapted, 3, 3, 10, 1.0, means, none, {"start": "rejoinder/selector#1"})

    shown = show_related(table, [large, small])

    assert shown.header[2:] == ["MAP published", "MAP measured", "MRR published", "MRR measured"]
    assert shown.rows[1] == ["Wang & Jiang 2016", "–", "74.33", "", "75.45", ""]
    assert shown.rows[5][0] == "Matsubara et al. 2020, Compare-Aggregate"
    assert shown.rows[6] == [f"ours: {BIRNN}", "–", "", "77.00 ±0.20", "", "78.00 ±0.30"]
    names = [row[0].partition(" ")[0] for row in shown.rows[7:]]
    assert names == ["Yoon", "Lai", "Garg", "Matsubara", "ours:"]
    assert shown.rows[-1][1] == "rejoinder/selector#1"


def test_rows_that_took_no_time_are_in_the_legend_of_the_plot(tmp_path: Path) -> None:
    row = RankerRow("cosinet", "none", "listwise")
    summary = Summary(row, 1, 3, 10, 0.0, {"MAP": 50.0}, {"MAP": 0.0})

    plot_quality_against_time(tmp_path / "p.png", "MAP", [summary])  # warnings are errors

    assert (tmp_path / "p.png").stat().st_size > 1000


def test_shipped_weights_name_their_start_and_what_it_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.models.encoders.loading.PACKAGE", "not_installed")
    monkeypatch.setattr(
        "rejoinder.papers.cosinet.reproduction.TABLES",
        {"wikiqa": [replace(TABLES["wikiqa"][0], rows=TABLES["wikiqa"][0].rows[-3:])]},
    )
    folder, runs = tmp_path / "wikiqa", tmp_path / "runs.jsonl"
    folder.mkdir()
    header = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    rows = [
        f"Q{q}\twhere is the {word}\tD{q}\tT\tS{q}-{s}\t{text}\t{s}\n"
        for q, word in enumerate(("cat", "dog", "cow"))
        for s, text in enumerate(("It rained .", f"The {word} is here ."))
    ]
    for split in ("train", "dev", "test"):
        text = header + "".join(rows)
        (folder / f"WikiQA-{split}.tsv").write_text(text, encoding="utf-8")
    arguments = ["reproduce", "wikiqa", "--data", str(tmp_path), "--seeds", "1", "--json"]

    result = CliRunner().invoke(main, [*arguments, "--runs", str(runs)])

    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout)
    made = [row["ingredients"] for row in table["rows"]]
    starts = [own["start"].partition("#")[0] for own in made]
    assert starts == ["rejoinder/selector", "rejoinder/cosinet", "rejoinder/cosinet"]
    # Weights that are measured as they are have no training data, recipe or device.
    assert [sorted(own) for own in made] == [
        ["start"],
        ["device", "precision", "recipe", "start", "train"],
        ["start"],
    ]
    assert "Natural Questions" in table["pretraining"][0]
    assert len(table["related"]) == 10
    curves = [json.loads(line)["curve"] for line in runs.read_text().splitlines()]
    assert [len(curve) for curve in curves] == [0, 3, 0]
    assert [[*epoch["dev"]] for epoch in curves[1]] == [["MAP"]] * 3
