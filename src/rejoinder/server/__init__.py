"""The HTTP server: our own routes, and those of existing rerank services."""

from rejoinder.extras import check_packages

check_packages("the server", "starlette", "uvicorn")
