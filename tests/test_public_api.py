import subprocess
import sys

import pytest

import rejoinder

PUBLIC = [
    "Answer",
    "Answers",
    "BundleError",
    "CalibrateOptions",
    "Candidate",
    "DataError",
    "DistilOptions",
    "Document",
    "DownloadError",
    "Engine",
    "Example",
    "HasOptions",
    "Index",
    "InputError",
    "Mark",
    "MissingDataError",
    "MissingExtraError",
    "RankerOptions",
    "Ranking",
    "RejoinderError",
    "ScoredCandidate",
    "Scorer",
    "SelectorOptions",
    "Source",
    "StageTrace",
    "StoreError",
    "Trained",
    "TrainingError",
    "TuneOptions",
    "UnknownNameError",
    "WordMatch",
    "calibrate",
    "compare",
    "distil",
    "evaluate",
    "load",
    "open",
    "open_files",
    "rank",
    "train_has",
    "train_ranker",
    "train_selector",
    "tune",
]


def test_the_public_names_are_these() -> None:
    assert rejoinder.__all__ == PUBLIC
    assert all(getattr(rejoinder, name).__name__ == name for name in PUBLIC)


def test_other_names_are_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'rejoinder' has no attribute 'rnak'"):
        rejoinder.rnak  # type: ignore[attr-defined]  # noqa: B018


def test_the_public_names_are_offered_before_they_are_used() -> None:
    code = f"import rejoinder; assert set(dir(rejoinder)) >= set({PUBLIC})"

    subprocess.run([sys.executable, "-c", code], check=True)
