"""The garbage collector is paused while an engine is opened, and does nothing at exit."""

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.cli.documents import ask
from rejoinder.cli.documents.ask import pause_collector


def test_the_collector_is_paused_in_a_block_alone() -> None:
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), pause_collector():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_disabled_stays_so() -> None:
    gc.disable()
    try:
        with pause_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_engine_is_opened_without_the_collector_and_asked_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tea.md").write_text("Green tea is brewed at 75 °C.", encoding="utf-8")
    seen: list[bool] = []
    open_engine = ask.open_engine

    def watch(*arguments: Any) -> Any:
        seen.append(gc.isenabled())
        engine = open_engine(*arguments)
        answer = engine.answer

        def watch_answer(*questions: Any, **options: Any) -> Any:
            seen.append(gc.isenabled())
            return answer(*questions, **options)

        monkeypatch.setattr(engine, "answer", watch_answer)
        return engine

    monkeypatch.setattr(ask, "open_engine", watch)
    CliRunner().invoke(main, ["ask", "how hot is tea?", str(tmp_path), "--scorer", "bm25"])

    assert seen == [False, True]


def test_nothing_is_collected_at_exit() -> None:
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0))\n"  # runs last
        "from rejoinder.cli import main\n"
        "main(['models', 'list'])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert result.stdout.splitlines()[-1] == "frozen True"
