"""The operations, by dialect: our own, and those of other rerank services."""
