import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main
from rejoinder.index.index import Index
from rejoinder.models.parallel import count_cores
from rejoinder.types import Document


def run(*arguments: str | Path, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ask", *map(str, arguments)], input=typed)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C.\n", encoding="utf-8")
    return folder


def test_prints_the_sentence_and_its_source(docs: Path) -> None:
    result = run("when is green tea brewed?", docs, "--scorer", "retrieval-order")

    assert result.exit_code == 0
    assert result.stdout == f"Green tea is brewed at 75 °C.\n    {docs}/tea.md:3 (Tea)\n"
    assert result.stderr == "2 sentences in 1 document\n", "as `index check` counts, with headings"


def test_a_note_says_that_only_english_was_measured(docs: Path) -> None:
    result = run("Wie wird green tea gebrüht?", docs, "--scorer", "retrieval-order")

    assert result.stdout.startswith("Green tea is brewed at 75 °C.\n")
    assert "note: the question seems to be in another language" in result.stderr


def test_files_are_cached_and_changes_are_followed(docs: Path) -> None:
    run("green tea", docs)
    (docs / "tea.md").write_text("Green tea is cold.\n", encoding="utf-8")

    assert run("green tea", docs).stdout.startswith("Green tea is cold.\n")


def test_json_has_offsets(docs: Path) -> None:
    (answer,) = json.loads(run("green tea", docs, "--json").stdout)["answers"]

    # In "Tea", an empty line, and the sentence: the text without marks of Markdown.
    assert answer["sentence"] == "Green tea is brewed at 75 °C."
    assert (answer["source"]["start"], answer["source"]["end"]) == (5, 34)


def test_prints_that_there_is_no_answer(docs: Path) -> None:
    assert run("xylophone", docs).stdout == "No sentence here matches the question.\n"
    assert json.loads(run("xylophone", docs, "--json").stdout)["answers"] == []


def test_an_abstention_offers_the_closest(docs: Path, tmp_path: Path) -> None:
    cascade = tmp_path / "calibrated.toml"
    cascade.write_text(
        '[[stage]]\nscorer = "word-overlap"\n'
        "[calibration]\nintercept = -4\nbest = 2\nmargin = 0\ncount = 0\nthreshold = 0.5\n",
        encoding="utf-8",
    )

    result = run("green cars", docs, "--scorer", cascade)
    found = json.loads(run("green cars", docs, "--scorer", cascade, "--json").stdout)

    assert result.stdout == (
        "Nothing here is sure to answer that. The closest:\n"
        f"Green tea is brewed at 75 °C.\n    {docs}/tea.md:3 (Tea)  12 %\n"
    )
    assert result.stderr.startswith(
        "to accept sentences that are less sure, add --min-confidence 0.11\n"
    )
    assert found["abstains"]
    assert found["answers"][0]["confidence"] == pytest.approx(0.1192, abs=1e-4)

    lower = run("green cars", docs, "--scorer", cascade, "--min-confidence", "0.1", "--top", "2")
    assert lower.stdout.startswith(f"1. Green tea is brewed at 75 °C.\n    {docs}/tea.md:3 (Tea)")
    assert "--min-confidence" not in lower.stderr
    many = run("--questions", "-", docs, "--scorer", cascade, typed="green cars\nred tea cups\n")
    assert many.stdout.count("Nothing here is sure") == 2
    assert many.stderr.count("--min-confidence") == 1, "said once"


@pytest.mark.parametrize(
    ("names", "more"), [(("copy",), ""), (("copy", "third", "fourth"), " and 2 more")]
)
def test_names_the_section_and_the_other_files(
    docs: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], more: str
) -> None:
    text = "# Tea\n\n## Green\n\n### Heat\n\nGreen tea is brewed at 75 °C.\n"
    section = "(Tea \u203a Green \u203a Heat)"
    monkeypatch.chdir(docs)
    for name in ("tea", *names):
        (docs / f"{name}.md").write_text(text, encoding="utf-8")

    result = run("when is green tea brewed?", ".", "--scorer", "retrieval-order")

    other = "fourth" if more else "tea"
    assert result.stdout == (
        f"Green tea is brewed at 75 °C.\n    copy.md:7 {section}\n"
        f"    also {other}.md:7 {section}{more}\n"
    )


def test_code_is_printed_with_its_lines(docs: Path) -> None:
    text = "# Guide\n\nInstall it like this:\n\n    make\n      install\n"
    (docs / "guide.md").write_text(text, encoding="utf-8")

    result = run("how to install it?", docs, "--scorer", "retrieval-order")

    assert result.stdout.startswith("Install it like this:\nmake\n  install\n    ")


