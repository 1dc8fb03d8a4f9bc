"""Past one machine: tables of questions and documents on Dask and Spark, and other retrievers."""
