"""One program per claim: each compares all contenders in one run and prints JSON."""
