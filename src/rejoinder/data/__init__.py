"""Data sets as examples: readers of published formats, our own format, and the catalogue."""
