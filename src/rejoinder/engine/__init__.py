"""Documents in, answers out."""
