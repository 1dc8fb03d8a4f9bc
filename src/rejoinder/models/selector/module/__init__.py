"""The selector in torch."""
