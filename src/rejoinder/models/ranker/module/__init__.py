"""The small rankers in torch."""
