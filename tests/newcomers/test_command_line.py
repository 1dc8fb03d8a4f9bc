"""Tasks of a newcomer on the command line, as real processes on a copy of examples/docs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal import CTRL_C, CTRL_D, MAX_SECONDS, on_terminal

DOCS = Path(__file__).parents[2] / "examples" / "docs"
FORMED = "how are glacier caves formed?"
MELTWATER = (
    "Most glacier caves are formed by meltwater that runs along cracks in the ice and widens"
    " them, season after season."
)
PLACE = "    docs/glacier-caves.md:8 (Glacier caves \u203a How they form)  93 %"
SIZE = "37 sentences in 5 documents\n"
GREEN = "Green tea should be brewed at about 75 °C, because boiling water makes it bitter."
SLOTHS = "Sloths come down from their tree once a week."
CLIMB = "how often do sloths come down from their tree?"
NOT_SURE = "Nothing here is sure to answer that. The closest:"


def start(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run rejoinder in a folder, as a person would, and return what is seen."""
    return subprocess.run(
        [sys.executable, "-m", "rejoinder", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "COLUMNS": "200",
            **environment,
        },
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=MAX_SECONDS,
    )


def run(*arguments: str, folder: Path, **environment: str) -> tuple[str, str]:
    """Run rejoinder, which must succeed; return its stdout and stderr."""
    done = start(*arguments, folder=folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `docs` and an index of them, which no test changes."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(DOCS, folder / "docs")
    run("index", "add", "docs", "--index", "my-index", folder=folder)
    return folder


@pytest.fixture
def own_place(tmp_path: Path) -> Path:
    """Return a folder with `docs` and an index of them, for one test alone."""
    shutil.copytree(DOCS, tmp_path / "docs")
    run("index", "add", "docs", "--index", "my-index", folder=tmp_path)
    return tmp_path


def test_ask_a_folder_and_read_the_answer_its_heading_and_its_place(place: Path) -> None:
    assert run("ask", FORMED, "docs", folder=place) == (f"{MELTWATER}\n{PLACE}\n", SIZE)


def test_see_five_answers_as_a_numbered_list(place: Path) -> None:
    stdout, _ = run("ask", FORMED, "docs", "--top", "5", folder=place)

    lines = stdout.splitlines()
    assert lines[:2] == [f"1. {MELTWATER}", PLACE]
    assert [line[:3] for line in lines[::2]] == ["1. ", "2. ", "3. ", "4. ", "5. "]
    assert all(line.startswith("    docs/") for line in lines[1::2])


def test_lower_the_threshold_for_a_question_that_is_refused(place: Path) -> None:
    question = "what do visitors eat in a cave?"
    closest = (
        "A helmet and crampons are the least that a visitor should wear.\n"
        "    docs/glacier-caves.md:16 (Glacier caves \u203a Safety)  "
    )

    refused, hint = run("ask", question, "docs", folder=place)
    option = re.search(r"add (--min-confidence) (0\.\d+)$", hint, re.M)
    assert option, hint
    lowered, _ = run("ask", question, "docs", *option.groups(), folder=place)
    mistyped = start("ask", question, "docs", "--min-confidence", "10", folder=place)

    assert refused.startswith(f"{NOT_SURE}\n{closest}")
    assert lowered == refused.removeprefix(f"{NOT_SURE}\n")
    assert mistyped.returncode == 2
    assert "Invalid value for '--min-confidence': 10" in mistyped.stderr


def test_see_the_section_around_the_answer(place: Path) -> None:
    stdout, _ = run("ask", FORMED, "docs", "--context", "section", folder=place)

    assert stdout.splitlines() == [
        MELTWATER,
        "    | How they form",
        "    | ",
        "    | Most glacier caves are formed by meltwater that runs along cracks in the ice"
        " and widens",
        "    | them, season after season. The water enters at the surface through a shaft called a",
        "    | moulin. Where a volcano lies beneath the ice, warm vents melt a cave from below.",
        PLACE,
    ]


def test_open_the_source_in_the_browser(place: Path, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{opened}"\n', encoding="utf-8")
    browser.chmod(0o755)

    stdout, _ = run("ask", FORMED, "docs", "--open", folder=place, BROWSER=f"{browser} %s")

    assert stdout == f"{MELTWATER}\n{PLACE}\n"
    source = (place / "docs" / "glacier-caves.md").as_uri()
    assert opened.read_text(encoding="utf-8") == f"{source}\n"


def test_keep_an_index_and_ask_it(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")

    too_early = start("ask", FORMED, "--index", "my-index", folder=tmp_path)
    added = run("index", "add", "docs", "--index", "my-index", folder=tmp_path)
    asked = run("ask", FORMED, "--index", "my-index", folder=tmp_path)
    again = run("index", "add", "docs", "--index", "my-index", folder=tmp_path)

    assert too_early.returncode == 1
    assert too_early.stderr.startswith("Error: my-index: no index there")
    assert added == ("5 added; 37 sentences read\n", "")
    assert asked == (f"{MELTWATER}\n{PLACE}\n", SIZE)
    assert again == ("5 unchanged; the index has 5 documents, 37 sentences\n", "")


def test_add_one_more_document_and_ask_about_it(own_place: Path) -> None:
    (own_place / "sloths.txt").write_text(f"{SLOTHS}\n", encoding="utf-8")
    ask = ("ask", CLIMB, "--index", "my-index")

    before, _ = run(*ask, folder=own_place)
    added, _ = run("index", "add", "sloths.txt", "--index", "my-index", folder=own_place)
    found, size = run(*ask, folder=own_place)

    assert SLOTHS not in before
    assert added == "1 added; 1 sentence read\n"
    assert found.startswith(f"{SLOTHS}\n    sloths.txt:1  ")
    assert size == "38 sentences in 6 documents\n"


def test_remove_a_document_and_no_longer_get_its_answer(own_place: Path) -> None:
    ask = ("ask", FORMED, "--top", "40", "--index", "my-index")

    before, _ = run(*ask, folder=own_place)
    caves = "docs/glacier-caves.md"
    removed, _ = run("index", "remove", caves, "--index", "my-index", folder=own_place)
    after, size = run(*ask, folder=own_place)
    listed, _ = run("index", "list", "--index", "my-index", folder=own_place)

    assert before.startswith(f"1. {MELTWATER}\n")
    assert removed == "1 removed; the index has 4 documents, 26 sentences\n"
    assert caves not in after
    assert "add --min-confidence" in size, "nothing else answers"
    assert size.endswith("26 sentences in 4 documents\n")
    assert caves not in listed
    assert listed.count("/docs/") == 4
    assert (own_place / caves).exists(), "the file itself is kept"


def test_watch_a_folder_and_ask_about_a_file_that_is_written(own_place: Path) -> None:
    add = ("index", "add", "docs", "--index", "my-index", "--watch")

    with on_terminal(*add, folder=own_place) as terminal:
        terminal.wait_for("following the files; Ctrl-C ends this\n")
        (own_place / "docs" / "sloths.txt").write_text(f"{SLOTHS}\n", encoding="utf-8")
        terminal.wait_for(f"added {own_place}/docs/sloths.txt (1 sentence)\n")
        found, _ = run("ask", CLIMB, "--index", "my-index", folder=own_place)
        terminal.type(CTRL_C)
        status = terminal.wait()
        terminal.wait_for("stopped: ")
        terminal.wait_for("1 added; the index has 6 documents, 38 sentences\n")

    assert found.startswith(f"{SLOTHS}\n    docs/sloths.txt:1  ")
    assert status == 0
    assert "Traceback" not in terminal.shown


def test_ask_many_questions_of_a_file(place: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(f"{FORMED}\n\nhow hot is green tea brewed?\n", encoding="utf-8")

    stdout, stderr = run("ask", "--questions", str(questions), "docs", folder=place)

    assert stdout.startswith(
        f"? {FORMED}\n{MELTWATER}\n{PLACE}\n"
        f"\n? how hot is green tea brewed?\n{GREEN}\n    docs/tea.md:6 (Tea)  "
    )
    assert stderr == SIZE


def test_ask_one_question_after_another_at_the_prompt(place: Path) -> None:
    with on_terminal("ask", "docs", folder=place) as terminal:
        terminal.wait_for(f"{SIZE.strip()}; type a question, or Ctrl-D to end\n? ")
        terminal.type(f"{FORMED}\n")
        terminal.wait_for(f"{MELTWATER}\n{PLACE}\n? ")
        terminal.type("how hot is green tea brewed?\n")
        terminal.wait_for(f"{GREEN}\n    docs/tea.md:6 (Tea)  ")
        terminal.wait_for("\n? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_mark_an_answer_as_it_is_printed_and_undo_it(own_place: Path) -> None:
    asked, _ = run("ask", FORMED, "--index", "my-index", folder=own_place)
    mark = (FORMED, asked.splitlines()[0], "--index", "my-index")

    saved, _ = run("feedback", "right", *mark, folder=own_place)
    marked, _ = run("feedback", "list", "--index", "my-index", folder=own_place)
    withdrawn, _ = run("feedback", "remove", *mark, folder=own_place)
    undone, _ = run("feedback", "list", "--index", "my-index", folder=own_place)
    twice = start("feedback", "remove", *mark, folder=own_place)

    assert saved == "saved: right; 1 mark in the index\n"
    assert withdrawn == "mark removed; 0 marks in the index\n"
    assert marked.splitlines()[1:] == [f"right  {FORMED}  {MELTWATER}"]
    assert MELTWATER not in undone
    assert twice.returncode == 1
    assert "is not marked for" in twice.stderr
