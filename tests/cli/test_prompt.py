"""`rejoinder ask` on a real terminal."""

import io
import json
import stat
import sys
from pathlib import Path

import pytest
from tests.terminal import CTRL_C, CTRL_D, UP, on_terminal

from rejoinder.cli.prompt import MAX_HISTORY, go_on, read_typed
from rejoinder.errors import InputError

READY = "type a question, or Ctrl-D to end\n? "
TEA = "Green tea is brewed at 75 °C."
QUICK = ("--scorer", "retrieval-order")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text(f"# Tea\n\n{TEA}\n", encoding="utf-8")
    return folder


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the history, which does not exist yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rejoinder" / "history"


def test_typed_questions_are_edited_answered_and_kept(docs: Path, history: Path) -> None:
    with on_terminal("ask", *QUICK, folder=docs) as terminal:
        terminal.wait_for(f"2 sentences in 1 document; {READY}")
        terminal.type("green coffee\x17tea\n")  # Ctrl-W deletes a word
        terminal.wait_for(f"{TEA}\n    tea.md:3 (Tea)\n? ")
        terminal.type("\n  \nxylophone\n")
        terminal.wait_for("No sentence here matches the question.\n? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0

    assert history.read_text(encoding="utf-8") == "green tea\nxylophone\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700

    with on_terminal("ask", *QUICK, folder=docs) as terminal:
        terminal.wait_for(READY)
        terminal.type(UP + UP + "\n")
        terminal.wait_for("green tea\n")
        terminal.wait_for(f"{TEA}\n")
        terminal.wait_for("? ")
        terminal.type("green tea\n")
        terminal.wait_for(f"{TEA}\n")
        terminal.wait_for("? ")
        terminal.type("exit\n")
        assert terminal.wait() == 0
        assert "in 1 document\n" not in terminal.shown, "counted at the start already"

    assert history.read_text(encoding="utf-8") == "green tea\nxylophone\ngreen tea\n"


def test_ctrl_c_cancels_the_line_alone(docs: Path, history: Path) -> None:
    with on_terminal("ask", *QUICK, folder=docs) as terminal:
        terminal.wait_for(READY)
        terminal.type("what about")
        terminal.wait_for("what about")
        terminal.type(CTRL_C)
        terminal.wait_for("\n? ")
        terminal.type("green tea\n")
        terminal.wait_for(f"green tea\n{TEA}\n")
        terminal.wait_for("? ")
        terminal.type("quit\n")
        assert terminal.wait() == 0

    assert history.read_text(encoding="utf-8") == "green tea\n"


def test_an_error_is_one_line_and_the_prompt_goes_on(docs: Path, history: Path) -> None:
    calibrated = ("--min-confidence", "0.5")  # this scorer has no confidence

    with on_terminal("ask", *QUICK, *calibrated, folder=docs) as terminal:
        terminal.wait_for(READY)
        terminal.type("green tea\n")
        terminal.wait_for("\nError: ")
        terminal.wait_for("\n? ")
        terminal.type("ice\n")
        terminal.wait_for("\nError: ")
        terminal.wait_for("\n? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
        assert "Traceback" not in terminal.shown


def test_a_path_alone_prompts_about_it_and_results_go_to_a_file(
    docs: Path, history: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"

    with on_terminal("ask", docs, "--json", *QUICK, folder=tmp_path, output=output) as terminal:
        terminal.wait_for(READY)
        terminal.type("green tea\n")
        terminal.wait_for("\n? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0

    (line,) = output.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["answers"][0]["sentence"] == TEA


def test_a_dash_for_questions_prompts_about_several_paths(
    docs: Path, history: Path, tmp_path: Path
) -> None:
    (tmp_path / "ice.txt").write_text("The ice is thin here.", encoding="utf-8")
    paths = (docs, tmp_path / "ice.txt")

    with on_terminal("ask", "--questions", "-", *paths, *QUICK, folder=tmp_path) as terminal:
        terminal.wait_for(f"3 sentences in 2 documents; {READY}")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_the_history_is_bounded_and_private(docs: Path, history: Path) -> None:
    history.parent.mkdir(parents=True)
    lines = [f"question {number}" for number in range(MAX_HISTORY + 5)]
    history.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    history.chmod(0o644)

    with on_terminal("ask", *QUICK, folder=docs) as terminal:
        terminal.wait_for(READY)
        terminal.type(UP)
        terminal.wait_for(lines[-1])
        terminal.type(CTRL_C)
        terminal.wait_for("\n? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0

    assert history.read_text(encoding="utf-8").splitlines() == lines[5:]
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.parametrize("is_folder", [True, False])
def test_without_a_place_for_the_history_questions_are_answered(
    docs: Path, history: Path, tmp_path: Path, is_folder: bool
) -> None:
    if is_folder:
        history.mkdir(parents=True)  # can be neither read nor written as a file
    else:
        (tmp_path / "state").touch()

    with on_terminal("ask", *QUICK, folder=docs) as terminal:
        terminal.wait_for(f"questions are not kept for next time: {history}: ")
        terminal.wait_for("? ")
        terminal.type("green tea\n")
        terminal.wait_for(TEA)
        terminal.wait_for("? ")
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
        assert terminal.shown.count("not kept") == 1


class Typed(io.StringIO):
    """A user who types lines and presses keys: an exception stands for what a key raises."""

    def __init__(self, *keys: str | BaseException) -> None:
        super().__init__()
        self._keys = iter(keys)

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        key = next(self._keys, "")
        if isinstance(key, BaseException):
            raise key
        return key


def test_typed_lines_are_folded_kept_and_end_with_the_input(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    undecodable = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    keys: list[str | BaseException]
    keys = ["  green \t tea\n", "\n", KeyboardInterrupt(), undecodable, "green tea\n", "ice\n"]
    monkeypatch.setattr(sys, "stdin", Typed(*keys))

    assert list(read_typed()) == ["green tea", "green tea", "ice"]
    out, err = capsys.readouterr()
    assert out == ""  # the prompt is no result
    assert err.split("? ")[1:] == ["", "", "\n", "Error: the line is not UTF-8\n", "", "", "\n"]
    assert history.read_text(encoding="utf-8") == "green tea\nice\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600

    monkeypatch.setattr(sys, "stdin", Typed("ice\n", "hail\n", " quit \n", "never read\n"))
    assert list(read_typed()) == ["ice", "hail"]
    assert history.read_text(encoding="utf-8") == "green tea\nice\nhail\n"


def test_only_the_last_lines_are_kept(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history.parent.mkdir(parents=True)
    history.write_text("".join(f"{number}\n" for number in range(MAX_HISTORY + 5)))
    history.chmod(0o644)
    monkeypatch.setattr(sys, "stdin", Typed())

    assert list(read_typed()) == []

    lines = history.read_text(encoding="utf-8").splitlines()
    assert (len(lines), lines[0]) == (MAX_HISTORY, "5")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_lines_are_read_where_no_history_can_be_kept(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history.mkdir(parents=True)
    monkeypatch.setattr(sys, "stdin", Typed("tea\n", "ice\n"))
    assert list(read_typed()) == ["tea", "ice"]
    assert capsys.readouterr().err.count("questions are not kept for next time") == 1

    history.rmdir()
    monkeypatch.setattr(sys, "stdin", Typed("tea\n", "ice\n"))
    lines = read_typed()
    assert next(lines) == "tea"
    history.unlink()
    history.mkdir()
    assert list(lines) == ["ice"]
    assert capsys.readouterr().err.count("questions are not kept for next time") == 1


def test_an_error_or_ctrl_c_is_a_line_and_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    with go_on():
        raise InputError("no such file")
    with go_on():
        raise KeyboardInterrupt

    assert capsys.readouterr().err == "Error: no such file\ncancelled\n"
