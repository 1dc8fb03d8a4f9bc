"""The model families, and the scorers that can be opened by name or from a bundle.

A family is one folder with one `Family` object, and one line of `FAMILIES`.  Families are
imported when they are needed: opening a bundle imports the family of that bundle alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from rejoinder.bundle.folder import MANIFEST, WEIGHTS, Bundle, open_bundle
from rejoinder.errors import BundleError, InputError, UnknownNameError
from rejoinder.models.onnx_session import CPU, Runtime
from rejoinder.models.scorer import Scorer
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.models.sidecar import SidecarEncoder
from rejoinder.text.words import WordSplitter, get_word_splitter


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A scorer that needs no bundle."""

    summary: str
    make: Callable[[WordSplitter, int], Scorer]
    """Takes the word splitter and the seed."""
    reads_order: bool = False
    is_seeded: bool = False


class OpenScorer(Protocol):
    """Opens a bundle as a scorer."""

    def __call__(self, bundle: Bundle, runtime: Runtime, /) -> Scorer:
        """Return the scorer; a family without a network in onnxruntime reads the threads alone."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """A model family: how its bundles open, its sidecar, and its training."""

    name: str
    """The kind of its bundles; a bundle that is shipped has this name too."""
    summary: str
    open: OpenScorer | None = None
    """None where its bundles hold no scorer."""
    open_sidecar: Callable[[Bundle], SidecarEncoder] | None = None
    """Opens the encoder of its sidecar; None where it stores nothing beside an index."""
    open_sentence_encoder: Callable[[Bundle], SentenceEncoder] | None = None
    """Opens the encoder of semantic search; None where its bundles hold none."""
    scorers: Mapping[str, NamedScorer] = field(default_factory=dict)
    """The scorers that need no bundle."""
    reads_order: bool = False
    training: str | None = None
    """The dotted path of its trainer ("package.module:OBJECT"), which only training imports."""
    encoder: str | None = None
    """The dotted path of a small ranker's pair encoder in torch, which only training imports."""


FAMILIES: dict[str, str] = {
    "lexical": "rejoinder.models.lexical.scorers:FAMILY",
    "static-vectors": "rejoinder.models.static_vectors:FAMILY",
    "rel-cnn": "rejoinder.models.rel_cnn:FAMILY",
    "cosinet": "rejoinder.models.cosinet:FAMILY",
    "compare-aggregate": "rejoinder.models.compare_aggregate:FAMILY",
    "compare-aggregate-bilstm": "rejoinder.models.compare_aggregate:BILSTM",
    "selector": "rejoinder.models.selector:FAMILY",
    "support": "rejoinder.models.support:FAMILY",
    "has": "rejoinder.models.has:FAMILY",
    "static-encoder": "rejoinder.models.sentence_encoder.families:STATIC",
    "transformer-encoder": "rejoinder.models.sentence_encoder.families:TRANSFORMER",
}
"""The dotted path of each `Family` object, by name."""
VARIANTS: dict[str, tuple[str, str]] = {
    "passage-selector": (
        "selector",
        "a selector that reads passages, for a stage of a cascade that does (`thorough`)",
    ),
}
"""Family and summary of shipped bundles that have another name than their family."""
SHIPPED_ENCODER = WEIGHTS / "static-encoder"
"""The sentence encoder that indexes use by default."""
OPEN_ONNX = "rejoinder.models.selector.importing:open_onnx"
"""Opens a cross-encoder that is no bundle, but ONNX with its tokenizer."""
NAMED = ("lexical",)
"""The families with scorers that need no bundle."""
SCORERLESS = ("static-vectors",)
"""The families whose bundles hold no scorer; listed, so that listing names imports no family."""


def get_family(name: str) -> Family:
    """Return a family, importing its module."""
    if name not in FAMILIES:
        raise UnknownNameError("model family", name, FAMILIES)
    family: Family = load_object(FAMILIES[name])
    return family


