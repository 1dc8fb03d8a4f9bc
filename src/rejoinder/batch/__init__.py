"""Batch jobs: rank and encode parquet tables here, on Dask or on Spark."""

from rejoinder.extras import check_packages

check_packages("a table", "pyarrow")
