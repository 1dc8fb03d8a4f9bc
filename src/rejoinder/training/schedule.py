"""The slanted triangular learning rate: a short rise, a long fall.

Howard & Ruder 2018, "Universal Language Model Fine-tuning for Text Classification", with
their constants: the first tenth of all steps rises, and the ends are 1/32 of the peak.
"""

RISING_SHARE = 0.1
RATIO = 32


def slanted_triangle(step: int, steps: int) -> float:
    """Return the share of the peak learning rate at a step, counted from 0.

    >>> [round(slanted_triangle(step, 20), 3) for step in (0, 1, 2, 11, 19)]
    [0.031, 0.516, 1.0, 0.516, 0.085]
    """
    peak = max(1, int(steps * RISING_SHARE))
    height = step / peak if step < peak else 1 - (step - peak) / max(1, steps - peak)
    return (1 + height * (RATIO - 1)) / RATIO
