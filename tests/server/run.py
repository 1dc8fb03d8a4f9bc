"""Test the server with real clients and with schemathesis, each in its own environment.

Usage: python -m tests.server.run [NAME...]

The clients are as their packages ship them: only the address is ours.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rejoinder.index.index import Index
from tests.environments import HOME, ROOT, make_environment
from tests.server.running import serving

HERE = Path(__file__).parent
PROGRAMS = {
    "llama-index": ["llama_index_clients.py", "cohere_client.py"],
    "haystack": ["haystack_clients.py", "cohere_client.py"],
}
MIN_REQUESTS = 2_000
QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "HF_HUB_OFFLINE": "1", "NLTK_DATA": str(HOME)}


def main() -> None:
    names = sys.argv[1:] or [*PROGRAMS, "schemathesis"]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            if name == "schemathesis":
                try_document(Path(folder))
            else:
                try_clients(name, Path(folder))


def try_clients(name: str, folder: Path) -> None:
    """Run the programs of one environment against a server with the shipped models."""
    python = make_environment(f"clients-{name}", HERE / "requirements" / f"{name}.txt")
    with serving(folder, "--workers", "1") as running:
        for program in PROGRAMS[name]:
            run(python, str(HERE / "clients" / program), running.address)


def try_document(folder: Path) -> None:
    """Let schemathesis generate requests from the OpenAPI document."""
    python = make_environment("schemathesis", HERE / "requirements" / "schemathesis.txt")
    with Index(folder / "index", create=True) as index:
        index.add([ROOT / "examples/docs"])
    with serving(folder, str(folder / "index"), "--scorer", "bm25") as running:
        # In a temporary folder: it writes a cache to its working directory.
        run(
            python,
            *("-m", "schemathesis.cli", "run", f"{running.address}/openapi.json"),
            *("--checks", ",".join(CHECKS), "--max-examples", "320", "--phases", "fuzzing"),
            *("--generation-database", "none", "--no-color", "--seed", "1"),
            place=folder,
        )
        made = count_requests(running.address)
    assert made >= MIN_REQUESTS, f"only {made} requests were made"
    sys.stdout.write(f"schemathesis: {made} requests, no failure\n")


CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]


def count_requests(address: str) -> int:
    """Return how many requests a server has seen."""
    import httpx2

    lines = httpx2.get(f"{address}/metrics").text.splitlines()
    return sum(int(line.split()[-1]) for line in lines if "requests_total{" in line)


def run(python: Path, *arguments: str, place: Path | None = None) -> None:
    environment = {**os.environ, **QUIET}
    done = subprocess.run([str(python), *arguments], check=False, env=environment, cwd=place)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")


if __name__ == "__main__":
    main()
