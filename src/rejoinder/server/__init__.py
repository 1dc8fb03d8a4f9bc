"""HTTP: our own routes, and those that existing rerank clients already speak."""
