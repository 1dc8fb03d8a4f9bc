"""Compare-Aggregate (Wang & Jiang 2017)."""
