"""API keys, and the Host and Origin headers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rejoinder.errors import DataError, InputError
from rejoinder.server.security import add_key, read_keys
from rejoinder.server.settings import Settings, is_loopback

Connect = Callable[..., TestClient]

BODY = {"question": "how hot is tea?", "query": "tea", "documents": ["Tea is hot."]}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/answer", {"error", "code", "status"}),
        ("/v2/rerank", {"message"}),
        ("/v1/rerank", {"message", "detail"}),
        ("/rerank", {"error", "error_type"}),
    ],
)
def test_wrong_key_is_reported_in_the_dialects_shape(
    connect: Connect, tmp_path: Path, path: str, fields: set[str]
) -> None:
    keys = tmp_path / "keys.txt"
    key = add_key(keys, "team")
    client = connect(keys=keys)

    without = client.post(path, json=BODY)
    wrong = client.post(path, json=BODY, headers={"authorization": "Bearer rj-wrong"})
    right = client.post(path, json=BODY, headers={"authorization": f"Bearer {key}"})
    bare = client.post(path, json=BODY, headers={"authorization": key})  # as LlamaIndex does

    assert (without.status_code, wrong.status_code) == (401, 401)
    assert (right.status_code, bare.status_code) == (200, 200)
    assert set(wrong.json()) == fields
    assert wrong.headers["www-authenticate"] == "Bearer"
    assert client.get("/health").status_code == client.get("/").status_code == 200
    assert client.get("/metrics").status_code == client.get("/info").status_code == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9", "a[b"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/answer"),
        ("POST", "/v2/rerank"),
        ("POST", "/v1/documents?name=a.txt"),
        ("DELETE", "/v1/documents/1"),
    ],
)
def test_a_foreign_origin_is_refused(
    client: TestClient, method: str, path: str, origin: str
) -> None:
    reply = client.request(method, path, headers={"origin": origin})

    assert reply.status_code == 403
    assert "access-control-allow-origin" not in reply.headers
    assert client.get("/v1/documents").json()["total"] == 2


def test_own_origin_is_allowed(client: TestClient) -> None:
    headers = {"origin": "http://localhost"}

    assert client.post("/v1/answer", json=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "[::bad"])
def test_unknown_host_is_refused(client: TestClient, host: str) -> None:
    reply = client.post("/v1/answer", json=BODY, headers={"host": host})

    assert reply.status_code == 403


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:8080", "[::1]:8080", "10.0.0.1"])
def test_local_hosts_are_allowed(client: TestClient, host: str) -> None:
    assert client.post("/v1/answer", json=BODY, headers={"host": host}).status_code == 200


def test_hosts_can_be_allowed(connect: Connect) -> None:
    client = connect(allowed_hosts=("search.example",))

    assert client.get("/info", headers={"host": "search.example"}).status_code == 200
    assert client.get("/info", headers={"host": "other.example"}).status_code == 403


def test_with_keys_only_writes_need_a_known_host(connect: Connect, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.txt", "team")
    client = connect(keys=tmp_path / "keys.txt")
    headers = {"host": "search.example", "authorization": f"Bearer {key}"}

    assert client.post("/v1/answer", json=BODY, headers=headers).status_code == 200
    assert client.delete("/v1/documents/1", headers=headers).status_code == 403


def test_one_origin_can_be_allowed(connect: Connect) -> None:
    client = connect(allowed_origins=("https://good.example",))
    good, bad = ({"origin": f"https://{name}.example"} for name in ("good", "bad"))

    allowed = client.post("/v1/answer", json=BODY, headers=good)

    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://good.example"
    assert client.post("/v1/answer", json=BODY, headers=bad).status_code == 403


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x", False)],
)
def test_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_public_address_needs_keys_or_open(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --keys FILE"):
        Settings(host="0.0.0.0").check()

    Settings(host="0.0.0.0", is_open=True).check()
    Settings(host="0.0.0.0", keys=tmp_path / "keys.txt").check()
    Settings().check()


def test_only_the_hash_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"

    first, second = add_key(path, "one"), add_key(path, "two words")

    text = path.read_text()
    assert first not in text
    assert second not in text
    assert path.stat().st_mode & 0o077 == 0
    keys = read_keys(path)
    assert (keys.find(first), keys.find(second)) == ("one", "two words")
    assert keys.find(first + "x") is None
    assert keys.find("") is None


def test_comments_and_empty_lines_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    key = add_key(path, "one")
    path.write_text("# keys\n\n" + path.read_text())

    assert read_keys(path).find(key) == "one"


def test_key_file_without_keys_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    with pytest.raises(InputError, match="not a key file"):
        read_keys(path)
    path.write_text("# none\n")
    with pytest.raises(InputError, match="has no key"):
        read_keys(path)
    path.write_text("# none\nhunter2\n")
    with pytest.raises(DataError, match=r"keys\.txt:2: not 'sha256:"):
        read_keys(path)


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_key_needs_a_name_on_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not a name for a key"):
        add_key(tmp_path / "keys.txt", name)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        add_key(tmp_path / "missing" / "keys.txt", "one")
