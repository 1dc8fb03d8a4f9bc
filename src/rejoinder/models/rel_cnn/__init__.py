"""Rel-CNN (Severyn & Moschitti 2015)."""
