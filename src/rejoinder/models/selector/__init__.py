"""The selector: a cross-encoder that reads question and candidate together."""
