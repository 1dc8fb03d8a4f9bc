"""Commands for people with documents."""
