"""The networks, one module each: a pair encoder, and a head over the list."""
