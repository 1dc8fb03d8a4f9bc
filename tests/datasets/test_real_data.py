"""The published files hold what is known of them; skipped where they are not here.

They are looked for in $REJOINDER_DATA, else in ../shared/data beside the repository.
"""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rejoinder.datasets.catalogue import DATASETS, locate
from rejoinder.datasets.download import is_downloaded
from rejoinder.datasets.entries import FileCounts, SplitFiles
from rejoinder.datasets.json_rows import read_json
from rejoinder.datasets.readers.insuranceqa import PACKAGE_ANSWERS, find_insuranceqa_package
from rejoinder.datasets.readers.squad import read_squad
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.datasets.statistics import compute_statistics
from rejoinder.errors import MissingDataError
from rejoinder.types import Example

FOLDER = Path(
    os.environ.get("REJOINDER_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)


def find(*names: str) -> list[Path]:
    """Return the paths of these files, or skip the test."""
    paths = [FOLDER / name for name in names]
    missing = [path for path in paths if not path.exists()]
    if missing:
        pytest.skip(f"{missing[0]} is not there")
    return paths


def read(name: str, split: str) -> list[Example]:
    """Return the examples of a data set that is here, or skip the test."""
    try:
        source, paths = locate(DATASETS[name], split, [FOLDER])
        return list(source.read(*paths))
    except MissingDataError as error:
        pytest.skip(str(error))


class Known(NamedTuple):
    """What one split holds."""

    name: str
    split: str
    questions: int
    candidates: int | None
    answered: int
    mixed: int | None = None
    """Questions with a correct and a wrong candidate."""


KNOWN = [
    Known("wikiqa", "train", 2118, 20_360, 873),
    Known("wikiqa", "dev", 296, 2733, 126, 122),
    Known("wikiqa", "test", 633, 6165, 243, 237),
    Known("wikiqa", "train-filtered", 873, 8672, 873),
    Known("wikiqa", "dev-filtered", 122, 1126, 122, 122),
    Known("wikiqa", "test-filtered", 237, 2341, 237, 237),
    Known("trecqa", "train", 94, 5919, 94, 89),
    Known("trecqa", "train-all", 1229, 53_417, 1229, 1161),
    Known("trecqa", "dev", 82, 1148, 78, 65),
    Known("trecqa", "test", 100, 1517, 89, 68),
    Known("squad-v1", "dev", 10_570, None, 10_570),
    Known("squad-v2", "dev", 11_873, None, 5928),
    Known("squad-v2-all-answers", "dev", 11_873, None, 5928),
    Known("qed", "train", 7167, 33_531, 6894, 6338),
    Known("selqa", "dev", 785, 9419, 785),
    Known("boolq", "train", 9427, 9427, 9427),
    Known("fever-part", "dev", 6666, 11_162, 3333),
    Known("fm2", "dev", 1169, 12_050, 596),
    Known("wice", "dev", 349, 41_700, 319),
    Known("bioasq", "train", 1854, 102_098, 1854, 1854),
    Known("fairytaleqa", "train", 6087, 47_036, 6087, 6087),
    Known("medquad", "train", 4000, 105_047, 4000, 4000),
    Known("nq-oracle", "train", 1448, 5574, 1448, 1448),
    Known("qamr", "train", 34_128, 275_122, 34_128, 34_128),
    Known("squad-train-part", "train", 18_467, 91_188, 18_467, 18_467),
    Known("squad-train-sentences", "train", 7958, 111_757, 7958, 7958),
    Known("insuranceqa", "valid", 2000, 403_354, 2000, 2000),
    Known("insuranceqa", "test", 2000, 403_308, 2000, 2000),
]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.name}-{known.split}")
def test_a_data_set_has_its_known_counts(known: Known) -> None:
    examples = read(known.name, known.split)

    assert len(examples) == known.questions
    if known.candidates is not None:
        assert sum(len(example.candidates) for example in examples) == known.candidates
    assert sum(any(example.labels) for example in examples) == known.answered
    if known.mixed is not None:
        assert sum(len(set(example.labels)) == 2 for example in examples) == known.mixed
    assert len({example.id for example in examples}) == len(examples)
    assert all(
        len({item.id for item in example.candidates}) == len(example.candidates)
        for example in examples
    )


SECOND_CHOICES = [
    pytest.param(source, id=source.files[0])
    for dataset in DATASETS.values()
    for sources in dataset.splits.values()
    for source in sources[1:]
    if source.counts
]


@pytest.mark.parametrize("source", SECOND_CHOICES)
def test_a_fallback_source_has_its_known_counts(source: SplitFiles) -> None:
    paths = find(*source.files)

    examples = list(source.read(*paths))

    assert source.counts is not None
    assert len(examples) == source.counts.questions
    if source.counts.candidates is not None:
        assert sum(len(example.candidates) for example in examples) == source.counts.candidates


def test_the_catalogue_counts_are_those_of_the_table() -> None:
    for known in KNOWN:
        counts = DATASETS[known.name].counts[known.split]
        assert (counts.questions, counts.candidates) == (known.questions, known.candidates)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_both_forms_of_wikiqa_agree(split: str) -> None:
    name = f"wikiqa/WikiQA-{split}"
    tsv, text, ref = find(f"{name}.tsv", f"{name}.txt", f"{name}.ref")

    pairs = zip(read_wikiqa(tsv), read_wikiqa_text(text, ref), strict=True)

    assert all(one.labels == other.labels for one, other in pairs)


def test_both_forms_of_trecqa_have_the_same_questions() -> None:
    lines, xml = find("trecqa/test.jsonl", "trecqa/xml/test.xml")

    pairs = zip(read_trecqa(lines), read_trecqa_xml(xml), strict=True)

    assert all(sum(one.labels) == sum(other.labels) for one, other in pairs)


def test_trecqa_without_unmixed_questions_is_the_filtered_file() -> None:
    whole, filtered = find("trecqa/test.jsonl", "trecqa/test-filtered.jsonl")

    mixed = [e.question for e in read_trecqa(whole) if len(set(e.labels)) == 2]

    assert mixed == [example.question for example in read_trecqa(filtered)]


@pytest.mark.parametrize(
    ("name", "articles"), [("dev-v1.1.json", 48), ("dev-v2.0.reconstructed.json", 35)]
)
def test_a_squad_article_is_one_document(name: str, articles: int) -> None:
    (path,) = find(f"squad/{name}")

    documents = {
        id(item.document): item.document for e in read_squad(path) for item in e.candidates
    }

    assert len(documents) == articles
    assert len({item.id for item in documents.values() if item}) == articles


def test_all_spans_of_squad_include_the_first() -> None:
    (path,) = find("squad/dev-v2.0.reconstructed.json")

    pairs = zip(read_squad(path), read_squad(path, answers="all"), strict=True)

    gained = 0
    for first, every in pairs:
        assert all(label <= more for label, more in zip(first.labels, every.labels, strict=True))
        gained += sum(every.labels) - sum(first.labels)
    assert gained > 0


def test_selqa_has_893_answers() -> None:
    assert sum(sum(example.labels) for example in read("selqa", "dev")) == 893


def test_the_large_files_of_insuranceqa_have_their_known_counts() -> None:
    try:
        folder = find_insuranceqa_package()
    except MissingDataError as error:
        pytest.skip(str(error))

    answers = read_json(folder / PACKAGE_ANSWERS, dict[str, Any])
    questions = read_json(folder / "train.json.gz", dict[str, Any]).values()

    assert len(answers) == 27_413
    candidates = sum(len(row["answers"]) + len(row["negatives"]) for row in questions)
    assert DATASETS["insuranceqa"].counts["train"] == FileCounts(len(questions), candidates)
    assert (len(questions), candidates) == (12_889, 2_599_125)


def test_wikiqa_is_what_the_paper_describes() -> None:
    figures = DATASETS["wikiqa"].published[0].figures

    computed = asdict(compute_statistics(read("wikiqa", "test"), split_words=str.split))

    # Lengths are left out: the paper counts the words that spaCy finds.
    for name in ("questions", "candidates", "answered_share", "candidates_per_question"):
        assert round(computed[name], 4 if name == "answered_share" else 2) == figures[name]


@pytest.mark.parametrize("name", ["squad-v1", "trecqa", "selqa"])
def test_local_files_have_the_known_checksums(name: str) -> None:
    here = [item for item in DATASETS[name].remote if (FOLDER / item.path).exists()]
    if not here:
        pytest.skip(f"no files of {name} in {FOLDER}")

    assert all(is_downloaded(item, FOLDER) for item in here)
