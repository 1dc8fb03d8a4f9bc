"""The documents that all adapters are tried on."""

import pytest

TEA = "# Tea\n\nTea is a leaf. Green tea is brewed\nat 75 °C. Milk spoils it."
BEES = "Bees dance. A colony has one queen."
RAIN = "It rains."
QUESTION = "how is green tea brewed?"
ANSWER = "Green tea is brewed at 75 °C."

EVERYTHING = {
    "rejoinder_sentence": ANSWER,
    "rejoinder_start": TEA.index("Green"),
    "rejoinder_end": TEA.index(" Milk"),
    "rejoinder_score": 4.0,  # is, green, tea, brewed
    "rejoinder_confidence": None,
    "rejoinder_abstains": False,
}
"""What the metadata of TEA says when word overlap has ranked it first."""

PRUNED = "# Tea\n\nGreen tea is brewed\nat 75 °C."
"""What is left of TEA when word overlap has pruned it, and what the metadata say then."""
EVERYTHING_PRUNED = {
    "rejoinder_probability": pytest.approx(0.731, abs=1e-3),  # 4 - 3
    "rejoinder_spans": [[0, 5], [TEA.index("Green"), TEA.index(" Milk")]],
    "rejoinder_compression": pytest.approx(1 - len(PRUNED) / len(TEA)),
}
