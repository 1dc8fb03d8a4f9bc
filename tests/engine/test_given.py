"""Texts that a caller gives: HTML is recognised, in linear time."""

import time

import pytest

from rejoinder.engine.given import is_html

MAX_SECONDS = 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<html><p>Ada.", True),
        ("\ufeff\n<!DOCTYPE html><p>Ada.", True),
        ('<?xml version="1.0"?>\n<!-- a -->\n<!-- b --> <html>', True),
        ("<!-- a > b -- c --><html>", True),
        ("<!----><!----><html>", True),
        ("<!-- a -->Ada.", False),
        ("<p>Ada.</p>", False),
        ("<htmlx>", False),
        ("Ada <html>", False),
    ],
)
def test_a_page_is_told_by_its_beginning(text: str, expected: bool) -> None:
    assert is_html(text) is expected


@pytest.mark.parametrize("unit", ["<!---->", "<!-- -->", "<!----> ", "<?xml>", "<?xml> ", " ", "<"])
def test_a_beginning_that_never_ends_takes_linear_time(unit: str) -> None:
    start = time.process_time()

    assert not is_html(unit * 2_000 + "x")

    assert time.process_time() - start < MAX_SECONDS
