"""The time in which a new process loads its scorers, which the paper counts into latency.

Matsubara et al. 2020 print the average time of a question from end to end, "including
preprocessing, loading files, etc."  Loading happens once, so its share of a question depends on how
many are asked.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter

from rejoinder.cascade.loading import load

REPEATS = 3
QUESTION, CANDIDATES = "Where is the cat?", ("The cat is here.", "It rained all day.")


def measure_loading(names: Sequence[str]) -> float:
    """Return the milliseconds from the start of a new process until its scorers have answered.

    The best of three; they rank two short candidates, because some load files when they must.
    """
    return min(_time_process(names) for _ in range(REPEATS))


def _time_process(names: Sequence[str]) -> float:
    started = perf_counter()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(score_once, names).result()
        return 1000 * (perf_counter() - started)


def score_once(names: Sequence[str]) -> int:
    """Load the scorers, rank two candidates with each, and return the number of scores."""
    return sum(len(load(name).score(QUESTION, CANDIDATES)) for name in names)
