"""Lists, tables and code in answers and in the document view, from a real server."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import Open, add, ask
from tests.server.running import serving

MANUAL = """\
# Harbour daemon

## Ports

The daemon listens on three ports:

- The signal port of the harbour is 22.
- The crane port of the harbour is 80.

## Starting

Nobody has to be root. Start the harbour daemon with this command:

```
harbour start \\
    --berth <i>7</i>

harbour status
```

## Fees

| Vessel | Fee      |
|--------|----------|
| Sloop  | 9 crowns |
| Barge  | &lt;b&gt;14&lt;/b&gt; crowns |

Fees are due at noon.
"""
PLAIN = """\
Lamps

To light the lamp of the pier, type:

    lamp --oil
      whale

The lamp burns
until dawn.
"""
CODE = "harbour start \\\n    --berth <i>7</i>\n\nharbour status"


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server with two manuals."""
    folder = tmp_path_factory.mktemp("manual")
    (folder / "a.md").write_text(MANUAL, encoding="utf-8")
    (folder / "b.txt").write_text(PLAIN, encoding="utf-8")
    add(folder / "index", folder / "a.md", folder / "b.txt")
    options = (str(folder / "index"), "--scorer", "jaccard", "--workers", "1")
    with serving(folder, *options) as running:
        yield running.address


@pytest.fixture
def page(open_page: Open, manual: str) -> Page:
    page = open_page(at=manual)
    page.wait_for_selector(".invitation:has-text('sentence')")
    return page


def ask_first(page: Page, question: str) -> Locator:
    """Ask, and return the first answer's passage."""
    ask(page, question)
    return page.locator(".answer .passage").first


def test_a_list_is_a_list_below_its_lead_in(page: Page) -> None:
    passage = ask_first(page, "Which is the crane port?")

    expect(passage.locator("p")).to_have_text("The daemon listens on three ports:")
    expect(passage.locator("li")).to_have_text(
        ["The signal port of the harbour is 22.", "The crane port of the harbour is 80."]
    )
    expect(passage.locator("li mark")).to_have_text("The crane port of the harbour is 80.")


def test_a_table_has_columns(page: Page) -> None:
    passage = ask_first(page, "Which fee in crowns for a vessel, the barge?")

    expect(passage.locator("th")).to_have_text(["Vessel", "Fee"])
    expect(passage.locator("td")).to_have_text(["Sloop", "9 crowns", "Barge", "<b>14</b> crowns"])
    expect(passage.locator("mark")).to_have_text(["Barge", "<b>14</b> crowns"])
    assert page.locator("#results :is(b, i)").count() == 0


def test_code_keeps_its_lines_below_its_lead_in(page: Page) -> None:
    passage = ask_first(page, "With which command to start the harbour daemon?")

    expect(passage.locator("p")).to_have_text(
        "Nobody has to be root. Start the harbour daemon with this command:"
    )
    assert passage.locator("pre").inner_text() == CODE
    # The sentence is the lead-in and its code: both are marked.
    expect(passage.locator("p mark")).to_have_text("Start the harbour daemon with this command:")
    assert passage.locator("pre mark").inner_text() == CODE
    assert page.locator("#results :is(b, i)").count() == 0


def test_code_of_a_plain_text_keeps_its_lines(page: Page) -> None:
    passage = ask_first(page, "How to light the lamp of the pier?")

    expect(passage.locator("p")).to_have_text("To light the lamp of the pier, type:")
    assert passage.locator("pre").inner_text() == "    lamp --oil\n      whale"


def test_the_document_view_shows_lists_tables_and_code(page: Page) -> None:
    ask_first(page, "Which fee in crowns for a vessel, the barge?")
    page.locator(".answer .source").first.click()

    text = page.locator("#reading-text")
    expect(text.locator("ul > li")).to_have_count(2)
    expect(text.locator("th")).to_have_text(["Vessel", "Fee"])
    expect(text.locator("tbody tr")).to_have_count(2)
    expect(text.locator("td mark")).to_have_text(["Barge", "<b>14</b> crowns"])
    expect(text.locator("#sentence")).to_have_text("Barge")
    expect(text.locator("#sentence")).to_be_in_viewport()
    assert text.locator("pre").inner_text() == CODE
    headings = text.locator("[role=heading]")
    expect(headings).to_have_text(["Harbour daemon", "Ports", "Starting", "Fees"])
    assert page.locator("#reading :is(b, i)").count() == 0


def test_the_document_view_marks_a_lead_in_and_its_code(page: Page) -> None:
    ask_first(page, "How to light the lamp of the pier?")
    page.locator(".answer .source").first.click()

    text = page.locator("#reading-text")
    expect(text.locator("#sentence")).to_have_text("To light the lamp of the pier, type:")
    assert text.locator("pre").inner_text() == "    lamp --oil\n      whale"
    expect(text.locator("p").last).to_have_text("The lamp burns until dawn.")


READ = """async (texts) => {
    const { makeBlocks } = await import("./blocks.js");
    const nodes = { plain: (text) => text, mark: (text) => text };
    const [made] = makeBlocks(texts.map((text) => ({ kind: "row", text })), nodes);
    return [...made.querySelectorAll("tr")].map((row) =>
        [...row.children].map((cell) => cell.textContent));
}"""


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        pytest.param(
            [
                "Name: a; Type: text; Needed.",
                "Name: b; Type: number",
                "Name: c; Type: list; Old; big.",
            ],
            [
                ["Name", "Type", ""],
                ["a", "text", "Needed."],
                ["b", "number", ""],
                ["c", "list", "Old; big."],
            ],
            id="the last column has no name",
        ),
        pytest.param(
            [
                "Size: 8 MB; over HTTP less; Else: error",
                "Size: 2 MB; Note: none; Else: error",
                "Size: 1",
            ],
            [
                ["Size", "Else"],
                ["8 MB; over HTTP less", "error"],
                ["2 MB; Note: none", "error"],
                ["1", ""],
            ],
            id="a value has a semicolon and a colon",
        ),
        pytest.param(
            ["One; two.", "Three; four."], [["One; two."], ["Three; four."]], id="no names"
        ),
    ],
)
def test_cells_are_found_in_rows(page: Page, rows: list[str], cells: list[list[str]]) -> None:
    assert page.evaluate(READ, rows) == cells