def test_explains_which_words_match(docs: Path) -> None:
    result = run("green drinks", docs, "--explain")
    matches = json.loads(run("green", docs, "--explain", "--json").stdout)["answers"][0]["matches"]

    assert "green ~ green 1.00, drinks ~ tea" in result.stdout
    assert "\n    found by words and meaning\n" in result.stdout
    assert "found by" not in run("green drinks", docs).stdout
    assert "1 sentence retrieved, ranked by default" in result.stderr
    assert matches == [
        {"question_word": "green", "sentence_word": "green", "relatedness": 1.0, "weight": 1.0}
    ]


def test_explains_with_the_most_telling_words_first(docs: Path) -> None:
    many = "".join(f"Tea number {number} is brewed.\n\n" for number in range(9))
    (docs / "many.txt").write_text(many, encoding="utf-8")

    result = run("at what time is tea with green leaves brewed?", docs, "--explain")
    only = run("what is it?", docs, "--explain")

    explained = next(line for line in result.stdout.splitlines() if "~" in line)
    assert explained.startswith("    green ~ green 1.00")
    pairs = [pair.split()[:3] for pair in explained.split(", ")]
    assert pairs.index(["green", "~", "green"]) < pairs.index(["tea", "~", "tea"])
    assert not {"at", "what", "is", "with"} & {word for pair in pairs for word in pair}
    assert "~" not in only.stdout


