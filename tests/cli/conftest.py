"""Shared by tests of trainings: questions that a tiny encoder can learn."""

import json
from pathlib import Path

import pytest

WORDS = ["ice", "water", "cave", "rock", "summer", "winter", "river", "stone"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Return a data set of one question about each word."""
    path = tmp_path / "mine.jsonl"
    lines = [
        {
            "question": f"where is the {word}?",
            "candidates": [
                {"text": "it rained in winter", "label": 0, "position": 0},
                {"text": f"the {word} is here", "label": 1, "position": 1},
            ],
        }
        for word in WORDS
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Return a tiny encoder with new weights."""
    from tests.models.selectors import write_encoder

    return write_encoder(tmp_path / "encoder")
