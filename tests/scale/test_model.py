from pathlib import Path

import pytest
from benchmarks.made_up import write_cosinet

from rejoinder.errors import InputError, RejoinderError
from rejoinder.runtime.static_vectors import SHIPPED as VECTORS
from rejoinder.scale.model import Model, load_model, pack_model


def write_cascade(folder: Path) -> Path:
    """Write a cascade of a named scorer and a bundle beside it; return its file."""
    folder.mkdir()
    write_cosinet(folder / "ranker")
    path = folder / "cascade.toml"
    path.write_text(
        'name = "mine"\n[[stage]]\nscorer = "bm25"\nkeep = 3\n[[stage]]\nscorer = "ranker"\n'
    )
    return path


def test_a_path_goes_as_the_place_it_means(tmp_path: Path) -> None:
    path = write_cascade(tmp_path / "mine")

    assert pack_model(str(path), send=False) == Model(str(path.resolve()))


def test_a_sent_cascade_scores_as_the_one_at_home(tmp_path: Path) -> None:
    path = write_cascade(tmp_path / "mine")
    asked = "who wrote it?", ["Ada wrote it.", "It rained.", "Nobody.", "He did."]
    expected = load_model(Model(str(path))).score(*asked)

    model = pack_model(str(path), send=True)
    (tmp_path / "mine").rename(tmp_path / "elsewhere")

    assert load_model(model).score(*asked).tolist() == expected.tolist()
    assert load_model(model) is load_model(Model(model.name, {}, model.digest))


def test_a_sent_bundle_is_told_from_others_by_its_content(tmp_path: Path) -> None:
    one = pack_model(str(write_cosinet(tmp_path / "one")), send=True)
    (tmp_path / "one" / "extra").write_text("x")
    other = pack_model(str(tmp_path / "one"), send=True)

    assert load_model(one).name
    assert one != other


def test_what_holds_no_scorer_is_refused() -> None:
    with pytest.raises(RejoinderError, match="holds no scorer"):
        load_model(pack_model(str(VECTORS), send=True))


def test_a_file_that_leads_out_of_the_model_is_refused() -> None:
    with pytest.raises(InputError, match="leads out"):
        load_model(Model("bundle", {"../x": b""}, "1"))
