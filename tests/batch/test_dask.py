"""On a real Dask cluster: a scheduler and two workers, each a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.batch import dask
from rejoinder.batch.dask import DaskExecutor
from rejoinder.batch.job import run_job
from rejoinder.batch.packed_scorer import PackedScorer, load_packed_scorer, pack_scorer
from rejoinder.errors import InputError
from tests.batch.clusters import Cluster, dask_cluster, find_free_port
from tests.batch.killing import PARTITIONS, ROWS_EACH, kill_in_the_middle
from tests.batch.tables import check_missing_bundle, rank, read_ranked, write_questions
from tests.batch.test_packed_scorer import write_cascade

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with dask_cluster() as cluster:
        yield cluster


def test_two_workers_write_the_same_as_one_process(cluster: Cluster, tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 60, group=5)
    packed = PackedScorer("cosinet")
    rank(source, tmp_path / "alone", packed)

    steps = rank(source, tmp_path / "out", packed, DaskExecutor(cluster.address))

    assert (steps[-1].done, steps[-1].rows) == (12, 60)
    assert read_ranked(tmp_path / "out") == read_ranked(tmp_path / "alone")


def test_each_worker_loads_the_model_once(cluster: Cluster, tmp_path: Path) -> None:
    from distributed import Client

    source = write_questions(tmp_path / "in.parquet", 60, group=2)
    with Client(cluster.address, set_as_default=False) as client:
        client.run(load_packed_scorer.cache_clear)
        rank(source, tmp_path / "out", PackedScorer("jaccard"), DaskExecutor(cluster.address))
        counted = client.run(lambda: tuple(load_packed_scorer.cache_info()))

    assert [counts[1] for counts in counted.values()] == [1, 1]
    assert sum(counts[0] for counts in counted.values()) == 28  # 30 partitions, 2 loads


def test_files_of_a_model_can_be_sent(cluster: Cluster, tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 10)
    packed = pack_scorer(str(write_cascade(tmp_path / "mine")), send=True)
    (tmp_path / "mine").rename(tmp_path / "elsewhere")  # no worker can open it by its path

    steps = rank(source, tmp_path / "out", packed, DaskExecutor(cluster.address))

    assert steps[-1].rows == 10


def test_a_worker_without_the_bundle_is_named_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    check_missing_bundle(DaskExecutor(cluster.address), tmp_path)


def test_a_killed_worker_loses_and_doubles_no_row(cluster: Cluster, tmp_path: Path) -> None:
    found = kill_in_the_middle(cluster, DaskExecutor, tmp_path / "job")
    cluster.start_worker()

    assert found == (PARTITIONS * ROWS_EACH, 0)


def test_without_an_address_a_cluster_is_made_here(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 10, group=5)

    steps = rank(source, tmp_path / "out", PackedScorer("bm25"), DaskExecutor())

    assert steps[-1].rows == 10


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "nonsense://x"])
def test_a_scheduler_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1)
    source = write_questions(tmp_path / "in.parquet", 10)
    executor = DaskExecutor(address.format(port=find_free_port()))

    with pytest.raises(InputError, match=f"no Dask scheduler at {address[:6]}"):
        rank(source, tmp_path / "out", PackedScorer("bm25"), executor)


def test_workers_that_never_come_and_workers_that_go_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 60)
    monkeypatch.setattr(dask, "FIRST_WORKER_SECONDS", 1)
    monkeypatch.setattr(dask, "MAX_SECONDS_WITHOUT_WORKERS", 1)
    source = write_questions(tmp_path / "in.parquet", 400, group=2)
    job = {"scorer": PackedScorer("bm25")}
    with dask_cluster(workers=0) as cluster:
        executor = DaskExecutor(cluster.address)
        with pytest.raises(InputError, match="has no workers"):
            list(run_job(source, tmp_path / "out", executor=executor, **job))  # type: ignore[arg-type]

        monkeypatch.setattr(dask, "FIRST_WORKER_SECONDS", 120)
        cluster.start_worker()
        steps = run_job(source, tmp_path / "out", executor=executor, **job)  # type: ignore[arg-type]
        assert next(steps).done == 0
        assert next(steps).done == 1
        cluster.kill_worker()
        with pytest.raises(InputError, match="no worker is left at"):
            list(steps)

    # What was done stays done, and goes on without a cluster.
    steps = run_job(source, tmp_path / "out", **job)  # type: ignore[arg-type]
    assert next(steps).done >= 1
    list(steps)
    assert read_ranked(tmp_path / "out").num_rows == 400
