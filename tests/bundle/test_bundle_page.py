from dataclasses import fields
from pathlib import Path

from rejoinder.bundle.manifest import Manifest
from rejoinder.models.has import scorer as has
from rejoinder.models.ranker.scorer import NETWORKS
from rejoinder.models.selector import scorer as selector

PAGE = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text(encoding="utf-8")


def test_every_field_and_kind_is_documented() -> None:
    names = [field.name for field in fields(Manifest)] + [*NETWORKS, has.KIND, selector.KIND]

    assert [name for name in names if f"`{name}`" not in PAGE] == []
