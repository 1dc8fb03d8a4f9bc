"""The tables of Bonadiman & Moschitti 2020 (Cosinet)."""
