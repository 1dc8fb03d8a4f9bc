"""What is printed for machines can be read by them."""

import json

import pytest

from rejoinder.cli.output import print_json


def test_json_has_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"scores": [1.5, float("-inf")], "ms": (float("nan"), 2), "name": "bé"})

    printed = capsys.readouterr().out
    assert json.loads(printed, parse_constant=pytest.fail) == {
        "scores": [1.5, None],
        "ms": [None, 2],
        "name": "bé",
    }
    assert "bé" in printed
