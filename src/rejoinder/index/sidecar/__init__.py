"""Per-sentence rows that a model made at index time, beside the index."""
