"""Scorers in sequence, inside a latency budget, with a calibrated "no answer"."""
