"""README.md in a fresh clone: its commands and its Python, in the order in which it prints them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.newcomers.clone import PORT, Clone, Step, find_port, make_clone, read_steps

WIKIQA = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return make_clone(tmp_path_factory.mktemp("newcomer"))


def write_data(folder: Path) -> None:
    """Write tiny data sets in the layouts of WikiQA and TREC-QA, and questions of one's own."""
    questions = folder / "examples" / "questions.jsonl"
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    wikiqa, trecqa = folder / "DATA" / "wikiqa", folder / "DATA" / "trecqa"
    wikiqa.mkdir(parents=True)
    trecqa.mkdir()
    lines = [
        f"{row['id']}\t{row['question']}\t{row['id']}\tPage\t{row['id']}-{place}"
        f"\t{item['text']}\t{item['label']}\n"
        for row in rows
        for place, item in enumerate(row["candidates"])
    ]
    for split in ("train", "dev", "test"):
        (wikiqa / f"WikiQA-{split}.tsv").write_text(WIKIQA + "".join(lines), encoding="utf-8")
    judged = [
        {
            "question": row["question"],
            "candidates": [
                {"label": item["label"], "sentence": item["text"]} for item in row["candidates"]
            ],
        }
        for row in rows
    ]
    text = "".join(json.dumps(row) + "\n" for row in judged)
    (trecqa / "test.jsonl").write_text(text, encoding="utf-8")
    shutil.copy(questions, folder / "my-questions.jsonl")


def test_every_command_and_python_block_works_in_the_printed_order(clone: Clone) -> None:
    steps = read_steps((clone.folder / "README.md").read_text(encoding="utf-8"))
    write_data(clone.folder)
    servers, port, is_installed = [], find_port(), False

    assert len(steps) > 10
    while steps:
        step = steps.pop(0)
        if step.code.startswith("rejoinder serve"):
            with clone.serve(step, port):
                assert steps[0].code.startswith("curl "), "a client follows its server"
                client = steps.pop(0).code.replace(f"localhost:{PORT}", f"localhost:{port}")
                answered = json.loads(clone.run(Step(client)).stdout)
                assert answered["answers"], answered
            servers.append(step)
            continue
        is_pip = step.code.startswith("pip install")
        if is_pip and (extra := re.search(r"\[(.+)\]", step.code)):
            clone.show_packages(extra[1])
        if is_pip and is_installed:
            # To build the wheel of 45 MB takes 10 s, and it has the same content with every extra:
            # from the second time on, pip resolves the extra but does not build.
            step = replace(step, code=step.code.replace("install", "install --dry-run", 1))
        done = clone.run(step)
        if step.output:
            assert done.stdout == step.output, step.code
        elif not step.code.startswith(". "):
            assert done.stdout, f"{step.code} prints nothing"
        if is_pip:
            assert "does not provide the extra" not in done.stderr, done.stderr
            is_installed = True
    assert servers


def test_the_next_commands_that_make_ask_prints_work(clone: Clone) -> None:
    shown = clone.run(Step("make ask")).stderr
    following = re.findall(r"^(?:next:)? +(\S.*)$", shown.partition("\nnext:")[2], re.M)

    assert len(following) == 2, shown
    first, second = (clone.run(Step(command)).stdout for command in following)
    assert re.findall(r"^\d\. ", first, re.M) == ["1. ", "2. ", "3. "]
    assert re.match(r"\d+ (added|unchanged); ", second)


def test_make_ask_takes_a_question_and_a_folder(clone: Clone) -> None:
    (clone.folder / "notes").mkdir()
    (clone.folder / "notes" / "sloths.txt").write_text("Sloths sleep for ten hours a day.\n")
    readme = (clone.folder / "README.md").read_text(encoding="utf-8")
    command = 'make ask Q="…" DOCS="path/to/folder"'
    assert f"`{command}`" in readme

    asked = command.replace("…", "how long do sloths sleep?").replace("path/to/folder", "notes")

    assert clone.run(Step(asked)).stdout.startswith("Sloths sleep for ten hours a day.\n    notes/")


def test_without_an_extra_a_command_names_it(clone: Clone) -> None:
    clone.run(Step("make ask"))
    hidden = clone.folder.parent / "hidden"
    clone.packages.rename(hidden)
    clone.packages.mkdir()
    try:
        clone.show_packages()
        shown = clone.try_(Step(".venv/bin/rejoinder serve my-index"))
    finally:
        shutil.rmtree(clone.packages)
        hidden.rename(clone.packages)

    assert shown.returncode == 1
    assert "needs extra packages: pip install 'rejoinder[serve]'" in shown.stderr
