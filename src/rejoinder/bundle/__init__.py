"""The model folder that training writes and `load` reads, without torch."""
