"""Holds the pinned packages against the public list of known vulnerabilities.

Usage: python tests/audit.py

Fails where one is known that is not accepted below.  Where the list cannot be reached it says that
nothing was audited, and fails only if $REJOINDER_AUDIT is `required`: a machine without a network
must be able to run the other checks, and must not be told that all is well.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MAX_SECONDS = 300

ACCEPTED: dict[str, str] = {}
"""Vulnerabilities by their id, each with why it does no harm here."""


def main() -> None:
    found = ask()
    if found is None:
        is_required = os.environ.get("REJOINDER_AUDIT") == "required"
        sys.stderr.write(
            "dependency audit: NOT DONE, the list of vulnerabilities cannot be reached\n"
        )
        sys.exit(is_required)
    known = [
        f"{package['name']} {package['version']}: {item['id']}"
        f" (fixed in {', '.join(item['fix_versions']) or 'no version yet'})"
        for package in found
        for item in package.get("vulns", [])
        if item["id"] not in ACCEPTED
    ]
    for line in known:
        sys.stderr.write(f"dependency audit: {line}\n")
    sys.stdout.write(
        f"dependency audit: {len(found)} packages, {len(known)} known to be vulnerable\n"
    )
    sys.exit(bool(known))


def ask() -> list[dict[str, Any]] | None:
    """Return the packages with what is known of each; None where the list cannot be reached."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt")]
    command += ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=MAX_SECONDS
        )
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    return packages


if __name__ == "__main__":
    main()
