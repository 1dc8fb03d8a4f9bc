"""The page for everyone: screen readers, phones, the dark, and those whom motion makes ill."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.server.page.conftest import Open, ask

PHONE = {"width": 360, "height": 740}


def go_through(page: Page) -> list[str]:
    """Return what axe finds in every view, with something in it."""
    found = []

    def check(what: str) -> None:
        results = Axe().run(page)
        if results.violations_count:
            found.append(f"{what}: {results.generate_report()}")

    page.wait_for_selector(".invitation:has-text('sentence')")
    check("before")
    ask(page, "How are glacier caves formed?")
    page.press("#question", "ArrowDown")
    check("answers")
    ask(page, "Who won the football world cup?")
    check("no answer")
    page.goto(page.url.partition("#")[0] + "#text")
    check("paste")
    page.goto(page.url.partition("#")[0] + "#documents")
    page.wait_for_selector("#documents-list li")
    page.set_input_files("#files", {"name": "x.exe", "mimeType": "application/x", "buffer": b"MZ"})
    expect(page.locator("#uploads-status")).to_contain_text("1 skipped")
    check("documents")
    page.locator("#documents-list button").first.click()
    check("removing")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page: Open, scheme: str) -> None:
    page = open_page(color_scheme=scheme, reduced_motion="reduce")

    assert go_through(page) == []


def test_a_phone_is_wide_enough(open_page: Open) -> None:
    page = open_page(viewport=PHONE, is_mobile=True, has_touch=True)
    page.wait_for_selector(".invitation:has-text('sentence')")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

    ask(page, "How are glacier caves formed?")
    assert page.evaluate(overflow) <= 0
    box = page.locator(".answer").first.bounding_box()
    assert box is not None
    assert box["width"] > 320
    for view in ("Paste", "Documents"):
        page.click(f"nav >> text={view}")
        assert page.evaluate(overflow) <= 0


def test_the_dark_is_dark(open_page: Open) -> None:
    def measure(scheme: str) -> tuple[int, int]:
        page = open_page(color_scheme=scheme)
        colours = page.evaluate(
            "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name])"
        )
        background, ink = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
        return background, ink

    light, dark = measure("light"), measure("dark")

    assert light[0] > 600 > light[1]
    assert dark[0] < 150 < 600 < dark[1]


def test_who_wants_no_motion_gets_none(open_page: Open) -> None:
    page = open_page(reduced_motion="reduce")

    assert page.evaluate("getComputedStyle(found).transitionDuration") == "0s"


def test_nothing_jumps(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".invitation:has-text('sentence')")
    page.wait_for_timeout(300)

    shift = page.evaluate("""() => new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(sum), 200);
    })""")

    assert shift < 0.02
