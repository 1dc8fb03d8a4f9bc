"""Measure the web page in Chromium: how fast it shows an answer, and a list of many documents.

Usage: python -m benchmarks.page [--questions 60] [--documents 10000] [--repeats 20]
           [--sentences 1000000] [--results benchmarks/results/page.json]

Asks the default cascade about the headings of docs/.  The time runs from Enter until the frame
with the answer is painted.  `without_server` is that less the reply's own `milliseconds`, so HTTP
and the explanation of matching words count as the page's; `without_fetch` is that less the duration
of the request as the browser saw it (PerformanceResourceTiming).

Then the documents view, over an index of so many short documents.  Each time runs from the click or
the key until the frame with the change is painted, the server's time included.  `facets` is the
request behind the filters of the ask view, which no interaction waits for.

With --sentences, the same again over an index of as many documents with so many sentences, made
of the words of docs/: questions without a filter and in one folder of a hundred, the documents
view, and one document.  Indexing a million sentences takes some minutes.

Needs Debian's Chromium, or $CHROMIUM.  Prints the table of docs/page.md and writes the results.
"""

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.common import describe_machine, get_percentiles, serving
from benchmarks.manuals.readers import ROOT
from rejoinder.index.index import Index
from rejoinder.types import Document

RESULTS = ROOT / "benchmarks" / "results" / "page.json"
FOLDERS = 100
WARMUP = 3
WORDS = 14
"""Of a made sentence."""
LARGE_REPEATS = 5

MEASURE = """() => {
    // Resolves with the milliseconds until the frame is painted in which `place` has changed.
    window.measure = (act, place, isDone = () => true) => new Promise((resolve) => {
        const observer = new MutationObserver(() => {
            if (!isDone()) return;
            observer.disconnect();
            requestAnimationFrame(() => {
                const { port1, port2 } = new MessageChannel();
                port1.onmessage = () => resolve(performance.now() - start);
                port2.postMessage(null); // a task of its own: it runs after the frame
            });
        });
        const all = { attributes: true, childList: true, characterData: true };
        observer.observe(document.querySelector(place), all);
        const start = performance.now();
        act();
    });
    const { json } = Response.prototype;
    Response.prototype.json = async function () {
        const value = await json.call(this);
        window.milliseconds = value.milliseconds ?? window.milliseconds;
        return value;
    };
    window.change = (id, value, event) => {
        const element = document.getElementById(id);
        element.value = value;
        element.dispatchEvent(new Event(event, { bubbles: true }));
    };
}"""

ASK = """async ([text, folder]) => {
    const where = new URLSearchParams({ where: `folder=${folder}` });
    if (folder) history.replaceState(null, "", `./?${where}`);
    if (folder) dispatchEvent(new Event("popstate"));
    change("question", text, "input");
    performance.clearResourceTimings();
    const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    const isDone = () => results.getAttribute("aria-busy") === "false";
    const total = await measure(() => question.dispatchEvent(enter), "#results", isDone);
    const fetched = performance.getEntriesByType("resource");
    const { duration } = fetched.find(({ name }) => name.endsWith("/v1/answer"));
    return { total, without_server: total - milliseconds, without_fetch: total - duration };
}"""

LIST = "#documents-list"
TEXT = "folder-7/note"
INTERACTIONS = {
    "open the view": ("document.querySelector('[data-view=documents]').click()", LIST),
    "sort by name": ("change('sort', 'name', 'change')", LIST),
    "next page": ("document.getElementById('older').click()", LIST),
    "sort by length": ("change('sort', 'sentences', 'change')", LIST),
    "select a document": (f"document.querySelector('{LIST} input').click()", "#remove-selected"),
    "select the page": ("document.getElementById('select-page').click()", "#remove-selected"),
    "unselect the page": ("document.getElementById('select-page').click()", "#remove-selected"),
    "filter by folder": ("change('filter', 'folder-42/', 'input')", LIST),
    **{
        f"type {letter} ({place})": (f"change('filter', '{TEXT[:place]}', 'input')", LIST)
        for place, letter in enumerate(TEXT, start=1)
    },
    "clear the filter": ("change('filter', '', 'input')", LIST),
    "sort by age": ("change('sort', 'newest', 'change')", LIST),
}
"""What a user does, in this order, and the element that changes."""

OPEN = """(number) => {
    const open = () => {
        history.pushState(null, "", `./?document=${number}`);
        dispatchEvent(new Event("popstate"));
    };
    const text = document.getElementById("reading-text");
    return measure(open, "#reading-text", () => text.textContent && text.ariaBusy === "false");
}"""

