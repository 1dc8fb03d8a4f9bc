"""What the docs say is so: their commands run, their links lead somewhere, examples work."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rejoinder

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))


def run(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], check=False, capture_output=True, text=True, cwd=folder
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_tables_are_those_of_the_kept_results(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "results").symlink_to(ROOT / "benchmarks" / "results")
    page = folder / "docs" / "models" / "rankers.md"
    text = page.read_text(encoding="utf-8")
    assert "| cosinet | listwise | birnn | 75.62 | 77.09 ± 0.27 |" in text

    unchanged = run("docs/make_tables.py", "--check", folder=folder)
    page.write_text(text.replace("77.09 ± 0.27", "78.09 ± 0.27"), encoding="utf-8")
    changed = run("docs/make_tables.py", "--check", folder=folder)
    again = run("docs/make_tables.py", folder=folder)

    assert unchanged.returncode == 0, unchanged.stderr
    assert changed.stderr.startswith("docs/models/rankers.md: tables differ from the results")
    assert again.returncode == 0, again.stderr
    assert page.read_text(encoding="utf-8").count("| 77.09 ± 0.27 |") == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_run(example: Path) -> None:
    result = run(str(example))

    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_answers_are_printed_as_the_page_shows_them(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.findall(r'\$ rejoinder (ask) "(.*)" (\S+)\n((?:[^$`].*\n)+)', text)

    assert shown
    for command, question, folder, expected in shown:
        assert run("-m", "rejoinder", command, question, folder).stdout == expected


@pytest.mark.parametrize("page", ["docs/citing.md", "docs/rehearsal.md"])
def test_citations_are_printed_as_the_page_shows_them(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    ((answer, source, shown),) = re.findall(
        r'\$ rejoinder cite "(.*)" (.+)\n((?:[^$`].*\n)+)', text
    )
    if source == "--index my-index":
        source = str(tmp_path / "my-index")
        run("-m", "rejoinder", "index", "add", "examples/docs", "--index", source)
        source = f"--index {source}"

    printed = run("-m", "rejoinder", "cite", answer, *source.split())

    assert mask_percent(printed.stdout + printed.stderr) == mask_percent(shown)
    # Far from the threshold of 50 %, so that no other runtime or training turns a verdict over.
    supported, unsupported = (
        [int(percent) for percent in re.findall(rf"^\{mark} .*  (\d+) %$", shown, re.MULTILINE)]
        for mark in "+?"
    )
    assert min(supported) >= 90
    assert max(unsupported) <= 10


def mask_percent(text: str) -> str:
    """Hide confidences: the last digit depends on the processor."""
    return re.sub(r"\d+ %", "N %", text)


def test_readme_shows_what_make_ask_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    question = re.search(r"^Q +\?= (.*)$", makefile, re.MULTILINE)
    folder = re.search(r"^DOCS +\?= (.*)$", makefile, re.MULTILINE)
    assert question
    assert folder

    printed = run("-m", "rejoinder", "ask", question[1], folder[1]).stdout

    assert f"$ make ask\n{printed}```" in text


def test_every_python_block_of_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (index,) = re.findall(r"\$ rejoinder (index add .*)", text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    added = run("-m", "rejoinder", *index.split(), folder=tmp_path)
    assert added.returncode == 0, added.stderr

    assert blocks
    for block in blocks:
        result = run("-c", block, folder=tmp_path)
        assert result.returncode == 0, result.stderr
        assert result.stdout


def test_every_command_is_on_the_help_page() -> None:
    result = run("docs/make_help.py", "--check")

    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_the_manual_page_has_every_command() -> None:
    page = ROOT / "docs" / "rejoinder.1"
    groff = ["groff", "-man", "-T", "utf8", "-ww", "-P", "-c", str(page)]
    shown = subprocess.run(groff, check=True, capture_output=True, text=True, encoding="utf-8")

    help_page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    plain = re.sub(".\b", "", shown.stdout)  # bold is typed twice
    assert shown.stderr == ""
    for command in re.findall(r"^## (rejoinder.*)$", help_page, re.MULTILINE):
        assert f"\n   {command}\n" in plain


def test_the_sentence_that_the_servers_page_marks_is_in_its_documents() -> None:
    text = (ROOT / "docs/server.md").read_text(encoding="utf-8")
    documents = [path.read_text(encoding="utf-8") for path in ROOT.glob("examples/docs/*.*")]

    (sentence,) = re.findall(r'"sentence": "([^"]+)"', text)

    assert any(sentence in " ".join(document.split()) for document in documents)


def read_reference() -> dict[str, str]:
    """Return the sections of the reference of the Python API, by the name in their heading."""
    text = (ROOT / "docs/python-api.md").read_text(encoding="utf-8")
    sections = re.split(r"^### `(\w+)`$", text, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def test_every_public_name_is_in_the_reference() -> None:
    assert sorted(read_reference()) == rejoinder.__all__


@pytest.mark.parametrize(
    "name",
    [name for name in rejoinder.__all__ if name != "Scorer" and not name.endswith("Error")],
)
def test_the_reference_has_every_parameter_and_method(name: str) -> None:
    section, value = read_reference()[name], getattr(rejoinder, name)
    signature = re.match(r"\n\n((?: {4}.*\n)+)", section)
    parameters = inspect.signature(value).parameters.values()

    assert signature
    assert signature[1].strip().startswith(f"{name}(")
    assert set(re.findall(r"\w+", signature[1])) >= {
        parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    }
    if name in {"Engine", "Index"}:
        methods = {
            method
            for method, item in vars(value).items()
            if inspect.isfunction(item) and not method.startswith("_")
        }
        assert set(re.findall(r"^\| `(\w+)\(", section, re.MULTILINE)) >= methods - INTERNAL


INTERNAL = {"open_sidecar", "store_sidecar", "update_sidecars", "writing"}
"""Methods of `Index` for other modules of rejoinder."""


def test_the_examples_of_the_reference_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    text = (ROOT / "docs/python-api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    for block in blocks:
        compile(block, "python-api.md", "exec")
    result = run(
        "-c",
        "\n".join(block for block in blocks if not block.startswith("# Not run:")),
        folder=tmp_path,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Most glacier caves are formed by meltwater")
