"""Worker processes that compute for the server."""
