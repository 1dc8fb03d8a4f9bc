"""The model folder that training writes and the runtime reads; torch-free."""
