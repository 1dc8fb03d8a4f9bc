from pathlib import Path

import pytest

from rejoinder.errors import InputError
from rejoinder.evaluation.plots import plotting


@pytest.mark.parametrize("panels", [1, 2])
def test_one_legend_beside_all_panels(tmp_path: Path, panels: int) -> None:
    with plotting(tmp_path / "a.png", panels=panels, legend_beside=True) as axes:
        every = axes if panels > 1 else [axes]
        for panel in every:
            panel.plot([1, 2], label="a line")

    figure = every[0].figure
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a line"]
    assert all(panel.get_legend() is None for panel in every)
    assert (tmp_path / "a.png").stat().st_size > 0


def test_without_it_each_panel_has_its_own(tmp_path: Path) -> None:
    with plotting(tmp_path / "a.png", panels=2) as axes:
        for panel in axes:
            panel.plot([1, 2], label="a line")

    assert all(panel.get_legend() for panel in axes)
    assert axes[0].figure.legends == []


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"cannot plot .*a\.nothing"),
        plotting(tmp_path / "a.nothing") as axes,
    ):
        axes.plot([1, 2], label="a line")
