"""The tables of Matsubara et al. 2020 (sequential rerankers)."""
