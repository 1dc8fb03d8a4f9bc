"""Atomic writes, journals, locks and the cache folder."""
