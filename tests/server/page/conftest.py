"""The page in Debian's Chromium, over a real server with ten thousand documents."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from rejoinder.index.index import Index
from tests.environments import ROOT
from tests.server.running import serving

ENTRIES = 10_000
TIMEOUT_MS = 60_000
"""Generous, for a busy machine."""
expect.set_options(timeout=TIMEOUT_MS)

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

Open = Callable[..., Page]


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


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        pytest.skip("needs Chromium: apt-get install chromium, or set $CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Return a function that opens the page in a new browser context; it must log no error."""
    contexts = []
    problems: list[str] = []

    def open_(view: str = "", *, at: str = address, **settings: object) -> Page:
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{at}/{view}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(open_page: Open) -> Page:
    page = open_page()
    page.wait_for_selector(".invitation:has-text('sentence')")
    return page


def add(index: Path, *paths: Path) -> None:
    with Index(index, create=True) as opened:
        opened.add(paths)


def fill(index: Path, text: str) -> None:
    """Create an index with one document."""
    file = index.parent / "document.txt"
    file.write_text(text, encoding="utf-8")
    add(index, file)


def ask(page: Page, question: str) -> None:
    """Ask as a user does, and wait for the reply."""
    page.fill("#question", question)
    with page.expect_response("**/v1/answer"):
        page.press("#question", "Enter")
    page.wait_for_selector("#results[aria-busy=false] :is(.answer, .plain)")
