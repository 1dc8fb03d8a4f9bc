"""Commit 2a183ad as a contender: its readers, index and weights, in a process of its own."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.corpora.reply import Reply
from benchmarks.manuals.readers import find_python, make_environment

SCRIPT = """
import json, pathlib, shutil, sys, time
from functools import lru_cache
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.documents.read import ReadDocument, ReadSentence
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.index.stored_documents import FileState
from rejoinder.index.update import add_files, take_tokenizer
from rejoinder.runtime.static_vectors import load_vectors

folder, content = map(pathlib.Path, sys.argv[1:3])
found_count, answer_count = map(int, sys.argv[3:5])
questions = json.load(sys.stdin)


def to_document(name, title, blocks):
    sentences, start = [], 0
    for number, block in enumerate(blocks):
        for text in block:
            end = start + len(text)
            sentences.append(ReadSentence(text, start, end, None, None, number, False))
            start = end + 1
    text = chr(10).join(item.text for item in sentences)
    return ReadDocument(name, title, text, tuple(sentences))


def add_documents(index, path, pieces):
    documents = [to_document(*json.loads(line)) for line in path.open()]

    def work(store, generation):
        added = []
        for document in documents:
            raw = document.name.encode()
            store.put_file(raw, FileState(0, 0, b"", "{}"))
            tokens = [pieces.encode(sentence.text) for sentence in document.sentences]
            added.append(store.add_document(raw, document, tokens, generation))
        return added, []

    with index.changing() as writer:
        take_tokenizer(writer.store, pieces)
        writer.change(work)
        writer.finish()


if not folder.exists():
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    index = Index(partial, create=True)
    pieces = load_vectors().pieces
    if content.is_dir():
        for event in add_files(index, [content], pieces):
            pass
    else:
        add_documents(index, content, pieces)
    index.close()
    partial.rename(folder)

index = Index(folder)
scorer = load()
engine = Engine(index, scorer)
outspoken = Engine(index, Cascade(scorer.name, scorer.stages))
places = {document.name: document.id for document in index.store.get_documents()}


get_sentences = lru_cache(64)(index.store.get_sentences)


def show(source):
    rows = get_sentences(places[source.document])
    paragraph = next((row.paragraph for row in rows if row.start == source.start), None)
    return " ".join(row.text for row in rows if row.paragraph == paragraph)


for question in questions[:1]:
    engine.answer(question)
for question in questions:
    start = time.perf_counter()
    result = engine.answer(question)
    milliseconds = 1000 * (time.perf_counter() - start)
    found = [hit.candidate.text for hit in index.search(question, found_count)]
    best = outspoken.answer(question, top=answer_count).answers
    answers, shown = [item.sentence for item in best], [show(item.source) for item in best]
    print(json.dumps([found, answers, shown, not result.answers, milliseconds]), flush=True)
"""


def ask_before(
    tree: Path, folder: Path, content: Path, questions: Sequence[str], found: int, answers: int
) -> Iterator[Reply]:
    """Yield the replies of a checkout of the commit; its index is built in a folder."""
    command = [find_python(tree), "-c", SCRIPT, str(folder), str(content)]
    with tempfile.TemporaryFile("w+") as given:
        json.dump(list(questions), given)
        given.seek(0)
        with subprocess.Popen(
            [*command, str(found), str(answers)],
            stdin=given,
            stdout=subprocess.PIPE,
            env=make_environment(tree),
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield Reply(*json.loads(line))
    if process.returncode:
        raise SystemExit(f"{tree}: asking commit 2a183ad failed")
