"""Static word vectors, on which small rankers and the context of selectors are built."""

from rejoinder.models.registry import Family

FAMILY = Family("static-vectors", "word vectors that were distilled from an encoder")
