"""Text into words and sentences, with their place in the original."""
