"""Scorers, and ranking with them; nothing here needs torch."""
