"""Take the screenshots of the web page for README and docs, with Debian's Chromium.

Usage: python -m docs.make_screenshots [CASCADE]

Serves the examples and the decision records with the default cascade or the given one, and writes
docs/page-*.png.  Install Debian's fonts-inter and fonts-vollkorn first.
"""

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.server.running import serving

from rejoinder.index.index import Index

DOCS = Path(__file__).parent
QUESTION = "How do sailors tell lighthouses apart?"
UNANSWERABLE = "Who won the football world cup?"
OTHER = "How long do glacier caves last?"
WIDE = ViewportSize(width=1180, height=860)
PHONE = ViewportSize(width=390, height=844)


def main() -> None:
    scorer = ["--scorer", sys.argv[1]] if sys.argv[1:] else []
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        fill(index)
        with (
            serving(Path(folder), str(index), "--workers", "1", *scorer) as running,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"),
                args=["--no-sandbox"],
            )
            take_all(browser, running.address)
            browser.close()


def fill(index: Path) -> None:
    """Index the examples and the decision records."""
    with Index(index, create=True) as writer:
        writer.add([DOCS.parent / "examples/docs", DOCS / "decisions"])


def take_all(browser: Browser, address: str) -> None:
    """Write every screenshot."""
    page = browser.new_page(viewport=WIDE)
    page.goto(address)
    ask(page)
    take(page, "page-light")
    page.emulate_media(color_scheme="dark")
    take(page, "page-dark")
    page.emulate_media(color_scheme="light")
    page.click("#explain")
    take(page, "page-explained")
    page.click("#explain")
    ask(page, UNANSWERABLE)
    take(page, "page-abstention")
    ask(page, OTHER)
    page.locator(".answer .source").first.click()
    page.wait_for_selector("#sentence")
    show_short_names(page)
    take(page, "page-document")
    page = browser.new_page(viewport=WIDE)
    page.goto(f"{address}/#documents")
    page.wait_for_selector("#documents-list li")
    show_short_names(page)
    take(page, "page-documents")
    page = browser.new_page(viewport=PHONE, device_scale_factor=2)
    page.goto(address)
    ask(page)
    take(page, "page-phone")
    page.locator(".answer .source").first.click()
    page.wait_for_selector("#sentence")
    show_short_names(page)
    take(page, "page-phone-document")


def ask(page: Page, question: str = QUESTION) -> None:
    """Ask three times, so that the shown time is that of a warm server, then drop the focus."""
    for _ in range(3):
        page.fill("#question", question)
        with page.expect_response("**/v1/answer"):
            page.press("#question", "Enter")
        page.wait_for_selector("#results[aria-busy=false] .answer")
    page.locator("#question").blur()


def show_short_names(page: Page) -> None:
    """Show paths relative to the repository."""
    page.evaluate(
        """(root) => document.querySelectorAll(".path").forEach(
            (path) => (path.textContent = path.textContent.replace(root, "")))""",
        f"{DOCS.parent}/",
    )


def take(page: Page, name: str) -> None:
    """Write one screenshot in 256 colours: a third of the size without a visible difference."""
    path = DOCS / f"{name}.png"
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
