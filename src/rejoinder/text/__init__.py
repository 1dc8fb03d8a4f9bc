"""Sentence splitting, word splitting and WordPiece tokenisation."""
