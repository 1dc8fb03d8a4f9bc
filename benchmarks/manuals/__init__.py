"""Parts of `benchmarks.extraction`: manuals, readers, and one module per measurement."""
