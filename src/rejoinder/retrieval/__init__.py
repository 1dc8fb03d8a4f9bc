"""Retrievers: the protocol, and search engines other than the embedded index."""
