"""Data sets as examples: the catalogue, the readers, the transforms."""
