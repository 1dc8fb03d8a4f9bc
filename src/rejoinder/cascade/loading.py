"""Anything that can be given as SCORER: a name, a bundle, or a cascade's file."""

from pathlib import Path

from rejoinder.bundle.folder import WEIGHTS
from rejoinder.cascade.file import open_cascade
from rejoinder.errors import UnknownNameError
from rejoinder.models.registry import ScorerSummary, list_names, open_scorer
from rejoinder.models.scorer import Scorer

DEFAULT = "default"
DEFAULT_FILE = WEIGHTS / "default.toml"


def load(
    name: str | Path = DEFAULT,
    *,
    words: str = "unicode",
    seed: int = 0,
    threads: int | None = None,
) -> Scorer:
    """Return the scorer with this name, in this bundle, or of this cascade.

    Args:
        name: a name of `rejoinder models list`, a bundle's folder, or a cascade's TOML file.
            `default` is the cascade that comes with the package.
        words: the word splitter of lexical scorers: unicode, whitespace or spacy.
        seed: for scorers that draw random numbers.
        threads: how many may work on one list, for bundles; no score depends on it.  By
            default a small ranker uses 1, a selector all cores of this process.

    Raises:
        UnknownNameError: no scorer has this name, and there is no such file or folder.
        BundleError: the bundle is corrupt, too new, or holds no scorer.
        DataError: the cascade's file cannot be used.
    """
    path = find_cascade(name)
    if path.suffix == ".toml":
        # A stage is never a cascade, so that no file can lead back to itself.
        return open_cascade(
            path, load=lambda part: open_scorer(part, words=words, seed=seed, threads=threads)
        )
    if not path.exists() and str(name) not in (names := list_names()):
        cascades = [cascade.name for cascade in describe_cascades()]
        raise UnknownNameError("scorer", str(name), [*names, *cascades])
    return open_scorer(name, words=words, seed=seed, threads=threads)


def find_cascade(name: str | Path) -> Path:
    """Return the file of the shipped cascade with this name, else the path that is given."""
    return DEFAULT_FILE if str(name) == DEFAULT and DEFAULT_FILE.exists() else Path(name)


def describe_cascades() -> list[ScorerSummary]:
    """Return a summary of each cascade that has a name."""
    if not DEFAULT_FILE.exists():
        return []
    summary = "the shipped cascade, which ranks where no scorer is named"
    return [ScorerSummary(DEFAULT, summary, reads_order=True)]


def pin(name: str) -> str:
    """Return a name as it is, and a path with its links resolved now.

    Processes that open what is returned open the same, also when a link is changed in between.
    """
    is_name = name == DEFAULT or name in list_names()
    return name if is_name or not Path(name).exists() else str(Path(name).resolve())
