import json
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from rejoinder.cli import main  # noqa: E402
from rejoinder.errors import InputError  # noqa: E402
from rejoinder.papers.kept_runs import KeptRuns  # noqa: E402
from rejoinder.papers.published import TABLES, WIKIQA  # noqa: E402
from rejoinder.papers.reproduction import (  # noqa: E402
    Run,
    measure_gains,
    summarise,
)

NONE, BIRNN = "cosinet/listwise/none", "cosinet/listwise/birnn"


def a_run(row: str, seed: int, *values: float) -> Run:
    return Run("wikiqa", row, seed, 10, 2.0 + seed, {"MAP": list(values)})


def test_a_summary_is_the_mean_and_deviation_over_seeds() -> None:
    (row,) = (row for row in WIKIQA.rows if row.name == BIRNN)

    found = summarise(row, [a_run(BIRNN, 0, 0.5, 0.7), a_run(BIRNN, 1, 0.6, 0.8)])

    # 60 and 70: mean 65, deviation 10 / sqrt(2)
    assert found.means == {"MAP": 65.0}
    assert found.deviations == {"MAP": 7.07}
    assert found.seconds == 2.5
    assert found.to_dict()["published"] == {"MAP": 75.62, "MRR": 77.13}


def test_a_gain_is_paired_over_questions_on_seed_averages() -> None:
    runs = [a_run(NONE, 0, 0.2, 0.4), a_run(NONE, 1, 0.4, 0.6)]
    runs += [a_run(BIRNN, 0, 0.5, 0.7), a_run(BIRNN, 1, 0.5, 0.7)]

    (gain,) = measure_gains(WIKIQA, runs)

    # averages (0.3, 0.5) and (0.5, 0.7)
    assert (gain.row, gain.over) == (BIRNN, NONE)
    assert gain.mean == pytest.approx(0.2)
    assert (gain.interval.low, gain.interval.high) == pytest.approx((0.2, 0.2))


def test_runs_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    runs = [a_run(NONE, seed, 0.5) for seed in range(3)]

    assert KeptRuns(path, Run).keep(runs[:2]) == runs[:2]
    again = KeptRuns(path, Run)
    assert again.done == runs[:2]
    again.keep(runs)
    assert KeptRuns(path, Run).done == runs

    path.write_text('{"other": 1}\n')
    with pytest.raises(InputError, match="not a file of runs"):
        KeptRuns(path, Run)


def test_without_a_file_nothing_is_kept() -> None:
    runs = [a_run(NONE, 0, 0.5)]

    assert KeptRuns(None, Run).keep(runs) == runs
    assert KeptRuns(None, Run).done == []


def test_all_tables_have_data_that_exists() -> None:
    from rejoinder.datasets.catalogue import DATASETS

    for tables in TABLES.values():
        for table in tables:
            assert table.split in DATASETS[table.test].splits
            for choice in table.train:
                name, _, split = choice.partition(":")
                assert (split or "train") in DATASETS[name].splits


def test_natural_questions_are_reproduced_on_a_fixture(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "nq"
    folder.mkdir(parents=True)
    rows = [to_nq(place, animal) for place, animal in enumerate(["cat", "dog", "cow"])]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for name in nq_files():
        (folder.parent / name).write_text(text, encoding="utf-8")
    runs, picture = tmp_path / "runs.jsonl", tmp_path / "p.png"
    arguments = ["reproduce", "nq-la", "--data", str(folder.parent), "--seeds", "2"]
    arguments += ["--models", "cosinet/listwise", "--runs", str(runs), "--picture", str(picture)]

    result = CliRunner().invoke(main, arguments)
    again = CliRunner().invoke(main, [*arguments, "--json"])

    assert result.exit_code == 0, result.output
    header, order, overlap, _, none, birnn, gain = result.stdout.splitlines()
    assert header.split()[:4] == ["model", "loss", "head", "seeds"]
    assert order.split()[:6] == ["original-order", "–", "–", "–", "57.30", "50.00"]
    assert overlap.split()[:6] == ["word-overlap", "–", "–", "–", "38.08", "100.00"]
    assert none.split()[:5] == ["cosinet", "listwise", "none", "2", "68.16"]
    assert birnn.split()[:5] == ["cosinet", "listwise", "birnn", "2", "73.28"]
    assert gain.startswith(f"{BIRNN} over {NONE} ")
    assert picture.stat().st_size > 1000
    assert len(runs.read_text().splitlines()) == 4
    (table,) = json.loads(again.stdout)
    assert table["test"] == "nq-la:dev"
    assert len(table["baselines"]) == 3
    assert [row["seeds"] for row in table["rows"]] == [2, 2]


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
