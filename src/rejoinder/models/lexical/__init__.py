"""Scorers that count words; nothing is learned."""
