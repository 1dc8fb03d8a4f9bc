# ruff: noqa: RUF009 (`option` returns a field)
"""Options and results of every training, without torch.

Each option is a field of a dataclass with its help; `rejoinder train` makes its command line
from these classes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.selector.context import ATTENTIONS, FORMS, SIMILARITIES
from rejoinder.training.devices import DEVICES, PRECISIONS
from rejoinder.types import Example

LOSS_HELP = "anchored: listwise and pointwise together."
DEVICE_HELP = "Where torch computes; auto is a GPU if there is one."
PRECISION_HELP = (
    "Precision of large products in training.  [default: bf16 where it is native, else fp32]"
)
LOSS_NAMES = ("pointwise", "pairwise", "listwise", "anchored")


RECIPES: dict[str, dict[str, Any]] = {
    "cosine": {
        "loss": "anchored",
        "epochs": 1,
        "questions_per_step": 16,
        "learning_rate": 5e-5,
    },
    "classifier": {
        "loss": "pointwise",
        "epochs": 3,
        "questions_per_step": 4,
        "learning_rate": 2e-5,
    },
}
"""Hyper-parameters of a selector by its recipe."""


@dataclass(frozen=True, slots=True)
class Option:
    """Help, name on the command line, and allowed values of a field."""

    help: str
    flag: str | None = None
    """Name on the command line, if it is not the field's."""
    choices: Sequence[str] = ()
    min: float | None = None
    max: float | None = None
    min_open: bool = False
    """Whether the value must exceed `min`."""

    def check(self, name: str, value: Any) -> None:
        """Raise InputError if a value is out of range, UnknownNameError if it is no choice."""
        if self.choices and value not in self.choices:
            raise UnknownNameError(name, value, self.choices)
        if (
            (self.min is not None and value < self.min)
            or (self.max is not None and value > self.max)
            or (self.min_open and value == self.min)
        ):
            raise InputError(f"{name} cannot be {value}")


def option(default: Any, help: str, flag: str | None = None, **allowed: Any) -> Any:
    """Return a field with this default that is an `Option`."""
    return field(default=default, metadata={"option": Option(help, flag, **allowed)})


def list_options(options: Any) -> Iterator[tuple[str, Any, Any, Option]]:
    """Yield name, type, default and description of each field that is an option."""
    for item in fields(options):
        if "option" in item.metadata:
            yield item.name, item.type, item.default, item.metadata["option"]


