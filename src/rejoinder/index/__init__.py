"""The user's documents on disk: the truth in SQLite, and beside it what is derived."""
