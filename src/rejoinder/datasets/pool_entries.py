"""The data sets of the training pool, each one file made from a published set."""

from rejoinder.datasets.dataset import Counts, Dataset, Source
from rejoinder.datasets.readers.pool import read_pool
from rejoinder.datasets.transforms.held_out import with_dev


def _pool(name: str, title: str, licence: str, homepage: str, counts: Counts) -> Dataset:
    source = Source((f"pool/{name}.jsonl.gz",), read_pool, counts)
    by_hand = f"made for training from {homepage}, in the form that docs/datasets.md describes"
    return Dataset(name, title, licence, homepage, with_dev(source), by_hand=by_hand)


POOL_ENTRIES = (
    _pool(
        "bioasq",
        "BioASQ 6b to 9b: snippets of PubMed abstracts (Tsatsaronis et al. 2015)",
        "CC BY 2.5",
        "http://bioasq.org",
        Counts(1854, 102_098),
    ),
    _pool(
        "fairytaleqa",
        "FairytaleQA: sentences of a section of a fairy tale (Xu et al. 2022)",
        "Apache-2.0",
        "https://github.com/uci-soe/FairytaleQAData",
        Counts(6087, 47_036),
    ),
    _pool(
        "medquad",
        "MedQuAD, a sample: sentences of health pages (Ben Abacha & Demner-Fushman 2019)",
        "CC BY 4.0",
        "https://github.com/abachaa/MedQuAD",
        Counts(4000, 105_047),
    ),
    _pool(
        "nq-oracle",
        "NQ-open dev with its paragraph, cut into sentences (Kwiatkowski et al. 2019)",
        "CC BY-SA 3.0",
        "https://ai.google.com/research/NaturalQuestions",
        Counts(1448, 5574),
    ),
    _pool(
        "qamr",
        "QAMR: questions about one sentence of Wikipedia or Wikinews (Michael et al. 2018)",
        "MIT",
        "https://github.com/uwnlp/qamr",
        Counts(34_128, 275_122),
    ),
    _pool(
        "squad-train-part",
        "SQuAD v1.1 train, a fifth of it: sentences of a paragraph (Rajpurkar et al. 2016)",
        "CC BY-SA 4.0",
        "https://rajpurkar.github.io/SQuAD-explorer/",
        Counts(18_467, 91_188),
    ),
    _pool(
        "squad-train-sentences",
        "SQuAD v1.1 train, another part: answer sentences without order (Rajpurkar et al. 2016)",
        "CC BY-SA 4.0",
        "https://rajpurkar.github.io/SQuAD-explorer/",
        Counts(7958, 111_757),
    ),
)
