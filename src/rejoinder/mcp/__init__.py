"""The Model Context Protocol server: assistants ask, search and read an index."""
