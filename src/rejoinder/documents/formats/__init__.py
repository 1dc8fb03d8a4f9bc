"""One module per format: `read` turns the bytes of a file into documents of blocks."""
