"""docs/rehearsal.md: a newcomer's first hour, as the page says it goes."""

from pathlib import Path

from tests.browser import find_chromium
from tests.newcomers.clone import make_clone
from tests.newcomers.rehearsal import PAGE, get_limit, mask, read_page, rehearse


def test_the_page_is_what_a_newcomer_sees(tmp_path: Path) -> None:
    stated = read_page(PAGE.read_text(encoding="utf-8"))
    assert len(stated) > 15
    find_chromium()  # before minutes are spent on the steps without it

    seen = rehearse(make_clone(tmp_path), [item.step for item in stated])

    for item, own in zip(stated, seen, strict=True):
        assert mask(own.output) == mask(item.output), item.step.code
        assert own.seconds <= get_limit(item.seconds), (item.step.code, own.seconds)
