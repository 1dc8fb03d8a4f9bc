"""Accessibility: screen readers, phones, the dark theme, reduced motion."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser import Open, ask, set_least

PHONE = {"width": 390, "height": 844}


def list_violations(page: Page) -> list[str]:
    """Return the violations that axe reports, in every view with content."""
    violations = []

    def check(view: str) -> None:
        results = Axe().run(page)
        if results.violations_count:
            violations.append(f"{view}: {results.generate_report()}")

    page.wait_for_selector(".invitation:has-text('sentence')")
    check("before")
    ask(page, "How are glacier caves formed?")
    page.press("#question", "ArrowDown")
    for summary in page.locator(".facet summary").all():
        summary.click()
    page.click("#explain")
    check("answers")
    set_least(page, 99)
    expect(page.get_by_role("button", name="Back to the usual")).to_be_visible()
    check("another threshold")
    ask(page, "Who won the football world cup?")
    check("no answer")
    page.goto(page.url.partition("?")[0] + "?document=1&at=195")
    expect(page.locator("#sentence")).to_be_visible()
    check("document")
    page.goto(page.url.partition("?")[0] + "#text")
    check("paste")
    page.goto(page.url.partition("#")[0] + "#documents")
    page.wait_for_selector("#documents-list li")
    page.set_input_files("#files", {"name": "x.exe", "mimeType": "application/x", "buffer": b"MZ"})
    expect(page.locator("#uploads-status")).to_contain_text("1 skipped")
    check("documents")
    page.locator("#documents-list button").first.click()
    check("removing")
    return violations


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", [{}, {"viewport": PHONE, "is_mobile": True, "has_touch": True}])
def test_axe_reports_no_violation(open_page: Open, scheme: str, device: dict[str, object]) -> None:
    page = open_page(color_scheme=scheme, reduced_motion="reduce", **device)

    assert list_violations(page) == []


def test_page_fits_a_phone(open_page: Open) -> None:
    page = open_page(viewport=PHONE, is_mobile=True, has_touch=True)
    page.wait_for_selector(".invitation:has-text('sentence')")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

    ask(page, "How are glacier caves formed?")
    for summary in page.locator(".facet summary").all():
        summary.click()
    assert page.evaluate(overflow) <= 0
    box = page.locator(".answer").first.bounding_box()
    assert box is not None
    assert box["width"] > 320
    for view in ("Paste", "Documents"):
        page.click(f"nav >> text={view}")
        assert page.evaluate(overflow) <= 0
    page.wait_for_selector("#documents-list li")
    assert page.evaluate(overflow) <= 0
    page.locator("#documents-list .title").first.click()
    page.wait_for_selector("#reading-text p")
    assert page.evaluate(overflow) <= 0


TOO_SMALL = """() => [...document.querySelectorAll(
        "button, summary, nav a, a.source, a.title, #question, #least, select, label:has(input)")]
    .filter((element) => element.checkVisibility())
    .map((element) => [element.getBoundingClientRect().height, element.outerHTML.slice(0, 80)])
    .filter(([height]) => height < 43.5)"""


def test_touch_targets_are_large(open_page: Open) -> None:
    page = open_page(viewport=PHONE, is_mobile=True, has_touch=True)
    page.wait_for_selector(".invitation:has-text('sentence')")

    ask(page, "How are glacier caves formed?")
    for summary in page.locator(".facet summary").all():
        summary.click()
    set_least(page, 99)
    assert page.evaluate(TOO_SMALL) == []
    page.click("nav >> text=Documents")
    page.wait_for_selector("#documents-list li")
    assert page.evaluate(TOO_SMALL) == []


def test_dark_theme_is_dark(open_page: Open) -> None:
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


def test_reduced_motion_is_respected(open_page: Open) -> None:
    page = open_page(reduced_motion="reduce")

    assert page.evaluate("getComputedStyle(results).transitionDuration") == "0s"


def test_layout_does_not_shift(open_page: Open) -> None:
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
