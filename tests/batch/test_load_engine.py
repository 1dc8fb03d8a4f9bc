"""Tables that workers load into real search engines."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rejoinder.batch.dask import DaskExecutor
from rejoinder.batch.encode_table import add_parts, encode_table
from rejoinder.batch.job import JobProgress, run_job
from rejoinder.batch.job_output import read_parts
from rejoinder.batch.load_engine import EngineTarget, load_part
from rejoinder.batch.spark import SparkExecutor
from rejoinder.cli import main
from rejoinder.errors import DataError, InputError, StoreError
from rejoinder.index.index import Index, load_tokenizer
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from tests.batch.clusters import Cluster, dask_cluster, spark_cluster
from tests.retrieval.killing import check_holds
from tests.retrieval.servers import postgres_server, qdrant_server

ROWS = 60
GROUP = 5
LONGEST = 12
"""More sentences than a row has."""

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own


@pytest.fixture(scope="module", params=[postgres_server, qdrant_server], ids=["pg", "qdrant"])
def pattern(request: pytest.FixtureRequest) -> Iterator[str]:
    start: Callable[[], AbstractContextManager[str]] = request.param
    with start() as url:
        yield url


@pytest.fixture
def url(pattern: str) -> str:
    """A URL that nothing was loaded into."""
    return pattern.format(name=f"t{uuid4().hex[:12]}")


def make_row(number: int, version: int = 0) -> dict[str, Any]:
    lines = [
        f"Page {number} says in version {version} that {place} is before {place + 1}."
        for place in range(1 + number % 4)
    ]
    item = f"- Term {number}: it is {number}. It is not -{number}."
    text = f"# Page {number}\n\n{' '.join(lines)}\n\n{item}\n"
    return {"id": f"page-{number}", "text": text, "title": f"Page {number}"}


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=GROUP)
    return path


def load_table(source: Path, output: Path, url: str, **options: Any) -> list[JobProgress]:
    return list(run_job(source, output, scorer=None, engine=EngineTarget(url), **options))


def check_engine(url: str, output: Path, folder: Path) -> None:
    """Check that an engine has what an export of an index of the same parts would write."""
    with Index(folder, create=True) as index:
        index.drop_vectors()
        list(add_parts(index, read_parts(output)[1]))
        check_holds(url, index, longest=LONGEST, is_of_table=True)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_table(tmp_path / "in.parquet", [make_row(number) for number in range(ROWS)])


def test_a_loaded_table_is_what_an_export_writes(source: Path, tmp_path: Path, url: str) -> None:
    steps = load_table(source, tmp_path / "out", url)

    assert (steps[-1].done, steps[-1].rows) == (ROWS // GROUP, ROWS)
    check_engine(url, tmp_path / "out", tmp_path / "index")
    with open_retriever(url) as remote:
        remote.check_ready()
        hit = remote.search("what does page 7 say?", 1)[0].candidate
    assert hit.id.startswith("page-7#")
    assert hit.retrieval
    assert set(hit.retrieval.sources) == {"words", "meaning"}


def test_tasks_that_run_again_leave_every_row_once(source: Path, tmp_path: Path, url: str) -> None:
    load_table(source, tmp_path / "out", url)
    parts = sorted((tmp_path / "out").glob("part-*"))
    with open_retriever(url) as remote:  # as workers leave it that were killed
        names = [f"page-{number}" for number in range(2 * GROUP)]
        remote.put_revisions(dict.fromkeys(names, ""))
        remote.delete_sentences(dict.fromkeys(names[1:4], ""))
    for part in parts[:2]:
        part.unlink()

    steps = load_table(source, tmp_path / "out", url)
    assert (steps[0].done, steps[-1].done) == (len(parts) - 2, len(parts))
    check_engine(url, tmp_path / "out", tmp_path / "index")


def test_only_changed_rows_are_written(source: Path, tmp_path: Path, url: str) -> None:
    load_table(source, tmp_path / "out", url)
    rows = [make_row(number, version=int(number in (2, 3))) for number in range(ROWS)]
    rows[5]["text"] = "It is short."
    batch = encode_table(pa.RecordBatch.from_pylist(rows[: 2 * GROUP]), tokenizer=load_tokenizer())
    assert load_part(batch, url) == 3
    assert load_part(batch, url) == 0

    load_table(write_table(tmp_path / "new.parquet", rows), tmp_path / "new", url)
    check_engine(url, tmp_path / "new", tmp_path / "index")


def test_a_table_may_have_no_vectors(source: Path, tmp_path: Path, url: str) -> None:
    command = ["encode-table", str(source), str(tmp_path / "out"), "--to", url, "--no-vectors"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "60 rows in 12 partitions" in result.stderr
    with open_retriever(url) as remote:
        assert remote.schema.width == 0
    check_engine(url, tmp_path / "out", tmp_path / "index")

    # Documents that are added later have none either.
    more = write_table(tmp_path / "more.parquet", [make_row(99)])
    load_table(more, tmp_path / "more", url)
    with open_retriever(url) as remote:
        found = remote.search("what does page 99 say?", 1)[0].candidate
    assert found.retrieval
    assert found.retrieval.sources == ("words",)


def test_ids_that_are_repeated_are_refused(tmp_path: Path, url: str) -> None:
    rows = [make_row(number % 7) for number in range(9)]
    source = write_table(tmp_path / "in.parquet", rows)

    with pytest.raises(DataError, match=r"in.parquet: two rows have the id 'page-0'; give each"):
        load_table(source, tmp_path / "out", url)
    with open_retriever(url) as remote:
        assert remote.read_schema() is None
    assert not (tmp_path / "out").exists()


def test_an_engine_that_has_lost_the_index_is_named(
    source: Path, tmp_path: Path, pattern: str
) -> None:
    own, lost = (f"t{uuid4().hex[:12]}" for _ in range(2))
    load_table(source, tmp_path / "out", pattern.format(name=own))
    other = pattern.format(name=lost)
    with pytest.raises(InputError, match=r"holds the output of another job \(different: to\)"):
        load_table(source, tmp_path / "out", other)
    manifest = tmp_path / "out" / "_manifest.jsonl"
    manifest.write_text(manifest.read_text().replace(own, lost))
    with pytest.raises(InputError, match="there is no index, although 12 partitions were loaded"):
        load_table(source, tmp_path / "out", other)
    assert "open-sesame" not in manifest.read_text()


def test_tables_and_exports_do_not_mix(source: Path, tmp_path: Path, url: str) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.drop_vectors()
        export_index(index, url)
        with pytest.raises(StoreError, match="has the documents of another index; choose another"):
            load_table(source, tmp_path / "out", url)
        load_table(source, tmp_path / "out", f"{url}-t")
        with pytest.raises(StoreError, match="has the documents of a table; choose another name"):
            export_index(index, f"{url}-t")


def test_vectors_of_another_encoder_are_refused(source: Path, tmp_path: Path, url: str) -> None:
    load_table(source, tmp_path / "out", url)

    target = EngineTarget(url, has_vectors=False)
    with pytest.raises(StoreError, match="made by another encoder than the options name"):
        list(run_job(source, tmp_path / "other", scorer=None, engine=target))
    assert not (tmp_path / "other").exists()


def test_an_engine_that_fails_ends_the_job_in_one_line(source: Path, tmp_path: Path) -> None:
    command = ["encode-table", str(source), str(tmp_path / "out"), "--to", "qdrant://127.0.0.1:1"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "check that it runs, and its URL" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()

    result = CliRunner().invoke(main, [*command[:-2], "--no-vectors"])
    assert result.exit_code == 2
    assert "need --to" in result.stderr


@pytest.fixture(scope="module")
def dask() -> Iterator[Cluster]:
    with dask_cluster() as cluster:
        yield cluster


def test_a_killed_worker_loses_and_doubles_no_row(
    dask: Cluster, source: Path, tmp_path: Path, url: str
) -> None:
    target, executor = EngineTarget(url), DaskExecutor(dask.address)
    has_killed = False
    for at in run_job(source, tmp_path / "out", scorer=None, executor=executor, engine=target):
        if not has_killed and at.done >= 2:
            assert at.done < at.total - 1, "the job was over too soon to be disturbed"
            dask.kill_worker()
            has_killed = True
    dask.start_worker()
    assert has_killed
    check_engine(url, tmp_path / "out", tmp_path / "index")

    # Now two workers replace documents whose terms are counted.
    rows = [make_row(number, version=1) for number in range(ROWS)]
    new = write_table(tmp_path / "new.parquet", rows)
    steps = load_table(new, tmp_path / "new", url, executor=executor)
    assert steps[-1].rows == ROWS
    check_engine(url, tmp_path / "new", tmp_path / "other")


def test_spark_loads_every_row_once(source: Path, tmp_path: Path) -> None:
    with spark_cluster() as spark, qdrant_server() as pattern:
        url = pattern.format(name=f"t{uuid4().hex[:12]}")
        load_table(source, tmp_path / "out", url, executor=SparkExecutor(spark.address))
        check_engine(url, tmp_path / "out", tmp_path / "index")
