"""Trainings from Python: options in, bundle and result out."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

import rejoinder  # noqa: E402
from rejoinder import DistilOptions, HasOptions, RankerOptions, SelectorOptions  # noqa: E402
from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.errors import InputError, RejoinderError, UnknownNameError  # noqa: E402
from rejoinder.models.registry import FAMILIES  # noqa: E402
from rejoinder.models.selector.export import reopen_selector  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer  # noqa: E402
from rejoinder.types import Example  # noqa: E402
from tests.models.selectors import write_encoder  # noqa: E402

# Each word of a candidate counts by its relatedness to the question: a pair is their mean.
NEW_RANKER = {
    "__init__": """
from rejoinder.models.ranker import make_family

FAMILY = make_family(
    "toy-ranker",
    "mean relatedness",
    network="toy_ranker.network:ToyNetwork",
    encoder="toy_ranker.module:Toy",
)
""",
    "network": """
import numpy as np

from rejoinder.models.ranker.network import Network


class ToyNetwork(Network):
    def __init__(self, weights, kernel=None):
        self._weight = weights["weight"]

    def encode(self, pairs):
        ends = np.cumsum(pairs.lengths)
        means = np.add.reduceat(pairs.related, ends - pairs.lengths) / pairs.lengths
        return means.astype(np.float32)[:, None] * self._weight
""",
    "module": """
import torch


class Toy(torch.nn.Module):
    pair_width = hidden_width = 4

    def __init__(self, vector_width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, batch):
        side = batch.candidate
        texts = side.related.split(side.lengths.tolist())
        return torch.stack([text.mean() for text in texts])[:, None] * self.weight
