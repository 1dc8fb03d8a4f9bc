"""Blocks of PDF files (pypdfium2; docs/decisions/0012)."""

from rejoinder.documents.formats.pdf.reader import read

__all__ = ["read"]
