"""Names and paths of scorers."""

from pathlib import Path

import pytest

from rejoinder.cascade.loading import pin


def test_a_pinned_path_stays_where_its_link_led(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two", "bm25", "default"):
        Path(name).mkdir()
    Path("current").symlink_to("one")

    pinned = pin("current")
    Path("current").unlink()
    Path("current").symlink_to("two")

    assert pinned == str(tmp_path / "one")
    assert pin("current") == str(tmp_path / "two")
    # A name is not taken for a folder that is called the same, and is pinned by nothing else.
    assert [pin(name) for name in ("bm25", "default", "nowhere")] == ["bm25", "default", "nowhere"]
