"""A job in one process: what is committed stays, what cannot be done is named in one line."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rejoinder.batch import partitions
from rejoinder.batch.job import JobProgress, PartitionResult, Task, run_job, run_locally
from rejoinder.batch.job_output import MANIFEST, read_parts
from rejoinder.batch.packed_scorer import PackedScorer, load_packed_scorer, pack_scorer
from rejoinder.batch.partitions import Partition
from rejoinder.errors import DataError, InputError, RejoinderError, StoreError
from rejoinder.storage.files import lock_folder
from tests.batch.tables import make_rows, read_ranked, write_questions

BM25 = PackedScorer("bm25")


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return 25 questions in row groups of 10."""
    return write_questions(tmp_path / "in.parquet", 25, group=10)


def run(source: Path, output: Path, **options: object) -> list[JobProgress]:
    return list(run_job(source, output, scorer=BM25, **options))  # type: ignore[arg-type]


def test_every_row_comes_out_once_in_order(questions: Path, tmp_path: Path) -> None:
    steps = run(questions, tmp_path / "out.parquet")

    assert [(step.done, step.rows) for step in steps] == [(0, 0), (1, 10), (2, 20), (3, 25)]
    ranked = read_ranked(tmp_path / "out.parquet")
    assert ranked["id"].to_pylist() == [f"q{number}" for number in range(25)]
    assert pq.read_table(tmp_path / "out.parquet") == ranked  # as any reader of folders sees it


def test_large_row_groups_are_split(questions: Path) -> None:
    source = partitions.open_table(questions, {}, rows=4)

    assert [(item.group, item.start, item.count, item.first_row) for item in source.partitions] == [
        (0, 0, 4, 0),
        (0, 4, 4, 4),
        (0, 8, 2, 8),
        (1, 0, 4, 10),
        (1, 4, 4, 14),
        (1, 8, 2, 18),
        (2, 0, 4, 20),
        (2, 4, 1, 24),
    ]


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 0):
        write_questions(folder / f"{number}.parquet", 3 + number)

    assert run(folder, tmp_path / "out")[-1].rows == 7


def test_a_finished_job_is_not_repeated(questions: Path, tmp_path: Path) -> None:
    run(questions, tmp_path / "out")

    def refuse(task: Task, items: list[Partition]) -> Iterator[PartitionResult]:
        raise AssertionError("something was done again")

    assert [step.done for step in run(questions, tmp_path / "out", executor=refuse)] == [3]


def stop_after(count: int) -> object:
    def executor(task: Task, items: list[Partition]) -> Iterator[PartitionResult]:
        yield from map(task, items[:count])
        raise KeyboardInterrupt

    return executor


