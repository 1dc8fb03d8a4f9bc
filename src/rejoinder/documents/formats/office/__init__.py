"""Formats that are zip archives of XML: word processors, presentations, spreadsheets."""
