"""What a bundle says about itself: manifest.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.errors import BundleError

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Kind and format say who can read the bundle; the rest says where it comes from."""

    kind: str
    config: Mapping[str, Any]
    """Everything needed to rebuild the scorer before its weights are read."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of every other file of the folder."""
    precision: str = "fp32"
    tolerance: float = 1e-4
    """How far a score may be from that of the network that was trained."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Data, command, seed and time."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """Measured quality, each with its protocol."""
    format: int = FORMAT

    def to_json(self) -> str:
        """Return the manifest as a JSON text for people to read too."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def parse_manifest(text: str, folder: Path) -> Manifest:
    """Return the manifest of a folder.

    Raises:
        BundleError: it is not a manifest, or of a format that this version does not know.
    """
    try:
        fields = json.loads(text)
        found = fields["format"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BundleError(f"{folder}: {NAME} is torn; export the bundle again") from error
    if found != FORMAT:
        raise BundleError(
            f"{folder}: written in format {found}, this version reads format {FORMAT}; "
            "upgrade rejoinder or export the bundle again"
        )
    try:
        manifest = Manifest(**fields)
    except TypeError as error:
        raise BundleError(f"{folder}: {NAME} does not fit format {FORMAT}: {error}") from error
    parts = (manifest.config, manifest.files, manifest.training, manifest.scores)
    if not isinstance(manifest.kind, str) or not all(isinstance(part, dict) for part in parts):
        raise BundleError(f"{folder}: {NAME} is torn; export the bundle again")
    return manifest