def test_an_interrupted_job_is_resumed(questions: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(questions, output, executor=stop_after(1))
    before = (output / "part-00000.parquet").stat()

    steps = run(questions, output)

    assert steps[0] == JobProgress(1, 3, 10)
    assert (output / "part-00000.parquet").stat().st_ino == before.st_ino
    assert read_ranked(output).num_rows == 25


def test_a_part_done_twice_counts_once(questions: Path, tmp_path: Path) -> None:
    def twice(task: Task, items: list[Partition]) -> Iterator[PartitionResult]:
        for item in items:
            yield task(item)
            yield task(item)

    assert run(questions, tmp_path / "out", executor=twice)[-1].rows == 25
    assert read_ranked(tmp_path / "out").num_rows == 25


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_missing_or_truncated_part_is_written_again(
    questions: Path, tmp_path: Path, damage: str
) -> None:
    output = tmp_path / "out"
    run(questions, output)
    part = output / "part-00001.parquet"
    part.unlink() if damage == "gone" else os.truncate(part, 100)

    assert run(questions, output)[0].done == 2
    assert read_ranked(output).num_rows == 25


def test_an_incomplete_last_line_of_the_manifest_is_dropped(
    questions: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run(questions, output)
    with (output / MANIFEST).open("ab") as file:
        file.truncate((output / MANIFEST).stat().st_size - 5)

    assert [step.done for step in run(questions, output)] == [2, 3]
    assert read_parts(output)[0] == 25


def test_temporary_files_of_dead_workers_are_removed(questions: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(questions, output, executor=stop_after(0))
    (output / ".part-00000.parquet.abc").write_bytes(b"PAR1")

    run(questions, output)

    assert sorted(path.name for path in output.iterdir()) == [
        "_lock",
        MANIFEST,
        *(f"part-{number:05d}.parquet" for number in range(3)),
    ]


def test_another_jobs_output_is_refused(questions: Path, tmp_path: Path) -> None:
    run(questions, tmp_path / "out")

    with pytest.raises(InputError, match=r"output of another job \(different: top\)"):
        run(questions, tmp_path / "out", top=1)


def test_a_bundle_that_has_changed_is_another_job(questions: Path, tmp_path: Path) -> None:
    cascade = tmp_path / "mine.toml"
    cascade.write_text('[[stage]]\nscorer = "bm25"\n')
    job = {"executor": run_locally}
    before = pack_scorer(str(cascade), send=False)
    list(run_job(questions, tmp_path / "out", scorer=before, **job))  # type: ignore[arg-type]
    cascade.write_text('[[stage]]\nscorer = "jaccard"\n')
    after = pack_scorer(str(cascade), send=False)

    with pytest.raises(InputError, match=r"another job \(different: scorer\)"):
        list(run_job(questions, tmp_path / "out", scorer=after, **job))  # type: ignore[arg-type]


def test_a_folder_of_other_things_is_refused(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()

    with pytest.raises(InputError, match="not empty and not the output of a job"):
        run(questions, tmp_path / "out")


def test_a_corrupt_manifest_is_refused(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MANIFEST).write_bytes(b"PAR1\n")

    with pytest.raises(InputError, match="corrupt"):
        run(questions, tmp_path / "out")


def test_two_jobs_do_not_write_one_output(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    with (
        lock_folder(tmp_path / "out", name="_lock"),
        pytest.raises(StoreError, match="another process is writing"),
    ):
        run(questions, tmp_path / "out")


def test_an_output_that_cannot_be_made_is_named(questions: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot create the folder \(Not a directory\)"):
        run(questions, questions / "out")


def test_a_table_of_other_columns_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    pq.write_table(pa.table({"query": ["q"]}), tmp_path / "in.parquet")

    with pytest.raises(DataError, match=r"in\.parquet: no column 'question'"):
        run(tmp_path / "in.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_of_one_table_have_the_same_columns(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_questions(folder / "a.parquet", 2)
    rows = [{key: row[key] for key in ("question", "candidates")} for row in make_rows(2)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "b.parquet")

    with pytest.raises(DataError, match=r"b\.parquet: its columns differ from the files before it"):
        run(folder, tmp_path / "out")


def test_ignored_columns_are_reported(tmp_path: Path) -> None:
    rows = [{**row, "language": "en"} for row in make_rows(2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")

    assert run(tmp_path / "in.parquet", tmp_path / "out")[-1].ignored_columns == ("language",)


def test_an_empty_table_is_refused(questions: Path, tmp_path: Path) -> None:
    pq.write_table(pq.read_table(questions).slice(0, 0), tmp_path / "none.parquet")

    with pytest.raises(DataError, match="no rows in it"):
        run(tmp_path / "none.parquet", tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"PAR1 but not for long", None])
def test_a_file_that_is_not_parquet_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "in.parquet"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(RejoinderError, match=r"in\.parquet: (not a parquet|no parquet)"):
        run(path, tmp_path / "out")


def test_a_partition_that_cannot_be_read_is_named_and_the_others_stay(
    questions: Path, tmp_path: Path
) -> None:
    group = pq.read_metadata(questions).row_group(1).column(0)
    state = questions.stat()
    raw = bytearray(questions.read_bytes())
    at = group.dictionary_page_offset or group.data_page_offset
    raw[at : at + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    questions.write_bytes(raw)
    partitions._read_group.cache_clear()

    with pytest.raises(InputError) as caught:
        run(questions, tmp_path / "out")

    assert f"{questions}: row group 1 cannot be read" in str(caught.value)
    assert "1 of 3 partitions are done; run the same command again to resume" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "out" / "part-00000.parquet").is_file()
    assert state.st_size == questions.stat().st_size


def test_text_that_is_not_utf_8_is_found_before_it_is_read(tmp_path: Path) -> None:
    rows = [{**row, "question": row["question"] + " @@@"} for row in make_rows(3)]
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"@@@", b"\x92\x92\x92"))

    with pytest.raises(InputError, match=r"in\.parquet: row group 0 cannot be read \(.*UTF-?8"):
        run(path, tmp_path / "out")


def test_a_row_that_cannot_be_used_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    rows = make_rows(25)
    rows[17]["question"] = None
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet", row_group_size=10)

    with pytest.raises(InputError, match=r"in\.parquet: row 17: the question is null .*1 of 3"):
        run(tmp_path / "in.parquet", tmp_path / "out")


def test_a_worker_without_the_bundle_is_reported(questions: Path, tmp_path: Path) -> None:
    gone = PackedScorer(str(tmp_path / "gone"))

    with pytest.raises(InputError, match=r"unknown scorer '.*gone'.*0 of 3 partitions are done"):
        list(run_job(questions, tmp_path / "out", scorer=gone))


def test_an_executor_that_loses_partitions_is_detected(questions: Path, tmp_path: Path) -> None:
    def lose(task: Task, items: list[Partition]) -> Iterator[PartitionResult]:
        return map(task, items[:-1])

    with pytest.raises(StoreError, match="1 partitions are not done; run the same command again"):
        run(questions, tmp_path / "out", executor=lose)


def test_a_part_that_only_the_worker_sees_is_not_done(questions: Path, tmp_path: Path) -> None:
    def elsewhere(task: Task, items: list[Partition]) -> Iterator[PartitionResult]:
        return (PartitionResult(item.number) for item in items)

    with pytest.raises(StoreError, match="do all workers see this folder"):
        run(questions, tmp_path / "out", executor=elsewhere)


def test_a_full_disk_is_named(questions: Path, tmp_path: Path) -> None:
    # A folder in the place of the part: what cannot be replaced cannot be written.
    output = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(questions, output, executor=stop_after(0))
    (output / "part-00001.parquet").mkdir()

    with pytest.raises(InputError, match=r"part-00001\.parquet: cannot be written"):
        run(questions, output)
    assert not list(output.glob(".part-*"))


def test_unfinished_parts_are_not_read(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the output of a job"):
        read_parts(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(questions, tmp_path / "out", executor=stop_after(1))

    with pytest.raises(InputError, match="1 of 3 partitions are done; finish the job"):
        read_parts(tmp_path / "out")


def test_a_corrupt_part_is_named_when_it_is_read(questions: Path, tmp_path: Path) -> None:
    run(questions, tmp_path / "out")
    part = tmp_path / "out" / "part-00002.parquet"
    part.write_bytes(b"x" * part.stat().st_size)
    _, batches = read_parts(tmp_path / "out")

    with pytest.raises(DataError, match=r"part-00002\.parquet: cannot be read"):
        list(batches)


def test_a_model_is_loaded_once(questions: Path, tmp_path: Path) -> None:
    load_packed_scorer.cache_clear()

    run(questions, tmp_path / "out")

    assert load_packed_scorer.cache_info().misses == 1
    assert load_packed_scorer.cache_info().hits == 2


def test_the_manifest_lists_the_finished_parts(questions: Path, tmp_path: Path) -> None:
    run(questions, tmp_path / "out")

    job, *parts = map(json.loads, (tmp_path / "out" / MANIFEST).read_text().splitlines())

    assert (job["kind"], job["scorer"], job["partitions"]) == ("rank", "bm25", 3)
    assert [(part["part"], part["rows"]) for part in parts] == [(0, 10), (1, 10), (2, 5)]


def test_run_locally_is_the_executor_of_one_process() -> None:
    results = run_locally(lambda item: PartitionResult(item), [1, 2])  # type: ignore[arg-type,list-item]

    assert list(results) == [PartitionResult(1), PartitionResult(2)]


def test_a_name_goes_as_it_is() -> None:
    assert pack_scorer("bm25", send=True) == PackedScorer("bm25")
