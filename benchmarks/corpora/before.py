"""The default of an earlier commit as a contender: its own source, index and weights.

It runs in a process of its own, with the names of that commit.  Where it abstained, it showed one
sentence, not five.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.corpora.reply import ANSWERS, Reply
from benchmarks.manuals.readers import find_python, make_environment

COMMIT = "2a183ad"
"""Its search knew words only, and its selector had learnt from single documents."""
SCRIPT = """
import json, sys, time
from pathlib import Path
from rejoinder.cascade.loading import load
from rejoinder.documents.read import ReadDocument, ReadSentence
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.index.update import add_files, take_tokenizer
from rejoinder.runtime.static_vectors import load_vectors

folder, content, answers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
questions = json.load(sys.stdin)


def read(name, title, blocks):
    text, sentences = "", []
    for paragraph, block in enumerate(blocks):
        for sentence in block:
            place = len(text), len(text) + len(sentence)
            sentences.append(ReadSentence(sentence, *place, None, None, paragraph, False))
            text += sentence + " "
    return ReadDocument(name, title, text, tuple(sentences))


def add(store, generation):
    documents = (read(*json.loads(line)) for line in content.read_text("utf-8").splitlines())
    return [
        store.add_document(
            document.name.encode(),
            document,
            [pieces.encode(sentence.text) for sentence in document.sentences],
            generation,
        )
        for document in documents
    ], []


if not folder.exists():
    pieces, partial = load_vectors().pieces, folder.with_suffix(".partial")
    with Index(partial, create=True) as index:
        if content.is_dir():
            list(add_files(index, [content], pieces))
        else:
            with index.changing() as writer:
                take_tokenizer(writer.store, pieces)
                writer.change(add)
                writer.finish()
    partial.rename(folder)

with Index(folder) as index:
    engine = Engine(index, load())
    engine.answer(questions[0])  # caches are cold at first
    for question in questions:
        start = time.perf_counter()
        first = engine.answer(question)
        milliseconds = 1000 * (time.perf_counter() - start)
        ranked = engine.answer(question, top=answers).answers or (first.closest,)
        best = [answer for answer in ranked if answer]
        found = [hit.candidate.text for hit in index.search(question, 100)]
        shown = [f"{item.before} {item.sentence} {item.after}" for item in best]
        texts = [item.sentence for item in best]
        reply = [found, texts, shown, not first.answers, milliseconds]
        print(json.dumps(reply), flush=True)
"""


def ask_before(
    tree: Path, folder: Path, content: Path, questions: Sequence[str]
) -> Iterator[Reply]:
    """Yield the replies of a checkout of the commit; its index is built in a folder."""
    command = [find_python(tree), "-c", SCRIPT, str(folder), str(content), str(ANSWERS)]
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
