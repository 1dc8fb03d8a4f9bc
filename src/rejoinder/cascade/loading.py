"""`load`: a scorer from a name, a bundle or a cascade file."""

from collections.abc import Callable
from pathlib import Path

from rejoinder.bundle.folder import WEIGHTS
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.file import find_scorer, read_cascade_file
from rejoinder.errors import DataError, InputError, RejoinderError, UnknownNameError
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.registry import ScorerSummary, list_names, open_scorer
from rejoinder.models.scorer import Scorer

DEFAULT = "default"
THOROUGH = "thorough"
CASCADES = {
    DEFAULT: "the shipped cascade, used by default",
    THOROUGH: "the shipped cascade that reads passages too: more often right, in more time",
}
"""The cascades that come with the package, as files of this name beside their weights."""


def load(
    name: str | Path = DEFAULT,
    *,
    words: str = "unicode",
    seed: int = 0,
    threads: int | None = None,
    provider: str = "cpu",
) -> Scorer:
    """Load a scorer.

    Args:
        name: a name of `rejoinder models list`, the folder of a bundle, a cross-encoder as ONNX
            with its tokenizer.json (the folder or the file), or a cascade file (TOML).
            `default` is the cascade that comes with the package.
        words: the word splitter of lexical scorers: unicode, whitespace or spacy.
        seed: for scorers that draw random numbers.
        threads: threads per list, for bundles; scores do not depend on it.  By default a
            small ranker uses 1 and a selector all cores of this process.
        provider: the execution provider of onnxruntime that runs transformers: cpu, cuda,
            coreml or openvino.

    Raises:
        UnknownNameError: no scorer, file, folder or provider has this name.
        BundleError: the bundle is missing, corrupt, of another format, or not a scorer.
        DataError: the cascade file is invalid, or a stage of it cannot be loaded.
        InputError: onnxruntime does not have the provider here.
    """
    runtime = Runtime(threads, provider)
    path = find_cascade(name)
    if path.suffix != ".toml":
        if not path.exists() and str(name) not in (names := list_names()):
            cascades = [cascade.name for cascade in describe_cascades()]
            raise UnknownNameError("scorer", str(name), [*names, *cascades])
        return open_scorer(name, words=words, seed=seed, runtime=runtime)
    file = read_cascade_file(path)
    stages = []
    for number, stage in enumerate(file.stages, start=1):
        try:
            # A stage cannot be a cascade itself, so no file can include itself.
            source = find_scorer(stage.scorer, path.parent)
            scorer = open_scorer(source, words=words, seed=seed, runtime=runtime)
            if stage.missing == "leave":
                scorer = _leave_missing(scorer)
            if stage.reads == "passage":
                from rejoinder.models.passages import PassageScorer  # the default reads none

                scorer = PassageScorer(scorer)
            stages.append(
                Stage(
                    scorer,
                    stage.keep,
                    stage.cost,
                    stage.document_prior,
                    stage.fusion,
                    stage.interpolation,
                    stage.stop,
                    stage.keep_for_one,
                )
            )
        except RejoinderError as error:
            raise DataError(f"stage {number}: {error}", path=path) from error
    return Cascade(file.name, stages, calibration=file.calibration, sentences=file.sentences)


def to_scorer(scorer: Scorer | str | Path) -> Scorer:
    """Load a name or path; return a scorer as it is."""
    return load(scorer) if isinstance(scorer, str | Path) else scorer


def _leave_missing(scorer: Scorer) -> Scorer:
    leave_missing: Callable[[], Scorer] | None = getattr(scorer, "leave_missing", None)
    if leave_missing is None:
        raise InputError(f"missing: {scorer.name} reads no stored rows; remove this line")
    return leave_missing()


def find_cascade(name: str | Path) -> Path:
    """Return the file of the shipped cascade with this name, else the path itself."""
    shipped = WEIGHTS / f"{name}.toml"
    return shipped if str(name) in CASCADES and shipped.exists() else Path(name)


def describe_cascades() -> list[ScorerSummary]:
    """Return a summary of each cascade that has a name."""
    return [
        ScorerSummary(name, summary, reads_order=True)
        for name, summary in CASCADES.items()
        if find_cascade(name).exists()
    ]


def pin(name: str) -> str:
    """Resolve the links of a path; return a name unchanged.

    Processes that load the result get the same scorer, even if a link changes in between.
    """
    is_name = name in CASCADES or name in list_names()
    return name if is_name or not Path(name).exists() else str(Path(name).resolve())
