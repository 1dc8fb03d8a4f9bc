"""Data sets made out of other data sets."""
