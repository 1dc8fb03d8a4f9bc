"""Programs that measure a claim: each runs all contenders in one process and prints JSON."""
