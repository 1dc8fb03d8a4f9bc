"""Cosinet (Bonadiman & Moschitti 2020)."""

from rejoinder.models.ranker import make_family

FAMILY = make_family(
    "cosinet",
    "a small network over word vectors that reads a document's order",
    network="rejoinder.models.cosinet.network:CosinetNetwork",
    encoder="rejoinder.models.cosinet.module:Cosinet",
)
