from dataclasses import fields
from pathlib import Path

from rejoinder.bundle.folder import Manifest
from rejoinder.models.registry import FAMILIES, NAMED

PAGE = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text(encoding="utf-8")


def test_every_field_and_kind_is_documented() -> None:
    kinds = [kind for kind in FAMILIES if kind not in NAMED]
    names = [field.name for field in fields(Manifest)] + kinds

    assert [name for name in names if f"`{name}`" not in PAGE] == []
