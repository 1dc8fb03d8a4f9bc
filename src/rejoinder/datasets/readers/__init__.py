"""One reader per published format."""
