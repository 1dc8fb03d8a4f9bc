"""Fuzz one parser.

Usage: python -m tests.reliability.fuzz hypothesis|atheris|mutation|repetition PARSER COUNT [SEED]

`mutation` changes valid inputs at random, which is many times faster than the first two;
`repetition` repeats a part of a valid input to 100 kB, to find parsers that take quadratic time.

Prints one JSON object: the number of inputs, how many of them were parsed (not rejected), the CPU
seconds of all of them and of the slowest, its size, and the most memory that the process had.  The
exit status is not 0 if an exception other than a RejoinderError escapes, or if an input takes too
much time or memory; then the last line of the error names a file with the input.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reliability.parser import Parser

MAX_SECONDS = 2.0
"""For an input of 100 kB and less; longer ones have more."""
MAX_MEGABYTES = 2_000
"""Of the fuzzing process, all libraries included; measured on Linux."""
MAX_BYTES = 16_000
REPEATED_BYTES = 100_000


class Fuzzer:
    """Runs a parser on inputs, and counts."""

    def __init__(self, parser: "Parser") -> None:
        from tests.reliability.parser import parse

        self.parser = parser
        # Imports libraries, too, for which no input is to be blamed.
        assert parse(parser, parser.seeds[0]), "a valid input is rejected"
        self.inputs = 0
        self.parsed = 0
        self.seconds = 0.0
        self.slowest = 0.0
        self.slowest_size = 0

    def run(self, raw: bytes) -> None:
        from tests.reliability.parser import parse

        start = time.process_time()
        try:
            self.parsed += parse(self.parser, raw)
            seconds = time.process_time() - start
            limit = MAX_SECONDS * max(1.0, len(raw) / 100_000)
            assert seconds <= limit, f"{seconds:.1f} s for {len(raw)} bytes"
            size = measure_memory()
            assert size <= MAX_MEGABYTES, f"{size:,} MB after {len(raw)} bytes"
        except BaseException as error:  # also what panics in Rust raise
            error.add_note(f"input: {_keep(raw)}")
            raise
        self.inputs += 1
        self.seconds += seconds
        if seconds > self.slowest:
            self.slowest, self.slowest_size = seconds, len(raw)

    def report(self) -> None:
        counts = {
            "inputs": self.inputs,
            "parsed": self.parsed,
            "seconds": round(self.seconds, 1),
            "slowest": round(self.slowest, 3),
            "slowest_size": self.slowest_size,
            "megabytes": measure_memory(),
        }
        sys.stdout.write(json.dumps(counts) + "\n")
        sys.stdout.flush()


def measure_memory() -> int:
    """Return the most memory that this process has had, in megabytes; 0 where nothing says it.

    `getrusage` would count that of the process which started this one, too.
    """
    if sys.platform != "linux":
        return 0
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1000


def _find_parser(name: str) -> "Parser":
    from tests.reliability.document_parsers import DOCUMENT_PARSERS

    if name in DOCUMENT_PARSERS:  # without the imports of all others, which take seconds
        return DOCUMENT_PARSERS[name]
    from tests.reliability.parsers import PARSERS

    return PARSERS[name]


def _keep(raw: bytes) -> Path:
    with tempfile.NamedTemporaryFile(prefix="rejoinder-fuzz-", delete=False) as file:
        file.write(raw)
    return Path(file.name)


def fuzz_with_hypothesis(name: str, count: int) -> None:
    from hypothesis import HealthCheck, given, settings

    from tests.reliability.strategies import inputs

    fuzzer = Fuzzer(_find_parser(name))
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
    from tests.reliability.mutations import mutate

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

    def change(raw: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.3:
            return bytes(atheris.Mutate(raw, max_size))
        return mutate(raw, fuzzer.parser.seeds, random)[:max_size]

    options = [f"-max_len={MAX_BYTES}", "-rss_limit_mb=4000", "-seed=1"]
    arguments = ["fuzz", *options, f"-artifact_prefix={FOLDER}/", str(corpus)]
    atheris.Setup(arguments, run, custom_mutator=change)
    atheris.Fuzz()


def fuzz_with_mutations(name: str, count: int, seed: int) -> None:
    """Mutate seeds, and mutate again those mutants that were parsed."""
    from tests.reliability.mutations import mutate

    fuzzer, random = Fuzzer(_find_parser(name)), Random(seed)
    seeds = fuzzer.parser.seeds
    pool = list(seeds)
    largest = 2 * max(map(len, seeds))
    while fuzzer.inputs < count:
        raw = random.choice(pool)
        for _ in range(random.choice((1, 1, 2, 3, 6))):
            raw = mutate(raw, seeds, random)
            raw = raw[:MAX_BYTES] if not raw.startswith(b"PK") else raw
        parsed = fuzzer.parsed
        fuzzer.run(raw)
        if fuzzer.parsed > parsed and len(raw) <= largest and random.random() < 0.1:
            pool.append(raw)
            if len(pool) > 100:
                del pool[random.randrange(len(seeds), len(pool))]
    fuzzer.report()


def fuzz_with_repetition(name: str, count: int, seed: int) -> None:
    from tests.reliability.mutations import amplify, mutate

    fuzzer, random = Fuzzer(_find_parser(name)), Random(seed)
    for _ in range(count):
        raw = random.choice(fuzzer.parser.seeds)
        for _ in range(random.choice((0, 1, 3))):
            raw = mutate(raw, fuzzer.parser.seeds, random)
        fuzzer.run(amplify(raw, REPEATED_BYTES, random))
    fuzzer.report()


def main() -> None:
    tool, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    if tool == "hypothesis":
        fuzz_with_hypothesis(name, count)
    elif tool == "atheris":
        fuzz_with_atheris(name, count)
    elif tool == "mutation":
        fuzz_with_mutations(name, count, seed)
    else:
        fuzz_with_repetition(name, count, seed)


if __name__ == "__main__":
    main()
