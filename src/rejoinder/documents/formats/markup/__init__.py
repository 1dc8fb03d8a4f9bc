"""Formats that are text with marks."""
