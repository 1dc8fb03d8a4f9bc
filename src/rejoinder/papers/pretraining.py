"""What encoders and word vectors saw before a table's training, and where they are published.

The facts are those of the models' own cards and papers.  Rows whose starting points saw question
data are not like for like with rows that start from plain text.
"""

from dataclasses import dataclass

_HUB = "https://huggingface.co"
_PAIRS = (
    "over a billion pairs of public text, among them MS MARCO, Natural Questions, SQuAD 2.0,"
    " TriviaQA, WikiAnswers, PAQ, GOOAQ and Yahoo Answers"
)
_BOOKS = "Wikipedia and books; no question data"


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A published encoder, or a file of word vectors."""

    saw: str
    """The text and the labels of its own training."""
    page: str
    """Where it is published."""


ENCODERS = {
    "all-MiniLM-L6-v2": Pretrained(_PAIRS, f"{_HUB}/sentence-transformers/all-MiniLM-L6-v2"),
    "all-MiniLM-L12-v2": Pretrained(_PAIRS, f"{_HUB}/sentence-transformers/all-MiniLM-L12-v2"),
    "all-mpnet-base-v2": Pretrained(_PAIRS, f"{_HUB}/sentence-transformers/all-mpnet-base-v2"),
    "bge-small-en-v1.5": Pretrained(
        "text pairs of the web, and labelled pairs of public sets that include question data",
        f"{_HUB}/BAAI/bge-small-en-v1.5",
    ),
    "bge-base-en-v1.5": Pretrained(
        "text pairs of the web, and labelled pairs of public sets that include question data",
        f"{_HUB}/BAAI/bge-base-en-v1.5",
    ),
    "ms-marco-MiniLM-L-6-v2": Pretrained(
        "labelled passages of MS MARCO", f"{_HUB}/cross-encoder/ms-marco-MiniLM-L-6-v2"
    ),
    "ms-marco-MiniLM-L-12-v2": Pretrained(
        "labelled passages of MS MARCO", f"{_HUB}/cross-encoder/ms-marco-MiniLM-L-12-v2"
    ),
    "bert-base-uncased": Pretrained(_BOOKS, f"{_HUB}/google-bert/bert-base-uncased"),
    "bert-large-uncased": Pretrained(_BOOKS, f"{_HUB}/google-bert/bert-large-uncased"),
    "roberta-base": Pretrained(
        "Wikipedia, books, news and web text; no question data", f"{_HUB}/FacebookAI/roberta-base"
    ),
    "roberta-large": Pretrained(
        "Wikipedia, books, news and web text; no question data", f"{_HUB}/FacebookAI/roberta-large"
    ),
    "electra-base-discriminator": Pretrained(_BOOKS, f"{_HUB}/google/electra-base-discriminator"),
    "distilbert-base-uncased": Pretrained(_BOOKS, f"{_HUB}/distilbert/distilbert-base-uncased"),
    "rejoinder/selector": Pretrained(
        f"{_PAIRS}; then SQuAD, Natural Questions, SelQA and more (its card)",
        "included in rejoinder",
    ),
    "rejoinder/cosinet": Pretrained(
        "the scores of the included selector on SQuAD, Natural Questions and more (its card), and"
        " word vectors of all-MiniLM-L6-v2",
        "included in rejoinder",
    ),
    # Without its owner the name is that of several models.
    "microsoft/mpnet-base": Pretrained(
        "Wikipedia, books, news and web text; no question data", f"{_HUB}/microsoft/mpnet-base"
    ),
}
"""By the name under which a model is published; a folder is recognised by the same name."""
VECTORS = {
    "static-vectors": Pretrained(
        "the encoder all-MiniLM-L6-v2, which they are distilled from, and so question data",
        "included in rejoinder",
    ),
    "numberbatch": Pretrained(
        "news, web text and subtitles, and the knowledge graph ConceptNet; no question data",
        "https://github.com/commonsense/conceptnet-numberbatch",
    ),
    "glove": Pretrained(
        "Wikipedia, news or web text, by the file; no question data",
        "https://nlp.stanford.edu/projects/glove",
    ),
    "wikipedia-svd": Pretrained(
        "two million words of Wikipedia; no question data",
        "benchmarks/wikipedia_vectors.py of rejoinder's repository",
    ),
    "wiki-news": Pretrained(
        "Wikipedia, web text and news; no question data",
        "https://fasttext.cc/docs/en/english-vectors.html",
    ),
    "crawl": Pretrained(
        "web text; no question data", "https://fasttext.cc/docs/en/english-vectors.html"
    ),
    "googlenews": Pretrained(
        "news; no question data", "https://code.google.com/archive/p/word2vec"
    ),
}
"""By the beginning of a file's name."""


def find_encoder_facts(name: str) -> Pretrained | None:
    """Return the facts of an encoder by its name, or by that of its folder; None if unknown."""
    published = {key.lower(): facts for key, facts in ENCODERS.items()}
    lowered = name.lower().rstrip("/")
    return published.get(lowered) or published.get(lowered.rpartition("/")[2])


def find_vectors_facts(name: str) -> Pretrained | None:
    """Return the facts of word vectors by the name of their file; None if unknown."""
    lowered = name.lower()
    return next((facts for start, facts in VECTORS.items() if lowered.startswith(start)), None)
