"""Scorers that count words and read the order."""
