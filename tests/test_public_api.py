import re
import subprocess
import sys
from pathlib import Path

import pytest

import rejoinder

PUBLIC = [
    "Answer",
    "Answers",
    "BundleError",
    "CalibrateOptions",
    "Candidate",
    "Citation",
    "Citations",
    "ContextBlock",
    "DataError",
    "DistilOptions",
    "Document",
    "DownloadError",
    "Engine",
    "Example",
    "HasOptions",
    "Highlights",
    "Index",
    "InputError",
    "Mark",
    "MiningOptions",
    "MissingDataError",
    "MissingExtraError",
    "PrunedText",
    "RankerOptions",
    "Ranking",
    "RejoinderError",
    "RetrievalScores",
    "ScoredCandidate",
    "ScoredSentence",
    "Scorer",
    "SelectorOptions",
    "Source",
    "StageTrace",
    "Statement",
    "StaticEncoderOptions",
    "StoreError",
    "Trained",
    "TrainingError",
    "TuneOptions",
    "UnknownNameError",
    "WordMatch",
    "average_selectors",
    "calibrate",
    "calibrate_sentences",
    "cite",
    "compare",
    "distil",
    "evaluate",
    "highlight",
    "load",
    "mine_lists",
    "open",
    "open_files",
    "rank",
    "train_has",
    "train_ranker",
    "train_selector",
    "train_static_encoder",
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


def test_type_checkers_see_the_same_names() -> None:
    stub = Path(rejoinder.__file__).with_suffix(".pyi").read_text(encoding="utf-8")

    listed = re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)

    assert sorted(name for _, name in listed) == PUBLIC
    for module, name in listed:
        assert getattr(rejoinder, name) is getattr(sys.modules[module], name)
