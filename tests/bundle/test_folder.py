import json
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from rejoinder.bundle.folder import FORMAT, WEIGHTS, Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError

MANIFEST = Manifest("test", {"width": 3}, training={"seed": 1})
FILES = {"weights.safetensors": save({"w": np.arange(3.0)}), "words.txt": b"a\nb\n"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "mine"
    write_bundle(folder, MANIFEST, FILES)
    return folder


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_written_bundle_is_read_back(bundle: Path) -> None:
    opened = open_bundle(bundle, kind="test")

    assert opened.manifest.config == {"width": 3}
    assert opened.manifest.training == {"seed": 1}
    assert opened.read_text("words.txt") == "a\nb\n"
    assert opened.read_tensors()["w"].tolist() == [0, 1, 2]


def test_nothing_else_is_left_beside_it(bundle: Path) -> None:
    write_bundle(bundle, MANIFEST, FILES)

    assert [path.name for path in bundle.parent.iterdir()] == ["mine"]


def test_a_new_bundle_replaces_the_old(bundle: Path) -> None:
    write_bundle(bundle, MANIFEST, {"words.txt": b"c\n"})

    assert sorted(path.name for path in bundle.iterdir()) == ["manifest.json", "words.txt"]


def test_the_old_one_is_found_where_a_crash_left_it(bundle: Path) -> None:
    bundle.rename(bundle.with_name(".mine.old"))

    assert open_bundle(bundle).read_text("words.txt") == "a\nb\n"


def test_a_failed_write_leaves_the_old_one(bundle: Path) -> None:
    with pytest.raises(BundleError, match="cannot be written"):
        write_bundle(bundle, MANIFEST, {"no/such/folder": b""})

    assert open_bundle(bundle).read_text("words.txt") == "a\nb\n"
    assert [path.name for path in bundle.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_nothing_but_a_bundle_is_replaced(tmp_path: Path, is_folder: bool) -> None:
    place = tmp_path / "letters"
    kept = place / "first.txt" if is_folder else place
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("dear")

    with pytest.raises(BundleError, match="letters: exists and is not a bundle"):
        write_bundle(place, Manifest("test", {}), {})
    assert kept.read_text() == "dear"


def test_a_flipped_byte_is_noticed(bundle: Path) -> None:
    path = bundle / "weights.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)

    with pytest.raises(BundleError, match=r"file 'weights\.safetensors' is corrupt"):
        open_bundle(bundle)


def test_a_missing_file_is_noticed(bundle: Path) -> None:
    (bundle / "words.txt").unlink()

    with pytest.raises(BundleError, match=r"file 'words\.txt' is missing"):
        open_bundle(bundle)


def test_a_link_out_of_the_folder_is_refused(bundle: Path, tmp_path: Path) -> None:
    outside = tmp_path / "words.txt"
    outside.write_bytes(b"a\nb\n")
    (bundle / "words.txt").unlink()
    (bundle / "words.txt").symlink_to(outside)

    with pytest.raises(BundleError, match="is outside the bundle"):
        open_bundle(bundle)


def test_a_name_that_climbs_out_is_refused(bundle: Path) -> None:
    edit_manifest(bundle, files={"../words.txt": "0"})

    with pytest.raises(BundleError, match="is outside the bundle"):
        open_bundle(bundle)


def test_a_file_that_an_included_bundle_holds_is_read_there(bundle: Path) -> None:
    held = WEIGHTS / "selector" / "vocabulary.txt"
    checksum = open_bundle(held.parent).manifest.files[held.name]
    edit_manifest(bundle, files={held.name: checksum}, shared={held.name: "selector"})

    opened = open_bundle(bundle)
    write_bundle(bundle.with_name("own"), opened.manifest, {held.name: b"own\n"})

    assert opened.read_text(held.name) == held.read_text(encoding="utf-8")
    assert open_bundle(bundle.with_name("own")).read_text(held.name) == "own\n"


@pytest.mark.parametrize(
    ("name", "owner", "checksum", "problem"),
    [
        ("vocabulary.txt", "selector", "0", "selector: file 'vocabulary.txt' is corrupt"),
        ("vocabulary.txt", "cosinet", "0", "cosinet: file 'vocabulary.txt' is missing"),
        ("vocabulary.txt", "../weights/selector", "0", "no included bundle '../weights/selector'"),
        ("vocabulary.txt", "..", "0", "no included bundle '..' holds 'vocabulary.txt'"),
        ("../default.toml", "selector", "0", "file '../default.toml' is outside the bundle"),
    ],
)
def test_only_files_of_included_bundles_are_shared(
    bundle: Path, name: str, owner: str, checksum: str, problem: str
) -> None:
    edit_manifest(bundle, files={name: checksum}, shared={name: owner})

    with pytest.raises(BundleError, match=re.escape(problem)):
        open_bundle(bundle)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": 3}, "manifest.json: kind: expected 'str', found 3"),
        ({"files": {"words.txt": None}}, "manifest.json: files: words.txt: expected 'str'"),
        ({"config": []}, "manifest.json: config: expected 'object', found []"),
        ({"tolerance": "low"}, "manifest.json: tolerance: expected 'float', found \"low\""),
        ({"colour": 1}, "manifest.json: unknown field 'colour'; known: kind, config, files, "),
    ],
)
def test_a_field_of_another_type_is_named(
    bundle: Path, changes: dict[str, object], problem: str
) -> None:
    edit_manifest(bundle, **changes)

    with pytest.raises(BundleError, match=re.escape(problem)):
        open_bundle(bundle)


def test_a_newer_format_says_what_to_do(bundle: Path) -> None:
    edit_manifest(bundle, format=FORMAT + 1)

    with pytest.raises(BundleError, match=f"format {FORMAT + 1}.*upgrade rejoinder"):
        open_bundle(bundle)


def test_another_kind_is_named(bundle: Path) -> None:
    with pytest.raises(BundleError, match="is a bundle of kind 'test', not 'cosinet'"):
        open_bundle(bundle, kind="cosinet")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "kind": "x", "config": 3}']
)
def test_a_corrupt_manifest_is_named(bundle: Path, text: str) -> None:
    (bundle / "manifest.json").write_text(text)

    with pytest.raises(BundleError, match=r"manifest\.json"):
        open_bundle(bundle)


def test_a_folder_without_a_manifest_is_not_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not a bundle"):
        open_bundle(tmp_path)
    with pytest.raises(BundleError, match="nowhere: no such folder"):
        open_bundle(tmp_path / "nowhere")


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    write_bundle(
        tmp_path / "nan", MANIFEST, {"weights.safetensors": save({"w": np.array([np.nan])})}
    )

    with pytest.raises(BundleError, match="weight 'w' holds a number that is not finite"):
        open_bundle(tmp_path / "nan").read_tensors()


def test_large_files_are_verified_in_parts_and_read_once(tmp_path: Path) -> None:
    size = 8_000_000
    files = {"weights.safetensors": save({"w": np.zeros(size, np.int8)})}
    write_bundle(tmp_path / "large", MANIFEST, files)
    open_bundle(tmp_path / "large").read_tensors()  # imports what it needs

    tracemalloc.start()
    try:
        bundle = open_bundle(tmp_path / "large")
        assert tracemalloc.get_traced_memory()[1] < size / 4
        bundle.read_tensors()
        assert tracemalloc.get_traced_memory()[1] < 1.5 * size
    finally:
        tracemalloc.stop()
