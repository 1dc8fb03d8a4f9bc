"""The scorers that have a name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import BundleError, UnknownNameError
from rejoinder.models.lexical.bm25 import Bm25
from rejoinder.models.lexical.overlap import (
    Jaccard,
    OriginalOrder,
    Random,
    WordOverlap,
    WordOverlapThenOrder,
)
from rejoinder.models.lexical.retrieval_order import RetrievalOrder
from rejoinder.models.scorer import Scorer
from rejoinder.text.words import WordSplitter, get_word_splitter


@dataclass(frozen=True, slots=True)
class Entry:
    """A named scorer: what it is, what it reads, and how it is made."""

    what: str
    make: Callable[[WordSplitter, int], Scorer]
    reads_order: bool = False
    is_seeded: bool = False


SCORERS: dict[str, Entry] = {
    "original-order": Entry(
        "the order of the document (RR)", lambda _, __: OriginalOrder(), reads_order=True
    ),
    "word-overlap": Entry(
        "distinct words shared with the question (WO)", lambda cut, _: WordOverlap(cut)
    ),
    "word-overlap+order": Entry(
        "word overlap, then the order of the document (WO+RR)",
        lambda cut, _: WordOverlapThenOrder(cut),
        reads_order=True,
    ),
    "jaccard": Entry("shared over all distinct words", lambda cut, _: Jaccard(cut)),
    "bm25": Entry("BM25 over the candidate list", lambda cut, _: Bm25(cut)),
    "retrieval-order": Entry(
        "the search that found the candidates, else BM25", lambda cut, _: RetrievalOrder(cut)
    ),
    "random": Entry("a seeded random number", lambda _, seed: Random(seed), is_seeded=True),
}


SHIPPED = {
    "cosinet": "a small network over word vectors that reads a document's order",
    "selector": "a transformer that reads question and candidate together; the best and slowest",
}
CASCADES = {"default": "the shipped cascade, which ranks where no scorer is named"}
MODELS = Path(__file__).parents[1] / "weights"
"""Where the bundles are that come with the package."""


def load(
    name: str | Path, *, words: str = "unicode", seed: int = 0, threads: int | None = None
) -> Scorer:
    """Return the scorer with this name, or the one in this bundle.

    Args:
        name: a name of `rejoinder models list`, or a bundle's folder.
        words: how lexical scorers cut words: unicode, whitespace or spacy.
        seed: for scorers that draw random numbers.
        threads: how many may work on one list, for bundles; no score depends on it.  A small
            ranker uses 1 if not said, a selector all cores of this process.

    Raises:
        UnknownNameError: no scorer has this name, and no folder.
        BundleError: the bundle is missing, torn, too new, or holds no scorer.
    """
    if str(name) in SCORERS:
        return SCORERS[str(name)].make(get_word_splitter(words), seed)
    if str(name) in (shipped := list_shipped()):
        return open_scorer(shipped[str(name)], threads=threads)
    if Path(name).exists():
        return open_scorer(Path(name), threads=threads)
    # Who loads cascades too comes here with no cascade's name; who does not is not told of them.
    cascades = [] if str(name) in CASCADES else list_cascades()
    raise UnknownNameError("scorer", str(name), [*SCORERS, *shipped, *cascades])


@dataclass(frozen=True, slots=True)
class Described:
    """A scorer as `rejoinder models list` shows it."""

    name: str
    what: str
    reads_order: bool


def describe_all() -> list[Described]:
    """Return every scorer that has a name and may be a stage."""
    lexical = [Described(name, entry.what, entry.reads_order) for name, entry in SCORERS.items()]
    return lexical + [
        Described(name, SHIPPED[name], reads_order=name == "cosinet") for name in list_shipped()
    ]


def describe_cascades() -> list[Described]:
    """Return the cascades that have a name."""
    return [Described(name, CASCADES[name], reads_order=True) for name in list_cascades()]


def list_cascades() -> list[str]:
    """Return the names of the cascades that come with the package."""
    return [name for name in CASCADES if (MODELS / f"{name}.toml").exists()]


def list_shipped() -> dict[str, Path]:
    """Return the scorers that come with the package as bundles: their names and folders."""
    return {name: MODELS / name for name in ("cosinet", "selector") if (MODELS / name).is_dir()}


def open_scorer(folder: Path, *, threads: int | None = None) -> Scorer:
    """Return the scorer that a bundle holds.

    Raises:
        BundleError: it is missing, torn, too new, or holds no scorer.
    """
    from rejoinder.bundle.folder import open_bundle
    from rejoinder.models.has import scorer as has
    from rejoinder.models.ranker.scorer import NETWORKS, RankerScorer
    from rejoinder.models.selector.scorer import KIND, SelectorScorer

    bundle = open_bundle(folder)
    if bundle.manifest.kind == KIND:
        return SelectorScorer(bundle, threads=threads)
    if bundle.manifest.kind == has.KIND:
        return has.HasScorer(bundle, threads=threads)
    if bundle.manifest.kind not in NETWORKS:
        raise BundleError(f"{folder}: a bundle of kind {bundle.manifest.kind!r} holds no scorer")
    return RankerScorer(bundle, threads=threads or 1)
