"""What `rejoinder` says on a terminal where the compiled kernel was not built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.terminal import on_terminal

import rejoinder
from rejoinder.models.kernel import LIBRARY, load_library
from rejoinder.models.transformer_kernel import has_transformer

NOTE = (
    "note: int8 transformers run in onnxruntime: the compiled kernel was not built; slower, with"
    " scores within the tolerance of each manifest\n"
)
QUESTION = "When is green tea bitter?"


@pytest.fixture(scope="module")
def without_kernel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a package that has no compiled kernel."""
    folder = tmp_path_factory.mktemp("package")
    source = Path(rejoinder.__path__[0])
    ignored = shutil.ignore_patterns(LIBRARY.name, "weights", "__pycache__")
    package = shutil.copytree(source, folder / "rejoinder", ignore=ignored)
    (package / "weights").symlink_to(source / "weights")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("Green tea is bitter when it is too hot.\n\nIt is green.\n", encoding="utf-8")
    return path


def test_rank_says_why_it_is_slower(
    texts: Path, tmp_path: Path, without_kernel: dict[str, str]
) -> None:
    rank = ("rank", QUESTION, texts)
    with on_terminal(*rank, folder=tmp_path, environment=without_kernel) as terminal:
        assert terminal.wait() == 0
    assert terminal.shown.count(NOTE) == 1

    with on_terminal(*rank, "--json", folder=tmp_path, environment=without_kernel) as terminal:
        assert terminal.wait() == 0
    assert "onnxruntime" not in terminal.shown

    command = [sys.executable, "-m", "rejoinder", *map(str, rank)]
    environment = {**os.environ, **without_kernel}
    piped = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "Green tea" in piped.stdout
    assert "onnxruntime" not in piped.stderr


def test_ask_says_it_once_for_all_questions(
    texts: Path, tmp_path: Path, without_kernel: dict[str, str]
) -> None:
    questions = tmp_path / "questions"
    questions.write_text(f"{QUESTION}\nWhat is green?\n", encoding="utf-8")
    ask = ("ask", "--questions", questions, texts)

    with on_terminal(*ask, folder=tmp_path, environment=without_kernel) as terminal:
        assert terminal.wait() == 0

    assert terminal.shown.count("\n? ") == 2
    assert terminal.shown.count(NOTE) == 1


@pytest.mark.skipif(
    (library := load_library()) is None or not has_transformer(library),
    reason="the kernel was not built, or this processor has no AVX-512 VNNI",
)
def test_nothing_is_said_with_the_kernel(texts: Path, tmp_path: Path) -> None:
    with on_terminal("rank", QUESTION, texts, folder=tmp_path) as terminal:
        assert terminal.wait() == 0

    assert "Green tea" in terminal.shown
    assert "note:" not in terminal.shown
