"""The default of an earlier commit as a contender: its own source, index and weights.

It runs in a process of its own, with the contenders of that commit (`benchmarks.corpora`).
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.corpora.reply import Reply
from benchmarks.manuals.readers import find_python, make_environment

COMMIT = "fd7ef2e"
"""The last commit whose selector reads the sentence alone."""
SCRIPT = """
import json, pathlib, sys
from benchmarks.corpora.contenders import Setting, make_default
from benchmarks.corpora.indexes import build_index
from rejoinder.types import Document

folder, content = map(pathlib.Path, sys.argv[1:3])
questions = json.load(sys.stdin)
documents = content
if content.is_file():
    rows = map(json.loads, content.read_text(encoding="utf-8").splitlines())
    documents = [
        Document(name, title, tuple(text for block in blocks for text in block))
        for name, title, blocks in rows
    ]
with build_index(folder, documents) as index:
    for reply in make_default(Setting("", index, content, None))(questions):
        print(json.dumps(list(reply)), flush=True)
"""


def ask_before(
    tree: Path, folder: Path, content: Path, questions: Sequence[str]
) -> Iterator[Reply]:
    """Yield the replies of a checkout of the commit; its index is built in a folder."""
    command = [find_python(tree), "-c", SCRIPT, str(folder), str(content)]
    with tempfile.TemporaryFile("w+") as given:
        json.dump(list(questions), given)
        given.seek(0)
        with subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            env=make_environment(tree),
            cwd=tree,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield Reply(*json.loads(line))
    if process.returncode:
        raise SystemExit(f"{tree}: asking commit {COMMIT} failed")
