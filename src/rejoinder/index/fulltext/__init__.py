"""The full-text index: BM25 with Tantivy."""
