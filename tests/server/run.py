"""Test the server with real clients and with schemathesis, each in its own environment.

Usage: python -m tests.server.run [NAME...]

The clients are unmodified: only the address is ours.
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
                fuzz_with_schemathesis(Path(folder))
            else:
                run_clients(name, Path(folder))


def run_clients(name: str, folder: Path) -> None:
    """Run the programs of one environment against a server with the shipped models."""
    python = make_environment(f"clients-{name}", HERE / "requirements" / f"{name}.txt")
    with serving(folder, "--workers", "1") as running:
        for program in PROGRAMS[name]:
            run(python, str(HERE / "clients" / program), running.address)


def fuzz_with_schemathesis(folder: Path) -> None:
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
            cwd=folder,
        )
        requests = count_requests(running.address)
    assert requests >= MIN_REQUESTS, f"only {requests} requests were sent"
    sys.stdout.write(f"schemathesis: {requests} requests, no failures\n")


CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]


def count_requests(address: str) -> int:
    """Return how many requests a server has handled."""
    import httpx2

    lines = httpx2.get(f"{address}/metrics").text.splitlines()
    return sum(int(line.split()[-1]) for line in lines if "requests_total{" in line)


def run(python: Path, *arguments: str, cwd: Path | None = None) -> None:
    environment = {**os.environ, **QUIET}
    done = subprocess.run([str(python), *arguments], check=False, env=environment, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")


if __name__ == "__main__":
    main()
