"""Rel-CNN (Severyn & Moschitti 2015)."""

from rejoinder.models.ranker import make_family

FAMILY = make_family(
    "rel-cnn",
    "a small network with two convolutions and a bilinear similarity",
    network="rejoinder.models.rel_cnn.network:RelCnnNetwork",
    encoder="rejoinder.models.rel_cnn.module:RelCnn",
)
