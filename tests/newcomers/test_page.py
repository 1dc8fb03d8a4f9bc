"""Tasks of a newcomer on the web page; the server, the index and the models are real."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser import Open, ask

CAVES = "How are glacier caves formed?"
MELTWATER = (
    "Most glacier caves are formed by meltwater that runs along cracks in the ice and widens"
    " them, season after season."
)
EGGS = "How many eggs does a queen lay?"


def get_first(page: Page) -> Locator:
    return page.locator(".answer").first


def read_answers(page: Page) -> list[str]:
    """Return the marked sentence of each answer."""
    return page.locator(".answer mark").all_inner_texts()


def list_documents(page: Page) -> Locator:
    page.get_by_role("link", name="Documents").click()
    expect(page.locator("#documents-list li").first).to_be_visible()
    return page.locator("#documents-list li")


def test_ask_a_question_and_read_the_answer(page: Page) -> None:
    ask(page, CAVES)

    first = get_first(page)
    expect(first.locator(".source")).to_have_text("Glacier caves \u203a How they form")
    expect(first.locator("mark")).to_have_text(MELTWATER)
    expect(first.locator(".passage")).to_contain_text("through a shaft called a moulin.")
    expect(first.locator(".passage")).to_contain_text("warm vents melt a cave from below.")
    expect(first.locator(".file")).to_have_text("glacier-caves.md, line 8")
    expect(first.locator(".confidence")).to_contain_text("% sure")


def test_open_the_source_at_the_sentence(open_page: Open) -> None:
    page = open_page(viewport={"width": 800, "height": 240})  # lower than the document
    ask(page, "Who goes into the caves from November to March?")
    sentence = "Guides go in only from November to March."
    expect(get_first(page).locator("mark")).to_have_text(sentence)

    get_first(page).locator(".source").click()

    expect(page.get_by_role("heading", name="Glacier caves").first).to_be_attached()
    expect(page.locator("#reading mark")).to_have_text(sentence)
    expect(page.locator("#reading mark")).to_be_in_viewport()
    assert page.evaluate("scrollY") > 0


def test_share_a_question_by_its_address(page: Page, open_page: Open, address: str) -> None:
    ask(page, CAVES)

    other = open_page(page.url.removeprefix(f"{address}/"))

    expect(other.locator("#question")).to_have_value(CAVES)
    expect(get_first(other).locator("mark")).to_have_text(MELTWATER)
    assert read_answers(other) == read_answers(page)


def test_go_back_and_forward_between_questions(page: Page) -> None:
    ask(page, CAVES)
    ask(page, EGGS)
    expect(get_first(page).locator("mark")).to_contain_text("2,000 eggs a day")

    page.go_back()
    expect(page.locator("#question")).to_have_value(CAVES)
    expect(get_first(page).locator("mark")).to_have_text(MELTWATER)
    page.go_forward()
    expect(page.locator("#question")).to_have_value(EGGS)
    expect(get_first(page).locator("mark")).to_contain_text("2,000 eggs a day")


def test_search_only_one_type_of_file(page: Page) -> None:
    ask(page, "What happens in summer and in winter at sea?")
    assert "Honeybees" in page.locator(".answer .source").all_inner_texts()
    page.locator("#filters summary", has_text="Type").click()

    with page.expect_response("**/v1/answer"):
        page.get_by_label("txt").check()

    expect(page.locator("#filters summary")).to_have_text("Type: txt")
    expect(page.locator("#results[aria-busy=false]")).to_be_visible()
    assert set(page.locator(".answer .source").all_inner_texts()) == {"Lighthouses"}


def test_search_only_one_folder(page: Page, tmp_path: Path) -> None:
    question = "Where do the ferries sail?"
    for place in ("north", "south"):
        (tmp_path / "ferries" / place).mkdir(parents=True)
        text = f"The ferries of the {place} sail from pier {len(place)} in the {place}.\n"
        (tmp_path / "ferries" / place / f"{place}.txt").write_text(text)
    list_documents(page)
    add_folder(page, tmp_path / "ferries")
    expect(page.locator("#uploads-status")).to_have_text("2 added")
    page.get_by_role("link", name="Ask").click()
    ask(page, question)
    assert {"north", "south"} <= set(page.locator(".answer .source").all_inner_texts())

    page.locator("#filters summary", has_text="Folder").click()
    with page.expect_response("**/v1/answer"):
        page.get_by_label("uploaded:ferries/north").check()

    expect(page.locator("#filters summary").first).to_have_text("Folder: uploaded:ferries/north")
    expect(page.locator(".answer .source")).to_have_text(["north"])


def test_see_the_number_that_answers(page: Page) -> None:
    ask(page, "When did Karl von Frisch receive a Nobel Prize?")

    number = get_first(page).locator("mark .fits")
    expect(number).to_have_text(["1973"])
    expect(number).to_have_css("text-decoration-line", "underline")
    related = get_first(page).locator("mark .match").all_inner_texts()
    assert {"Nobel", "Prize"} <= set(related)
    assert not {"a", "in", "and", "this"} & set(related)


def test_see_how_an_answer_was_found_and_keep_it_open(page: Page) -> None:
    ask(page, CAVES)
    explain = page.get_by_role("button", name="How it was found")
    stages = page.locator("#stages .what")
    expect(page.locator("#stages")).to_be_hidden()

    explain.click()
    expect(stages.first).to_have_text("matches words and meaning")
    page.reload()
    expect(get_first(page).locator("mark")).to_have_text(MELTWATER)
    expect(stages.first).to_be_visible()

    explain.click()
    page.reload()
    expect(get_first(page).locator("mark")).to_have_text(MELTWATER)
    expect(page.locator("#stages")).to_be_hidden()


def test_copy_an_answer_with_its_citation(open_page: Open) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    ask(page, CAVES)

    get_first(page).get_by_role("button", name="Copy").click()

    expect(page.locator("#status")).to_have_text("Copied with its source.")
    assert page.evaluate("navigator.clipboard.readText()") == (
        f"{MELTWATER}\n— Glacier caves \u203a How they form (glacier-caves.md, line 8)"
    )


def test_mark_an_answer_as_right_and_undo_it(page: Page) -> None:
    ask(page, EGGS)
    right = get_first(page).get_by_role("button", name="Right")

    right.click()
    expect(page.locator("#status")).to_have_text("Saved: right.")
    expect(right).to_have_attribute("aria-pressed", "true")

    right.click()
    expect(page.locator("#status")).to_have_text("Withdrawn.")
    expect(right).to_have_attribute("aria-pressed", "false")


def test_upload_a_file_and_ask_about_it(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour dues\n\nFerries pay nothing. A sloop pays nine crowns a night.\n")
    list_documents(page)

    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="choose files").click()
    chooser.value.set_files(file)

    expect(page.locator("#uploads-list .result")).to_have_text("added: 3 sentences")
    expect(page.locator("#documents-list .title").first).to_have_text("Harbour dues")
    page.get_by_role("link", name="Ask").click()
    ask(page, "How much does a sloop pay for a night?")
    expect(get_first(page).locator("mark")).to_have_text("A sloop pays nine crowns a night.")
    expect(get_first(page).locator(".source")).to_have_text("Harbour dues")

    get_first(page).locator(".source").click()
    expect(page.locator("#reading-title")).to_have_text("Harbour dues")
    expect(page.locator("#reading")).to_contain_text("Ferries pay nothing.")


def add_folder(page: Page, folder: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="choose a folder").click()
    chooser.value.set_files(folder)


def test_upload_a_folder_and_see_how_far_it_is(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "tides"
    folder.mkdir()
    for name in ("slack", "ebb", "flood"):
        (folder / f"{name}.txt").write_text(f"The {name} is slow.\n")
    progress = page.get_by_role("progressbar", name="Files added")
    sending = page.locator("#uploads-list .result", has_text="sending")
    shown: list[tuple[bool, str | None, str | None, int]] = []

    def look(route: Route) -> None:
        of = progress.get_attribute("value"), progress.get_attribute("max")
        shown.append((progress.is_visible(), *of, sending.count()))
        route.continue_()

    page.route("**/v1/documents?name=*", look)
    list_documents(page)

    add_folder(page, folder)

    expect(page.locator("#uploads-status")).to_have_text("3 added")
    assert shown == [(True, "0", "3", 1), (True, "1", "3", 1), (True, "2", "3", 1)]
    expect(progress).to_be_hidden()
    rows = page.locator("#uploads-list li")
    expect(rows.locator(".title")).to_have_text(
        ["tides/ebb.txt", "tides/flood.txt", "tides/slack.txt"]
    )
    expect(rows.locator(".result")).to_have_text(["added: 1 sentence"] * 3)
    expect(page.locator("#documents-list .path", has_text="uploaded:tides/")).to_have_count(3)


def test_sort_documents(page: Page) -> None:
    list_documents(page)
    examples = re.compile("^(Glacier caves|Honeybees|Lighthouses)$")
    titles = page.locator("#documents-list .title").filter(has_text=examples)
    facts = page.locator("#documents-list .facts")
    expect(titles).to_have_text(["Lighthouses", "Honeybees", "Glacier caves"])  # newest first

    page.get_by_label("Sort by").select_option("name")
    expect(titles).to_have_text(["Glacier caves", "Honeybees", "Lighthouses"])

    page.get_by_label("Sort by").select_option("length")
    expect(facts.first).to_contain_text("11 sentences")
    lengths = [int(text.split()[0]) for text in facts.all_inner_texts()]
    assert lengths == sorted(lengths, reverse=True)


def test_remove_documents_and_no_longer_get_them(page: Page) -> None:
    question = "How hot should green tea be brewed?"
    ask(page, question)
    expect(get_first(page).locator("mark")).to_contain_text("75 °C")
    list_documents(page)

    page.get_by_label("Select Tea").check()
    page.get_by_label("Select Sourdough").check()
    page.get_by_role("button", name="Remove 2 documents").click()
    page.get_by_role("button", name="Remove", exact=True).click()

    expect(page.locator("#documents-notice")).to_have_text("2 documents were removed.")
    expect(page.get_by_role("link", name="Tea", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Ask").click()
    expect(page.locator("#question")).to_have_value(question)
    expect(page.locator("#results")).not_to_contain_text("75 °C")
    ask(page, question)
    expect(page.locator("#results")).not_to_contain_text("tea.md")


def test_ask_what_no_document_answers(page: Page) -> None:
    ask(page, "Who won the football world cup?")

    expect(page.locator("#results .plain")).to_have_text("Nothing here is sure to answer this.")
    confidence = page.locator("#results .quiet").first
    expect(confidence).to_have_text(re.compile(r"The closest one has a confidence of \d+ %:"))
    expect(page.locator("#sureness summary")).to_have_text("As sure as usual")
    closest = page.get_by_role("list", name="Closest sentences")
    expect(closest.locator(".answer mark").first).not_to_be_empty()
    expect(page.get_by_role("list", name="Answers")).to_have_count(0)

    page.locator("#sureness summary").click()
    page.locator("#least").fill("0")

    expect(page.get_by_role("list", name="Answers")).to_be_visible()
    expect(page.locator("#sureness summary")).to_have_text("At least 0 % sure")
