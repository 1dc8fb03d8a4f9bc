"""Sentence vectors for semantic search, derived from SQLite."""