def check_options(options: Any) -> None:
    """Raise InputError or UnknownNameError if a field is not allowed."""
    for name, _, _, option in list_options(options):
        if (value := getattr(options, name)) is not None:
            option.check(name, value)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOptions:
    """Options that all trainings on examples share."""

    to: Path | str = field(metadata={"option": Option("Bundle to write.")})
    feedback: Path | str | None = option(
        None, "Learn from the answers that are marked in this index, too."
    )
    dev: str | Sequence[Example] | None = option(
        None, "Data set to measure on after training: NAME[:SPLIT]."
    )
    keep_best: bool = option(False, "Keep the epoch that is best on --dev.")
    best_by: str = option(
        "MAP", "Measure on --dev by which an epoch is best.", choices=("MAP", "MRR", "P@1")
    )
    patience: int | None = option(
        None, "With --keep-best: stop after this many epochs without a better one.", min=1
    )
    log: Path | str | None = option(
        None, "Write the loss of each epoch, and --best-by on --dev, to this file as JSON lines."
    )
    plot: Path | str | None = option(None, "Draw the learning curve in this picture.")
    tensorboard: Path | str | None = option(
        None, "Write the learning curve to this folder for TensorBoard."
    )
    max_steps: int | None = option(
        None,
        "Stop after this many steps, write the bundle, and print what all steps would take.",
        min=1,
    )
    seed: int = option(0, "Seed of everything random.", min=0)
    device: str = option("auto", DEVICE_HELP, choices=DEVICES)
    precision: str | None = option(
        None,
        PRECISION_HELP,
        choices=PRECISIONS,
    )
    threads: int | None = option(None, "Threads of torch.  [default: all cores]", min=1)
    data_folder: Path | str | None = option(
        None, "Folder of data sets; else $REJOINDER_DATA, else the user's cache.", "--data"
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class RankerOptions(TrainingOptions):
    """How to train a small ranker; the defaults are the Cosinet paper's recipe."""

    model: str
    """cosinet, rel-cnn, compare-aggregate or compare-aggregate-bilstm."""
    head: str = option(
        "birnn", "Head over the list.", choices=("none", "rnn", "birnn", "lstm", "bilstm")
    )
    loss: str = option("listwise", LOSS_HELP, choices=LOSS_NAMES)
    epochs: int = option(3, "Passes over the training data.", min=1)
    questions_per_step: int = option(4, "Questions per optimizer step.", min=1)
    pairs_per_step: int | None = option(
        None,
        "Pairs per optimizer step, drawn from all lists, instead of whole lists; for --loss"
        " pointwise with --head none.",
        min=1,
    )
    learning_rate: float | None = option(
        None, "Peak learning rate.  [default: 2e-3 for pointwise, else 2e-4]"
    )
    dropout: float = option(0.0, "Dropout before and after the head.", min=0, max=0.99)
    weight_decay: float = option(0.0, "Decoupled weight decay.", min=0)
    vectors: Path | str | None = option(
        None, "A bundle of vectors, or a GloVe, fastText, word2vec or Numberbatch file."
    )
    start: str | Path | None = option(
        None,
        "Start from a bundle of the same model, head and vectors, or from `cosinet`.",
        "--from",
    )
    context: str = option(
        "none",
        "Read how related the question is to a candidate's neighbours and title, or to its topic:"
        " title and headings.",
        choices=("none", "neighbours", "topic"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class DistilOptions(RankerOptions):
    """How to distil a Cosinet from a teacher's scores."""

    model: str = field(default="cosinet", init=False)
    loss: str = field(default="anchored", init=False)
    pairs_per_step: None = field(default=None, init=False)
    epochs: int = option(2, "Passes over the training data.", min=1)
    dropout: float = option(0.1, "Dropout before and after the head.", min=0, max=0.99)


@dataclass(frozen=True, kw_only=True, slots=True)
class EncoderOptions(TrainingOptions):
    """Options of trainings that start from a pretrained encoder."""

    encoder: str = option(DEFAULT, "Folder, or name on a hub, of an encoder.")
    layers: int | None = option(None, "Keep only this many first layers of the encoder.", min=1)
    questions_at_once: int | None = option(
        None,
        "Questions whose gradient is computed at a time: less memory, the same result."
        "  [default: all of a step]",
        min=1,
    )
    int8: bool = option(
        True,
        "Round the bundle's weights to int8, a quarter of the size; --no-int8 keeps fp32.",
        "--int8/--no-int8",
    )

    @property
    def bundle_precision(self) -> str:
        """The precision in the bundle's manifest."""
        return "int8" if self.int8 else "fp32"


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectorOptions(EncoderOptions):
    """How to train a selector."""

    start: Sequence[str] = option(
        (),
        "Start from a selector: a bundle, or `selector` for the shipped one; an ensemble starts"
        " from two.",
        "--from",
    )
    context: str | None = option(
        None,
        "Context that it reads around a candidate.  [default: as the bundle, else none]",
        choices=[form for form in FORMS if form != "prefix"],
    )
    teacher: Sequence[str] = option(
        (),
        "Learn from the scores of NAME[@WEIGHT], too; those of several are added up.  The lists"
        " are then read as they are, so give lists of `rejoinder mine`.",
    )
    teacher_share: float = option(
        0.5, "Weight of the teachers' scores; the rest is the label's.", min=0, max=1
    )
    similarity: str = option(
        "static",
        "How the context sentences of a page are chosen; own: by the encoder that is trained, with"
        " the weights that it starts from.",
        choices=(*SIMILARITIES, "own"),
    )
    attention: str = option(
        "scaled",
        "Function of multi-way attention: ours, one of the reference's four, or all four (mixed).",
        choices=ATTENTIONS,
    )
    recipe: str = option(
        "cosine",
        "How a score is read: by the cosine of the two sides, or by the encoder's own classifier,"
        " as papers fine-tune BERT.",
        choices=("cosine", "classifier"),
    )
    max_tokens: int = option(192, "Tokens of a question with its candidate.", min=16)
    max_candidates: int | None = option(
        None,
        "Candidates of a list that are read, its answers among them; one of another list joins"
        " them.  [default: 8; classifier: all, and none joins them]",
        min=2,
    )
    unanswered: bool = option(
        False,
        "Learn from lists without an answer, too: that all their candidates are wrong.  All lists"
        " are then read as they are, without negatives from elsewhere.",
    )
    train_layers: int | None = option(
        None,
        "Train only so many last layers of the encoder, and the head: faster, and a bundle that"
        " shares the rest with its start.  [default: all]",
        min=1,
    )
    loss: str | None = option(
        None, f"{LOSS_HELP}  [default: anchored; classifier: pointwise]", choices=LOSS_NAMES
    )
    epochs: int | None = option(
        None, "Passes over the training data.  [default: 1; classifier: 3]", min=1
    )
    questions_per_step: int | None = option(
        None, "Questions per optimizer step.  [default: 16; classifier: 4]", min=1
    )
    questions_at_once: int | None = option(
        16, "Questions whose gradient is computed at a time: less memory, the same result.", min=1
    )
    learning_rate: float | None = option(
        None, "Peak learning rate.  [default: 5e-5; classifier: 2e-5]"
    )

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        for name, value in RECIPES[self.recipe].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True, slots=True)
class HasOptions(EncoderOptions):
    """How to train HAS, or one of its baselines."""

    composition: str = option(
        "has",
        "What is stored of an answer: bits of its words, floats of its words, or one vector.",
        choices=("has", "attention", "pooling"),
    )
    width: int | None = option(None, "Numbers per word.  [default: the encoder's]", min=1)
    attention_width: int = option(128, "Hidden units of the attention.", min=1)
    max_tokens: int = option(128, "Tokens of an answer that are stored.", min=3)
    beta: float = option(5.0, "Steepness of the tanh that hashes.", min=0, min_open=True)
    delta: float = option(1e-6, "Weight of the distance to bits in the loss.", min=0)
    epochs: int = option(18, "Passes over the training data.", min=1)
    questions_per_step: int = option(32, "Answers per optimizer step.", "--batch", min=1)
    learning_rate: float = option(2e-5, "Peak learning rate.")


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticVectorsOptions:
    """How to distil static word vectors from an encoder."""

    to: Path | str = field(metadata={"option": Option("Bundle to write.")})
    encoder: str = option(DEFAULT, "Folder, or name on a hub, of an encoder.")
    width: int = option(256, "Numbers per vector.", min=1)
    device: str = option("auto", DEVICE_HELP, choices=DEVICES)


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticEncoderOptions(TrainingOptions):
    """How to train a static sentence encoder."""

    teacher: Path | str = field(
        metadata={"option": Option("Bundle of the encoder to learn from (`models import`).")}
    )
    width: int = option(256, "Numbers per vector; a multiple of 64.", min=64, max=1024)
    epochs: int = option(3, "Passes over the training data.", min=1)
    questions_per_step: int = option(256, "Questions per optimizer step.", min=2)
    learning_rate: float = option(3e-3, "Peak learning rate.")

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        if self.width % 64:
            raise InputError(f"width cannot be {self.width}; it must be a multiple of 64")


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningOptions:
    """How training lists are mined from a corpus."""

    to: Path | str = field(metadata={"option": Option("JSON-lines file to write, .jsonl.gz.")})
    documents: Sequence[Path] = option(
        (), "Files or folders to search, too; their headings become weak questions."
    )
    headings: int = option(5000, "How many headings to draw at most.", min=0)
    exclude: Path | str | None = option(
        None, "Text file with questions, one per line; their documents are left out."
    )
    candidates: int = option(10, "Candidates of a list.", min=3)
    found: int | None = option(
        None,
        "Keep the first so many sentences that the search finds, instead of drawing negatives:"
        " lists to tune and to calibrate a cascade on.",
        min=1,
    )
    passages: bool = option(
        False, "Write the passage of each sentence that the search finds, for stages that read it."
    )
    in_document: bool = option(
        False,
        "Write the lists of each question's own document, without a search, so that training on"
        " both forgets neither.",
    )
    sentences: bool = option(
        False,
        "Write all sentences of each document, too, for selectors that read the text around a"
        " candidate; the file gets large.",
    )
    unanswerable: float = option(0.15, "Share of the lists without their answers.", min=0, max=1)
    elsewhere: float = option(
        0.0,
        "Share of the questions that are also asked where they have no answer: those of DATASETs"
        " of --documents, and headings of the DATASETs' documents.",
        min=0,
        max=1,
    )
    untitled: float = option(0.2, "Share of the lists without titles and headings.", min=0, max=1)
    seed: int = option(0, "Seed of everything random.", min=0)
    data_folder: Path | str | None = option(
        None, "Folder of data sets; else $REJOINDER_DATA, else the user's cache.", "--data"
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Projection:
    """The cost of a whole training, projected from its first steps."""

    steps: int
    seconds_per_step: float
    seconds: float
    """With reading the data before the first step."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A written bundle, the cost of its training, and its quality."""

    bundle: Path
    parameters: int
    steps: int
    seconds: float
    dev: str | None = None
    """The data set of `means`."""
    means: Mapping[str, float] = field(default_factory=dict)
    """Each measure's mean over the questions of dev."""
    flipped_bits: float | None = None
    """Share of stored bits that differ from torch's; HAS only."""
    projection: Projection | None = None
    """Of all steps, where `max_steps` stopped the training before them."""


@dataclass(frozen=True, slots=True)
class Trainer:
    """Training of a model family; `Family.training` names it, `rejoinder train` offers it."""

    options: type[TrainingOptions]
    """If it has a field `model`, that is the kind."""
    train: str
    """The dotted path ("package.module:NAME") of a function that returns `Trained`.

    It takes the options, the data, and by keyword `on_step`, `say` and `command`.
    """
    help: str = ""
    examples: Sequence[str] = ()
    """Commands that follow the help."""

    def make_options(self, kind: str, **values: Any) -> TrainingOptions:
        """Return the options of a training of this kind."""
        if any(item.name == "model" for item in fields(self.options)):
            values["model"] = kind
        return self.options(**values)


RANKER = Trainer(RankerOptions, "rejoinder.training:train_ranker")
SELECTOR = Trainer(
    SelectorOptions,
    "rejoinder.training:train_selector",
    "To transfer, then adapt (TANDA): train on general data first, then on your own with --from.",
    (
        "rejoinder train selector qed --to general --data data",
        "rejoinder train selector wikiqa --from general --epochs 2 --to adapted --data data",
        "rejoinder train selector --feedback my-index --from selector --epochs 2 --to mine",
        "rejoinder train selector pages.jsonl --from selector --context multi-way --to mine",
    ),
)
HAS = Trainer(
    HasOptions,
    "rejoinder.training:train_has",
    "A step reads --batch answers, each with its question and one wrong candidate.",
    (
        "rejoinder train has wikiqa --dev wikiqa:dev --keep-best --to my-has --data data",
        "rejoinder index add examples/docs --index my-index --sidecar my-has",
    ),
)
STATIC_ENCODER = Trainer(
    StaticEncoderOptions,
    "rejoinder.training:train_static_encoder",
    "It learns from the vectors of a larger encoder, which are cached beside the bundle.  Make the"
    " teacher with `rejoinder models import`.",
    (
        "rejoinder train static-encoder qed:fit --teacher teacher --to my-encoder --data data",
        "rejoinder index add examples/docs --index my-index --embed my-encoder",
    ),
)
