"""The documents that all adapters are tried on."""

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
}
"""What the metadata of TEA says when word overlap has ranked it first."""
