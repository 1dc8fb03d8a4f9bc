"""Selectors in torch."""
