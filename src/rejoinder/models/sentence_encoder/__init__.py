"""Sentence encoders: a question and the sentences of documents as vectors of one space."""