FACETS = """async () => {
    const start = performance.now();
    await (await fetch("v1/documents/facets")).json();
    return performance.now() - start;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=20, help="of each interaction")
    parser.add_argument("--sentences", type=int, default=0, help="of a large index; 0 for none")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, launching() as browser:
        folder = Path(temporary)
        with Index(folder / "docs", create=True) as index:
            index.add([ROOT / "docs", ROOT / "examples/docs"])
        with Index(folder / "notes", create=True) as index:
            index.add_documents(map(make_note, range(options.documents)))
        questions = list_questions(options.questions)
        answers = run(browser, folder / "docs", lambda page: time_answers(page, questions))
        documents = run(
            browser, folder / "notes", lambda page: time_documents(page, options.repeats)
        )
        large = {}
        if options.sentences:
            each = max(1, options.sentences // options.documents)
            with Index(folder / "large", create=True) as index:
                index.add_documents(make_documents(options.documents, each))
                sentences = index.count().sentences
            timed = run(browser, folder / "large", lambda page: time_large(page, questions))
            large = {"large": {"sentences": sentences, **timed}}
    result = {
        "questions": len(questions),
        "documents": options.documents,
        "repeats": options.repeats,
        "answer": answers,
        "interactions": documents,
        **large,
        "machine": describe_machine(),
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(format_table(result))


@contextmanager
def launching() -> Iterator[Browser]:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        sys.exit("needs Chromium: apt-get install chromium, or set $CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def list_questions(count: int) -> list[str]:
    """Return questions about the sections of docs/, spread over its pages."""
    found = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        title, *headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
        found += [f"What is said about {heading} of {title}?" for heading in headings]
    return found[:: max(1, len(found) // count)][:count]


def make_note(number: int) -> Document:
    return Document(
        f"folder-{number % FOLDERS}/note-{number}.md",
        title=f"Note {number}",
        text=f"On day {number} the chandler was paid. " * (1 + number % 3),
        metadata={**make_metadata(number), "suffix": ".md"},
    )


def make_documents(count: int, sentences: int) -> Iterator[Document]:
    """Yield documents of random words of docs/, as often as they are there."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    words = re.findall(r"[A-Za-z]{2,}", text)
    draw = random.Random(7)
    for number in range(count):
        made = [" ".join(draw.choices(words, k=WORDS)).capitalize() for _ in range(sentences)]
        # A drawn word may be an abbreviation, whose full stop ends no sentence.
        body = " ".join(f"{sentence} here." for sentence in made)
        id_ = f"folder-{number % FOLDERS}/note-{number}.md"
        yield Document(id_, f"Note {number}", text=body, metadata=make_metadata(number))


def make_metadata(number: int) -> dict[str, str]:
    return {"team": f"team-{number % 7}", "folder": f"/notes/folder-{number % FOLDERS}"}


def run(browser: Browser, index: Path, measure: Callable[[Page], Any]) -> Any:
    arguments = ("rejoinder", "serve", str(index), "--workers", "1", "--port")
    with serving(*arguments) as (port, _):
        page = browser.new_page()
        load(page, f"http://127.0.0.1:{port}/")
        measured = measure(page)
        page.close()
    return measured


def load(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".invitation:has-text('sentence')")
    page.evaluate(MEASURE)


def time_answers(page: Page, questions: list[str], folder: str = "") -> dict[str, dict[str, float]]:
    for number in range(WARMUP):
        page.evaluate(ASK, [f"Which stage of a cascade is number {number}?", folder])
    times = [page.evaluate(ASK, [question, folder]) for question in questions]
    return {name: summarize([own[name] for own in times]) for name in times[0]}


def time_documents(page: Page, repeats: int) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {name: [] for name in (*INTERACTIONS, "facets")}
    for number in range(-WARMUP, repeats):
        for name, (act, place) in INTERACTIONS.items():
            taken = page.evaluate(f"() => measure(() => {act}, {json.dumps(place)})")
            times[name] += [taken] if number >= 0 else []
        times["facets"] += [page.evaluate(FACETS)] if number >= 0 else []
        page.evaluate("document.getElementById('ask-link').click()")
        page.wait_for_selector(".invitation:has-text('sentence')")
    typed = [time for name in list(times) if name.startswith("type ") for time in times.pop(name)]
    return {name: summarize(own) for name, own in {**times, "type a letter": typed}.items()}


def time_large(page: Page, questions: list[str]) -> dict[str, Any]:
    whole = time_answers(page, questions)
    folder = time_answers(page, questions, "/notes/folder-42")
    load(page, page.url.partition("?")[0])
    interactions = time_documents(page, LARGE_REPEATS)
    opened = [page.evaluate(OPEN, number) for number in range(1, LARGE_REPEATS + 1)]
    return {
        "answer": whole,
        "answer_in_a_folder": folder,
        "interactions": {**interactions, "open a document": summarize(opened)},
    }


def summarize(times: list[float]) -> dict[str, float]:
    return {**get_percentiles(times, 50, 95), "worst_ms": round(max(times), 2)}


def format_table(result: dict[str, Any]) -> str:
    rows = list_rows(result)
    if large := result.get("large"):
        rows |= {
            f"{name}, {large['sentences']:,} sentences": own
            for name, own in list_rows(large).items()
        }
    lines = ["| time in ms | p50 | p95 | worst |", "|---|---|---|---|"]
    for name, own in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.0f}" for value in own.values()) + " |")
    return "\n".join(lines)


def list_rows(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    rows = {}
    for group in ("answer", "answer_in_a_folder"):
        for name, own in result.get(group, {}).items():
            rows[f"{group}, {name}".replace("_", " ")] = own
    return {**rows, **result["interactions"]}


if __name__ == "__main__":
    main()
