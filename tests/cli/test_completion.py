"""The tab key in bash, zsh and fish, set up as docs/command-line.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
SCRIPTS = {
    "bash": """
{setup}
COMP_WORDS=(rejoinder benc); COMP_CWORD=1
_rejoinder_completion rejoinder
rejoinder ${{COMPREPLY[0]}} --help
""",
    # A shell of its own in a pseudo-terminal, as zsh completes nothing elsewhere.
    "zsh": """
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D'
zpty -w shell '{setup}'
zpty -w shell 'print ready-$((1 + 1))'
zpty -r shell shown '*ready-2*'
zpty -w -n shell $'rejoinder benc\\t'
zpty -w shell ' --help'
zpty -r shell shown '*(Time SCORERs|Error)*' && print -r -- $shown
""",
    "fish": """
{setup}
rejoinder (complete -C "rejoinder benc" | cut -f 1) --help
""",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_tab_completes_a_command(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    (setup,) = re.findall(rf"^(.*{shell}_source.*?) +# ~", PAGE.read_text("utf-8"), re.MULTILINE)
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]

    done = subprocess.run(
        [shell, *options, "-c", SCRIPTS[shell].format(setup=setup)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        },
    )

    assert "Time SCORERs" in done.stdout, done.stderr


def test_completing_a_command_imports_none() -> None:
    code = (
        "import click, sys\n"
        "from rejoinder.cli.main import MODULES, main\n"
        "found = main.shell_complete(click.Context(main), '')\n"
        "print([item.value for item in found] == list(MODULES))\n"
        "print(sys.modules.keys() & MODULES.values())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "True\nset()\n"
