import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import DATASETS
from rejoinder.datasets.download import CHUNK_BYTES, download
from rejoinder.datasets.entries import Dataset, RemoteFile, SplitFiles
from rejoinder.datasets.readers.pairs import read_pairs
from rejoinder.errors import DownloadError

BODY = bytes(range(256)) * 600  # more than two chunks
FILES = {"/one.tsv": BODY, "/two.tsv": b"two"}


class Handler(BaseHTTPRequestHandler):
    """Serves the files; /short.tsv promises more than it sends."""

    def do_GET(self) -> None:
        if self.path not in {*FILES, "/short.tsv"}:
            self.send_error(404)
            return
        body = FILES.get(self.path, BODY[:1000])
        self.send_response(200)
        self.send_header("Content-Length", str(len(FILES.get(self.path, BODY))))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def make_dataset(*urls: str, sha256: str | None = None) -> Dataset:
    remote = []
    for url in urls:
        name = url.rpartition("/")[2]
        body = FILES.get(f"/{name}", BODY)
        digest = sha256 or hashlib.sha256(body).hexdigest()
        remote.append(RemoteFile(url, f"toy/deep/{name}", len(body), digest))
    source = SplitFiles(tuple(item.path for item in remote), read_pairs)
    return Dataset(
        "toy", "A toy", "none", "https://example.org", {"test": (source,)}, tuple(remote)
    )


def ignore(done: int, total: int) -> None:
    """Take no notice of progress."""


