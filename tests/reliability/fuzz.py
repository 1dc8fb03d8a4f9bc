"""Feeds one parser until something escapes, in a process of its own.

Usage: python -m tests.reliability.fuzz hypothesis|atheris PARSER COUNT

Prints one JSON object: how many inputs, how many were read rather than refused, the slowest.
Exits with another status than 0 where an error that is not ours escapes, or where an input takes
more than a second of this process's time per kilobyte.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.reliability.parsers import PARSERS, parse

MAX_SECONDS_PER_KILOBYTE = 1.0


class Feeder:
    """Feeds a parser, and counts."""

    def __init__(self, name: str) -> None:
        self.parser = PARSERS[name]
        self.inputs = 0
        self.read = 0
        self.slowest = 0.0

    def feed(self, raw: bytes) -> None:
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


def feed_hypothesis(feeder: Feeder, count: int) -> None:
    from hypothesis import HealthCheck, given, settings

    from tests.reliability.drawing import inputs

    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(inputs(feeder.parser.seeds))
    def run(raw: bytes) -> None:
        feeder.feed(raw)

    # Hypothesis stops when it has no new examples: seeds of short inputs are soon used up.
    while feeder.inputs < count:
        before = feeder.inputs
        run()
        if feeder.inputs == before:
            break


def feed_atheris(feeder: Feeder, count: int, start: Callable[[Any], None]) -> None:
    """Let atheris choose inputs by the lines that they reach; it ends the process itself."""

    def run(raw: bytes) -> None:
        feeder.feed(raw)
        if feeder.inputs == count:
            feeder.report()
            os._exit(0)

    start(run)


def main() -> None:
    how, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    feeder = Feeder(name)
    for seed in feeder.parser.seeds:
        assert parse(feeder.parser, seed) or name == "bundle, weights", "a good input is refused"
    if how == "hypothesis":
        feed_hypothesis(feeder, count)
        feeder.report()
        return
    import atheris

    options = ["fuzz", "-max_len=4000", "-rss_limit_mb=4000", "-print_final_stats=0", "-seed=1"]

    def start(run: Callable[[bytes], None]) -> None:
        from tests.reliability.parsers import FOLDER

        corpus = FOLDER / "corpus"
        corpus.mkdir()
        for number, seed in enumerate(feeder.parser.seeds):
            (corpus / str(number)).write_bytes(seed)
        atheris.instrument_all()
        atheris.Setup([*options, f"-artifact_prefix={FOLDER}/", str(corpus)], run)
        atheris.Fuzz()

    feed_atheris(feeder, count, start)


if __name__ == "__main__":
    main()
