"""Run docs/rehearsal.md in a fresh clone, step by step, and write what was seen.

Usage: python -m tests.newcomers.rehearsal

A step is a block of a shell command or of Python, what it prints, and the seconds that it took.
"""

import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import TIMEOUT_MS, find_chromium
from tests.newcomers.clone import PORT, ROOT, Clone, Step, find_port, make_clone

PAGE = ROOT / "docs" / "rehearsal.md"
SLOWER = 3
"""How many times the stated seconds a step may take."""
MIN_LIMIT = 20
"""Seconds that any step may take: a busy machine delays a step of one second by several."""
_STEP = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?\n\*(\d+) s\*\n", re.M | re.S
)
_MEASURED = re.compile(
    r"\d[\d,]*\.\d+|\d+(?= ?(?:%|ms\b|s\b))|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


@dataclass(frozen=True)
class Rehearsed:
    """A step, what it printed, and how long it took."""

    step: Step
    output: str
    seconds: float

    def show(self) -> str:
        """Return it as the page has it."""
        stated = f"\n*{max(1, math.ceil(self.seconds))} s*\n"
        if not self.step.is_python:
            return f"```console\n$ {self.step.code}\n{self.output}```\n{stated}"
        printed = f"\n```text\n{self.output}```\n" if self.output else ""
        return f"```python\n{self.step.code}```\n{printed}{stated}"


def read_page(text: str) -> list[Rehearsed]:
    """Return the steps of the page."""
    steps = []
    for language, block, printed, seconds in _STEP.findall(text):
        if language == "python":
            steps.append(Rehearsed(Step(block, is_python=True), printed, int(seconds)))
        else:
            command, _, output = block.removeprefix("$ ").partition("\n")
            steps.append(Rehearsed(Step(command), output, int(seconds)))
    return steps


def get_limit(seconds: float) -> float:
    """Return how long a step may take for which the page states these seconds.

    >>> get_limit(1), get_limit(60)
    (20, 180)
    """
    return max(SLOWER * seconds, MIN_LIMIT)


def mask(output: str) -> str:
    """Hide what differs from run to run: times, scores, confidences and ids.

    >>> mask("5 added in 0.31 s; 93 % sure")
    '5 added in N s; N % sure'
    """
    return _MEASURED.sub("N", output)


def rehearse(clone: Clone, steps: list[Step]) -> Iterator[Rehearsed]:
    """Run each step; servers run until the last one ends."""
    port = find_port()
    with ExitStack() as servers:
        for step in steps:
            own = replace(step, code=step.code.replace(f"localhost:{PORT}", f"localhost:{port}"))
            start = time.perf_counter()
            if extras := re.match(r"pip install .*\[(.+)\]", own.code):
                for extra in extras[1].split(","):
                    clone.show_packages(extra)
            if own.code.startswith("rejoinder serve"):
                log = servers.enter_context(clone.serve(own, port))
                output = log.read_text(encoding="utf-8")
            elif own.code.startswith("open "):
                output = open_page(own.code.removeprefix("open ").strip('"'))
            else:
                done = clone.run(own)
                output = done.stdout + done.stderr
            seconds = time.perf_counter() - start
            output = output.replace(f":{port}", f":{PORT}")
            output = output.replace(str(clone.folder), "~/rejoinder")
            lines = [f"{line.rstrip()}\n" for line in output.splitlines()]
            yield Rehearsed(step, "".join(lines), seconds)


def open_page(address: str) -> str:
    """Return the best answer that the page shows."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(address)
        page.wait_for_selector("#results[aria-busy=false] .answer")
        answer = page.locator(".answer").first
        parts = [answer.locator(name).inner_text() for name in ("mark", ".file", ".confidence")]
        browser.close()
    return "".join(f"{part}\n" for part in parts)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    steps = [item.step for item in read_page(text)]
    with tempfile.TemporaryDirectory() as folder:
        seen = []
        for item in rehearse(make_clone(Path(folder)), steps):
            sys.stdout.write(item.show())
            seen.append(item.show())
    pages = iter(seen)
    PAGE.write_text(_STEP.sub(lambda _: next(pages), text), encoding="utf-8")


if __name__ == "__main__":
    main()
