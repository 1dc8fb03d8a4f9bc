"""Write the list of questions by which `squad-train-part` is selected from SQuAD's own file.

Usage: python -m benchmarks.list_squad_part --data DATA

Reads pool/squad-train-part.jsonl.gz and writes src/rejoinder/datasets/readers/squad_part.txt.gz.
"""

import argparse
import gzip
import re
from collections.abc import Iterable
from pathlib import Path

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.entries import is_held_out
from rejoinder.datasets.readers.squad_part import LIST, hash_question
from rejoinder.types import Example

ID = re.compile(r"[0-9a-f]{24}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    write_list(open_dataset("squad-train-part", split="train", folder=folder), LIST)
    print(f"wrote {LIST}: {LIST.stat().st_size:,} bytes")


def write_list(examples: Iterable[Example], path: Path) -> None:
    """Write one line per question: SQuAD's id or the hash of the question, and fit or dev."""
    lines = set()
    for example in examples:
        is_own = ID.fullmatch(example.id)
        key = example.id if is_own else hash_question(example.question)
        lines.add(f"{key} {'dev' if is_held_out(example) else 'fit'}\n")
    path.write_bytes(gzip.compress("".join(sorted(lines)).encode("ascii"), 9, mtime=0))


if __name__ == "__main__":
    main()
