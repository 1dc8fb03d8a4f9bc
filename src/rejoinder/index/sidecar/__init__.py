"""Rows that models made of an index's sentences, in folders beside SQLite."""
