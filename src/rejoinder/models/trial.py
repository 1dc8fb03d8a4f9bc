"""Opens a network that somebody else wrote in a child process first, with limits.

What `onnx_check` and `tokenizer_check` cannot see in the files shows when they are opened and used
once: memory and time without end, or a crash of a library.  The child bears it, not the importer.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from rejoinder.errors import BundleError, InputError, MissingExtraError, RejoinderError
from rejoinder.models.encoders.source import ImportOptions
from rejoinder.models.registry import load_object

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None  # type: ignore[assignment]

MAX_SECONDS = 120.0
MAX_MEMORY_BYTES = 4_000_000_000
"""Besides the network itself."""
COPIES = 6
"""How often the weights may be in memory while a network is opened."""


def try_in_child(opens: str, options: ImportOptions, file: Path) -> None:
    """Open a model in a child process, and use it once.

    Args:
        opens: the function that opens it, as `module:name`.

    Raises:
        BundleError: it takes too much time or memory, ends the process, or cannot be run.
        InputError: its tokenizer or its settings cannot be read.
    """
    given = {**asdict(options), "to": str(options.to)}
    request = json.dumps([opens, given, str(file)])
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import main; main()"],
            input=request,
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired as error:
        problem = f"takes longer than {MAX_SECONDS:g} s to open and to run once"
        raise BundleError(f"{file}: {problem}; use another model") from error
    try:
        kind, message = json.loads(done.stdout)
    except ValueError as error:
        problem = "ends the program that opens it, or takes too much memory"
        raise BundleError(f"{file}: {problem}; use another model") from error
    if message:
        raise (InputError if kind == InputError.__name__ else BundleError)(message)


def main() -> None:
    """Open the model that stdin names, within the limits; say on stdout how it went."""
    opens, given, name = json.load(sys.stdin)
    file = Path(name)
    if resource is not None and sys.platform != "darwin":  # macOS ignores the limit
        most = MAX_MEMORY_BYTES + COPIES * file.stat().st_size
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    reply = ["", ""]
    # Libraries may print; only the reply goes to the parent.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        load_object(opens)(ImportOptions(**given), file)
    except MissingExtraError:
        pass  # the caller has it, or says so itself
    except RejoinderError as error:
        reply = [type(error).__name__, str(error)]
    replies.write(json.dumps(reply))
    replies.close()
