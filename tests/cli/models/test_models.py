import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import find_cascade, load
from rejoinder.cli import main
from rejoinder.errors import UnknownNameError
from rejoinder.models.registry import list_named, list_shipped, open_scorer


def test_every_scorer_is_listed() -> None:
    result = CliRunner().invoke(main, ["models", "list"])

    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == ["scorer", *list_named(), *list_shipped(), "default", "thorough"]
    assert {"selector", "passage-selector"} < set(names)


def test_a_cascade_is_shown_as_its_file(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["models", "show", "thorough"]).stdout

    (tmp_path / "thorough.toml").write_text(shown, encoding="utf-8")
    file = read_cascade_file(tmp_path / "thorough.toml")
    assert file == read_cascade_file(find_cascade("thorough"))
    assert [stage.reads for stage in file.stages].count("passage") == 1


def test_every_listed_scorer_can_be_loaded() -> None:
    listed = json.loads(CliRunner().invoke(main, ["models", "list", "--json"]).stdout)

    assert [load(item["name"]).name for item in listed] == [item["name"] for item in listed]


def test_an_unknown_scorer_lists_all() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"known: original-order, .*, static-encoder, passage-selector, default, thorough$",
    ):
        load("nonsense")


def test_a_cascade_is_not_a_single_scorer() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"unknown scorer 'default'; known: .*, static-encoder, passage-selector$",
    ):
        open_scorer("default")


def test_a_shipped_bundle_is_known_by_its_name() -> None:
    shown = CliRunner().invoke(main, ["models", "show", "cosinet"])
    verified = CliRunner().invoke(main, ["models", "verify", "cosinet"])

    assert json.loads(shown.stdout)["kind"]
    assert verified.stderr == "cosinet is complete and scores\n"


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_name_without_a_bundle_is_one_line(command: str, tmp_path: Path) -> None:
    lexical = CliRunner().invoke(main, ["models", command, "bm25"])
    missing = CliRunner().invoke(main, ["models", command, str(tmp_path / "nowhere")])

    assert lexical.stderr == (
        "Error: bm25: not a bundle; the shipped ones are cosinet, selector, support,"
        " static-encoder, passage-selector\n"
    )
    assert missing.stderr == f"Error: {tmp_path / 'nowhere'}: no such folder\n"


def test_the_list_as_json() -> None:
    listed = json.loads(CliRunner().invoke(main, ["models", "list", "--json"]).stdout)

    assert {
        "name": "jaccard",
        "summary": list_named()["jaccard"].summary,
        "reads_order": False,
    } in listed
