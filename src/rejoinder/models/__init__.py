"""Scorers: the protocol, the registry, and one folder per model family."""
