from pathlib import Path

from playwright.sync_api import Page, Route, expect

from rejoinder.index.feedback import get_marks
from rejoinder.index.index import Index
from tests.browser import Open, ask

CAVES = "How are glacier caves formed?"
MELTWATER = (
    "Most glacier caves are formed by meltwater that runs along cracks in the ice and widens"
    " them, season after season."
)


def test_answer_is_highlighted_between_its_neighbours(page: Page) -> None:
    ask(page, CAVES)

    first = page.locator(".answer").first
    expect(first.locator("mark")).to_have_text(MELTWATER)
    expect(first.locator(".around").last).to_contain_text("a shaft called a")
    expect(first.locator(".source")).to_contain_text("Glacier caves")
    expect(first.locator(".source")).to_contain_text("Glacier caves \u203a How they form")
    expect(first.locator(".file")).to_have_text("glacier-caves.md, line 8")
    expect(first.locator(".confidence")).to_contain_text("% sure")
    expect(page.locator("#status")).to_contain_text("The best 5 of")


def test_words_are_shaded_by_relatedness(page: Page) -> None:
    ask(page, "How do sailors tell lighthouses apart?")

    shares = (
        page.locator("mark")
        .first.locator(".match")
        .evaluate_all(
            "all => Object.fromEntries(all.map("
            "e => [e.textContent, Number(e.style.getPropertyValue('--related'))]))"
        )
    )
    assert 0.95 < shares["tell"] < 1, "the same word, but not the rarest one"
    assert 0.5 < shares["sailor"] < 1
    assert "rhythm" not in shares
    row = page.locator(".pairs div", has_text="sailors")
    expect(row).to_contain_text("sailor")
    expect(row.locator(".number")).to_have_text("0.78")


def test_cascade_shows_input_and_output_of_each_stage(page: Page) -> None:
    expect(page.locator("#stages .counts")).to_have_text(
        ["begins", "keeps 12", "keeps 6", "decides"]
    )

    ask(page, CAVES)

    expect(page.locator("#stages .name")).to_have_text(["search", "bm25", "cosinet", "selector"])
    expect(page.locator("#stages .counts").nth(2)).to_have_text("12 in, 6 kept")
    expect(page.locator("#stages .counts").nth(3)).to_have_text("6 in, 6 ranked")
    expect(page.locator("#stages .time").nth(3)).to_contain_text("ms")
    expect(page.locator("#timeline span")).to_have_count(4)


def test_the_frontier_has_the_served_cascade_on_it(page: Page) -> None:
    expect(page.locator("#frontier circle")).to_have_count(2)
    expect(page.locator("#frontier .served title")).to_have_text(
        "bm25 20 > selector: 70.5 at 20 ms"
    )


def test_explanation_is_closed_until_it_is_opened_and_stays_open(page: Page) -> None:
    button = page.get_by_role("button", name="How it was found")
    expect(page.locator("#cascade")).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")

    button.click()
    expect(page.locator("#cascade")).to_be_visible()
    expect(page.locator("#cascade")).not_to_contain_text("P@1")
    page.reload()
    expect(page.locator("#cascade")).to_be_visible()

    button.click()
    page.reload()
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(page.locator("#cascade")).to_be_hidden()


def test_abstention_shows_the_closest_sentences(page: Page) -> None:
    ask(page, "Who won the football world cup?")

    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")
    expect(page.locator("#results .quiet")).to_contain_text("an answer needs 50 %")
    closest = page.get_by_role("list", name="Closest sentences")
    expect(closest.locator("mark").first).not_to_be_empty()
    expect(page.get_by_role("list", name="Answers")).to_have_count(0)
    expect(page.locator("#status")).to_contain_text("None of")


def test_empty_question_is_refused(page: Page) -> None:
    page.press("#question", "Enter")

    expect(page.locator("#status")).to_have_text("Type a question first.")


def test_a_pasted_text_answers_without_the_index(page: Page) -> None:
    page.click("nav >> text=Paste")
    page.fill("#question", "Who wrote the letter?")
    page.press("#question", "Enter")
    expect(page.locator("#status")).to_have_text("Paste a text to answer from.")

    page.fill("#text", "It rained all day.\nAda wrote the letter.\nNobody read it.")
    page.press("#text", "Control+Enter")

    expect(page.locator("mark").first).to_have_text("Ada wrote the letter.")
    expect(page.locator(".file").first).to_have_text("line 2")
    expect(page.locator(".feedback")).to_have_count(0)
    expect(page.locator("#stages .name").first).to_have_text("split")
    expect(page.locator("#stages .counts").first).to_have_text("3 sentences")


