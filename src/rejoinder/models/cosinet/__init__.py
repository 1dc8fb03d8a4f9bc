"""Cosinet (Bonadiman & Moschitti 2020)."""
