from pathlib import Path

import pytest

from rejoinder.storage.cache import get_cache_folder


def test_the_environment_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / "rejoinder"

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert get_cache_folder() == tmp_path / "home" / ".cache" / "rejoinder"
