"""The comparison of small rerankers and answer engines on a CPU (`benchmarks.compare_all`)."""
