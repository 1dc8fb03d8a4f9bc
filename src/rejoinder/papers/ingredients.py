"""What a table is made of: encoder, word vectors, training set, recipe, device and precision.

A row has the table's own ingredients unless the user gives others.  They are part of a run in
the journal, so that a run with one encoder is never taken for a run with another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path

from rejoinder.bundle.folder import MANIFEST
from rejoinder.datasets.catalogue import DATASETS
from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.encoders.loading import find_encoder, read_config
from rejoinder.models.registry import list_shipped
from rejoinder.papers.pretraining import VECTORS, find_encoder_facts, find_vectors_facts

RECIPES = ("default", "paper")
OWN_VECTORS = "static-vectors"
_DIGITS = 8
"""Hexadecimal digits of a checksum behind a name: bert-base#1f2e3d4c."""


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What the user gives for all rows of a table; a default stands for the table's own."""

    encoder: str | None = None
    """Folder, or name on a hub."""
    vectors: Path | None = None
    """A bundle, or a file in the format of GloVe, fastText, word2vec or Numberbatch."""
    train: tuple[str, ...] = ()
    """Training data as NAME[:SPLIT][@WEIGHT]."""
    recipe: str = "default"
    """`paper` is the paper's own; `default` suits the encoder that is included."""
    device: str = "auto"
    precision: str | None = None

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise UnknownNameError("recipe", self.recipe, RECIPES)

    @property
    def is_paper(self) -> bool:
        """Whether rows are trained as the paper says, and no others are."""
        return self.recipe == "paper"

    def check(self, folder: Path | None = None) -> None:
        """Check that everything is there, before an hour of training.

        Raises:
            RejoinderError: something is missing; the message says where it is published.
        """
        from rejoinder.training.devices import choose_compute
        from rejoinder.training.mixing import read_parts

        choose_compute(self.device, self.precision)
        if self.encoder is not None:
            _check_encoder(self.encoder)
        if self.vectors is not None and not self.vectors.exists():
            raise InputError(_explain_vectors(self.vectors))
        read_parts(self.train, folder)

    def check_use(self, rows: Iterable[Mapping[str, str]]) -> None:
        """Raise InputError if an ingredient is given that no row is made of."""
        used = {name for own in rows for name in own}
        for name in ("encoder", "vectors", "train"):
            if getattr(self, name) and name not in used:
                raise InputError(f"--{name}: none of these rows reads it; choose others (--models)")

    def apply(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the ingredients of a row by name: the table's own, or those given for them.

        Args:
            own: the table's own; an empty text where any will do.  An ingredient that is not in
                it has no part in the row.
        """
        given = {
            "encoder": label_encoder(self.encoder) if self.encoder else "",
            "vectors": label_file(self.vectors) if self.vectors else "",
            "train": label_data(self.train),
            "recipe": self.recipe,
            "device": "" if self.device == "auto" else self.device,
            "precision": self.precision or "",
        }
        applied = {name: given.get(name) or value for name, value in own.items()}
        return {name: value for name, value in applied.items() if value}


def fits(made: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether a run that was made of some ingredients is the one that is wanted."""
    return wanted.items() <= made.items()


def join_ingredients(made: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the ingredients of several seeds; values that differ are joined by a slash."""
    names = dict.fromkeys(name for one in made for name in one)
    return {
        name: "/".join(dict.fromkeys(one[name] for one in made if name in one)) for name in names
    }


def show_ingredients(made: Mapping[str, str]) -> str:
    """Return the ingredients of a row as one cell.

    >>> show_ingredients({"encoder": "bert-base", "recipe": "paper", "device": "cpu"})
    'bert-base, recipe paper, cpu'
    """
    return ", ".join(
        f"{name} {value}" if name in ("train", "recipe") else value for name, value in made.items()
    )


def describe_pretraining(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """Return for each start, encoder and file of vectors of rows what it saw, one line each."""
    lines = {}
    for made in rows:
        for name in ("start", "encoder", "vectors"):
            if label := made.get(name):
                lines[label] = _describe(name, label)
    return list(lines.values())


def _describe(name: str, label: str) -> str:
    plain = label.partition("#")[0]
    facts = find_vectors_facts(plain) if name == "vectors" else find_encoder_facts(plain)
    saw = facts.saw if facts else "not known to rejoinder"
    return f"In pretraining {plain} saw: {saw}."


def label_encoder(name: str) -> str:
    """Return the name of an encoder, with a checksum where it is a folder of the user's."""
    path = Path(name)
    return label_file(path) if path.is_dir() else name


def label_bundle(name: str) -> str:
    """Return the name of a shipped bundle, or of a folder, with a checksum of its manifest."""
    folder = list_shipped().get(name, Path(name))
    owner = "rejoinder/" if name in list_shipped() else ""
    return f"{owner}{folder.name}#{_hash(folder / MANIFEST)}"


def label_scorer(name: str) -> str:
    """Return the name of a scorer; that of a bundle or a file with a checksum."""
    path = Path(name)
    if name in list_shipped() or (path / MANIFEST).is_file():
        return label_bundle(name)
    return label_file(path) if path.exists() else name


def label_data(choices: Iterable[str]) -> str:
    """Return the names of data sets; files with a checksum."""
    labels = []
    for choice in choices:
        name, mark, weight = choice.partition("@")
        is_known = name.partition(":")[0] in DATASETS
        labels.append((name if is_known else label_file(Path(name))) + mark + weight)
    return " + ".join(labels)


def label_file(path: Path) -> str:
    """Return the name of a file, or of a folder, with a checksum of its content."""
    return f"{path.resolve().name}#{_hash(path.resolve())}"


def checksum(text: str) -> str:
    """Return a short checksum."""
    return sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def _hash(path: Path) -> str:
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.is_file())
        return checksum("".join(f"{item.name} {_hash(item)}\n" for item in files))
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:_DIGITS]


def _check_encoder(name: str) -> None:
    """Check that an encoder can be loaded, without its weights."""
    try:
        find_encoder(name)
        read_config(name)
    except InputError as error:
        facts = find_encoder_facts(name)
        is_hub = not Path(name).exists() and not name.startswith((".", "/"))
        page = facts.page if facts else f"https://huggingface.co/{name}" if is_hub else ""
        published = f" from {page}" if page else ""
        raise InputError(
            f"{str(error).rstrip('.')}; put config.json, model.safetensors and tokenizer.json"
            f"{published} into a folder, and give the folder as --encoder"
        ) from error


def _explain_vectors(path: Path) -> str:
    facts = find_vectors_facts(path.name)
    pages = [facts.page] if facts else [VECTORS[name].page for name in ("numberbatch", "glove")]
    return (
        f"{path}: no such file; word vectors are published at {' and '.join(pages)}:"
        " put the file anywhere, and give its path as --vectors"
    )
