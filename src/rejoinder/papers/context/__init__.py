"""The tables of Han et al. 2021 in our setting: rows, data, training, costs, results."""
