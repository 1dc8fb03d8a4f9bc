"""Worker processes that compute, and the pool that feeds them."""
