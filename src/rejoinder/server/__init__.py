"""The HTTP server: our own routes, and those of existing rerank services."""
