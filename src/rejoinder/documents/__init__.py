"""The user's files, read into documents whose sentences know their place."""
