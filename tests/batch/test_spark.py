"""On a real Spark cluster: a standalone master and two workers, each a process of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rejoinder.batch import spark as spark_executor
from rejoinder.batch.packed_scorer import PackedScorer, load_packed_scorer
from rejoinder.batch.rank_table import rank_table
from rejoinder.batch.spark import RANKED_COLUMNS, SparkExecutor, rank_batches
from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from tests.batch.clusters import Cluster, find_free_port, find_why_no_spark, spark_cluster
from tests.batch.killing import PARTITIONS, ROWS_EACH, kill_in_the_middle
from tests.batch.tables import check_missing_bundle, rank, read_ranked, write_questions

pytestmark = [
    pytest.mark.skipif(bool(find_why_no_spark()), reason=find_why_no_spark() or "-"),
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with spark_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")


def test_two_workers_write_the_same_as_one_process(cluster: Cluster, tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 40, group=5)
    packed = PackedScorer("cosinet")
    rank(source, tmp_path / "alone", packed)

    steps = rank(source, tmp_path / "out", packed, SparkExecutor(cluster.address))

    assert (steps[-1].done, steps[-1].rows) == (8, 40)
    assert read_ranked(tmp_path / "out") == read_ranked(tmp_path / "alone")


def test_a_data_frame_is_ranked(cluster: Cluster, tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 10)
    expected = rank_table(pq.read_table(source).to_batches()[0], scorer=load("bm25"), top=2)

    def count_loads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            load_packed_scorer(PackedScorer("jaccard"))
            row = {"pid": os.getpid(), "loads": load_packed_scorer.cache_info().misses}
            yield pa.RecordBatch.from_pylist([row])

    with spark_executor._connecting(cluster.address) as spark:
        places = spark.range(0, 12, 1, numPartitions=12)
        counted = places.mapInArrow(count_loads, "pid bigint, loads bigint").collect()
        frame = spark.read.parquet(str(source))
        ranked = frame.mapInArrow(rank_batches("bm25", top=2), RANKED_COLUMNS).toArrow()

    assert {row["loads"] for row in counted} == {1}  # each process once
    assert len({row["pid"] for row in counted}) <= 2
    assert ranked.sort_by("id").to_pylist() == sorted(
        expected.to_pylist(), key=lambda row: str(row["id"])
    )


def test_a_worker_without_the_bundle_is_named_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    check_missing_bundle(SparkExecutor(cluster.address), tmp_path)


def test_a_killed_worker_loses_and_doubles_no_row(cluster: Cluster, tmp_path: Path) -> None:
    found = kill_in_the_middle(cluster, SparkExecutor, tmp_path / "job")
    cluster.start_worker()

    assert found == (PARTITIONS * ROWS_EACH, 0)


def test_a_master_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 10)
    executor = SparkExecutor(f"spark://127.0.0.1:{find_free_port()}")

    with pytest.raises(InputError, match="no Spark master at spark://127"):
        rank(source, tmp_path / "out", PackedScorer("bm25"), executor)


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 10)

    with pytest.raises(InputError, match="no Spark at nonsense"):
        rank(source, tmp_path / "out", PackedScorer("bm25"), SparkExecutor("nonsense"))


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_questions(tmp_path / "in.parquet", 10)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(InputError, match="apt install default-jre-headless"):
        rank(source, tmp_path / "out", PackedScorer("bm25"), SparkExecutor("local[1]"))
