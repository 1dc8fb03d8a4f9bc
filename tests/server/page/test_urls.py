"""URLs of questions and documents, history, and the document view."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser import Open, add, ask, fill
from tests.server.page.replies import make_answer, make_blocks, reply_with
from tests.server.running import serving

CAVES = "How are glacier caves formed?"
BIG = 100_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server with a very long document, and one with an emoji."""
    folder = tmp_path_factory.mktemp("library")
    lines = (f"Lamp {n} burns oil. It is green.\n" for n in range(BIG // 2))
    (folder / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "bees.md").write_text(
        "# Bees \U0001f41d\n\n## Dance\n\n"
        "\U0001f980 Crabs walk. Bees &lt;b&gt;dance&lt;/b&gt;. They rest.\n",
        encoding="utf-8",
    )
    add(folder / "index", folder / "bees.md", folder / "long.txt")
    options = (str(folder / "index"), "--scorer", "jaccard", "--workers", "1")
    with serving(folder, *options) as running:
        yield running.address


def test_a_link_asks_its_question(open_page: Open) -> None:
    page = open_page("?q=How+are+glacier+caves+formed%3F&where=suffix%3D.md")

    expect(page.locator("#question")).to_have_value(CAVES)
    expect(page.locator("mark").first).to_contain_text("meltwater")
    expect(page.locator(".facet.chosen summary")).to_contain_text("Type: md")
    expect(page).to_have_title(f"{CAVES} – rejoinder")


def test_a_link_to_an_unanswerable_question_shows_what_typing_it_does(
    page: Page, open_page: Open, address: str
) -> None:
    ask(page, "Who won the football world cup?")
    expect(page.locator("#results .plain")).to_have_text("Nothing here is sure to answer this.")

    other = open_page(page.url.removeprefix(f"{address}/"))

    expect(other.locator("#results .plain")).to_be_visible()
    shown = [each.locator("#results").inner_text() for each in (page, other)]
    assert shown[0] == shown[1]
    assert len(shown[0].splitlines()) > 5
    expect(other.locator("#question")).to_have_value("Who won the football world cup?")
    assert other.locator("#status").inner_text().startswith("None of ")


IMAGE = "<img src=x onerror='window.hacked = 1'>"


@pytest.mark.parametrize(
    "query",
    [
        {"q": f"How are glacier caves formed, {IMAGE}?"},
        {"q": "javascript:window.hacked = 1"},
        {"q": CAVES, "where": f"{IMAGE}={IMAGE}", "min_confidence": IMAGE},
        {"q": CAVES, "where": "__proto__=javascript:window.hacked = 1"},
        {"document": IMAGE, "at": IMAGE},
    ],
)
def test_hostile_links_are_inert(open_page: Open, query: dict[str, str]) -> None:
    page = open_page(f"?{urlencode(query)}")

    if "q" in query:
        page.wait_for_selector("#results[aria-busy=false] :is(.answer, .plain:not(.invitation))")
        expect(page.locator("#question")).to_have_value(query["q"])
        expect(page).to_have_title(f"{query['q']} \u2013 rejoinder")
    else:
        expect(page.locator("#reading-status")).to_contain_text(
            f"\u201c{IMAGE}\u201d is not the number"
        )
    if "where" in query:
        key, _, value = query["where"].partition("=")
        expect(page.locator("#filters .chosen summary")).to_have_text(f"{key}: {value}")
        expect(page.locator("#results")).to_have_text(
            "No sentence of the chosen documents matches this question."
        )
    assert page.locator("main :is(img, script, a[href^=javascript])").count() == 0
    assert page.evaluate("window.hacked") is None


def test_back_and_forward_move_through_the_questions(page: Page) -> None:
    ask(page, CAVES)
    assert page.url.endswith("/?q=How+are+glacier+caves+formed%3F")
    ask(page, "How many eggs may a queen lay?")
    expect(page.locator("mark").first).to_contain_text("2,000 eggs")

    page.go_back()
    expect(page.locator("#question")).to_have_value(CAVES)
    expect(page.locator("mark").first).to_contain_text("meltwater")
    page.go_forward()
    expect(page.locator("mark").first).to_contain_text("2,000 eggs")
    page.go_back()
    page.go_back()
    expect(page.locator("#question")).to_have_value("")
    expect(page.locator(".answer")).to_have_count(0)
    expect(page.locator(".invitation")).to_be_visible()


def test_filter_by_type_asks_again(page: Page) -> None:
    ask(page, CAVES)
    page.locator(".facet summary", has_text="Type").click()
    with page.expect_response("**/v1/answer") as replied:
        page.get_by_label("txt").check()

    assert '"where":{"suffix":[".txt"]}' in (replied.value.request.post_data or "")
    assert "where=suffix%3D.txt" in page.url
    expect(page.locator("#results")).not_to_contain_text("meltwater")
    with page.expect_response("**/v1/answer"):
        page.get_by_label("txt").uncheck()
    expect(page.locator("#results")).to_contain_text("meltwater")
    assert "where" not in page.url


def test_source_opens_the_document_at_the_sentence(open_page: Open, library: str) -> None:
    page = open_page(at=library)
    (block,) = make_blocks(("paragraph", "Bees <b>dance</b>."))
    block |= {"start": 29, "end": 47}
    reply_with(page, make_answer(block["text"], [block], 29))
    ask(page, "What do bees do?")

    page.locator(".answer .source").click()

    expect(page.locator("#reading-title")).to_have_text("Bees \U0001f41d")
    expect(page.locator("#reading-text mark")).to_have_text("Bees <b>dance</b>.")
    expect(page.locator("#reading-text mark")).to_be_in_viewport()
    expect(page.locator("#reading-text [role=heading]").last).to_have_text("Dance")
    assert page.url.endswith("/?document=1&at=29")
    page.get_by_role("button", name="Back").click()
    expect(page.locator(".answer .source")).to_be_focused()
    page.go_forward()
    expect(page.locator("#reading-text mark")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_have_value("What do bees do?")


def test_a_document_of_100_000_sentences_does_not_freeze_the_page(
    open_page: Open, library: str
) -> None:
    page = open_page("?document=2", at=library)
    expect(page.locator("#reading-status")).to_have_text("100,000 sentences")
    target = page.evaluate("""async () => {
        const { text } = await (await fetch("v1/documents/2")).json();
        return text.indexOf("Lamp 40000 burns");
    }""")

    page.evaluate("""() => {
        let last = performance.now();
        window.longest = 0;
        setInterval(() => {
            const now = performance.now();
            window.longest = Math.max(window.longest, now - last);
            last = now;
        }, 10);
    }""")
    page.evaluate(
        """(url) => { history.pushState(null, "", url); dispatchEvent(new Event("popstate")); }""",
        f"./?document=2&at={target}",
    )

    # Not by locators, which search the whole page themselves.
    page.wait_for_function(
        """() => document.getElementById("sentence")?.textContent === "Lamp 40000 burns oil."
            && document.getElementById("reading-text").ariaBusy === "false" """,
        polling=200,
    )
    longest = page.evaluate("window.longest")
    expect(page.locator("#sentence")).to_be_in_viewport()
    assert longest < 2000


@pytest.mark.parametrize(
    ("id_", "message"), [("999", "There is no document 999"), ("x", "is not the number")]
)
def test_missing_document_has_a_way_back(
    open_page: Open, library: str, id_: str, message: str
) -> None:
    page = open_page(f"?document={id_}", at=library)

    expect(page.locator("#reading-status")).to_contain_text(message)
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#question")).to_be_visible()


def test_an_answer_and_its_document_say_that_the_file_has_changed_or_is_gone(
    open_page: Open, tmp_path: Path
) -> None:
    fill(tmp_path / "index", "Bees can dance well.")
    file = tmp_path / "document.txt"
    with serving(tmp_path, str(tmp_path / "index"), "--scorer", "jaccard") as running:
        page = open_page(at=running.address)
        page.wait_for_selector(".invitation:has-text('sentence')")
        ask(page, "Who can dance?")
        expect(page.locator(".answer .warning")).to_have_count(0)

        file.write_text("Bees can sing.", encoding="utf-8")
        ask(page, "Who can dance well?")
        expect(page.locator(".answer .warning")).to_have_text(
            "The file has changed since it was indexed."
        )
        file.unlink()
        page.reload()
        expect(page.locator("mark")).to_have_text("Bees can dance well.")
        expect(page.locator(".answer .warning")).to_have_text(
            "The file is gone since it was indexed."
        )
        page.locator(".answer .source").click()
        expect(page.locator("#reading-change")).to_have_text(
            "The file is gone since it was indexed. This is its text at that time."
        )


def test_question_box_grows(open_page: Open) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page.wait_for_selector(".invitation:has-text('sentence')")
    hidden = "question.scrollHeight - question.clientHeight"
    small = page.evaluate("question.offsetHeight")

    page.fill(
        "#question", "Which of the many lighthouses on the coast was lit with whale oil first?"
    )
    assert page.evaluate("question.offsetHeight") > small
    assert page.evaluate(hidden) <= 0

    page.fill("#question", "first")
    page.press("#question", "Shift+Enter")
    page.keyboard.type("second")
    expect(page.locator("#question")).to_have_value("first\nsecond")
    assert page.evaluate(hidden) <= 0
