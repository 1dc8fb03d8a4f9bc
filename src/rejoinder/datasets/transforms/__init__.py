"""Data sets derived from other data sets."""
