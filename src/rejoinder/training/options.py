"""Options and results of every training, without torch.

Each option is a field of a dataclass, annotated with its help; `rejoinder train` makes its
command line from these classes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_args

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.types import Example


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
        """Check a value.

        Raises:
            InputError: it is out of range.
            UnknownNameError: it is none of the choices.
        """
        if self.choices and value not in self.choices:
            raise UnknownNameError(name, value, self.choices)
        if (
            (self.min is not None and value < self.min)
            or (self.max is not None and value > self.max)
            or (self.min_open and value == self.min)
        ):
            raise InputError(f"{name} cannot be {value}")


def list_options(options: Any) -> Iterator[tuple[str, Any, Any, Option]]:
    """Yield name, type, default and description of each field that is an option."""
    for item in fields(options):
        if item.init and hasattr(item.type, "__metadata__"):
            kind, option = get_args(item.type)
            yield item.name, kind, item.default, option


Target = Annotated[Path | str, Option("Bundle to write.")]
Encoder = Annotated[str, Option("Folder, or name on a hub, of a BERT-like encoder.")]
Epochs = Annotated[int, Option("Passes over the training data.", min=1)]
Questions = Annotated[int, Option("Questions per optimizer step.", min=1)]
Rate = Annotated[float, Option("Peak learning rate.")]
Dropout = Annotated[float, Option("Dropout before and after the head.", min=0, max=0.99)]
LOSS_NAMES = ("pointwise", "pairwise", "listwise", "anchored")
Loss = Annotated[str, Option("anchored: listwise and pointwise together.", choices=LOSS_NAMES)]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOptions:
    """Options that all trainings on examples share."""

    to: Target
    feedback: Annotated[
        Path | str | None, Option("Learn from the answers that are marked in this index, too.")
    ] = None
    dev: Annotated[
        str | Sequence[Example] | None,
        Option("Data set to measure on after training: NAME[:SPLIT]."),
    ] = None
    keep_best: Annotated[bool, Option("Keep the epoch with the highest MAP on --dev.")] = False
    patience: Annotated[
        int | None,
        Option("With --keep-best: stop after this many epochs without a better one.", min=1),
    ] = None
    seed: Annotated[int, Option("Seed of everything random.", min=0)] = 0
    threads: Annotated[int | None, Option("Threads of torch.  [default: all cores]", min=1)] = None
    data_folder: Annotated[
        Path | str | None,
        Option("Folder of data sets; else $REJOINDER_DATA, else the user's cache.", "--data"),
    ] = None

    def __post_init__(self) -> None:
        for name, _, _, option in list_options(self):
            if (value := getattr(self, name)) is not None:
                option.check(name, value)


@dataclass(frozen=True, kw_only=True, slots=True)
class RankerOptions(TrainingOptions):
    """How to train a small ranker; the defaults are the Cosinet paper's recipe."""

    model: str
    """cosinet, rel-cnn, compare-aggregate or compare-aggregate-bilstm."""
    head: Annotated[
        str, Option("Head over the list.", choices=("none", "rnn", "birnn", "lstm", "bilstm"))
    ] = "birnn"
    loss: Loss = "listwise"
    epochs: Epochs = 3
    questions_per_step: Questions = 4
    learning_rate: Annotated[
        float | None, Option("Peak learning rate.  [default: 2e-3 for pointwise, else 2e-4]")
    ] = None
    dropout: Dropout = 0.0
    weight_decay: Annotated[float, Option("Decoupled weight decay.", min=0)] = 0.0
    vectors: Annotated[
        Path | str | None,
        Option("A bundle of vectors, or a GloVe, fastText, word2vec or Numberbatch file."),
    ] = None
    start: Annotated[
        str | Path | None,
        Option(
            "Start from a bundle of the same model, head and vectors, or from `cosinet`.", "--from"
        ),
    ] = None
    context: Annotated[
        bool,
        Option("Read how related the question is to a candidate's neighbours and to the title."),
    ] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DistilOptions(RankerOptions):
    """How to distil a Cosinet from a teacher's scores."""

    model: str = field(default="cosinet", init=False)
    loss: str = field(default="anchored", init=False)
    epochs: Epochs = 2
    dropout: Dropout = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class EncoderOptions(TrainingOptions):
    """Options of trainings that start from a pretrained encoder."""

    encoder: Encoder = DEFAULT
    layers: Annotated[
        int | None, Option("Keep only this many first layers of the encoder.", min=1)
    ] = None
    precision: Annotated[str, Option("Precision of the bundle.", choices=("int8", "fp32"))] = "int8"


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectorOptions(EncoderOptions):
    """How to train a selector."""

    start: Annotated[
        Sequence[str],
        Option(
            "Start from a selector: a bundle, or `selector` for the shipped one; an ensemble"
            " starts from two.",
            "--from",
        ),
    ] = ()
    context: Annotated[
        str | None,
        Option(
            "Context that it reads around a candidate.  [default: as the bundle, else none]",
            choices=("none", "local", "global", "concatenation", "ensemble", "multi-way", "stored"),
        ),
    ] = None
    similarity: Annotated[
        str,
        Option(
            "How the context sentences of a page are chosen.",
            choices=("ngrams", "static", "encoder"),
        ),
    ] = "static"
    loss: Loss = "anchored"
    epochs: Epochs = 1
    questions_per_step: Questions = 16
    learning_rate: Rate = 5e-5


@dataclass(frozen=True, kw_only=True, slots=True)
class HasOptions(EncoderOptions):
    """How to train HAS, or one of its baselines."""

    composition: Annotated[
        str,
        Option(
            "What is stored of an answer: bits of its words, floats of its words, or one vector.",
            choices=("has", "attention", "pooling"),
        ),
    ] = "has"
    width: Annotated[int | None, Option("Numbers per word.  [default: the encoder's]", min=1)] = (
        None
    )
    attention_width: Annotated[int, Option("Hidden units of the attention.", min=1)] = 128
    beta: Annotated[float, Option("Steepness of the tanh that hashes.", min=0, min_open=True)] = 5.0
    delta: Annotated[float, Option("Weight of the distance to bits in the loss.", min=0)] = 1e-6
    epochs: Epochs = 18
    questions_per_step: Annotated[int, Option("Answers per optimizer step.", "--batch", min=1)] = 32
    learning_rate: Rate = 2e-5


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticVectorsOptions:
    """How to distil static word vectors from an encoder."""

    to: Target
    encoder: Encoder = DEFAULT
    width: Annotated[int, Option("Numbers per vector.", min=1)] = 256


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


@dataclass(frozen=True, slots=True)
class Trainer:
    """Training of a model family; `Family.training` names it, `rejoinder train` offers it."""

    options: type[TrainingOptions]
    """If it has a field `model`, that is the kind."""
    train: str
    """Where the function is: `module:name`, imported when it is called.

    It takes the options, the data, and by keyword `on_step`, `say` and `command`; it returns
    `Trained`.
    """
    help: str = ""
    examples: Sequence[str] = ()
    """Commands that follow the help."""

    def make_options(self, kind: str, **values: Any) -> TrainingOptions:
        """Return the options of a training of this kind."""
        if any(item.name == "model" for item in fields(self.options)):
            values["model"] = kind
        return self.options(**values)


DATA_HELP = (
    "DATASET is NAME[:SPLIT][@WEIGHT] of `rejoinder data list` or a JSON-lines file; an epoch reads"
    " each question WEIGHT times.  If training is interrupted, give the same command again: it"
    " resumes from the last checkpoint."
)
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
