"""Fuzz one parser.

Usage: python -m tests.reliability.fuzz hypothesis|atheris PARSER COUNT

Prints one JSON object: the number of inputs, how many of them were parsed (not rejected), and
the CPU seconds of the slowest.  The exit status is not 0 if an exception other than a
RejoinderError escapes, or if an input takes more than a CPU second per kilobyte.
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


class Fuzzer:
    """Runs a parser on inputs, and counts."""

    def __init__(self, parser: "Parser") -> None:
        self.parser = parser
        self.inputs = 0
        self.parsed = 0
        self.slowest = 0.0

    def run(self, raw: bytes) -> None:
        from tests.reliability.parsers import parse

        start = time.process_time()
        self.parsed += parse(self.parser, raw)
        seconds = time.process_time() - start
        self.inputs += 1
        self.slowest = max(self.slowest, seconds)
        limit = MAX_SECONDS_PER_KILOBYTE * max(1.0, len(raw) / 1000)
        assert seconds <= limit, f"{seconds:.1f} s for {len(raw)} bytes"

    def report(self) -> None:
        counts = {"inputs": self.inputs, "parsed": self.parsed, "slowest": round(self.slowest, 3)}
        sys.stdout.write(json.dumps(counts) + "\n")
        sys.stdout.flush()


def fuzz_with_hypothesis(name: str, count: int) -> None:
    from hypothesis import HealthCheck, given, settings

    from tests.reliability.mutations import inputs
    from tests.reliability.parsers import PARSERS

    fuzzer = Fuzzer(PARSERS[name])
    for seed in fuzzer.parser.seeds:
        fuzzer.run(seed)

    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(inputs(fuzzer.parser.seeds))
    def run(raw: bytes) -> None:
        fuzzer.run(raw)

    run()
    fuzzer.report()


def fuzz_with_atheris(name: str, count: int) -> None:
    """Let atheris choose inputs by the coverage of our code."""
    import atheris

    with atheris.instrument_imports(include=["rejoinder", "html", "zipfile", "csv", "tomllib"]):
        from tests.reliability.parsers import FOLDER, PARSERS
    fuzzer = Fuzzer(PARSERS[name])
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(fuzzer.parser.seeds):
        (corpus / str(number)).write_bytes(seed)

    def run(raw: bytes) -> None:
        fuzzer.run(raw)
        if fuzzer.inputs == count:  # atheris only ends with its process
            fuzzer.report()
            shutil.rmtree(FOLDER, ignore_errors=True)
            os._exit(0)

    options = [f"-max_len={MAX_BYTES}", "-rss_limit_mb=4000", "-seed=1"]
    atheris.Setup(["fuzz", *options, f"-artifact_prefix={FOLDER}/", str(corpus)], run)
    atheris.Fuzz()


def main() -> None:
    tool, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if tool == "hypothesis":
        fuzz_with_hypothesis(name, count)
    else:
        fuzz_with_atheris(name, count)


if __name__ == "__main__":
    main()
