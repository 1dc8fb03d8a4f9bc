"""Parts of `benchmarks.open_corpus`: corpora with their questions, contenders, and the table."""
