"""Answers in their context, with their citation, and the words that are highlighted."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser import Open, ask
from tests.server.page.replies import make_answer, make_blocks, reply_with


def test_a_question_in_another_language_gets_a_note(page: Page) -> None:
    ask(page, "Wie viele bees leben in einer colony?")

    expect(page.locator("#results .note")).to_contain_text(
        "rejoinder was measured on English alone"
    )
    expect(page.locator(".answer").first).to_be_visible()
    ask(page, "How many bees live in a colony?")
    expect(page.locator("#results .note")).to_have_count(0)


def test_sentence_is_marked_behind_an_emoji(page: Page) -> None:
    text = "🦀 Crabs walk. 🐝 Bees dance at noon. Then they rest."
    sentence = "Bees dance at noon."
    reply_with(page, make_answer(sentence, make_blocks(("paragraph", text)), text.index(sentence)))

    ask(page, "What do bees do?")

    expect(page.locator(".passage mark")).to_have_text(sentence)
    assert page.locator(".passage").inner_text() == text


def test_context_without_the_sentence_falls_back_to_the_sentence(page: Page) -> None:
    answer = make_answer("Bees dance.", make_blocks(("paragraph", "Something else.")), 0)
    reply_with(page, answer)

    ask(page, "What do bees do?")

    expect(page.locator(".passage")).to_have_text("Bees dance.")
    expect(page.locator("mark")).to_have_text("Bees dance.")


def test_answer_is_copied_with_its_citation(open_page: Open) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    blocks = make_blocks(("paragraph", "Bees dance."))
    web = "https://bees.example/manual#setup"
    reply_with(
        page, make_answer("Bees dance.", blocks, 0), make_answer("Bees dance.", blocks, 0, url=web)
    )
    ask(page, "What do bees do?")
    buttons = page.get_by_role("button", name="Copy answer with citation")

    buttons.first.click()
    expect(page.locator("#status")).to_have_text("Copied with its source.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "Bees dance.\n— Manual \u203a Setup (manual.md, line 4)"

    page.evaluate("navigator.clipboard.writeText('')")
    page.locator(".answer").nth(1).focus()
    page.keyboard.press("c")
    page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"Bees dance.\n— Manual \u203a Setup ({web}, line 4)"


def test_answer_is_copied_where_the_browser_has_no_clipboard_api(page: Page) -> None:
    # Over plain http from another machine, navigator.clipboard is missing.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    reply_with(page, make_answer("Bees dance.", make_blocks(("paragraph", "Bees dance.")), 0))
    ask(page, "What do bees do?")

    page.get_by_role("button", name="Copy answer with citation").click()
    expect(page.locator("#status")).to_have_text("Copied with its source.")
    page.fill("#question", "")
    page.press("#question", "Control+V")
    expect(page.locator("#question")).to_have_value(
        "Bees dance.\n— Manual \u203a Setup (manual.md, line 4)"
    )

    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name="Copy answer with citation").click()
    expect(page.locator("#status")).to_have_text("Not copied: the browser refused")
    assert page.locator("body > textarea").count() == 0


def test_other_places_are_links_below_the_answer(page: Page) -> None:
    blocks = make_blocks(("paragraph", "Bees dance."))
    other = make_answer("", [], 7, document_id=2, title="Other", line=9)["source"]
    unknown = {**other, "document_id": None, "title": "Nowhere"}
    reply_with(page, make_answer("Bees dance.", blocks, 0, other_sources=[other, unknown]))

    ask(page, "What do bees do?")

    expect(page.locator(".others")).to_contain_text("Also in")
    expect(page.locator(".also a")).to_have_attribute("href", "./?document=2&at=7")
    expect(page.locator(".also li")).to_have_count(2)
    expect(page.locator(".also li").last).to_contain_text("Nowhere")


@pytest.mark.parametrize("url", ["javascript:window.hacked = 1", "file:///etc/passwd", "nonsense"])
def test_only_links_to_web_pages_are_clickable(page: Page, url: str) -> None:
    blocks = make_blocks(("paragraph", "Bees dance."))
    hostile = "<img src=x onerror='window.hacked = 1'>"
    reply_with(
        page,
        make_answer(
            *("Bees dance.", blocks, 0),
            url=url,
            title=hostile,
            headings=[hostile],
            anchor=hostile,
            document_id="javascript:alert(1)",
        ),
        make_answer("Bees dance.", blocks, 0, url="https://bees.example/"),
    )

    ask(page, "What do bees do?")

    expect(page.locator(".source").first).to_have_text(f"{hostile} \u203a {hostile}")
    expect(page.locator(".original")).to_have_count(1)
    expect(page.locator(".original")).to_have_attribute("rel", "noopener noreferrer")
    assert page.locator(f"main :is(img, a[href*={json.dumps(url)}])").count() == 0
    assert page.evaluate("window.hacked") is None


SPLIT = """async ([sentence, question, words]) => {
    const { splitSentence } = await import("./highlight.js");
    const matches = words.map(([question_word, sentence_word, relatedness, weight]) =>
        ({ question_word, sentence_word, relatedness, weight }));
    const parts = splitSentence(sentence, matches, question);
    if (parts.map(({ text }) => text).join("") !== sentence) throw new Error("text was lost");
    return [
        parts.filter(({ related }) => related).map(({ text, related }) => [text, related]),
        parts.filter(({ fits }) => fits).map(({ text }) => text),
    ];
}"""


def test_highlights_are_stronger_for_rare_words_and_none_for_common_ones(page: Page) -> None:
    words = [
        *(("what", "a", 0.6, 0), ("is", "is", 1.0, 0), ("colony", "city", 0.6, 0.1)),
        *(("hive", "hive", 1.0, 1), ("bee", "insect", 0.6, 1), ("old", "old", 1.0, 0.5)),
    ]

    related, fits = page.evaluate(
        SPLIT,
        ["A hive is an old city of an insect.", "What is a hive of an old bee colony?", words],
    )

    strengths = dict(related)
    assert [*strengths] == ["hive", "old", "insect"]
    assert strengths["hive"] == 1 > strengths["old"] > 0
    assert strengths["hive"] > strengths["insect"] > 0
    assert fits == []


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("How many eggs does a queen lay?", "She lays 2,000 eggs.", ["2,000"]),
        ("How much is a night?", "A sloop pays nine crowns.", ["nine"]),
        ("When was it built?", "The Tower rose in May 1876.", ["May", "1876"]),
        ("What year was it?", "It was 1876.", ["1876"]),
        ("Which port does it use?", "It listens on port 8080.", ["8080"]),
        ("Who wrote it?", "The letter is by Ada Lovelace.", ["Ada", "Lovelace"]),
        ("Who worked it out?", "Karl von Frisch did.", ["Karl", "Frisch"]),
        ("Who won the cup?", "Vectors find it in Rome.", ["Rome"]),
        ("Where is Ada buried?", "Ada lies in Hucknall.", ["Hucknall"]),
        ("Why do 3 bees dance?", "Ada saw 3 bees.", []),
    ],
)
def test_words_that_fit_the_question_are_highlighted(
    page: Page, question: str, sentence: str, expected: list[str]
) -> None:
    assert page.evaluate(SPLIT, [sentence, question, []])[1] == expected


def test_offsets_count_code_points(page: Page) -> None:
    found = page.evaluate("""async () => {
        const { makeOffsets } = await import("./offsets.js");
        const toUnit = makeOffsets("a\U0001f41db\U0001f980c");
        return [0, 1, 2, 3, 4, 5].map(toUnit);
    }""")

    assert found == [0, 1, 3, 4, 6, 7]
