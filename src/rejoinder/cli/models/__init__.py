"""Commands that train, inspect and time models."""
