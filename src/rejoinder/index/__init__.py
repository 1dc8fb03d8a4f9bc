"""Documents on disk: SQLite as the source of truth, and data derived from it."""
