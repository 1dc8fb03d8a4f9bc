"""The papers' tables: published figures beside measured ones."""
