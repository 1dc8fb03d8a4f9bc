"""HAS: answers stored as bits (Xu & Li 2020)."""
