"""Kills a worker in the middle of a job, and holds the output against that of one process."""

from collections.abc import Callable
from pathlib import Path

from rejoinder.batch.job import Executor, run_job
from rejoinder.batch.packed_scorer import PackedScorer
from tests.batch.clusters import Cluster
from tests.batch.tables import read_ranked, write_questions

PARTITIONS = 60
ROWS_EACH = 10


def kill_in_the_middle(
    cluster: Cluster, make_executor: Callable[[str], Executor], folder: Path
) -> tuple[int, int]:
    """Run a job, kill a worker while most of it is left, and return how many rows there are.

    The second number counts the rows that are not as one process has them, in the same place.
    """
    folder.mkdir(parents=True)
    source = write_questions(
        folder / "in.parquet", PARTITIONS * ROWS_EACH, group=ROWS_EACH, candidates=30
    )
    packed = PackedScorer("bm25")
    list(run_job(source, folder / "alone", scorer=packed))
    executor = make_executor(cluster.address)
    has_killed = False
    for at in run_job(source, folder / "out", scorer=packed, executor=executor):
        if not has_killed and at.done >= 3:
            assert at.done < PARTITIONS, "the job was over too soon to be disturbed"
            cluster.kill_worker()
            has_killed = True
    assert has_killed
    expected, found = read_ranked(folder / "alone"), read_ranked(folder / "out")
    if found == expected:
        return found.num_rows, 0
    wrong = sum(
        mine != theirs
        for mine, theirs in zip(found.to_pylist(), expected.to_pylist(), strict=False)
    )
    return found.num_rows, wrong + abs(found.num_rows - expected.num_rows)
