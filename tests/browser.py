"""The web page in Debian's Chromium: fixtures for a conftest that has an `address`, and helpers."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright

from rejoinder.index.index import Index

TIMEOUT_MS = 60_000
"""Generous, for a busy machine."""
expect.set_options(timeout=TIMEOUT_MS)

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}

Open = Callable[..., Page]


def find_chromium() -> str:
    """Return the path of Chromium, or skip the test."""
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        pytest.skip("needs Chromium: apt-get install chromium, or set $CHROMIUM")
    return executable


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run a browser for a module: an event loop runs meanwhile, which other modules may need."""
    executable = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def device() -> dict[str, object]:
    """Return the settings of browser contexts; a conftest may have others."""
    return {}


@pytest.fixture
def open_page(browser: Browser, address: str, device: dict[str, object]) -> Iterator[Open]:
    """Return a function that opens the page in a new browser context; it must log no error."""
    contexts = []
    problems: list[str] = []

    def open_(view: str = "", *, at: str = address, **settings: object) -> Page:
        context = browser.new_context(**{**device, **settings})  # type: ignore[arg-type]
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
    with page.expect_response(lambda reply: _get_question(reply) == question):
        page.press("#question", "Enter")
    page.wait_for_selector("#results[aria-busy=false] :is(.answer, .plain)")


def _get_question(reply: Response) -> str | None:
    """Return the question that this response answers; None if it answers none."""
    if not reply.url.endswith("/v1/answer"):
        return None
    body = reply.request.post_data_json
    return body["question"] if body else None


def set_least(page: Page, share: int) -> None:
    """Move the slider as a user does, and wait for the reply."""
    with page.expect_response("**/v1/answer"):
        page.locator("#least").fill(str(share))
    page.wait_for_selector("#results[aria-busy=false]")
