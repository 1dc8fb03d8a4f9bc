"""The manuals that readers are compared on: documentation of Debian packages."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

MANUALS = {
    "apache2-doc": "usr/share/doc/apache2-doc/manual/en",
    "bind9-doc": "usr/share/doc/bind9-doc/arm",
    "cmake-doc": "usr/share/doc/cmake-data/html",
    "cups-server-common": "usr/share/cups/doc-root/help",
    "doxygen-doc": "usr/share/doc/doxygen/html",
    "linuxcnc-doc-en": "usr/share/doc/linuxcnc",
    "nethack-common": "usr/share/doc/nethack-common",
    "postfix-doc": "usr/share/doc/postfix/html",
    "python-django-doc": "usr/share/doc/python-django-doc/html",
    "python-flask-doc": "usr/share/doc/python-flask-doc/html",
    "tuxpaint-data": "usr/share/doc/tuxpaint-data/en",
}
"""The folder of each package that holds its manual."""


def fetch_manuals(folder: Path) -> None:
    """Download the manuals that the folder does not have yet, each into a folder of its name."""
    fetch_packages({package: [below] for package, below in MANUALS.items()}, folder)


def fetch_packages(
    packages: Mapping[str, Sequence[str]], folder: Path, unread: Sequence[str] = ()
) -> None:
    """Download parts of packages that `folder` does not have yet.

    Args:
        packages: patterns of paths by the name of the package.
        unread: names of folders to leave out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package, parts in packages.items():
        if not (folder / package).exists():
            print(f"downloading {package}", file=sys.stderr)
            _unpack(package, parts, folder, unread)


def read_words(path: Path | None) -> frozenset[str]:
    """Return the words of a file, by default of Debian's list for American English."""
    with tempfile.TemporaryDirectory() as temporary:
        if path is None:
            _unpack("wamerican", ["usr/share/dict"], Path(temporary))
            path = Path(temporary, "wamerican/usr/share/dict/american-english")
        return frozenset(path.read_text(encoding="utf-8").casefold().split())


def _unpack(package: str, parts: Sequence[str], folder: Path, unread: Sequence[str] = ()) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        command = ["apt-get", "download", "-q", package]
        subprocess.run(command, cwd=temporary, check=True, stdout=subprocess.DEVNULL)
        archive = next(Path(temporary).glob("*.deb"))
        subprocess.run(["dpkg", "-x", archive, Path(temporary, "tree")], check=True)
        partial = folder / f".{package}"
        shutil.rmtree(partial, ignore_errors=True)
        tree, ignored = Path(temporary, "tree"), shutil.ignore_patterns(*unread)
        for source in (path for pattern in parts for path in sorted(tree.glob(pattern))):
            target = partial / source.relative_to(tree)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, ignore=ignored)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target, follow_symlinks=False)
        partial.rename(folder / package)
