from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.training.context import make_run  # noqa: E402

from rejoinder.papers.context_runs import Run  # noqa: E402
from rejoinder.papers.kept_runs import KeptRuns  # noqa: E402


def test_a_cascade_sees_only_what_is_kept() -> None:
    run = Run("none", 0, 1, "int8", {}, [[False, True, True]], [[0.5, 0.7, 0.9]])

    assert [run.measure_cascade(keep) for keep in (1, 2, 3)] == [[0.0], [1.0], [1.0]]


def test_a_run_is_kept_whole(tmp_path: Path) -> None:
    runs = [make_run("none", 0, 1)]
    KeptRuns(tmp_path / "runs.jsonl", Run).keep(runs)

    assert KeptRuns(tmp_path / "runs.jsonl", Run).done == runs
