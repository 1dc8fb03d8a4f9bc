"""Install the system packages that tests need, if they are missing and this user may.

Usage: python tests/system_packages.py

Java for Spark, Chromium for the web page, an emulator of other processors, a compiler for ARM, and
shells that complete commands, from Debian.  If they cannot be installed, prints one line, and the
tests that need them are skipped with the reason.
"""

import os
import shutil
import subprocess
import sys


def main() -> None:
    missing = find_missing()
    if not missing:
        return
    sys.stderr.write(f"installing {' and '.join(missing)} for tests (once) ...\n")
    if not install(missing):
        sys.stderr.write(f"cannot install {' and '.join(missing)}: their tests are skipped\n")


def find_missing() -> list[str]:
    missing = [] if shutil.which("java") else ["default-jre-headless"]
    if not (os.environ.get("CHROMIUM") or shutil.which("chromium")):
        missing.append("chromium")
    if not shutil.which("qemu-x86_64"):
        missing.append("qemu-user")
    if not shutil.which("aarch64-linux-gnu-gcc"):
        missing += ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]
    missing += [name for name in ("fish", "zsh") if not shutil.which(name)]
    return missing


def install(packages: list[str]) -> bool:
    if not shutil.which("apt-get"):
        return False
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if prefix and not shutil.which("sudo"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = [["update", "-q"], ["install", "-qy", "--no-install-recommends", *packages]]
    return all(
        subprocess.run(
            [*prefix, "apt-get", *command],
            check=False,
            env=environment,
            stdout=subprocess.DEVNULL,
        ).returncode
        == 0
        for command in commands
    )


if __name__ == "__main__":
    main()
