from pathlib import Path

import pytest
from benchmarks.common import write_cosinet

from rejoinder.batch.packed_scorer import PackedScorer, load_packed_scorer, pack_scorer
from rejoinder.errors import InputError, RejoinderError
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS as VECTORS


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

    packed = pack_scorer(str(path), send=False)

    assert packed.name == str(path.resolve())
    assert packed.files == {}
    assert packed.digest == pack_scorer(str(path), send=True).digest


def test_a_sent_cascade_scores_as_the_one_at_home(tmp_path: Path) -> None:
    path = write_cascade(tmp_path / "mine")
    asked = "who wrote it?", ["Ada wrote it.", "It rained.", "Nobody.", "He did."]
    expected = load_packed_scorer(PackedScorer(str(path))).score(*asked)

    packed = pack_scorer(str(path), send=True)
    (tmp_path / "mine").rename(tmp_path / "elsewhere")

    assert load_packed_scorer(packed).score(*asked).tolist() == expected.tolist()
    assert load_packed_scorer(packed) is load_packed_scorer(
        PackedScorer(packed.name, {}, packed.digest)
    )


def test_a_sent_bundle_is_identified_by_its_content(tmp_path: Path) -> None:
    one = pack_scorer(str(write_cosinet(tmp_path / "one")), send=True)
    (tmp_path / "one" / "extra").write_text("x")
    other = pack_scorer(str(tmp_path / "one"), send=True)

    assert load_packed_scorer(one).name
    assert one != other


def test_a_bundle_without_a_scorer_is_refused() -> None:
    with pytest.raises(RejoinderError, match="holds no scorer"):
        load_packed_scorer(pack_scorer(str(VECTORS), send=True))


def test_a_file_that_leads_out_of_the_model_is_refused() -> None:
    with pytest.raises(InputError, match="is outside"):
        load_packed_scorer(PackedScorer("bundle", {"../x": b""}, "1"))
