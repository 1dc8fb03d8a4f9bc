"""The manuals that readers are compared on: documentation of Debian packages."""

import shutil
import subprocess
import sys
import tempfile
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
    for package, below in MANUALS.items():
        if not (folder / package).exists():
            print(f"downloading {package}", file=sys.stderr)
            _unpack(package, below, folder)


def read_words(path: Path | None) -> frozenset[str]:
    """Return the words of a file, by default of Debian's list for American English."""
    with tempfile.TemporaryDirectory() as temporary:
        if path is None:
            _unpack("wamerican", "usr/share/dict", Path(temporary))
            path = Path(temporary, "wamerican/usr/share/dict/american-english")
        return frozenset(path.read_text(encoding="utf-8").casefold().split())


def _unpack(package: str, below: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        command = ["apt-get", "download", "-q", package]
        subprocess.run(command, cwd=temporary, check=True, stdout=subprocess.DEVNULL)
        archive = next(Path(temporary).glob("*.deb"))
        subprocess.run(["dpkg", "-x", archive, Path(temporary, "tree")], check=True)
        partial = folder / f".{package}"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(Path(temporary, "tree", below), partial / below, symlinks=True)
        partial.rename(folder / package)