def load_object(path: str) -> Any:
    """Import the object at a dotted path ("package.module:OBJECT")."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def lazy(path: str) -> Callable[..., Any]:
    """Return a function that imports the callable at a dotted path when it is called."""
    return lambda *arguments, **options: load_object(path)(*arguments, **options)


def list_named() -> dict[str, NamedScorer]:
    """Return the scorers that need no bundle, by name."""
    return {name: scorer for family in NAMED for name, scorer in get_family(family).scorers.items()}


def list_shipped() -> dict[str, Path]:
    """Return the folders of the scorers that come with the package as bundles, by name."""
    families = {name: name for name in FAMILIES}
    families |= {name: family for name, (family, _) in VARIANTS.items()}
    return {
        name: WEIGHTS / name
        for name, family in families.items()
        if (WEIGHTS / name).is_dir() and family not in SCORERLESS
    }


def list_names() -> list[str]:
    """Return the names of all scorers that can be a stage."""
    return [*list_named(), *list_shipped()]


@dataclass(frozen=True, slots=True)
class ScorerSummary:
    """A scorer as `rejoinder models list` shows it."""

    name: str
    summary: str
    reads_order: bool


def describe_scorers() -> list[ScorerSummary]:
    """Return a summary of every scorer that has a name and can be a stage."""
    named = [
        ScorerSummary(name, item.summary, item.reads_order) for name, item in list_named().items()
    ]
    for name in list_shipped():
        family, summary = VARIANTS.get(name, (name, ""))
        item = get_family(family)
        named.append(ScorerSummary(name, summary or item.summary, item.reads_order))
    return named


def open_scorer(
    name: str | Path, *, words: str = "unicode", seed: int = 0, runtime: Runtime = CPU
) -> Scorer:
    """Return the scorer with this name, or the one in this bundle.

    Args:
        name: a name of `rejoinder models list`, a bundle's folder, or a cross-encoder as ONNX
            with its tokenizer.json: the folder, or the path of the file.
        words: the word splitter of lexical scorers: unicode, whitespace or spacy.
        seed: for scorers that draw random numbers.
        runtime: how bundles run.  By default a small ranker uses one thread, a selector all
            cores of this process.

    Raises:
        UnknownNameError: no scorer has this name, and there is no such folder.
        BundleError: the bundle is corrupt, too new, or holds no scorer.
        InputError: onnxruntime does not have the execution provider here, or a folder has
            several ONNX files.
    """
    named = list_named()
    if str(name) in named:
        return named[str(name)].make(get_word_splitter(words), seed)
    shipped = list_shipped()
    folder = shipped.get(str(name), Path(name))
    if not folder.exists():
        raise UnknownNameError("scorer", str(name), [*named, *shipped])
    if not (folder / MANIFEST).is_file():
        foreign: Scorer | None = load_object(OPEN_ONNX)(folder, runtime)
        if foreign is not None:
            return foreign
    return make_scorer(open_bundle(folder), runtime)


def make_scorer(bundle: Bundle, runtime: Runtime = CPU) -> Scorer:
    """Return the scorer that a bundle holds."""
    family = _find_family(bundle)
    if family is None or family.open is None:
        kind = bundle.manifest.kind
        raise BundleError(f"{bundle.folder}: a bundle of kind {kind!r} holds no scorer")
    return family.open(bundle, runtime)


def find_bundle(name: str | Path) -> Path:
    """Return the folder of the shipped bundle with this name, else the path itself."""
    shipped = list_shipped()
    if str(name) not in shipped and Path(name).name == str(name) and not Path(name).exists():
        raise InputError(f"{name}: not a bundle; the shipped ones are {', '.join(shipped)}")
    return shipped.get(str(name), Path(name))


def verify_bundle(name: str | Path) -> None:
    """Check that a bundle is complete, and that its scores are finite."""
    scorer = make_scorer(open_bundle(find_bundle(name)))
    scores = scorer.score("who wrote it?", ["Ada wrote it.", "It rained."])
    if not all(isfinite(score) for score in scores):
        raise BundleError(f"{name}: scores are not finite; export the bundle again")


def open_sidecar(name: str | Path) -> SidecarEncoder:
    """Return the encoder of the sidecar of a shipped bundle, or of the bundle in a folder."""
    bundle = open_bundle(list_shipped().get(str(name), Path(name)))
    family = _find_family(bundle)
    if family is None or family.open_sidecar is None:
        raise BundleError(
            f"{bundle.folder}: a bundle of kind {bundle.manifest.kind!r} stores nothing beside"
            " an index; leave out --sidecar"
        )
    return family.open_sidecar(bundle)


def open_sentence_encoder(folder: Path = SHIPPED_ENCODER) -> SentenceEncoder:
    """Return the sentence encoder in a folder, or the shipped one of this name."""
    bundle = open_bundle(WEIGHTS / folder if (WEIGHTS / folder).is_dir() else folder)
    family = _find_family(bundle)
    if family is None or family.open_sentence_encoder is None:
        raise BundleError(
            f"{bundle.folder}: a bundle of kind {bundle.manifest.kind!r} holds no sentence encoder"
        )
    return family.open_sentence_encoder(bundle)


def open_sidecars(names: Sequence[str | Path]) -> list[SidecarEncoder]:
    """Return the encoders of several bundles for one index; no two may store the same rows."""
    encoders: dict[str, SidecarEncoder] = {}
    for encoder in map(open_sidecar, names):
        if encoder.name in encoders:
            raise InputError(
                f"{encoders[encoder.name].folder} and {encoder.folder} both store"
                f" {encoder.name}, and an index keeps one of them; leave one out"
            )
        encoders[encoder.name] = encoder
    return list(encoders.values())


def _find_family(bundle: Bundle) -> Family | None:
    kind = bundle.manifest.kind
    return get_family(kind) if kind in FAMILIES else None
