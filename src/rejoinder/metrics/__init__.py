"""How good rankings are, and whether a difference between two is more than luck."""
