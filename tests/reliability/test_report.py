"""The journal resumes a run of the same code alone, and a page says which code each row is of."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability import __main__ as command
from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.cases import CASES
from tests.reliability.page import UNKNOWN, make_page, read_page
from tests.reliability.report import CaseResult, keep_result, read_result
from tests.reliability.source import FILES, FOLDERS, ROOT, Source, read_source

HERE, LATER = Source("1" * 64, "abc1234"), Source("2" * 64, "def5678")


def make_case(fault: str, run: Callable[[Path, int], Outcome] = lambda _, n: Outcome(n, 0)) -> Case:
    return Case("index", fault, run, 2, 2_000, "documents that are missing")


KILL, FLIP = make_case("writer killed"), make_case("bit flipped")


def test_only_outcomes_without_loss_are_kept(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"

    keep_result(journal, CaseResult(KILL, Outcome(7, 1)), 7, HERE)
    keep_result(journal, CaseResult(KILL, None, "cannot mount a disk"), 7, HERE)
    assert read_result(journal, KILL, 7, HERE) is None

    result = CaseResult(KILL, Outcome(7, 0, "all there"), commit=HERE.commit)
    keep_result(journal, result, 7, HERE)
    assert read_result(journal, KILL, 7, HERE) == result
    assert read_result(journal, KILL, 8, HERE) is None


def test_outcomes_of_other_code_are_not_used(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    old = '{"case": "index: writer killed", "count": 7, "outcome": [7, 0, ""]}\n'
    journal.write_text(old, encoding="utf-8")  # as before outcomes named their code
    keep_result(journal, CaseResult(KILL, Outcome(7, 0)), 7, HERE)

    assert read_result(journal, KILL, 7, LATER) is None


def test_the_digest_follows_the_package_and_the_cases_but_no_test(tmp_path: Path) -> None:
    for name in ("src/a.py", "src/a.so", "tests/cases.py", "tests/test_a.py", *FILES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1", encoding="utf-8")

    def digest(name: str) -> str:
        (tmp_path / name).write_text("2", encoding="utf-8")
        return read_source(tmp_path).digest

    first = read_source(tmp_path).digest
    assert {digest("src/a.so"), digest("tests/test_a.py")} == {first}
    assert len({first, digest("src/a.py"), digest("tests/cases.py"), digest(FILES[0])}) == 4


def test_uncommitted_changes_are_named(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *own, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    for name in (*(f"{folder}/a.py" for folder in FOLDERS), *FILES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1", encoding="utf-8")
    assert read_source(tmp_path).commit == read_source(tmp_path).digest[:8]  # without git
    git("init")
    git("add", ".")
    git("commit", "-m", "a")
    committed = read_source(tmp_path).commit
    (tmp_path / "README.md").write_text("1", encoding="utf-8")
    assert read_source(tmp_path).commit == committed

    (tmp_path / "src/a.py").write_text("2", encoding="utf-8")
    changed = read_source(tmp_path)
    assert changed.commit == f"{committed}+{changed.digest[:8]}"


def test_a_partial_run_replaces_its_own_rows() -> None:
    results = [
        CaseResult(case, Outcome(2_000, 0, "first"), commit="abc1234") for case in (KILL, FLIP)
    ]
    page = make_page([KILL, FLIP], results)
    again = CaseResult(FLIP, Outcome(3_000, 0, "a; `b`"), commit="def5678")

    page = make_page([KILL, FLIP], [again], page)

    assert "| writer killed | 2,000 | 0 | first | abc1234 |\n" in page
    assert "| bit flipped | 3,000 | 0 | a; `b` | def5678 |\n" in page
    assert "\nOf commit abc1234, def5678.\n" in page
    assert make_page([KILL, FLIP], [], page) == page


def test_rows_of_cases_that_are_gone_are_dropped() -> None:
    page = make_page([KILL, FLIP], [CaseResult(FLIP, Outcome(1, 0), commit="abc1234")])

    assert "bit flipped" in page
    assert "bit flipped" not in make_page([KILL], [CaseResult(KILL, Outcome(1, 0))], page)


def test_a_row_that_was_measured_before_stays_where_this_machine_cannot() -> None:
    page = make_page([KILL], [CaseResult(KILL, Outcome(9, 0), commit="abc1234")])
    unable = CaseResult(KILL, None, "no disk")

    assert make_page([KILL], [unable], page) == page
    assert "| writer killed | – | – | not run: no disk | – |\n" in make_page([KILL], [unable])


def test_rows_without_a_commit_are_read() -> None:
    page = "## The index\n\n| fault | attempts | losses | details |\n|---|---|---|---|\n"
    row = "| bit flipped | 2,000 | 0 | 811 detected |\n"

    assert read_page(page + row)[FLIP.name] == (2_000, 0, "811 detected", UNKNOWN)


def test_the_inputs_of_all_parsers_are_added_up() -> None:
    cases = [make_case(fault)._replace(area="input") for fault in ("mail", "pdf")]
    rows = [CaseResult(case, Outcome(2_000, 0), commit="abc1234") for case in cases]
    page = make_page(cases, rows)
    older = page.replace("| 2,000 | 0 |  | abc1234 |", "| 500 | 0 |  |", 1)

    assert "\nOf commit abc1234. In all: 4,000 inputs.\n" in page
    assert "abc1234. Rows without a commit (–) are older" in make_page(cases, [], older)
    assert "In all: 2,500 inputs" in make_page(cases, [], older)


def test_the_published_page_is_one_that_a_run_can_add_to() -> None:
    # After a case has another name: `make reliability ONLY='???'`, which runs no case.
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")

    assert make_page(CASES, [], page) == page


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return a function that runs the command over two cases; the second loses what is listed."""
    sources = [HERE]
    monkeypatch.setattr(command, "read_source", lambda: sources[0])

    def run(*arguments: str, lose: int = 0, edit: bool = False) -> int:
        def flip(_: Path, count: int) -> Outcome:
            if edit:
                sources[0] = LATER
            return Outcome(count, lose)

        def refuse(_: Path, __: int) -> Outcome:
            raise CannotRunError("no disk")

        cases = [KILL, make_case("bit flipped", flip), make_case("full disk", refuse)]
        monkeypatch.setattr(command, "CASES", cases)
        page = str(tmp_path / "page.md")
        monkeypatch.setattr(sys, "argv", ["reliability", *arguments, "--to", page])
        with pytest.raises(SystemExit) as ended:
            command.main()
        return int(ended.value.code or 0)

    return run


def test_the_command_writes_what_it_measured(call: Callable[..., int], tmp_path: Path) -> None:
    page = tmp_path / "page.md"

    assert call("--long", "--only", "flipped") == 0
    assert "writer killed" not in page.read_text(encoding="utf-8")
    assert call("--long") == 0
    written = page.read_text(encoding="utf-8")
    assert "| writer killed | 2,000 | 0 |  | abc1234 |\n" in written
    assert "| full disk | – | – | not run: no disk | – |\n" in written


def test_a_loss_or_an_edit_during_a_case_writes_no_page(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--long", lose=1) == 1
    assert call("--long", edit=True) == 1
    assert "FAILED: the code has changed meanwhile" in capsys.readouterr().out
    assert call("--count", "3") == 2  # the report is of the long form
    assert not (tmp_path / "page.md").exists()
