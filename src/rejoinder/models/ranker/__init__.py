"""The base of the small rankers: a pair encoder, a head over the list, a score."""
