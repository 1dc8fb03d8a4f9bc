"""Accessibility: screen readers, phones, the dark theme, reduced motion."""

import hashlib
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from rejoinder.index.index import Index
from tests.browser import PHONE, Open, ask, set_least
from tests.documents.files import make_pdf
from tests.server.running import serving


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
    ask(page, "Wie viele bees leben in einer colony?")
    expect(page.locator("#results .note")).to_be_visible()
    check("note")
    page.goto(page.url.partition("?")[0] + "?document=1&at=195")
    expect(page.locator("#sentence")).to_be_visible()
    check("document")
    page.goto(page.url.partition("?")[0] + "#text")
    check("paste")
    page.fill("#text", "Bees dance at noon.\n\nThey rest at night.")
    ask(page, "When do bees dance?")
    check("answers from a text")
    page.goto(page.url.partition("#")[0] + "#documents")
    page.wait_for_selector("#documents-list li")
    page.set_input_files("#files", {"name": "x.exe", "mimeType": "application/x", "buffer": b"MZ"})
    expect(page.locator("#uploads-status")).to_contain_text("1 skipped")
    check("documents")
    page.locator("#documents-list button").first.click()
    check("removing")
    return violations


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", [{}, PHONE])
def test_axe_reports_no_violation(open_page: Open, scheme: str, device: dict[str, object]) -> None:
    page = open_page(color_scheme=scheme, reduced_motion="reduce", **device)

    assert list_violations(page) == []


def test_axe_reports_no_violation_in_rare_states(open_page: Open, tmp_path: Path) -> None:
    """Blocks of all kinds, a PDF with metadata, an empty index, a key, and no server."""
    violations = []

    def check(page: Page, view: str) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            results = Axe().run(page)
            if results.violations_count:
                violations.append(f"{view}, {scheme}: {results.generate_report()}")

    (tmp_path / "tides.pdf").write_bytes(make_pdf(["Tides rise at noon."], ["They fall at night."]))
    (tmp_path / "ports.md").write_text(BLOCKS, encoding="utf-8")
    with Index(tmp_path / "index", create=True) as index:
        index.add([tmp_path / "tides.pdf"], metadata={"author": "Nobody"})
        index.add([tmp_path / "ports.md"])
    (tmp_path / "ports.md").unlink()
    keys = tmp_path / "keys.txt"
    keys.write_text(f"sha256:{hashlib.sha256(b'open-sesame').hexdigest()} tests\n")
    options = ("--scorer", "jaccard", "--workers", "1", "--keys", str(keys))
    with serving(tmp_path, str(tmp_path / "index"), *options) as running:
        page = open_page(at=running.address, **PHONE)
        expect(page.locator("#key")).to_be_visible()
        check(page, "key")
        page.fill("#key", "open-sesame")
        page.press("#key", "Enter")
        ask(page, "Which port of the harbour?")
        expect(page.locator(".answer .warning").first).to_be_visible()
        assert page.locator(".answer pre, .answer table, .answer ul").count() >= 2
        check(page, "blocks")
        page.locator(".answer .source").first.click()
        expect(page.locator("#reading-change")).to_contain_text("gone")
        expect(page.locator("#reading pre, #reading table, #reading .chunk ul")).to_have_count(3)
        check(page, "document with blocks")
        page.click("nav >> text=Documents")
        page.locator("#documents-list .title", has_text="tides").click()
        expect(page.locator(".page-number")).to_have_text(["Page 1", "Page 2"])
        expect(page.locator(".metadata")).to_contain_text("Nobody")
        check(page, "PDF")
        page.click("nav >> text=Documents")
        page.get_by_label("Select all on this page").check()
        page.get_by_role("button", name="Remove 2 documents").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.locator("#documents-list li")).to_have_count(0)
        check(page, "no documents")
        page.click("nav >> text=Ask")
        expect(page.locator(".invitation, .plain").first).to_contain_text("o")
        check(page, "empty index")
        running.process.kill()
        running.process.wait()
        page.fill("#question", "Who dances?")
        page.press("#question", "Enter")
        expect(page.locator("#connection")).to_be_visible()
        expect(page.locator("#results[aria-busy=false]")).to_be_visible()
        check(page, "no server")
    assert violations == []


BLOCKS = """\
# Ports

The ports of the harbour:

- Port 22 of the harbour.
- Port 80 of the harbour.

| Port | Use in the harbour |
|------|--------------------|
| 22   | Cranes             |
| 80   | Ships              |

Open a port of the harbour like this:

    harbour open 22
"""


def test_page_fits_a_phone(open_page: Open) -> None:
    page = open_page(**PHONE)
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
    page = open_page(**PHONE)
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
