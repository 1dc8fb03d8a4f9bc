"""Cascades: scorers in sequence, inside a latency budget, with a calibrated confidence."""
