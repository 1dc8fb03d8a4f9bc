import json
import logging
import sys

import pytest

from rejoinder.server.telemetry import JsonLines, TerminalLines, start_logging


def test_log_line_has_only_known_fields() -> None:
    record = logging.LogRecord("rejoinder", logging.INFO, "", 1, "request %d", (5,), None)
    record.__dict__ |= {"status": 200, "question": "a secret?"}

    line = json.loads(JsonLines().format(record))

    assert line.pop("time").endswith("Z")
    assert line == {
        **{"level": "info", "logger": "rejoinder", "message": "request 5", "status": 200}
    }


def test_traceback_stays_on_one_line() -> None:
    try:
        raise ValueError("bad\nvalue")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 1, "failed", (), sys.exc_info())

    shown = JsonLines().format(record)

    assert "\n" not in shown
    assert "ValueError: bad" in json.loads(shown)["traceback"]


def test_a_terminal_gets_no_control_characters() -> None:
    name = "a\x1b]0;gotcha\x07b"
    record = logging.LogRecord("a", logging.ERROR, "", 1, "not ready: %s", (name,), None)

    shown = TerminalLines().format(record)

    assert shown.endswith("  error: not ready: a�]0;gotcha�b")


def test_a_terminal_shows_tracebacks() -> None:
    try:
        raise ValueError("bad")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 1, "failed", (), sys.exc_info())

    shown = TerminalLines().format(record)

    assert shown.splitlines()[0].endswith("  error: failed")
    assert shown.endswith("\nValueError: bad")


def test_all_logs_of_a_process_are_json_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [logging.StreamHandler(sys.stdout)])
    monkeypatch.setattr(root, "level", root.level)  # restored afterwards
    try:
        start_logging()
        logging.getLogger("some.library").info("started")
        logging.getLogger("some.library").debug("a detail")
    finally:
        monkeypatch.undo()
        root.setLevel(root.level)  # forgets which levels were enabled

    out, err = capsys.readouterr()
    assert out == ""
    line = json.loads(err)
    assert (line["level"], line["logger"], line["message"]) == ("info", "some.library", "started")
