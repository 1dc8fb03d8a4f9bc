"""Models that come as ONNX with a tokenizer.json; without torch.

Inputs have the names of `transformers`.  A model that is opened where it lies, and one that is
imported, is described by the same settings.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rejoinder.bundle.folder import Bundle, Manifest
from rejoinder.errors import BundleError, InputError, MissingExtraError
from rejoinder.models.encoders.loading import make_tokenizer
from rejoinder.models.encoders.source import get_max_tokens, read_json
from rejoinder.models.encoders.tokens import TOKENIZER, write_tokenizer
from rejoinder.models.onnx_session import FOREIGN, NETWORK, PLACE

INPUTS = {"ids": "input_ids", "mask": "attention_mask", "kinds": "token_type_ids"}
"""How `transformers` names our inputs."""
MAX_TOKENS = 512
"""Tokens of a model that does not say how many it reads."""
QUANTISED = (b"MatMulInteger", b"DynamicQuantize", b"DequantizeLinear", b"QLinear", b"MatMulNBits")
"""Names of operators of which a quantised network has at least one."""
AGAIN = "; export the bundle again"


def find_onnx(source: Path) -> Path | None:
    """Return the ONNX file at a path or in a folder, None where there is none.

    Raises:
        InputError: the folder has several.
    """
    if source.suffix == ".onnx" and source.is_file():
        return source
    found = sorted([*source.glob("*.onnx"), *source.glob("onnx/*.onnx")])
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(source)) for path in found)
        raise InputError(f"{source}: has several networks ({names}); give the path of one of them")
    return found[0] if found else None


def find_home(file: Path) -> Path:
    """Return the folder with the tokenizer and the settings of an ONNX file.

    Raises:
        InputError: there is none.
    """
    for folder in (file.parent, file.parent.parent):
        if (folder / TOKENIZER).is_file():
            return folder
    raise InputError(f"{file}: there is no {TOKENIZER} beside it; save it with the fast tokenizer")


def describe_onnx(
    file: Path, kind: str, settings: Mapping[str, Any], *, max_tokens: int | None = None
) -> Bundle:
    """Return a model as a bundle that nobody has written: it is read where it is.

    Args:
        kind: the kind of the bundle.
        settings: those of its kind.
        max_tokens: how many tokens it reads at most; None for as many as it can.
    """
    home = find_home(file)
    limit = read_json(home / "tokenizer_config.json", {}).get("model_max_length")
    most = get_max_tokens(read_json(home / "config.json", {}), limit) or MAX_TOKENS
    place = file.relative_to(home).as_posix()
    config = {"max_tokens": min(most, max_tokens or most), FOREIGN: INPUTS, PLACE: place}
    return Bundle(home, Manifest(kind, {**config, **settings}, {TOKENIZER: "", place: ""}))


def list_files(bundle: Bundle) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the settings and the files of the bundle to write of a described one."""
    config = dict(bundle.manifest.config)
    network = (bundle.folder / config.pop(PLACE)).read_bytes()
    tokenizer = make_tokenizer(bundle.read_text(TOKENIZER), str(bundle.folder))
    return config, {NETWORK: network, **write_tokenizer(tokenizer)}


def find_precision(network: bytes) -> str:
    """Return int8 for a network with quantised products, else fp32."""
    return "int8" if any(name in network for name in QUANTISED) else "fp32"


def quantise(network: bytes, name: str) -> bytes:
    """Return a network in int8.

    Raises:
        InputError: it has no product of fp32 weights.
        MissingExtraError: onnx is not installed.
    """
    try:
        from rejoinder.models.encoders.onnx_int8 import quantise_network
    except ImportError as error:
        raise MissingExtraError("--int8", extra="encoders") from error
    quantised = quantise_network(network)
    if find_precision(quantised) != "int8":
        raise InputError(f"{name}: has no fp32 weights that int8 could replace; leave out --int8")
    return quantised


@contextmanager
def opening(file: Path) -> Iterator[None]:
    """Name the remedy for a model that was not written by rejoinder."""
    try:
        yield
    except BundleError as error:
        message = str(error)
        if message.endswith(AGAIN):
            message = f"{message.removesuffix(AGAIN)}; download or export {file.name} again"
        if data := [path.name for path in file.parent.glob(f"{file.name}*data")]:
            message += f", as one file without {data[0]}"
        raise BundleError(message) from error