def test_files_arrive_whole_with_progress(server: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    paths = download(
        make_dataset(f"{server}/one.tsv", f"{server}/two.tsv"),
        tmp_path / "data",
        on_progress=lambda done, total: seen.append((done, total)),
    )

    assert [path.read_bytes() for path in paths] == [BODY, b"two"]
    assert paths == [tmp_path / "data/toy/deep/one.tsv", tmp_path / "data/toy/deep/two.tsv"]
    assert len(list((tmp_path / "data").rglob("*.*"))) == 2
    total = len(BODY) + 3
    assert seen[0] == (CHUNK_BYTES, total)
    assert seen[-2:] == [(len(BODY), total), (total, total)]


def test_an_existing_file_is_not_downloaded_again(server: str, tmp_path: Path) -> None:
    (tmp_path / "toy/deep").mkdir(parents=True)
    (tmp_path / "toy/deep/one.tsv").write_bytes(BODY)
    seen: list[tuple[int, int]] = []

    paths = download(
        make_dataset(f"{server}/one.tsv", f"{server}/two.tsv"),
        tmp_path,
        on_progress=lambda done, total: seen.append((done, total)),
    )

    assert seen == [(3, 3)]
    assert len(paths) == 2


@pytest.mark.parametrize("old", [b"shorter", bytes(len(BODY))])
def test_a_wrong_file_is_replaced(server: str, tmp_path: Path, old: bytes) -> None:
    (tmp_path / "toy/deep").mkdir(parents=True)
    (tmp_path / "toy/deep/one.tsv").write_bytes(old)

    (path,) = download(make_dataset(f"{server}/one.tsv"), tmp_path, on_progress=ignore)

    assert path.read_bytes() == BODY


def test_a_wrong_checksum_leaves_nothing_behind(server: str, tmp_path: Path) -> None:
    dataset = make_dataset(f"{server}/one.tsv", sha256="0" * 64)

    with pytest.raises(DownloadError) as raised:
        download(dataset, tmp_path / "data", on_progress=ignore)

    assert str(raised.value) == (
        f"cannot use {server}/one.tsv: its sha256 is not {'0' * 64};"
        " the file at its source has changed"
    )
    assert not list(tmp_path.iterdir())


def test_a_longer_file_is_refused_before_it_is_read_to_its_end(server: str, tmp_path: Path) -> None:
    remote = RemoteFile(f"{server}/one.tsv", "one.tsv", 10, hashlib.sha256(BODY[:10]).hexdigest())
    source = SplitFiles(("one.tsv",), read_pairs)
    dataset = Dataset("toy", "A toy", "none", "-", {"test": (source,)}, (remote,))

    seen: list[int] = []

    with pytest.raises(DownloadError, match="its sha256 is not"):
        download(dataset, tmp_path, on_progress=lambda done, total: seen.append(done))

    assert seen == [CHUNK_BYTES]
    assert not list(tmp_path.iterdir())


def test_a_refusal_by_the_server_is_a_one_line_error(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as raised:
        download(make_dataset(f"{server}/gone.tsv"), tmp_path / "data", on_progress=ignore)

    assert (
        str(raised.value)
        == f"cannot download {server}/gone.tsv: the server responded 404 Not Found"
    )
    assert not list(tmp_path.iterdir())


def test_a_connection_that_ends_early_leaves_nothing_behind(server: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as raised:
        download(make_dataset(f"{server}/short.tsv"), tmp_path / "data", on_progress=ignore)

    assert str(raised.value) == (
        f"cannot download {server}/short.tsv: the connection ended after 1000 of {len(BODY)} bytes;"
        " try again"
    )
    assert not list(tmp_path.iterdir())


def test_if_one_file_fails_none_is_left(server: str, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    dataset = make_dataset(f"{server}/one.tsv", f"{server}/gone.tsv")

    with pytest.raises(DownloadError, match="404"):
        download(dataset, tmp_path, on_progress=ignore)

    assert list(tmp_path.rglob("*")) == [tmp_path / "toy"]


def test_without_a_network_the_message_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/one.tsv"

        with pytest.raises(DownloadError) as raised:
            download(make_dataset(url), tmp_path / "data", on_progress=ignore)

    assert str(raised.value) == (
        f"cannot download {url}: Connection refused; is this machine online?"
    )
    assert not list(tmp_path.iterdir())


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Give the address of a server that answers one request in its own way."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/one.tsv"
        thread.join()


def talk_nonsense(connection: socket.socket) -> None:
    connection.sendall(b"\x00\x01 what?\r\n\r\n")


def hang_up(connection: socket.socket) -> None:
    # Closing with a linger time of 0 resets the connection.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (talk_nonsense, "the response is not valid HTTP (BadStatusLine)"),
        (hang_up, "Connection reset by peer"),
    ],
)
def test_a_broken_server_is_a_one_line_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[socket.socket], None],
    message: str,
) -> None:
    monkeypatch.setenv("no_proxy", "*")

    with listening(answer) as url, pytest.raises(DownloadError) as raised:
        download(make_dataset(url), tmp_path / "data", on_progress=ignore)

    assert str(raised.value) == f"cannot download {url}: {message}"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_created_is_named(server: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DownloadError) as raised:
        download(make_dataset(f"{server}/one.tsv"), tmp_path / "file", on_progress=ignore)

    assert str(raised.value) == f"cannot write into {tmp_path / 'file'}: Not a directory"


def test_data_without_a_download_names_its_source_and_target(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as raised:
        download(DATASETS["asnq"], tmp_path, on_progress=ignore)

    assert str(raised.value) == (
        "asnq cannot be downloaded automatically: get asnq.tar from"
        " https://github.com/amazon-science/wqa_tanda, and the lists unique.dev and unique.test"
        " from https://github.com/alexa/wqa-cascade-transformers,"
        f" and put asnq/train.tsv, asnq/dev.tsv, asnq/unique.dev, asnq/unique.test into {tmp_path}"
    )


def test_data_that_requires_an_agreement_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"^wikiqa cannot be downloaded automatically: accept its lic"
    ):
        download(DATASETS["wikiqa"], tmp_path, on_progress=ignore)


def test_data_of_a_package_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as raised:
        download(DATASETS["insuranceqa"], tmp_path, on_progress=ignore)

    assert str(raised.value) == (
        "insuranceqa cannot be downloaded automatically: pip install insuranceqa_data==1.2"
    )