def test_an_index_without_vectors_answers_by_words_with_one_warning(
    docs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "index"
    added = CliRunner().invoke(
        main, ["index", "add", str(docs), "--index", str(folder), "--no-vectors"]
    )

    result = run("green tea", "--index", folder, "--explain", typed="")

    assert added.exit_code == 0, added.output
    assert "found by words\n" in result.stdout
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [f"{folder}: has no vectors; questions are answered by words"]


def test_a_page_is_named_for_a_pdf(docs: Path) -> None:
    from rejoinder.cli.documents.ask import show_source
    from rejoinder.types import Source

    assert show_source(Source("/a/tea.pdf", "tea", None, 0, 3, page=7)) == "/a/tea.pdf, page 7"


def test_asks_an_index_with_a_scorer_and_a_filter(docs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    CliRunner().invoke(main, ["index", "add", str(docs), "--index", str(folder)])

    result = run("green tea", "--index", folder, "--scorer", "jaccard", "--where", "suffix=.md")

    assert result.stdout.startswith("Green tea is brewed")
    assert run("tea", "--index", folder, "--where", "suffix=.pdf").stdout == (
        "No sentence that matches --where matches the question.\n"
    )
    assert (
        "'nonsense' is not KEY=VALUE" in run("a", "--index", folder, "--where", "nonsense").stderr
    )
    assert "give paths or --index, not both" in run("tea", docs, "--index", folder).stderr


def test_several_values_of_a_filter_are_alternatives(docs: Path) -> None:
    (docs / "sub").mkdir()
    (docs / "sub" / "tea.txt").write_text("Black tea is brewed at 95 °C.", encoding="utf-8")
    ask = ("tea is brewed", docs, "--top", "5", "--scorer", "jaccard")

    def find(*filters: str) -> int:
        options = [part for pair in filters for part in ("--where", pair)]
        return run(*ask, *options).stdout.count("tea is brewed at")

    assert find() == 2
    assert find("suffix=.md") == 1
    assert find("suffix=.md", "suffix=.txt") == 2
    assert find("suffix=.md", "suffix=.txt", f"folder={docs}/sub") == 1
    assert find("suffix=.md", f"folder={docs}/sub") == 0


def test_a_title_does_not_repeat_its_first_heading() -> None:
    from rejoinder.cli.documents.ask import show_source
    from rejoinder.types import Source

    def show(title: str, *headings: str) -> str:
        return show_source(Source("a/b.html", title, None, 0, 3, headings=headings))

    assert (
        show("Views — The Manual", "Views", "URLs") == "a/b.html (Views — The Manual \u203a URLs)"
    )
    assert show("Viewsets", "Views") == "a/b.html (Viewsets \u203a Views)"
    assert show("Views") == "a/b.html (Views)"


def test_without_a_question_reads_them_line_by_line(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(docs)

    result = run("--scorer", "retrieval-order", typed="green tea\n\nxylophone")

    assert result.stdout == (
        "? green tea\nGreen tea is brewed at 75 °C.\n    tea.md:3 (Tea)\n\n"
        "? xylophone\nNo sentence here matches the question.\n"
    )
    assert result.stderr == "2 sentences in 1 document\n"


def test_questions_of_a_file_are_answered_in_order(docs: Path, tmp_path: Path) -> None:
    (docs / "ice.md").write_text("The ice is thin here.\n", encoding="utf-8")
    questions = [f"{word} {number}" for number in range(50) for word in ("green tea", "ice")]
    file = tmp_path / "questions.txt"
    file.write_text("\r\n\n".join(questions), encoding="utf-8")
    quick = ("--scorer", "retrieval-order")

    result = run("--questions", file, docs, "--json", *quick)
    printed = run("--questions", file, docs / "tea.md", docs / "ice.md", *quick)
    piped = run("--questions", "-", docs, "--json", *quick, typed=file.read_text(encoding="utf-8"))

    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answers["question"] for answers in found] == questions
    assert [answers["answers"][0]["sentence"] for answers in found] == [
        *(["Green tea is brewed at 75 °C.", "The ice is thin here."] * 50)
    ]
    headings = [line for line in printed.stdout.splitlines() if line.startswith("? ")]
    assert headings == [f"? {question}" for question in questions]
    assert [json.loads(line)["question"] for line in piped.stdout.splitlines()] == questions


def test_a_piped_question_is_answered_before_the_next_is_written(docs: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "rejoinder", "ask", "--json", "--scorer", "retrieval-order"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=docs,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for question in ("green tea", "xylophone"):
            process.stdin.write(f"{question}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["question"] == question
        process.stdin.close()
        assert process.wait(60) == 0


def test_questions_that_cannot_be_read_are_named(docs: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_bytes(b"green tea\n\n\xff\n")
    many = tmp_path / "many.txt"
    many.write_bytes(b"tea " * 300_000)

    assert run("--questions", file, docs).stderr == (
        f"Error: {file}:3: not UTF-8: byte 0xff at column 1\n"
    )
    assert "a line has more than 1,000,000 bytes" in run("--questions", many, docs).stderr
    missing = run("--questions", tmp_path / "missing.txt", docs)
    assert missing.exit_code == 2
    assert "missing.txt' does not exist" in missing.stderr


def test_a_dash_is_not_a_question(docs: Path) -> None:
    result = run("-", docs, typed="green tea\n")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: - is not a question; --questions - reads questions from stdin\n"
    )


def test_a_path_is_not_taken_for_a_question(docs: Path) -> None:
    result = run(docs)

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {docs} is a path; give the question before it, paths after it,"
        " or --questions FILE\n"
    )
    assert run(docs, docs).exit_code == 0


def test_a_question_may_be_too_long_for_a_path(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs)

    assert run("tea " * 2000).exit_code == 0


def test_an_unreadable_file_of_a_folder_is_skipped_and_reported(docs: Path) -> None:
    (docs / "bad.txt").write_bytes(b"\x7fELF\0\0" * 100)

    result = run("green tea", docs)

    assert result.exit_code == 0
    assert f"skipped {docs}/bad.txt: not text" in result.stderr


def test_a_named_file_that_cannot_be_read_is_an_error(docs: Path) -> None:
    bad = docs / "bad.txt"
    bad.write_bytes(b"\x7fELF\0\0" * 100)

    result = run("green tea", bad)

    assert result.exit_code == 1
    assert result.stderr == f"Error: {bad}: not text\n"


def test_without_a_place_for_the_cache_files_are_read_all_the_same(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert run("green tea", docs).stdout.startswith("Green tea is brewed")


def test_an_empty_question_is_one_line(docs: Path) -> None:
    result = run(" ", docs)

    assert result.exit_code == 1
    assert result.stderr == "Error: the question is empty\n"


@pytest.mark.parametrize(("given", "threads"), [(None, 1), ("2", 2)])
def test_numpy_starts_no_threads_unless_the_user_wants_them(
    docs: Path, given: str | None, threads: int
) -> None:
    if not Path("/proc/self/task").exists() or count_cores() < 2:
        pytest.skip("needs Linux, and two cores")
    code = (
        "import os, sys\n"
        "from rejoinder.cli import main\n"
        "main(['ask', 'tea', sys.argv[1], '--scorer', 'jaccard'], standalone_mode=False)\n"
        "names = [open(f'/proc/self/task/{task}/comm').read().strip() for task in"
        " os.listdir('/proc/self/task')]\n"
        "print(names.count(open('/proc/self/comm').read().strip()))"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": given or ""}
    if given is None:
        del environment["OPENBLAS_NUM_THREADS"]

    result = subprocess.run(
        [sys.executable, "-c", code, str(docs)], check=True, capture_output=True, env=environment
    )

    # Threads of a library have the name of the process, except Tantivy's, which have their own.
    assert result.stdout.split()[-1].decode() == str(threads)


def test_context_shows_the_paragraph(docs: Path) -> None:
    (docs / "tea.md").write_text(
        "# Tea\n\nTea is a drink. Green tea is brewed at 75 °C.\n\nIt will keep.\n", "utf-8"
    )

    plain = run("when is green tea brewed?", docs, "--scorer", "jaccard")
    shown = run("when is green tea brewed?", docs, "--scorer", "jaccard", "--context", "paragraph")
    section = run("when is green tea brewed?", docs, "--scorer", "jaccard", "--context", "section")

    place = f"    {docs}/tea.md:3 (Tea)\n"
    assert plain.stdout == f"Green tea is brewed at 75 °C.\n{place}"
    around = "    | Tea is a drink. Green tea is brewed at 75 °C.\n"
    assert shown.stdout == f"Green tea is brewed at 75 °C.\n{around}{place}"
    assert "    | Tea\n" in section.stdout
    assert "    | It will keep.\n" in section.stdout


def test_a_list_is_shown_as_a_list(docs: Path) -> None:
    (docs / "tea.md").write_text(
        "Some kinds are:\n\n- Green tea is brewed at 75 °C.\n- Black tea is boiled.\n", "utf-8"
    )

    shown = run("when is green tea brewed?", docs, "--scorer", "jaccard", "--context", "paragraph")

    assert shown.stdout.splitlines()[1:5] == [
        "    | Some kinds are:",
        "    | ",
        "    | - Green tea is brewed at 75 °C.",
        "    | - Black tea is boiled.",
    ]


def test_pages_are_named_with_their_anchor(tmp_path: Path) -> None:
    page = tmp_path / "tea.html"
    heading = "Long heading " * 9
    page.write_text(
        f"<h1>Tea</h1><h2 id='green'>{heading}</h2><p>Green tea is brewed at 75 °C.</p>", "utf-8"
    )

    result = run("when is green tea brewed?", page, "--scorer", "jaccard")

    (_, place) = result.stdout.splitlines()
    assert place.startswith(f"    {page}#green (Tea \u203a Long heading Long")
    assert place.endswith("\u2026)")
    assert len(place) < len(f"    {page}#green (Tea \u203a )") + 62


def test_open_opens_the_place(tmp_path: Path) -> None:
    page, opened = tmp_path / "tea.html", tmp_path / "opened"
    page.write_text("<h2 id='green'>Green</h2><p>Green tea is brewed at 75 °C.</p>", "utf-8")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', "utf-8")
    browser.chmod(0o755)
    command = [sys.executable, "-m", "rejoinder", "ask", "when is green tea brewed?", str(page)]
    command += ["--scorer", "jaccard", "--open"]

    done = subprocess.run(
        command, env={**os.environ, "BROWSER": str(browser)}, capture_output=True, check=True
    )
    failed = subprocess.run(
        command, env={**os.environ, "BROWSER": "/bin/false"}, capture_output=True, check=True
    )

    assert done.stdout.startswith(b"Green tea is brewed")
    assert opened.read_text("utf-8") == f"{page.as_uri()}#green\n"
    assert b"no program opens file:///" in failed.stderr


def test_says_that_a_file_has_changed_or_is_gone(docs: Path, tmp_path: Path) -> None:
    file, folder = docs / "tea.md", tmp_path / "index"
    with Index(folder, create=True) as index:
        index.add([docs])

    def ask() -> list[str]:
        result = run("is green tea brewed?", "--index", folder, "--scorer", "jaccard")
        return [line.strip() for line in result.stdout.splitlines()[2:]]

    assert ask() == []
    os.utime(file, (1, 1))
    assert ask() == [], "its content is the same"
    file.write_text("# Tea\n", encoding="utf-8")
    assert ask() == ["the file has changed since it was indexed"]
    file.unlink()
    assert ask() == ["the file is gone since it was indexed"]
    opened = run("is green tea brewed?", "--index", folder, "--scorer", "jaccard", "--open")
    assert f"{file} is gone since it was indexed, and cannot be opened\n" in opened.stderr


def test_a_document_without_a_file_cannot_be_opened(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("note", text="Green tea is brewed at 75 °C.")])

    result = run("is green tea brewed?", "--index", tmp_path / "index", "--open")

    assert "note has neither a file nor a URL to open\n" in result.stderr


def test_a_document_with_a_url_is_named_by_it(tmp_path: Path) -> None:
    metadata = {"url": "https://example.org/tea"}
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(
            [Document("note", text="Green tea is brewed at 75 °C.", metadata=metadata)]
        )

    result = run("is green tea brewed?", "--index", tmp_path / "index", "--scorer", "jaccard")

    assert result.stdout.splitlines()[1] == "    https://example.org/tea"
