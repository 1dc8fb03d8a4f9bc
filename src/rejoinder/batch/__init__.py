"""Batch jobs: rank and encode parquet tables here, on Dask or on Spark."""
