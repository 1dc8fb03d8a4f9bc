"""What a new process costs, and what it needs of the place where rejoinder is installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import rejoinder
from tests.models.conftest import make_cosinet
from tests.unprivileged import without_privilege

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(rejoinder.__file__).parent

SCORE = """
import sys
from pathlib import Path
import rejoinder
from rejoinder.models.kernel import load_kernel

home = Path(rejoinder.__file__).parent
try:
    (home / "written").touch()
except PermissionError:
    pass
else:
    sys.exit("the copy is not read-only")
assert str(home).startswith(sys.argv[2]), home
assert load_kernel() is not None
print(rejoinder.load(sys.argv[1]).score("where is the cat?", ["the cat is here", "it rained"]))
"""


def test_a_new_process_is_quick_and_small() -> None:
    # From a process of its own: a child counts the memory of the one that started it.
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold_start", "--repeats", "3"],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    found = json.loads(result.stdout)
    # Processor time, because a test has the machine not for itself; the benchmark prints both.

    assert found["import_rejoinder"]["cpu_ms"] < 2.5 * found["import_numpy"]["cpu_ms"]
    assert found["rank_100_lines"]["cpu_ms"] < 1500
    assert found["rank_100_lines"]["memory_mb"] < 350
    assert found["ask_index"]["cpu_ms"] < 2000


def test_scores_from_a_read_only_install(tmp_path: Path) -> None:
    command = without_privilege()
    copy = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, copy / "rejoinder", ignore=ignored)
    bundle = make_cosinet(tmp_path / "m", "birnn")
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        result = subprocess.run(
            [*command, sys.executable, "-c", SCORE, str(bundle), str(copy)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(copy)},
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("[")
