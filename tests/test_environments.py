import subprocess
from pathlib import Path

import pytest

from tests import environments
from tests.environments import make_environment


def test_an_environment_extends_ours_and_is_created_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "HOME", tmp_path)
    requirements = tmp_path / "small.txt"
    requirements.write_text("# no packages\n")

    python = make_environment("small", requirements)

    subprocess.run([str(python), "-c", "import numpy, pytest"], check=True)
    mark = tmp_path / "small" / "mark"
    mark.touch()
    make_environment("small", requirements)
    assert mark.exists()
    requirements.write_text("# changed\n")
    make_environment("small", requirements)
    assert not mark.exists()


def test_a_failed_installation_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "HOME", tmp_path)
    requirements = tmp_path / "broken.txt"
    requirements.write_text("./nowhere\n")

    with pytest.raises(SystemExit, match=r"broken\.txt cannot be installed: .*nowhere"):
        make_environment("broken", requirements)
