"""Training with torch; nothing outside this package imports it but the commands that train."""
