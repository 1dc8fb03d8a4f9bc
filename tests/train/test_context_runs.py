from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rejoinder.errors import InputError  # noqa: E402
from rejoinder.train.context_runs import Run, append_run, read_runs  # noqa: E402
from tests.train.context import make_run  # noqa: E402


def test_a_cascade_sees_only_what_is_kept() -> None:
    run = Run("none", 0, 1, 1, 1.0, "int8", {}, [[False, True, True]], [[0.5, 0.7, 0.9]])

    assert [run.measure_cascade(keep) for keep in (1, 2, 3)] == [[0.0], [1.0], [1.0]]


def test_runs_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_run(path, make_run("none", 0, 1))

    assert read_runs(path) == [make_run("none", 0, 1)]
    path.write_text('{"other": 1}\n')
    with pytest.raises(InputError, match="not a file of runs"):
        read_runs(path)
