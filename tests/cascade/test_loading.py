"""Names and paths of scorers."""

from pathlib import Path

import pytest

from rejoinder.cascade.loading import pin, to_scorer
from rejoinder.errors import UnknownNameError
from rejoinder.models.lexical.scorers import WordOverlap


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


def test_a_scorer_is_taken_by_its_name_or_as_it_is() -> None:
    scorer = WordOverlap()

    assert to_scorer(scorer) is scorer
    assert to_scorer("bm25").name == "bm25"
    with pytest.raises(UnknownNameError, match="unknown scorer 'bm52'; did you mean 'bm25'"):
        to_scorer("bm52")
