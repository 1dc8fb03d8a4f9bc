"""API keys: compared in constant time, never logged, never returned.

That only hashes are stored, in a file of its owner, is in tests/server/test_security.py.
"""

import ast
import hmac
import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rejoinder.errors import DataError
from rejoinder.server.security import Keys, add_key, read_keys
from tests.server.bodies import GOOD

Connect = Callable[..., TestClient]


def test_every_key_is_compared_whatever_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.txt"
    keys = [add_key(path, f"team {number}") for number in range(5)]
    compared: list[tuple[str, str]] = []
    compare = hmac.compare_digest

    def count(left: str, right: str) -> bool:
        compared.append((left, right))
        return compare(left, right)

    monkeypatch.setattr(hmac, "compare_digest", count)
    known = read_keys(path)

    for given in (keys[0], keys[-1], "", "rj-wrong", keys[0][:-1]):
        compared.clear()
        known.find(given)
        assert len(compared) == len(keys)
        assert all(len(left) == len(right) == 64 for left, right in compared)


def test_hashes_are_only_compared_in_constant_time() -> None:
    tree = ast.parse(inspect.getsource(Keys).strip())
    operators = [
        type(item).__name__
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for item in node.ops
    ]

    assert operators == []


@pytest.mark.parametrize("path", GOOD)
def test_no_key_is_logged_or_returned(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    key = add_key(tmp_path / "keys.txt", "team")
    digest = (tmp_path / "keys.txt").read_text(encoding="utf-8").split()[0].partition(":")[2]
    client = connect(keys=tmp_path / "keys.txt")
    caplog.set_level(logging.DEBUG)
    bodies = [GOOD[path][0], {"question": 1}, []]
    values = [f"Bearer {key}", key, f"Basic {key}", f"Bearer {key}x", "Bearer rj-other-secret"]

    shown = ""
    for value in values:
        for body in bodies:
            reply = client.post(path, json=body, headers={"authorization": value})
            shown += reply.text + str(dict(reply.headers))
    shown += client.get("/metrics", headers={"authorization": f"Bearer {key}"}).text
    shown += client.get("/info", headers={"authorization": f"Bearer {key}"}).text
    shown += "".join(
        str(vars(record)) + record.getMessage()
        for record in caplog.records
        if record.name.startswith("rejoinder")
    )

    assert "team" in shown, "who asked is logged"
    for secret in (key, key[3:], digest, "rj-other-secret"):
        assert secret not in shown


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer ", "bearer\t", "Bearer  x", "Basic eDp5", "ü", "Bearer sha256:" + "0" * 64],
)
def test_credentials_of_other_forms_are_refused(
    connect: Connect, tmp_path: Path, value: str
) -> None:
    add_key(tmp_path / "keys.txt", "team")
    client = connect(keys=tmp_path / "keys.txt")

    reply = client.get("/info", headers={b"authorization": value.encode()})

    assert reply.status_code == 401


def test_the_stored_hash_is_no_key(connect: Connect, tmp_path: Path) -> None:
    add_key(tmp_path / "keys.txt", "team")
    stored = (tmp_path / "keys.txt").read_text(encoding="utf-8").split()[0]
    client = connect(keys=tmp_path / "keys.txt")

    for value in (stored, stored.partition(":")[2]):
        reply = client.get("/info", headers={"authorization": f"Bearer {value}"})
        assert reply.status_code == 401


def test_a_line_that_is_no_hash_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("rj-a-key-in-plain-text team\n", encoding="utf-8")

    with pytest.raises(DataError) as caught:
        read_keys(path)

    assert "plain" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
@pytest.mark.parametrize(
    ("mode", "is_told"), [(0o600, False), (0o644, False), (0o664, True), (0o646, True)]
)
def test_a_key_file_that_others_can_change_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, is_told: bool
) -> None:
    path = tmp_path / "keys.txt"
    add_key(path, "team")
    path.chmod(mode)

    read_keys(path)

    assert ("other users can add keys" in caplog.text) is is_told
