"""What an extra is needed for names it, for every import and every command."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import main
from rejoinder.errors import MissingExtraError
from rejoinder.extras import EXTRAS, check_packages, find_missing_extra

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "rejoinder").rglob("*.py"))
DISTRIBUTIONS = {
    "haystack": "haystack-ai",
    "llama_index": "llama-index-core",
    "markdown_it": "markdown-it-py",
    "py4j": "pyspark",  # comes with it
    "pydantic": "langchain-core",  # needs it
}
"""What to install for a package, where the name is another one."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def list_imported() -> set[str]:
    names: set[str] = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
    return (
        {name.partition(".")[0] for name in names}
        - sys.stdlib_module_names
        - {"rejoinder", "_typeshed"}
    )


def read_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;~! ]", item)[0].lower().replace("_", "-") for item in requirements}


def test_every_imported_package_is_declared() -> None:
    core, optional = read_names(PROJECT["dependencies"]), PROJECT["optional-dependencies"]

    for package in list_imported():
        name = DISTRIBUTIONS.get(package, package.replace("_", "-"))
        if package in EXTRAS:
            assert name in read_names(optional[EXTRAS[package]])
        else:
            assert name in core


def list_first_column(header: str) -> list[str]:
    """Return the first cells of the table in docs/install.md whose first header is this."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = page.partition(f"\n| {header} |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)


def test_the_page_lists_every_dependency_of_the_core() -> None:
    assert sorted(list_first_column("package")) == sorted(read_names(PROJECT["dependencies"]))


def test_the_page_lists_every_extra() -> None:
    listed = [name for cell in list_first_column("extra") for name in re.findall("`(.+?)`", cell)]

    assert sorted(listed) == sorted(PROJECT["optional-dependencies"])


def test_every_package_of_the_list_is_imported() -> None:
    assert set(EXTRAS) <= list_imported()


NAMES = """
import sys
sys.modules.update(dict.fromkeys(PACKAGES))
import rejoinder
for name in rejoinder.__all__:
    try:
        getattr(rejoinder, name)
    except rejoinder.MissingExtraError as error:
        print(f"{name}: {error}")
"""
CALLS = """
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys(PACKAGES))
import rejoinder

questions = Path(ROOT) / "examples" / "questions.jsonl"
index = rejoinder.Index(Path("index"), create=True)
for name, call in {
    "Index.watch": lambda: index.watch([Path("notes")]),
    "evaluate": lambda: rejoinder.evaluate(rejoinder.load("bm25"), questions),
    "compare": lambda: rejoinder.compare(["bm25", "word-overlap"], questions),
    "open postgresql": lambda: rejoinder.open("postgresql://127.0.0.1/notes"),
    "open qdrant": lambda: rejoinder.open("qdrant://127.0.0.1/notes"),
}.items():
    try:
        call()
    except rejoinder.MissingExtraError as error:
        print(f"{name}: {error}")
"""
COMMANDS = """
import re, shlex, sys
sys.modules.update(dict.fromkeys(PACKAGES))
import click
from click.testing import CliRunner
from rejoinder.cli import main

def walk(command, path):
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from walk(command.get_command(click.Context(command), name), (*path, name))
    else:
        for call in re.findall(r"^ *rejoinder (.*)", command.epilog, re.MULTILINE):
            yield " ".join(path), re.split(r" [|>] ", call)[0]

for name, call in walk(main, ()):
    if name == "data get":
        continue  # opens a connection
    result = CliRunner().invoke(main, shlex.split(call))
    assert result.exception is None or isinstance(result.exception, SystemExit), (name, result)
    lines = result.stderr.splitlines()
    print(f"{call}: {lines[-1] if result.exit_code and lines else 'ran'}")
"""
NEEDED = {
    "evaluate": ("compare bm25", "evaluate bm25"),
    "serve": ("serve ", "key "),
    "mcp": ("mcp ",),
    "train": ("train ", "distil ", "mine ", "models import ", "models average ", "experiment run "),
    "batch": ("rank-table ", "encode-table ", "index load "),
    "watch": ("index add notes ",),
    "qdrant": ("index export --index my-index --to qdrant",),
}
"""The examples of the help that need each extra, by their first words."""
PAPERS = ("context", "has", "nq-la", "squad", "trecqa", "wikiqa")
"""The tables whose models `reproduce` trains."""


def run_without_extras(code: str, folder: Path) -> dict[str, str]:
    """Return what code prints, by the name in front, where no optional package is installed."""
    done = subprocess.run(
        [sys.executable, "-c", f"PACKAGES = {tuple(EXTRAS)}\n{code}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "REJOINDER_DATA"},
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_a_public_name_needs_no_extra_or_names_it(tmp_path: Path) -> None:
    missing = run_without_extras(NAMES, tmp_path)

    assert missing == {
        name: "training needs extra packages: pip install 'rejoinder[train]'"
        for name in rejoinder.__all__
        if re.fullmatch(r"train_\w+|distil|mine_lists|average_selectors", name)
    }


def test_a_call_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    extras = {
        "Index.watch": "watch",
        "evaluate": "evaluate",
        "compare": "evaluate",
        "open postgresql": "postgres",
        "open qdrant": "qdrant",
    }

    missing = run_without_extras(f"ROOT = {str(ROOT)!r}{CALLS}", tmp_path)

    assert missing.keys() == extras.keys()
    for name, extra in extras.items():
        assert missing[name].endswith(f"needs extra packages: pip install 'rejoinder[{extra}]'")


def test_a_command_needs_no_extra_or_names_it(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    needed = dict(NEEDED)
    needed["train"] += tuple(f"reproduce {paper} " for paper in PAPERS)

    outcomes = run_without_extras(COMMANDS, tmp_path)

    for extra, calls in needed.items():
        for start in calls:
            found = [outcome for call, outcome in outcomes.items() if call.startswith(start)]
            assert found, f"no example begins with {start}"
            assert all(line.endswith(f"pip install 'rejoinder[{extra}]'") for line in found), found
    without = tuple(start for calls in needed.values() for start in calls)
    assert not [
        call
        for call, outcome in outcomes.items()
        if not call.startswith(without) and "pip install" in outcome
    ]


def test_a_package_of_no_extra_is_not_ours_to_name() -> None:
    assert find_missing_extra("tea", ModuleNotFoundError("no tea", name="tea_leaves")) is None
    assert find_missing_extra("tea", ModuleNotFoundError("no name")) is None


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    check_packages("a table", "click")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"^a table needs .*'rejoinder\[batch\]'$"):
        check_packages("a table", "click", "pyarrow")


@pytest.mark.parametrize(
    ("package", "shown"),
    [
        ("torch.nn", "Error: this command needs extra packages: pip install 'rejoinder[train]'\n"),
        ("rejoinder.no_such_module", ""),  # a bug
    ],
)
def test_the_command_line_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, shown: str
) -> None:
    def fail(name: str) -> NoReturn:
        raise ModuleNotFoundError("no such module", name=package)

    monkeypatch.setattr(importlib, "import_module", fail)

    result = CliRunner().invoke(main, ["bench", "bm25"])

    assert result.stderr == shown
    assert isinstance(result.exception, SystemExit if shown else ModuleNotFoundError)


def test_a_public_name_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> NoReturn:
        raise ModuleNotFoundError("no such module", name="torch")

    monkeypatch.setattr(rejoinder, "import_module", fail)

    with pytest.raises(MissingExtraError, match=r"^rejoinder.Index needs .*'rejoinder\[train\]'$"):
        _ = rejoinder.Index
