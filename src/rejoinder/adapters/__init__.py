"""Adapters for frameworks; one module and one extra for each."""
