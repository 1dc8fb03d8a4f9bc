"""Feeds one parser until something escapes, in a process of its own.

Usage: python -m tests.reliability.fuzz hypothesis|atheris PARSER COUNT

Prints one JSON object: how many inputs, how many were read rather than refused, the slowest.
Exits with another status than 0 where an error that is not ours escapes, or where an input takes
more than a second of this process's time per kilobyte.
"""

import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reliability.parsers import Parser

MAX_SECONDS_PER_KILOBYTE = 1.0
MAX_BYTES = 4000


class Feeder:
    """Feeds a parser, and counts."""

    def __init__(self, parser: "Parser") -> None:
        self.parser = parser
        self.inputs = 0
        self.read = 0
        self.slowest = 0.0

    def feed(self, raw: bytes) -> None:
        from tests.reliability.parsers import parse

        start = time.process_time()
        self.read += parse(self.parser, raw)
        seconds = time.process_time() - start
        self.inputs += 1
        self.slowest = max(self.slowest, seconds)
        most = MAX_SECONDS_PER_KILOBYTE * max(1.0, len(raw) / 1000)
        assert seconds <= most, f"{seconds:.1f} s for {len(raw)} bytes"

    def report(self) -> None:
        found = {"inputs": self.inputs, "read": self.read, "slowest": round(self.slowest, 3)}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


def feed_hypothesis(name: str, count: int) -> None:
    from hypothesis import HealthCheck, given, settings

    from tests.reliability.drawing import inputs
    from tests.reliability.parsers import PARSERS

    feeder = Feeder(PARSERS[name])
    for seed in feeder.parser.seeds:
        feeder.feed(seed)

    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(inputs(feeder.parser.seeds))
    def run(raw: bytes) -> None:
        feeder.feed(raw)

    run()
    feeder.report()


def feed_atheris(name: str, count: int) -> None:
    """Let atheris choose inputs by the lines of ours that they reach."""
    import atheris

    with atheris.instrument_imports(include=["rejoinder", "html", "zipfile", "csv", "tomllib"]):
        from tests.reliability.parsers import FOLDER, PARSERS
    feeder = Feeder(PARSERS[name])
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(feeder.parser.seeds):
        (corpus / str(number)).write_bytes(seed)

    def run(raw: bytes) -> None:
        feeder.feed(raw)
        if feeder.inputs == count:  # atheris has no other end than the process's
            feeder.report()
            shutil.rmtree(FOLDER, ignore_errors=True)
            os._exit(0)

    options = [f"-max_len={MAX_BYTES}", "-rss_limit_mb=4000", "-seed=1"]
    atheris.Setup(["fuzz", *options, f"-artifact_prefix={FOLDER}/", str(corpus)], run)
    atheris.Fuzz()


def main() -> None:
    how, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if how == "hypothesis":
        feed_hypothesis(name, count)
    else:
        feed_atheris(name, count)


if __name__ == "__main__":
    main()
