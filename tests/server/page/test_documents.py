import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import Open, ask
from tests.server.page.conftest import ENTRIES


@pytest.fixture
def documents(open_page: Open) -> Page:
    page = open_page("#documents")
    page.wait_for_selector("#documents-list li")
    return page


def find(page: Page, name: str) -> None:
    page.fill("#filter", name)
    expect(page.locator("#documents-list li")).to_have_count(1)
    expect(page.locator("#documents-list .title")).to_have_text(name)


def test_a_chosen_file_is_added_and_answers(documents: Page, tmp_path: Path) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour dues\n\nFerries pay nothing. A sloop pays nine crowns a night.\n")

    documents.set_input_files("#files", file)

    row = documents.locator("#uploads-list li")
    expect(row).to_contain_text("harbour.md")
    expect(row.locator(".result")).to_have_text("added: 3 sentences")
    expect(documents.locator("#uploads-status")).to_have_text("1 added")
    find(documents, "Harbour dues")
    expect(documents.locator("#documents-list .facts")).to_have_text("3 sentences, 71 B")
    expect(documents.locator("#documents-list .state")).to_have_text("ready")

    documents.click("nav >> text=Ask")
    ask(documents, "How much does a sloop pay a night?")
    expect(documents.locator("mark").first).to_have_text("A sloop pays nine crowns a night.")


def test_skipped_file_shows_the_reason(documents: Page, tmp_path: Path) -> None:
    (tmp_path / "setup.exe").write_bytes(b"MZ\0\1")
    (tmp_path / "broken.jsonl").write_text('{"title": "no text"}\n')
    fine = tmp_path / "fine.txt"
    fine.write_text("A fine day.\n")

    documents.set_input_files("#files", sorted(tmp_path.iterdir()))

    results = documents.locator("#uploads-list .result")
    expect(documents.locator("#uploads-status")).to_have_text("1 added, 2 skipped")
    expect(results.nth(0)).to_contain_text("skipped: line 1 is not an object with a 'text'")
    expect(results.nth(1)).to_have_text("added: 1 sentence")
    expect(results.nth(2)).to_contain_text("skipped: cannot be read; files end in")

    documents.set_input_files("#files", fine)
    expect(results.nth(3)).to_have_text("unchanged")
    expect(documents.locator("#uploads-status")).to_have_text("1 added, 1 unchanged, 2 skipped")


def test_a_file_that_is_too_large_is_not_sent(documents: Page) -> None:
    documents.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(65_000_000)], "huge.txt"));
        dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
    }""")

    expect(documents.locator("#uploads-list .result")).to_have_text("skipped: larger than 64.0 MB")


def test_a_file_can_be_dropped_anywhere(page: Page) -> None:
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["The mill stands still."], "mill.txt"));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    }""")

    expect(page.locator("#uploads-list .result")).to_have_text("added: 1 sentence")
    expect(page.locator("#documents")).to_be_visible()


def test_removal_needs_confirmation(documents: Page, tmp_path: Path) -> None:
    file = tmp_path / "secret.md"
    file.write_text("# Old recipe\n\nThe baker hides saffron in the loft.\n")
    documents.set_input_files("#files", file)
    expect(documents.locator("#uploads-status")).to_have_text("1 added")
    find(documents, "Old recipe")

    documents.get_by_role("button", name="Remove Old recipe").click()
    expect(documents.locator("#removing")).to_contain_text("Old recipe")
    documents.keyboard.press("Escape")
    find(documents, "Old recipe")

    documents.get_by_role("button", name="Remove Old recipe").click()
    documents.get_by_role("button", name="Remove", exact=True).click()
    expect(documents.locator("#documents-notice")).to_have_text("Old recipe was removed.")
    expect(documents.locator("#documents-list li")).to_have_count(0)
    find(documents, "Entry 1234")
    expect(documents.locator("#documents-notice")).to_have_text("Old recipe was removed.")

    documents.click("nav >> text=Ask")
    ask(documents, "Where does the baker hide saffron?")
    expect(documents.locator("#results")).not_to_contain_text("saffron")


def test_ten_thousand_documents_come_in_pages(documents: Page) -> None:
    status, rows = documents.locator("#documents-status"), documents.locator("#documents-list li")
    expect(status).to_contain_text("1–50 of 10,0")
    expect(rows).to_have_count(50)
    expect(documents.locator("#newer")).to_be_disabled()

    documents.click("#older")
    expect(status).to_contain_text("51–100 of 10,0")
    expect(rows).to_have_count(50)
    documents.click("#newer")
    expect(status).to_contain_text("1–50 of 10,0")

    find(documents, f"Entry {ENTRIES - 1}")
    expect(status).to_have_text("1–1 of 1")
    documents.fill("#filter", "no such name")
    expect(status).to_have_text("No document matches.")
    expect(rows).to_have_count(0)


