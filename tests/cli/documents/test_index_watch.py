"""`rejoinder index add --watch`, as a real process and in this one."""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.terminal import CTRL_C, on_terminal

from rejoinder.cli import main
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.storage.files import lock_folder

READY = "following the files; Ctrl-C ends this\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("Green tea is brewed at 75 °C.\n", encoding="utf-8")
    return folder


def test_prints_each_change_and_ends_with_ctrl_c(docs: Path, tmp_path: Path) -> None:
    add = ("index", "add", "docs", "--index", "index", "--watch")

    with on_terminal(*add, folder=tmp_path) as terminal:
        terminal.wait_for("1 added; 1 sentence read\n" + READY)
        (docs / "ice.md").write_text("Ice is cold. It melts in spring.\n", encoding="utf-8")
        terminal.wait_for(f"added {docs}/ice.md (2 sentences)\n")
        (docs / "bad.pdf").write_bytes(b"nothing")
        terminal.wait_for(f"skipped {docs}/bad.pdf: not a PDF that can be read")
        (docs / "tea.md").unlink()
        terminal.wait_for(f"removed {docs}/tea.md\n")
        terminal.type(CTRL_C)
        assert terminal.wait() == 0
        terminal.wait_for(
            "stopped: 2 added, 1 skipped, 1 removed; the index has 1 document, 2 sentences\n"
        )

    with Index(tmp_path / "index") as index:
        assert index.check() == []


def test_waits_for_another_writer_and_ends_with_sigterm(docs: Path, tmp_path: Path) -> None:
    folder, output = tmp_path / "index", tmp_path / "events.jsonl"
    Index(folder, create=True).close()
    add = ("index", "add", docs, "--index", folder, "--watch", "--json")

    with lock_folder(folder):
        terminals = on_terminal(*add, folder=tmp_path, output=output)
        terminal = terminals.__enter__()
        terminal.wait_for(f"{folder}: another process is writing; wait until it ends\n")
    try:
        terminal.wait_for(READY)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait() == 0
        terminal.wait_for("stopped: 1 added; the index has 1 document, 1 sentence\n")
    finally:
        terminals.__exit__(None, None, None)

    (event,) = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    assert (event["what"], event["path"]) == ("added", f"{docs}/tea.md")


def test_refuses_before_an_index_is_created(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watch(*paths: Path) -> str:
        arguments = ["index", "add", *map(str, paths), "--index", str(tmp_path / "index")]
        result = CliRunner().invoke(main, [*arguments, "--watch"])
        assert result.exit_code == 1
        return result.stderr

    assert watch(docs / "missing") == f"Error: {docs}/missing: no such file or folder\n"
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert watch(docs) == (
        "Error: following files needs extra packages: pip install 'rejoinder[watch]'\n"
    )
    assert not (tmp_path / "index").exists()


def test_a_user_sees_each_change_until_ctrl_c(tmp_path: Path) -> None:
    docs, folder = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    (docs / "tea.txt").write_text("Tea is hot.\n")
    waiting = threading.Event()

    def count() -> int:
        with Index(folder) as index:
            return index.count().documents

    def wait_for(documents: int) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(StoreError):
                if count() == documents:
                    return
            waiting.wait(0.2)

    def work() -> None:
        wait_for(1)
        waiting.wait(1)  # until the watch has begun
        (docs / "ice.txt").write_text("Ice is cold.\n")
        wait_for(2)
        (docs / "tea.txt").unlink()
        wait_for(1)
        waiting.wait(1)  # until the change is printed
        os.kill(os.getpid(), signal.SIGINT)

    worker = threading.Thread(target=work)
    worker.start()
    arguments = ["index", "add", str(docs), "--index", str(folder), "--watch"]
    result = CliRunner().invoke(main, arguments)
    worker.join()

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == [
        f"added {docs}/ice.txt (1 sentence)",
        f"removed {docs}/tea.txt",
    ]
    assert "following the files; Ctrl-C ends this\n" in result.stderr
    end = "stopped: 2 added, 1 removed; the index has 1 document, 1 sentence\n"
    assert result.stderr.endswith(end)
