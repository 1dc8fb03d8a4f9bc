from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct, field

from rejoinder.errors import DataError, InputError
from rejoinder.storage.typed import convert, read_toml, to_toml

PATH = Path("a.toml")


class Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    size: Annotated[int, Meta(ge=1)] | None = None
    way: Literal["in", "out"] = "in"
    weight: float = field(name="the-weight", default=0.0)

    def __post_init__(self) -> None:
        if self.size == 13:
            raise InputError("13 is unlucky")


class Whole(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    part: tuple[Part, ...]
    named: Mapping[str, Part] = {}
    facts: Mapping[str, str | int] = {}
    pairs: tuple[tuple[float, float], ...] = ()


def test_a_typed_value_is_read_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    whole = Whole((Part(2, "out", 0.5), Part()), {"ä b": Part(3)}, {'a"\x7f': "🐈\n"}, ((1, 2.5),))
    path.write_text(to_toml(whole), encoding="utf-8")

    assert read_toml(path, Whole) == whole


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "expected 'object', found 3"),
        ({}, "field 'part' is missing"),
        ({"part": 3}, "part: expected 'array', found 3"),
        ({"part": [{}, 3]}, "part 2: expected 'object', found 3"),
        ({"part": [{"size": "x"}]}, "part 1: size: expected 'int | null', found \"x\""),
        ({"part": [{"size": 0}]}, "part 1: size: expected 'int' >= 1, found 0"),
        ({"part": [{"size": True}]}, "part 1: size: expected 'int | null', found true"),
        ({"part": [{"size": 13}]}, "13 is unlucky"),
        ({"part": [{"sise": 1}]}, "part 1: unknown field 'sise'; known: size, way, the-weight"),
        ({"part": [{"way": "up"}]}, "part 1: way: must be 'in' or 'out', found \"up\""),
        ({"part": [{"the-weight": []}]}, "part 1: the-weight: expected 'float', found []"),
        ({"part": [], "named": {"a": {}, "b c": {"way": 1}}}, "named: b c: way: "),
        ({"part": [], "facts": {"a": 1, "b": [1]}}, "facts: b: expected 'int | str', found [1]"),
        ({"part": [], "pairs": [[1, 2], [1]]}, "pairs 2: expected 'array' of length 2"),
        ({"part": [], "pairs": [[1, "b" * 99]]}, "pairs 1 2: expected 'float', found \"bbb"),
    ],
)
def test_an_error_names_the_place_and_what_is_expected(value: Any, problem: str) -> None:
    with pytest.raises(DataError) as raised:
        convert(value, Whole, path=PATH)

    assert str(raised.value).startswith(f"a.toml: {problem}")
    assert len(str(raised.value)) < 120
