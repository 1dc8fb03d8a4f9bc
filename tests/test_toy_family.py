"""A new model family is one folder and one line of the registry; everything else knows it."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rejoinder
from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.cascade.cascade import Cascade
from rejoinder.cli import main
from rejoinder.evaluation import evaluate
from rejoinder.models.registry import FAMILIES, NAMED, SCORERLESS, get_family
from rejoinder.types import Candidate, Example

# The whole family: it scores the letters that question and sentence share, and stores the
# letters of each sentence beside an index.
FAMILY = """
from pathlib import Path

import numpy as np

from rejoinder.models.registry import Family
from rejoinder.types import to_candidates

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def to_row(text):
    return np.array([[letter in text.lower() for letter in LETTERS]], dtype=np.uint8)


class Letters:
    name = "letters"
    row_bytes = len(LETTERS)

    def __init__(self, bundle):
        self.folder = bundle.folder
        self.hash = bundle.manifest.files["weights.txt"][:16]

    def encode(self, document, headings):
        return [to_row(text) for text in document.sentences]


class Toy:
    is_pointwise = True
    encoded = 0

    def __init__(self, bundle, rows=None):
        self.name = Path(bundle.folder).name
        self.sidecar = Letters(bundle)
        self._bundle, self._rows = bundle, rows
        self._weight = float(bundle.read_text("weights.txt"))

    def bind(self, rows):
        return Toy(self._bundle, rows)

    def without_rows(self, error):
        return self

    def score(self, question, candidates):
        items = to_candidates(candidates)
        if self._rows is not None:
            rows = self._rows.find(items).gather()
        else:
            Toy.encoded += len(items)
            rows = np.concatenate([to_row(item.text) for item in items])
        return self._weight * (rows & to_row(question)).sum(axis=1).astype(np.float64)


FAMILY = Family(
    "toy",
    "shared letters",
    lambda bundle, runtime: Toy(bundle),
    Letters,
    training="toy_family.training:TRAINER",
)
"""
TRAINING = """
from dataclasses import dataclass
from pathlib import Path

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.training.options import Trained, Trainer, TrainingOptions, option


@dataclass(frozen=True, kw_only=True)
class ToyOptions(TrainingOptions):
    weight: float = option(1.0, "Weight of a letter.", min=0)


def train_toy(options, data, *, on_step, say, command):
    say(f"learning from {' '.join(data)}")
    manifest = Manifest("toy", {}, training={"command": command})
    write_bundle(Path(options.to), manifest, {"weights.txt": str(options.weight).encode()})
    return Trained(Path(options.to), 1, 0, 0.0)


TRAINER = Trainer(ToyOptions, "toy_family.training:train_toy", "It learns nothing.")
"""
TEXTS = ["Zzz.", "Tea is hot."]
QUESTION = "is tea hot"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register the family, and return the folder of a bundle."""
    (tmp_path / "toy_family").mkdir()
    (tmp_path / "toy_family" / "__init__.py").write_text(FAMILY, encoding="utf-8")
    (tmp_path / "toy_family" / "training.py").write_text(TRAINING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("toy_family", "toy_family.training"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(FAMILIES, "toy", "toy_family:FAMILY")
    write_bundle(tmp_path / "my-toy", Manifest("toy", {}), {"weights.txt": b"0.5"})
    return tmp_path / "my-toy"


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def test_it_is_loaded_from_its_bundle(toy: Path) -> None:
    scorer = rejoinder.load(toy)

    assert scorer.name == "my-toy"
    assert scorer.score(QUESTION, TEXTS).tolist() == [0, 3.5]
    assert "is complete and scores" in run("models", "verify", toy).stderr


def test_it_is_trained(toy: Path, tmp_path: Path) -> None:
    listed = run("train", "--help")
    shown = run("train", "toy", "--help")
    trained = run("train", "toy", "questions", "--weight", "2", "--to", tmp_path / "mine")

    assert "shared letters" in listed.stdout.lower()
    assert "Weight of a letter." in shown.stdout
    assert "It learns nothing." in shown.stdout
    assert trained.stderr == "learning from questions\n"
    assert f"wrote {tmp_path / 'mine'}: 1 parameters" in trained.stdout
    assert rejoinder.load(tmp_path / "mine").score(QUESTION, TEXTS).tolist() == [0, 14]


def test_it_is_evaluated(toy: Path) -> None:
    candidates = tuple(Candidate(str(place), text) for place, text in enumerate(TEXTS))
    example = Example("1", QUESTION, candidates, (False, True))

    assert evaluate(rejoinder.load(toy), [example]).means["P@1"] == 1
    assert json.loads(run("evaluate", toy, "examples/questions.jsonl", "--json").stdout)


def test_it_is_a_stage_of_a_cascade(toy: Path) -> None:
    stages = '[[stage]]\nscorer = "jaccard"\nkeep = 10\n\n[[stage]]\nscorer = "my-toy"\n'
    (toy.parent / "two.toml").write_text(stages, encoding="utf-8")

    cascade = rejoinder.load(toy.parent / "two.toml")

    assert isinstance(cascade, Cascade)
    ranking = rejoinder.rank(QUESTION, TEXTS, scorer=cascade)
    assert [item.candidate.text for item in ranking.items] == TEXTS[::-1]
    assert [item.stage for item in ranking.items] == [1, 1]


def test_its_rows_are_stored_beside_an_index_and_read(toy: Path, tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    (docs / "tea.txt").write_text("Tea is always hot. Milk will spoil it.", encoding="utf-8")
    run("index", "add", docs, "--index", index, "--sidecar", toy)
    (docs / "ice.txt").write_text("Ice is not hot.", encoding="utf-8")
    run("index", "add", docs, "--index", index)  # updates the rows, without the option
    run("index", "check", "--index", index)

    asked = run("ask", QUESTION, "--index", index, "--scorer", toy, "--json")

    assert json.loads(asked.stdout)["answers"][0]["sentence"] == "Tea is always hot."
    assert sys.modules["toy_family"].Toy.encoded == 0
    assert len([*index.glob("sidecar/letters-*/rows-1")]) == 1


def test_a_family_without_rows_is_refused_before_anything_is_added(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["index", "add", "examples/docs", "--index", f"{tmp_path}/i", "--sidecar", "cosinet"]
    )

    assert result.exit_code == 1
    assert "a bundle of kind 'cosinet' stores nothing beside an index" in result.stderr
    assert not (tmp_path / "i").exists()


def test_two_bundles_of_one_kind_of_rows_are_refused(toy: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main,
        ["index", "add", "examples/docs", "--index", f"{tmp_path}/i", *["--sidecar", str(toy)] * 2],
    )

    assert result.exit_code == 1
    assert "both store letters" in result.stderr
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_line_of_the_registry_is_a_family_with_that_name(name: str) -> None:
    assert get_family(name).name == name


def test_scorerless_families_are_those_that_open_no_scorer() -> None:
    assert {name for name in FAMILIES if get_family(name).open is None} - {*NAMED} == {*SCORERLESS}
