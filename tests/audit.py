"""Check the pinned packages against the public database of known vulnerabilities.

Usage: python tests/audit.py

Fails if a package has a vulnerability that is not accepted below.  If the database cannot be
reached, prints that nothing was audited, and fails only if $REJOINDER_AUDIT is `required`: the
other checks must run on a machine without a network, but the audit must not seem to have passed.
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
"""Ids of vulnerabilities that do not affect rejoinder, with the reason."""


def main() -> None:
    packages = fetch_audit()
    if packages is None:
        is_required = os.environ.get("REJOINDER_AUDIT") == "required"
        sys.stderr.write(
            "dependency audit: NOT DONE, the database of vulnerabilities cannot be reached\n"
        )
        sys.exit(is_required)
    vulnerable = [
        f"{package['name']} {package['version']}: {item['id']}"
        f" (fixed in {', '.join(item['fix_versions']) or 'no version yet'})"
        for package in packages
        for item in package.get("vulns", [])
        if item["id"] not in ACCEPTED
    ]
    for line in vulnerable:
        sys.stderr.write(f"dependency audit: {line}\n")
    sys.stdout.write(
        f"dependency audit: {len(packages)} packages, {len(vulnerable)} known vulnerabilities\n"
    )
    sys.exit(bool(vulnerable))


def fetch_audit() -> list[dict[str, Any]] | None:
    """Return the packages with their vulnerabilities, None if the database is unreachable."""
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
