"""Anything that can be given as SCORER: a name, a bundle, or a cascade's file."""

from pathlib import Path

from rejoinder.cascade.file import open_cascade
from rejoinder.models.registry import describe_all
from rejoinder.models.registry import load as load_one
from rejoinder.models.scorer import Scorer

DEFAULT = "default"
SHIPPED = Path(__file__).parent.parent / "weights" / "default.toml"
"""The cascade that is called default, where it is shipped."""


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
        words: how lexical scorers cut words: unicode, whitespace or spacy.
        seed: for scorers that draw random numbers.
        threads: how many may work on one list, for bundles; no score depends on it.  A small
            ranker uses 1 if not said, a selector all cores of this process.

    Raises:
        UnknownNameError: no scorer has this name, and no file or folder.
        BundleError: the bundle is missing, torn, too new, or holds no scorer.
        DataError: the cascade's file cannot be used.
    """
    path = SHIPPED if str(name) == DEFAULT and SHIPPED.exists() else Path(name)
    if path.suffix == ".toml":
        # Stages are no cascades themselves, so that no file can lead back to itself.
        return open_cascade(
            path, load=lambda part: load_one(part, words=words, seed=seed, threads=threads)
        )
    return load_one(name, words=words, seed=seed, threads=threads)


def pin(name: str) -> str:
    """Return a name as it is, and a path as its links lead now.

    Processes that open what is returned open the same, also when a link is changed in between.
    """
    is_name = name == DEFAULT or name in (known.name for known in describe_all())
    return name if is_name or not Path(name).exists() else str(Path(name).resolve())
