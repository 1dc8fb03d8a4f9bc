"""Every parser of untrusted bytes, with valid inputs as seeds."""

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rejoinder.batch.partitions import open_table, read_partition
from rejoinder.batch.rank_table import rank_table
from rejoinder.batch.schemas import QUESTIONS
from rejoinder.bundle.folder import Bundle, parse_manifest
from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import load
from rejoinder.datasets.readers.candidates import read_candidates
from rejoinder.datasets.readers.jsonl import read_examples
from rejoinder.models.registry import make_scorer, open_scorer
from rejoinder.models.static_vectors.files import read_vector_file
from rejoinder.models.static_vectors.vectors import read_vectors
from tests.reliability import mcp_bodies
from tests.reliability.bundles import (
    make_static_weights,
    make_weights,
    write_small_bundle,
    write_static_bundle,
)
from tests.reliability.document_parsers import DOCUMENT_PARSERS
from tests.reliability.http_bodies import make_reader, make_upload_reader
from tests.reliability.model_parsers import make_parsers
from tests.reliability.parser import Parser
from tests.server.bodies import GOOD

_SCRATCH = tempfile.TemporaryDirectory(prefix="rejoinder-parsers-")  # lives as long as the process
FOLDER = Path(_SCRATCH.name)

MakeBundle = Callable[[Path], Path]


def _from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    path = FOLDER / name

    def run(raw: bytes) -> object:
        path.write_bytes(raw)
        return read(path)

    return run


def _read_vectors(path: Path) -> object:
    return read_vector_file(path, lambda word: len(word) < 50, required=["the"])


def _read_bundle(path: Path, make: MakeBundle = write_small_bundle) -> object:
    """Open a bundle whose manifest is the file."""
    folder = _make_bundle("manifest", make)
    path.replace(folder / "manifest.json")
    return open_scorer(folder).score("tea?", ["tea is hot", "ice"])


def _read_weights(raw: bytes, make: MakeBundle = write_small_bundle) -> object:
    folder = _make_bundle("weights", make)
    (folder / "weights.safetensors").write_bytes(raw)
    # Not verified: an attacker who forges a bundle forges its checksums too.
    bundle = Bundle(folder, parse_manifest((folder / "manifest.json").read_text(), folder))
    return make_scorer(bundle).score("tea?", ["tea is hot", "ice"])


def _read_vector_table(raw: bytes) -> object:
    folder = _make_bundle("vectors")
    (folder / "vectors.safetensors").write_bytes(raw)
    bundle = Bundle(folder, parse_manifest((folder / "manifest.json").read_text(), folder))
    return read_vectors(bundle).embed(["tea", "unheard"])


def _read_parquet(path: Path) -> object:
    source = open_table(path, QUESTIONS)
    scorer = load("bm25")
    return [
        rank_table(read_partition(item, source.columns), scorer=scorer)
        for item in source.partitions[:4]
    ]


def _make_bundle(name: str, make: MakeBundle = write_small_bundle) -> Path:
    folder = FOLDER / f"{name} of {make.__name__}"
    return folder if folder.exists() else make(folder)


def _make_parquet() -> bytes:
    rows = [
        {
            "question": "why?",
            "candidates": [{"id": "a", "text": "So.", "document": "d", "position": 0}],
            "documents": [{"id": "d", "title": "D", "sentences": ["So."]}],
        }
    ]
    packed = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), packed, compression="none")
    return packed.getvalue()


EXAMPLE = json.dumps(
    {
        "id": "q1",
        "question": "Who?",
        "candidates": [{"id": "s1", "text": "She.", "label": 1, "document": "d", "position": 0}],
        "documents": [{"id": "d", "title": "A page", "sentences": ["She.", "Not he."]}],
    }
).encode()
ROW = b'{"text": "Tea is hot. Ice is not.", "title": "Tea", "id": 7, "lang": "en"}\n'
CASCADE = b"""name = "two"
[[stage]]
scorer = "jaccard"
keep = 100
cost = { fixed_ms = 0.1, candidate_ms = 0.01, word_ms = 0.0002 }
[[stage]]
scorer = "models/selector"
[calibration]
intercept = 0.5
best = 1
margin = 2
count = 3
threshold = 0.3
knots = [[0.1, 0.2], [0.3, 0.4]]
facts = { data = "wikiqa" }
"""
BINARY = b"2 3\nthe " + np.ones(3, "<f4").tobytes() + b"\ntea " + np.ones(3, "<f4").tobytes()

UPLOADS = (
    b"name=tea.md&meta=lang%3Den\n# Green tea\n\nTea is brewed at 75 degrees. It rained.\n",
    b"name=a%2Fb.csv\ntext,title\nTea is hot.,Tea\n",
    b"meta=a%3Db&meta=c%3Dd&name=rows.jsonl\n" + ROW,
    b"name=page.html\n<title>Tea</title><p>Tea is hot.</p>",
)

PARSERS: dict[str, Parser] = {
    **DOCUMENT_PARSERS,
    **make_parsers(FOLDER),
    "JSON Lines of questions": Parser(
        _from_file("q.jsonl", lambda path: list(read_examples(path))), (EXAMPLE, EXAMPLE + b"\n")
    ),
    "gzipped JSON Lines of questions": Parser(
        _from_file("q.jsonl.gz", lambda path: list(read_examples(path))),
        (gzip.compress(EXAMPLE, mtime=0),),
    ),
    "candidates": Parser(
        _from_file("c.txt", read_candidates),
        (b"Tea is hot.\nIce.\n", ROW, ROW.replace(b"7", b'"a"')),
    ),
    "word vectors, text": Parser(
        _from_file("v.txt", _read_vectors),
        (b"the 1 2 3\ntea -1 0.5 2e3\n", b"2 3\nthe 1 2 3\nx 1 2 3"),
    ),
    "word vectors, binary": Parser(_from_file("v.bin", _read_vectors), (BINARY,)),
    "bundle, manifest": Parser(
        _from_file("m.json", _read_bundle), ((_make_bundle("seed") / "manifest.json").read_bytes(),)
    ),
    "bundle, weights": Parser(_read_weights, (make_weights(), make_weights(width=5))),
    "static encoder, manifest": Parser(
        _from_file("s.json", partial(_read_bundle, make=write_static_bundle)),
        ((_make_bundle("seed", write_static_bundle) / "manifest.json").read_bytes(),),
    ),
    "static encoder, weights": Parser(
        partial(_read_weights, make=write_static_bundle),
        (make_static_weights(), make_static_weights(width=63)),
    ),
    "bundle, vectors": Parser(
        _read_vector_table, ((_make_bundle("seed") / "vectors.safetensors").read_bytes(),)
    ),
    "cascade": Parser(_from_file("c.toml", read_cascade_file), (CASCADE,)),
    "parquet": Parser(_from_file("t.parquet", _read_parquet), (_make_parquet(),)),
    **{
        f"HTTP body of {path}": Parser(
            make_reader(FOLDER, path),
            tuple(json.dumps(body, ensure_ascii=False).encode() for body in bodies),
        )
        for path, bodies in GOOD.items()
    },
    "HTTP upload": Parser(make_upload_reader(FOLDER), UPLOADS),
    "MCP message": Parser(mcp_bodies.make_reader(FOLDER), mcp_bodies.MESSAGES),
}
