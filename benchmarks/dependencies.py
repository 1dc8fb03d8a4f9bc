"""What the libraries that we do without would cost: prometheus-client, and scipy's statistics.

Usage: python -m benchmarks.dependencies [--repeats 15] > dependencies.json

Needs the dependency group `bench`.  Prints one JSON object:

    packages  of each library the version, the installed megabytes without bytecode, and the median
              CPU milliseconds of its import in a new process, after our module that would use it
    tests     for 300 questions and 10,000 resamples, the median CPU milliseconds and the result of
              each significance test, with numpy and with scipy
"""

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import cache_bytecode, describe_machine
from rejoinder.evaluation.significance import RESAMPLES, bootstrap_mean, randomisation_test

QUESTIONS = 300
PACKAGES = {
    "prometheus_client": "rejoinder.server.serve",
    "scipy": "rejoinder.evaluation.significance",
}
"""By name, the module of ours that would import it."""
MODULES = {"prometheus_client": "prometheus_client", "scipy": "scipy.stats"}
TIMED_IMPORT = """
import sys, time
import {ours}
start = time.process_time()
import {module}
print(1e3 * (time.process_time() - start))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache_bytecode(Path(folder))
        imports = measure_imports(options.repeats)
    packages = {
        name: {
            "version": importlib.metadata.version(name),
            "megabytes": measure_size(name),
            "import_ms": imports[name],
        }
        for name in PACKAGES
    }
    tests = measure_tests(options.repeats)
    machine = describe_machine()
    print(
        json.dumps(
            {"packages": packages, "tests": tests, "repeats": options.repeats, **machine}, indent=2
        )
    )


def measure_imports(repeats: int) -> dict[str, float]:
    """Return the median CPU milliseconds of each import; the first round caches bytecode."""
    rounds = [
        {name: time_import(ours, MODULES[name]) for name, ours in PACKAGES.items()}
        for _ in range(repeats + 1)
    ][1:]
    return {name: round(statistics.median(i[name] for i in rounds), 1) for name in PACKAGES}


def time_import(ours: str, module: str) -> float:
    code = TIMED_IMPORT.format(ours=ours, module=module)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure_size(name: str) -> float:
    """Return the megabytes of a package, as tests/check_wheel.py counts them."""
    files = importlib.metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return round(sum(path.stat().st_size for path in paths if path.is_file()) / 1e6, 1)


def measure_tests(repeats: int) -> dict[str, dict[str, Any]]:
    """Return the cost and the result of each significance test over the same questions."""
    from scipy import stats

    rng = np.random.default_rng(1)
    one, other = ((rng.random(QUESTIONS) < share).astype(float) for share in (0.60, 0.68))

    def sum_rows(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return np.asarray(values.sum(axis=axis))

    def permute() -> Any:
        return stats.permutation_test(
            (other - one,),
            sum_rows,
            permutation_type="samples",
            vectorized=True,
            n_resamples=RESAMPLES,
            rng=np.random.default_rng(0),
        ).pvalue

    def draw() -> Any:
        return stats.bootstrap(
            (one,),
            np.mean,
            n_resamples=RESAMPLES,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval

    def bootstrap() -> Sequence[float]:
        interval = bootstrap_mean(one.tolist())
        return interval.low, interval.high

    return {
        "randomisation_numpy": time_test(
            lambda: [randomisation_test(one.tolist(), other.tolist())], repeats
        ),
        "randomisation_scipy": time_test(lambda: [permute()], repeats),
        "bootstrap_numpy": time_test(bootstrap, repeats),
        "bootstrap_scipy": time_test(draw, repeats),
    }


def time_test(test: Callable[[], Sequence[float]], repeats: int) -> dict[str, Any]:
    times = []
    result: Sequence[float] = ()
    for _ in range(repeats):
        start = time.process_time()
        result = test()
        times.append(1e3 * (time.process_time() - start))
    return {
        "ms": round(statistics.median(times), 1),
        "result": [round(float(i), 6) for i in result],
    }


if __name__ == "__main__":
    main()
