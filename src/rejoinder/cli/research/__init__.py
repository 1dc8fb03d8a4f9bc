"""Commands for evaluation and reproduction."""
