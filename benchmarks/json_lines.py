"""How long it takes to decode lines of JSON: msgspec into typed structs, against checks by hand.

Usage: python -m benchmarks.json_lines [--lines 200000] [--repeats 7] > json_lines.json

Prints one JSON object.  Each way decodes and checks the same candidates, in turn, and the median
CPU seconds of the rounds are given:

    by_hand   Python's json, and a method call per field that checks its type
    convert   Python's json, and msgspec.convert
    msgspec   datasets/json_rows.py: msgspec parses and checks

`ratio` is msgspec's share of the time by hand, the median over the rounds.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks.common import describe_machine
from rejoinder.datasets.json_rows import Id, parse_json_lines

T = TypeVar("T")
TEXT = "Most glacier caves are formed by meltwater that runs through or under the glacier."
PATH = Path("candidates.jsonl")


class Row(msgspec.Struct):
    """A candidate, as `datasets/readers/candidates.py` reads it."""

    text: str
    id: Id | None = None
    document: Id | None = None
    title: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """A JSON object whose fields are checked when they are read, as readers did before."""

    fields: dict[str, Any]
    path: Path
    line: int

    def get(self, name: str, kind: type[T]) -> T:
        """Return a required field of this type."""
        value = self.fields.get(name)
        if type(value) is not kind:
            raise ValueError(f"{self.path}:{self.line}: field {name!r} must be {kind.__name__}")
        return value

    def get_optional(self, name: str, kind: type[T]) -> T | None:
        """Return a field of this type, or None if it is missing or null."""
        return self.get(name, kind) if self.fields.get(name) is not None else None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    lines = [(number + 1, make_line(number)) for number in range(options.lines)]
    ways = {
        "by_hand": lambda: read_by_hand(lines),
        "convert": lambda: convert(lines),
        "msgspec": lambda: parse_json_lines(lines, PATH, Row),
    }
    rounds = [
        {name: time_reading(way) for name, way in ways.items()} for _ in range(options.repeats + 1)
    ][1:]  # the first one warms up
    ratio = statistics.median(each["msgspec"] / each["by_hand"] for each in rounds)
    seconds = {name: round(statistics.median(i[name] for i in rounds), 3) for name in ways}
    print(
        json.dumps(
            {
                "lines": options.lines,
                "repeats": options.repeats,
                "cpu_seconds": seconds,
                "ratio": round(ratio, 3),
                **describe_machine(),
            },
            indent=2,
        )
    )


def make_line(number: int) -> str:
    document, position = divmod(number, 40)
    fields = {"id": f"s{number}", "document": f"d{document}", "title": "Glacier cave"}
    return json.dumps({**fields, "text": TEXT, "position": position})


def read_by_hand(lines: list[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    for number, line in lines:
        fields = CheckedObject(json.loads(line), PATH, number)
        yield (
            number,
            Row(
                fields.get("text", str),
                fields.get_optional("id", str),
                fields.get_optional("document", str),
                fields.get_optional("title", str),
                fields.get_optional("position", int),
            ),
        )


def convert(lines: list[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    for number, line in lines:
        yield number, msgspec.convert(json.loads(line), Row)


def time_reading(read: Callable[[], Iterator[tuple[int, Row]]]) -> float:
    start = time.process_time()
    for _ in read():
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main()
