"""The source of truth: documents and sentences in SQLite."""
