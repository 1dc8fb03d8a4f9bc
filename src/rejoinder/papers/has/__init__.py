"""The tables of Xu & Li 2020 (HAS)."""