""",
}


def test_a_ranker_is_trained_on_examples(examples: list[Example], tmp_path: Path) -> None:
    steps: list[Step] = []
    options = RankerOptions(
        model="cosinet", to=tmp_path / "m", dev=examples[8:], keep_best=True, epochs=2
    )

    trained = rejoinder.train_ranker(options, examples[:8], on_step=steps.append)

    training = open_bundle(tmp_path / "m", kind="cosinet").manifest.training
    assert training["data"] == ["8 examples"]
    assert "command" not in training
    assert (trained.bundle, trained.dev) == (tmp_path / "m", "4 examples")
    assert (trained.parameters, trained.steps, len(steps)) == (997_501, 4, 4)
    assert set(trained.means) == {"P@1", "MAP", "MRR"}
    assert rejoinder.load(trained.bundle).score("where?", ["the cat is here"]).shape == (1,)


def test_parts_and_examples_can_be_mixed(examples: list[Example], tmp_path: Path) -> None:
    options = RankerOptions(model="rel-cnn", to=str(tmp_path / "m"), head="none", epochs=1)

    trained = rejoinder.train_ranker(
        options, [*examples[:4], Part(examples[4:], 0.5)], command="make model"
    )

    training = open_bundle(tmp_path / "m").manifest.training
    assert (training["data"], training["command"]) == (["4 examples", "8 examples"], "make model")
    assert trained.steps == 2  # 4 + 8 / 2 questions, 4 a step


def test_a_selector_is_trained_on_examples(examples: list[Example], tmp_path: Path) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    options = SelectorOptions(
        to=tmp_path / "m", encoder=encoder, dev=examples, int8=False, learning_rate=1e-3
    )

    trained = rejoinder.train_selector(options, examples)

    training = open_bundle(tmp_path / "m", kind="selector").manifest.training
    assert (training["from"], training["learning_rate"]) == (encoder, 1e-3)
    assert set(trained.means) == {"P@1", "MAP", "MRR"}
    assert trained.flipped_bits is None


def test_a_selector_learns_from_teachers_and_reads_headings(
    examples: list[Example], tmp_path: Path
) -> None:
    lists = [add_headings(example, is_answered=at > 3) for at, example in enumerate(examples)]
    messages: list[str] = []
    options = SelectorOptions(
        to=tmp_path / "m",
        encoder=str(write_encoder(tmp_path / "encoder")),
        teacher=("word-overlap", "jaccard@0.5"),
        context="headings",
        int8=False,
        questions_per_step=4,
        learning_rate=1e-3,
    )

    trained = rejoinder.train_selector(options, lists, say=messages.append)

    assert trained.steps == 3, "lists without an answer have targets, too"
    cache = tmp_path / "m.teacher.jsonl"
    assert messages == [
        f"scoring with word-overlap and jaccard@0.5; the scores are cached in {cache}"
    ]
    rows = [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]
    assert Counter(row["scorer"] for row in rows) == {"word-overlap": 12, "jaccard": 12}
    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.config["context"]["form"] == "headings"
    assert manifest.training["teacher"] == ["word-overlap", "jaccard@0.5"]
    assert manifest.training["teacher_share"] == 0.5
    candidates = [item for example in lists for item in example.candidates]
    scorer = rejoinder.load(tmp_path / "m")
    found = scorer.score("where is the cat", candidates)
    model, tokenizer = reopen_selector(tmp_path / "m")
    expected = SelectorTorchScorer(model, tokenizer).score("where is the cat", candidates)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    bare = [replace(item, headings=()) for item in candidates]
    assert (scorer.score("where is the cat", bare) != found).all()


def add_headings(example: Example, *, is_answered: bool) -> Example:
    candidates = tuple(
        replace(item, headings=(f"part {at}", "the river"))
        for at, item in enumerate(example.candidates)
    )
    labels = tuple(label and is_answered for label in example.labels)
    return replace(example, candidates=candidates, labels=labels)


def test_the_share_of_a_teacher_changes_the_weights(
    examples: list[Example], tmp_path: Path
) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    for name, share in {"none": 0.0, "again": 0.0, "half": 0.5, "all": 1.0}.items():
        options = SelectorOptions(
            to=tmp_path / name,
            encoder=encoder,
            teacher=("jaccard",),
            teacher_share=share,
            int8=False,
        )
        rejoinder.train_selector(options, examples)

    networks = {
        name: open_bundle(tmp_path / name).manifest.files["model.onnx"]
        for name in ("none", "again", "half", "all")
    }
    assert networks["none"] == networks["again"]
    assert len(set(networks.values())) == 3


def test_a_teacher_of_a_share_scores_it_alone(examples: list[Example], tmp_path: Path) -> None:
    options = SelectorOptions(
        to=tmp_path / "m",
        encoder=str(write_encoder(tmp_path / "encoder")),
        teacher=("jaccard",),
        int8=False,
        questions_per_step=1,
    )

    trained = rejoinder.train_selector(options, [Part(examples, 0.25), Part(examples[:1], 2.0)])

    assert trained.steps == 12 / 4 + 2
    assert len((tmp_path / "m.teacher.jsonl").read_text(encoding="utf-8").splitlines()) <= 4


def test_the_progress_of_a_slow_teacher_is_reported(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.training.selector.SECONDS_BETWEEN_REPORTS", -1.0)
    messages: list[str] = []
    options = SelectorOptions(
        to=tmp_path / "m",
        encoder=str(write_encoder(tmp_path / "encoder")),
        teacher=("jaccard",),
        int8=False,
    )

    rejoinder.train_selector(options, examples[:3], say=messages.append)

    assert [message for message in messages if "lists are scored" in message] == [
        f"{done} of 3 lists are scored" for done in (1, 2, 3)
    ]


def test_a_teacher_is_refused_in_several_processes(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    monkeypatch.setenv("WORLD_SIZE", "2")
    options = SelectorOptions(to=tmp_path / "m", encoder=encoder, teacher=("jaccard",))

    with pytest.raises(InputError, match="learning from a teacher runs in one process"):
        rejoinder.train_selector(options, examples)

    assert not (tmp_path / "m.teacher.jsonl").exists()


@pytest.mark.parametrize(
    ("teacher", "problem"),
    [("jacard", "unknown scorer 'jacard'"), ("jaccard@x", "the weight after @ must be a number")],
)
def test_a_wrong_teacher_is_refused_before_training(
    examples: list[Example], tmp_path: Path, teacher: str, problem: str
) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    options = SelectorOptions(to=tmp_path / "m", encoder=encoder, teacher=(teacher,))

    with pytest.raises(RejoinderError, match=problem):
        rejoinder.train_selector(options, examples)

    assert not (tmp_path / "m").exists()


def test_has_is_trained_on_examples(examples: list[Example], tmp_path: Path) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    options = HasOptions(to=tmp_path / "m", encoder=encoder, epochs=1, dev=examples, int8=False)

    trained = rejoinder.train_has(options, examples)

    assert open_bundle(tmp_path / "m", kind="has").manifest.training["questions_per_step"] == 32
    assert set(trained.means) == {"P@1", "MAP", "MRR"}
    assert trained.flipped_bits == 0


def test_a_scorer_is_the_teacher(examples: list[Example], tmp_path: Path) -> None:
    scored: list[tuple[int, int]] = []
    messages: list[str] = []

    trained = rejoinder.distil(
        rejoinder.load("jaccard"),
        DistilOptions(to=tmp_path / "m", epochs=1),
        examples,
        on_scored=lambda done, of: scored.append((done, of)),
        say=messages.append,
    )

    cache = tmp_path / "m.teacher.jsonl"
    assert scored[-1] == (12, 12)
    assert messages == [f"scoring with jaccard; its scores are cached in {cache}"]
    assert open_bundle(trained.bundle, kind="cosinet").manifest.training["loss"] == "anchored"


def test_a_new_ranker_is_one_folder_and_one_line_of_the_registry(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_ranker").mkdir()
    for name, text in NEW_RANKER.items():
        (tmp_path / "toy_ranker" / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FAMILIES, "toy-ranker", "toy_ranker:FAMILY")

    command = ["train", "toy-ranker", "examples/questions.jsonl", "--epochs", "1"]
    result = CliRunner().invoke(main, [*command, "--to", str(tmp_path / "first")])
    options = RankerOptions(model="toy-ranker", to=tmp_path / "m", start=str(tmp_path / "first"))
    rejoinder.train_ranker(options, examples)

    assert result.exit_code == 0, result.output
    assert open_bundle(tmp_path / "m").manifest.kind == "toy-ranker"
    assert rejoinder.load(tmp_path / "m").score("where?", ["the cat is here"]).shape == (1,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs cannot be 0"),
        ({"dropout": 1.0}, r"dropout cannot be 1\.0"),
        ({"patience": 0}, "patience cannot be 0"),
        ({"seed": -1}, "seed cannot be -1"),
    ],
)
def test_a_value_out_of_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RankerOptions(model="cosinet", to="m", **values)


def test_beta_must_be_positive() -> None:
    with pytest.raises(InputError, match=r"beta cannot be 0\.0"):
        HasOptions(to="m", beta=0.0)


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown head 'brnn'; did you mean 'birnn'"):
        RankerOptions(model="cosinet", to="m", head="brnn")
    with pytest.raises(UnknownNameError, match="unknown loss 'listwize'; did you mean 'listwise'"):
        RankerOptions(model="cosinet", to="m", loss="listwize")
    with pytest.raises(UnknownNameError, match="unknown precision 'int7'"):
        SelectorOptions(to="m", precision="int7")


def test_nothing_to_learn_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to learn from"):
        rejoinder.train_ranker(RankerOptions(model="cosinet", to=tmp_path / "m"))


@pytest.mark.parametrize(
    "arguments", [["train", "--help"], ["train", "has", "--help"], ["mine", "--help"]]
)
def test_help_does_not_import_torch(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from rejoinder.cli import main\n"
        f"main({arguments}, standalone_mode=False)\n"
        "sys.exit('torch' in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"
NEEDS_TORCH = "training needs extra packages: pip install 'rejoinder[train]'"


@pytest.mark.parametrize("name", ["train_ranker", "train_selector", "train_has", "distil"])
def test_without_torch_a_training_names_the_extra(name: str) -> None:
    code = (
        f"{WITHOUT_TORCH}"
        "import rejoinder\n"
        "assert rejoinder.RankerOptions(model='cosinet', to='m').epochs == 3\n"
        "try:\n"
        f"    rejoinder.{name}\n"
        "except rejoinder.MissingExtraError as error:\n"
        "    print(error)"
    )

    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    assert result.stdout.decode() == f"{NEEDS_TORCH}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "cosinet", "wikiqa"],
        ["train", "static-vectors"],
        ["distil", "bm25", "wikiqa"],
        ["mine", "wikiqa"],
    ],
    ids=" ".join,
)
def test_without_torch_a_command_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    command = [*arguments, "--to", str(tmp_path / "m")]
    code = f"{WITHOUT_TORCH}from rejoinder.cli import main\nmain({command})"

    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

    assert result.returncode == 1
    assert result.stderr.decode() == f"Error: {NEEDS_TORCH}\n"