def test_budget_slider_asks_again_and_describes_the_change(page: Page) -> None:
    ask(page, "What is a moulin?")  # its words alone find the answers in another order
    page.click("#explain")
    expect(page.locator("#changes")).to_contain_text("ask again")

    with page.expect_response("**/v1/answer") as replied:
        page.press("#budget", "Home")

    assert '"budget_ms":1,' in (replied.value.request.post_data or "")
    expect(page.locator("#budget-shown")).to_have_text("1 ms")
    expect(page.locator("#changes")).to_contain_text("instead of")
    expect(page.locator("#stages li").last).to_contain_text("out of time")
    expect(page.locator(".answer").first).to_be_visible()
    expect(page.locator(".moved").first).to_be_visible()


def test_stale_reply_never_replaces_a_newer_one(page: Page) -> None:
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    # The abort of the older request must not be the reason.
    page.evaluate("AbortController.prototype.abort = () => {}")
    page.route("**/v1/answer", hold_first)
    page.fill("#question", CAVES)
    page.press("#question", "Enter")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    ask(page, "How many eggs may a queen lay?")
    expect(page.locator("mark").first).to_contain_text("2,000 eggs a day")

    with page.expect_event("requestfinished"):
        held[0].continue_()
    page.wait_for_timeout(200)

    expect(page.locator("mark").first).to_contain_text("2,000 eggs a day")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


def test_everything_works_by_keyboard(page: Page) -> None:
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type(CAVES)
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text(MELTWATER)

    page.keyboard.press("ArrowDown")
    expect(page.locator(".answer").nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".answer").nth(1)).to_be_focused()
    expect(page.locator("#words h3")).to_have_text("Words of answer 2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#question")).to_be_focused()

    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(page.locator(".answer").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_have_value("")
    expect(page.locator(".answer")).to_have_count(0)


def test_marks_are_stored_in_the_index(page: Page, index: Path) -> None:
    question = "What keeps mould away from bread?"
    ask(page, question)
    first = page.locator(".answer").first
    sentence = first.locator("mark").inner_text()

    def kept() -> list[bool]:
        with Index(index) as opened:
            marks = [stored.mark for stored in get_marks(opened.store)]
        return [mark.right for mark in marks if mark.sentence == sentence]

    first.focus()
    page.keyboard.press("w")
    expect(page.locator("#status")).to_have_text("Saved: wrong.")
    assert kept() == [False]

    first.get_by_role("button", name="Right").click()
    expect(page.locator("#status")).to_have_text("Saved: right.")
    expect(first.get_by_role("button", name="Right")).to_have_attribute("aria-pressed", "true")
    expect(first.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "false")
    assert kept() == [True]

    first.get_by_role("button", name="Right").click()
    expect(page.locator("#status")).to_have_text("Withdrawn.")
    assert kept() == []


PASTE = """text => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData: data, cancelable: true });
  document.querySelector("#text").dispatchEvent(event);
}"""
WATCH = """() => {
  let last = performance.now();
  window.longest = 0;
  setInterval(() => {
    const now = performance.now();
    window.longest = Math.max(window.longest, now - last);
    last = now;
  }, 10);
}"""


def test_text_of_five_megabytes_does_not_freeze_the_page(open_page: Open) -> None:
    page = open_page("#text")
    line = "A tower on the coast was painted white, and nobody knows in which year that was.\n"
    text = line * (5_000_000 // len(line)) + "The beacon at Ness burns whale oil."
    page.wait_for_selector(".invitation:has-text('Any text')")

    page.evaluate(WATCH)
    page.evaluate(PASTE, text)
    expect(page.locator("#held")).to_contain_text("5.0 MB of text")
    page.fill("#question", "What does the beacon at Ness burn?")
    page.press("#question", "Enter")

    expect(page.locator("mark").first).to_have_text("The beacon at Ness burns whale oil.")
    assert page.evaluate("window.longest") < 2000
    assert page.evaluate("document.body.innerHTML.length") < 50_000

    page.click("text=Use another text")
    expect(page.locator("#text")).to_be_visible()
    expect(page.locator("#text")).to_have_value("")


def test_a_text_that_is_too_long_is_not_sent(open_page: Open) -> None:
    page = open_page("#text")
    page.wait_for_selector(".invitation:has-text('Any text')")

    page.evaluate(PASTE, "word " * 1_700_000)
    page.fill("#question", "Which word?")
    page.press("#question", "Enter")

    expect(page.locator("#status")).to_contain_text("longer than 8.0 MB")
