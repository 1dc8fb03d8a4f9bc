"""Reads the user's files into documents with located sentences."""
