"""The Model Context Protocol server: assistants ask, search and read an index."""

from rejoinder.extras import check_packages

check_packages("the MCP server", "mcp", "mcp_types")
