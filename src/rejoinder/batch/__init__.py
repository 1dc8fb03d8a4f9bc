"""Ranking and encoding tables on Dask and Spark."""
