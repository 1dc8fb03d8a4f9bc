"""The page in Debian's Chromium, over a real server with ten thousand documents."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import add, browser, device, open_page, page
from tests.environments import ROOT
from tests.server.running import serving

__all__ = ["browser", "device", "open_page", "page"]

ENTRIES = 10_000

CASCADE = """\
[[stage]]
scorer = "bm25"
keep = 12

[[stage]]
scorer = "cosinet"
keep = 6

[[stage]]
scorer = "selector"

[calibration]
intercept = 0.0
best = 1.0
margin = 0.0
count = 0.0
threshold = 0.5

[tuned]
dataset = "made-up"
"P@1" = 70.5
predicted_ms = 20.0

[[frontier]]
cascade = "bm25"
"P@1" = 50.0
predicted_ms = 0.5

[[frontier]]
cascade = "bm25 20 > selector"
"P@1" = 70.5
predicted_ms = 20.0
"""


@pytest.fixture(scope="package")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the examples and of many short entries."""
    folder = tmp_path_factory.mktemp("page")
    entries = folder / "ledger.jsonl"
    with entries.open("w", encoding="utf-8") as file:
        for number in range(ENTRIES):
            row = {"title": f"Entry {number}", "text": f"Paid {number} crowns to the chandler."}
            file.write(json.dumps(row) + "\n")
    add(folder / "index", ROOT / "examples/docs", entries)
    return folder / "index"


@pytest.fixture(scope="package")
def address(index: Path) -> Iterator[str]:
    cascade = index.parent / "served.toml"
    cascade.write_text(CASCADE, encoding="utf-8")
    options = ("--scorer", str(cascade), "--workers", "1", "--timeout", "300")
    with serving(index.parent, str(index), *options) as running:
        yield running.address
