"""Commands that rank candidates and serve over HTTP."""
