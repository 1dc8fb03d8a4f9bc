"""`rejoinder index add --sidecar`: the page vectors of a selector are stored and updated."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.selectors import TOKENIZER, make_contextual  # noqa: E402

from rejoinder.cli import main  # noqa: E402
from rejoinder.models.selector.export import write_selector  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def write(folder: Path, form: str) -> Path:
    write_selector(folder, make_contextual(form), TOKENIZER, training={}, sample=[])
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "ice.txt").write_text("The ice is here. It rained in winter.", encoding="utf-8")
    return folder


def ask(index: Path, bundle: Path) -> list[tuple[str, float]]:
    asked = run("ask", "where is the ice?", "--index", index, "--scorer", bundle, "--json")
    assert asked.exit_code == 0, asked.output
    return [(item["sentence"], item["score"]) for item in json.loads(asked.stdout)["answers"]]


def test_answers_are_those_of_an_index_without_it(docs: Path, tmp_path: Path) -> None:
    bundle = write(tmp_path / "stored", "stored")
    run("index", "add", docs, "--index", tmp_path / "plain")

    added = run("index", "add", docs, "--index", tmp_path / "index", "--sidecar", bundle)

    assert added.exit_code == 0, added.output
    assert len(list((tmp_path / "index").glob("sidecar/context-*/rows-1"))) == 1
    ((sentence, score),) = ask(tmp_path / "plain", bundle)
    ((stored_sentence, stored_score),) = ask(tmp_path / "index", bundle)
    assert stored_sentence == sentence
    assert stored_score == pytest.approx(score, abs=1e-5)


def test_later_additions_are_stored_unasked(docs: Path, tmp_path: Path) -> None:
    bundle, index = write(tmp_path / "stored", "stored"), tmp_path / "index"
    run("index", "add", docs, "--index", index, "--sidecar", bundle)
    (docs / "rock.txt").write_text("The rock is here.", encoding="utf-8")

    added = run("index", "add", docs, "--index", index)

    assert added.exit_code == 0, added.output
    checked = run("index", "check", "--index", index)
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize("name", ["local", "selector"])
def test_a_selector_without_vectors_is_refused_before_anything_is_added(
    docs: Path, tmp_path: Path, name: str
) -> None:
    # The shipped selector goes by its name, and reads no context.
    bundle = write(tmp_path / name, name) if name == "local" else name

    result = run("index", "add", docs, "--index", tmp_path / "i", "--sidecar", bundle)

    assert result.exit_code == 1
    assert "leave out --sidecar" in result.stderr
    assert not (tmp_path / "i").exists()
