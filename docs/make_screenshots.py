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
from playwright.sync_api import Browser, Page, Route, ViewportSize, sync_playwright
from tests.server.running import serving

from rejoinder.index.index import Index

DOCS = Path(__file__).parent
QUESTION = "How do sailors tell lighthouses apart?"
UNANSWERABLE = "Who won the football world cup?"
OTHER = "How long do glacier caves last?"
PASTED = "How do bees tell each other where flowers are?"
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
    take_answers(page)
    page.goto(address)
    take_filters(page)
    page.goto(f"{address}/#text")
    take_paste(page)
    page.goto(f"{address}/#documents")
    take_documents(page)
    take_phone(
        browser.new_page(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True),
        address,
    )
    page.reload()
    take_upload(page)


def take_answers(page: Page) -> None:
    """Ask, in both themes, with the explanation and a document."""
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
    open_document(page)
    take(page, "page-document")


def take_filters(page: Page) -> None:
    """Ask in one folder, with the threshold open."""
    ask(page)
    page.locator("#filters summary", has_text="Folder").click()
    page.get_by_label("examples/docs").check()
    page.locator("#filters .chosen").wait_for()
    page.locator("#sureness summary").click()
    ask(page)
    take(page, "page-filters")


def take_paste(page: Page) -> None:
    """Ask a pasted text."""
    page.fill("#text", (DOCS.parent / "examples/docs/honeybees.md").read_text(encoding="utf-8"))
    page.evaluate("document.querySelector('#text').scrollTop = 0")
    ask(page, PASTED)
    take(page, "page-paste")


def take_documents(page: Page) -> None:
    """List the documents, in both themes."""
    page.wait_for_selector("#documents-list li")
    show_short_names(page)
    take(page, "page-documents")
    page.emulate_media(color_scheme="dark")
    take(page, "page-documents-dark")
    page.emulate_media(color_scheme="light")


def take_phone(page: Page, address: str) -> None:
    """Ask, open a document and list the documents on a phone."""
    page.goto(address)
    ask(page)
    take(page, "page-phone")
    open_document(page)
    take(page, "page-phone-document")
    page.goto(f"{address}/#documents")
    page.wait_for_selector("#documents-list li")
    show_short_names(page)
    take(page, "page-phone-documents")


def take_upload(page: Page) -> None:
    """Add a folder, and hold the server's reply to its third file."""
    page.wait_for_selector("#documents-list li")
    files = sorted(DOCS.glob("models/*.md"))
    held: list[Route] = []

    def hold_third(route: Route) -> None:
        held.append(route)
        if len(held) != 3:
            route.continue_()

    page.route("**/v1/documents?name=*", hold_third)
    page.set_input_files("#folder", DOCS / "models")
    page.locator("#uploads-list .added").nth(1).wait_for()
    show_short_names(page)
    take(page, "page-uploads")
    held[2].continue_()
    page.locator("#uploads-list .added").nth(len(files) - 1).wait_for()


def open_document(page: Page) -> None:
    """Open the document of the first answer."""
    page.locator(".answer .source").first.click()
    page.wait_for_selector("#sentence")
    show_short_names(page)


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