def test_typing_waits_for_one_request_at_a_time(documents: Page) -> None:
    held: list[Route] = []
    asked: list[str] = []

    def hold_first(route: Route) -> None:
        asked.append(route.request.url)
        if held:
            route.continue_()
        else:
            held.append(route)

    documents.route("**/v1/documents?*", hold_first)
    documents.locator("#filter").press_sequentially("Entry 1234")
    documents.wait_for_timeout(100)
    assert len(asked) == 1
    held[0].continue_()

    expect(documents.locator("#documents-list .title")).to_have_text(["Entry 1234"])
    assert len(asked) == 2


def test_newest_documents_come_first_and_others_can(documents: Page) -> None:
    first = documents.locator("#documents-list .title").first
    ids = documents.locator("#documents-list .title").evaluate_all(
        "all => all.map(e => Number(new URL(e.href).searchParams.get('document')))"
    )
    assert ids == sorted(ids, reverse=True)

    documents.select_option("#sort", "sentences")
    expect(first).to_have_text("Glacier caves")
    documents.click("#older")
    expect(documents.locator("#documents-status")).to_contain_text("51–100 of 10,0")
    documents.select_option("#sort", "name")
    expect(documents.locator("#documents-status")).to_contain_text("1–50 of 10,0")
    documents.click("#older")
    expect(first).to_have_text(re.compile(r"Entry 10\d\d"))


def test_several_documents_are_removed_at_once(documents: Page, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"surplus-{name}.txt").write_text(f"Surplus {name}.\n")
    documents.set_input_files("#files", sorted(tmp_path.iterdir()))
    expect(documents.locator("#uploads-status")).to_have_text("3 added")
    documents.fill("#filter", "surplus-")
    expect(documents.locator("#documents-list li")).to_have_count(3)

    documents.get_by_label("Select all on this page").check()
    documents.get_by_label("Select surplus-two").uncheck()
    documents.get_by_role("button", name="Remove 2 documents").click()
    expect(documents.locator("#removing")).to_contain_text("and 1 other")
    documents.get_by_role("button", name="Remove", exact=True).click()

    expect(documents.locator("#documents-notice")).to_have_text("2 documents were removed.")
    expect(documents.locator("#documents-list .title")).to_have_text(["surplus-two"])
    expect(documents.locator("#remove-selected")).to_be_hidden()


def test_a_folder_is_added_with_its_paths(documents: Page, tmp_path: Path) -> None:
    folder = tmp_path / "almanac"
    (folder / "spring").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("Hidden.\n")
    (folder / "spring" / "tides.txt").write_text("The tide is high in spring.\n")

    documents.set_input_files("#folder", folder)

    expect(documents.locator("#uploads-status")).to_have_text("1 added")
    expect(documents.locator("#uploads-list .title")).to_have_text("almanac/spring/tides.txt")
    documents.fill("#filter", "almanac/")
    expect(documents.locator("#documents-list li")).to_have_count(1)
    path = documents.locator("#documents-list .path")
    expect(path).to_have_text("uploaded:almanac/spring/tides.txt")


def drop(page: Page, path: Path) -> None:
    """Drop a file or folder of the disk on the page, as a user does."""
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for type_ in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": type_, "x": 100, "y": 100, "data": data})


def test_a_dropped_folder_is_added_with_its_folders(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "tide-tables"
    (folder / "north" / "islands").mkdir(parents=True)
    (folder / ".cache").mkdir()
    (folder / ".cache" / "old.txt").write_text("Hidden.\n")
    (folder / "north" / "islands" / "skerry.txt").write_text("The skerry floods at noon.\n")
    many = 120  # the browser lists 100 at a time
    for number in range(many):
        (folder / f"{number}.txt").write_text(f"Table {number}.\n")

    drop(page, folder)

    expect(page.locator("#uploads-status")).to_have_text(f"{many + 1} added")
    names = page.locator("#uploads-list .title").all_text_contents()
    assert "tide-tables/north/islands/skerry.txt" in names
    assert len(set(names)) == many + 1
    page.fill("#filter", "tide-tables/north/")
    expect(page.locator("#documents-list .path")).to_have_text(
        ["uploaded:tide-tables/north/islands/skerry.txt"]
    )
