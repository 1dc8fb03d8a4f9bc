"""Filters by folder, and how sure an answer must be."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import Open, add, ask, set_least
from tests.server.running import serving

CAVES = "How are glacier caves formed?"
ROCKET = "Where does the rocket launch?"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    for place in ("docs/api", "docs/api/v2", "docs/<i>guide", "notes"):
        (folder / place).mkdir(parents=True)
        text = f"A rocket launches from pad {len(place)}.\n"
        (folder / place / "launch.txt").write_text(text, encoding="utf-8")
    add(folder / "index", folder / "docs", folder / "notes")
    return folder


@pytest.fixture(scope="module")
def library(shelf: Path) -> Iterator[str]:
    options = (str(shelf / "index"), "--scorer", "jaccard", "--workers", "1")
    with serving(shelf, *options) as running:
        yield running.address


def get_boxes(page: Page) -> list[str]:
    return [
        text.replace("\n", " ") for text in page.locator("#filters .values label").all_inner_texts()
    ]


def open_facet(page: Page, name: str) -> Locator:
    summary = page.locator("#filters summary", has_text=name)
    summary.click()
    return summary


def test_a_folder_is_chosen_with_its_sub_folders(
    open_page: Open, library: str, shelf: Path
) -> None:
    page = open_page(at=library)
    ask(page, ROCKET)
    expect(page.locator(".answer")).to_have_count(4)
    summary = open_facet(page, "Folder")

    shown = [text.split() for text in get_boxes(page)]
    assert shown == [
        ["docs", "3"],
        ["docs/<i>guide", "1"],
        ["docs/api", "2"],
        ["docs/api/v2", "1"],
        ["notes", "1"],
    ]
    with page.expect_response("**/v1/answer") as replied:
        page.locator("#filters label", has_text="docs/api2").check()

    expect(summary).to_have_text("Folder: docs/api")
    expect(page.locator(".answer")).to_have_count(2)
    request = json.loads(replied.value.request.post_data or "")
    assert request["where"] == {"folder": [f"{shelf}/docs/api"]}
    with page.expect_response("**/v1/answer"):
        page.get_by_label("notes").check()
    expect(page.locator(".answer")).to_have_count(3)
    assert page.locator("#filters i").count() == 0


def test_a_link_with_a_folder_searches_only_there(
    open_page: Open, library: str, shelf: Path
) -> None:
    query = f"?q=Where+does+the+rocket+launch%3F&where=folder%3D{shelf}/docs/api/v2"
    page = open_page(query, at=library)

    expect(page.locator(".answer .file")).to_have_text(["launch.txt, line 1"])
    expect(page.locator("#filters summary")).to_have_text("Folder: docs/api/v2")
    open_facet(page, "Folder")
    with page.expect_response("**/v1/answer"):
        page.get_by_label("docs/api/v2").uncheck()
    expect(page.locator(".answer")).to_have_count(4)
    assert "where" not in page.url


def test_an_unknown_folder_is_named_as_the_reason(open_page: Open, library: str) -> None:
    page = open_page("?q=rocket&where=folder%3D/nowhere", at=library)

    expect(page.locator(".plain")).to_have_text(
        "No sentence of the chosen documents matches this question."
    )
    expect(page.locator("#filters summary")).to_have_text("Folder: /nowhere")


def test_without_a_confidence_nothing_asks_how_sure_an_answer_must_be(
    open_page: Open, library: str
) -> None:
    page = open_page("?q=rocket&min_confidence=0.9", at=library)

    expect(page.locator(".answer").first).to_be_visible()
    expect(page.locator("#sureness")).to_be_hidden()


def test_a_question_right_after_the_slider_is_asked_once(page: Page) -> None:
    asked: list[str] = []
    ask(page, CAVES)
    page.locator("#sureness summary").click()
    page.on("request", lambda request: asked.append(request.url))

    page.locator("#least").fill("100")
    ask(page, "Who won the football world cup?")
    page.wait_for_timeout(400)  # the slider would ask after 300 ms

    assert [url for url in asked if url.endswith("/v1/answer")] == asked[:1]
    assert page.url.endswith("&min_confidence=1")


def test_the_threshold_is_raised_and_reset(page: Page) -> None:
    ask(page, CAVES)
    expect(page.get_by_role("list", name="Answers")).to_be_visible()
    summary = page.locator("#sureness summary")
    expect(summary).to_have_text("At least 50 % sure")
    summary.click()
    expect(page.get_by_role("button", name="Back to the usual")).to_be_hidden()

    set_least(page, 100)

    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")
    expect(page.locator(".plain + .quiet")).to_contain_text("; an answer needs 100 %:")
    expect(summary).to_have_text("At least 100 % sure")
    assert page.url.endswith("&min_confidence=1")
    with page.expect_response("**/v1/answer"):
        page.get_by_role("button", name="Back to the usual 50 %").click()
    expect(page.get_by_role("list", name="Answers")).to_be_visible()
    expect(page.locator("#least")).to_be_focused()
    assert "min_confidence" not in page.url
    page.go_back()
    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")
    expect(summary).to_have_text("At least 100 % sure")


def test_the_threshold_of_a_link_stays_for_the_next_question(open_page: Open) -> None:
    page = open_page("?q=How+are+glacier+caves+formed%3F&min_confidence=1")
    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")

    ask(page, "How many eggs may a queen lay?")

    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")
    assert page.url.endswith("?q=How+many+eggs+may+a+queen+lay%3F&min_confidence=1")
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator("#sureness summary")).to_have_text("At least 100 % sure")


@pytest.mark.parametrize("given", ["x", "7", "-1", ""])
def test_a_link_with_no_threshold_of_sense_uses_the_usual_one(open_page: Open, given: str) -> None:
    page = open_page(f"?q=How+are+glacier+caves+formed%3F&min_confidence={given}")

    expect(page.get_by_role("list", name="Answers")).to_be_visible()
    expect(page.locator("#sureness summary")).to_have_text("At least 50 % sure")


def test_the_threshold_counts_for_a_pasted_text(open_page: Open) -> None:
    page = open_page("#text")
    page.fill("#text", "Sloths sleep for ten hours. They eat leaves.")
    ask(page, "How long do sloths sleep?")
    expect(page.get_by_role("list", name="Answers")).to_be_visible()

    page.locator("#sureness summary").click()
    set_least(page, 100)

    expect(page.locator(".plain")).to_have_text("Nothing here is sure to answer this.")
    expect(page.locator("#text")).to_have_value("Sloths sleep for ten hours. They eat leaves.")
