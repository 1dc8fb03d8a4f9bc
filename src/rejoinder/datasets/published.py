"""What papers say about the data sets, to hold beside our own counts."""

from rejoinder.datasets.dataset import Published

COSINET = "Bonadiman & Moschitti 2020, Table 2 (arXiv:2003.02349)"
SEQUENTIAL = "Matsubara et al. 2020, Table 1 (doi:10.1145/3397271.3401266)"

# The Cosinet paper counts the words of WikiQA and SQuAD with spaCy.
WIKIQA = Published(
    COSINET,
    "test",
    {
        "questions": 633,
        "candidates": 6165,
        "answered_share": 0.3839,
        "candidates_per_question": 9.74,
        "words_per_question": 7.28,
        "words_per_candidate": 25.36,
    },
)
SQUAD_V2 = Published(
    COSINET,
    "dev",
    {
        "questions": 11_873,
        "candidates": 63_959,
        "answered_share": 0.4992,
        "candidates_per_question": 5.38,
        "words_per_question": 10.02,
        "words_per_candidate": 23.75,
    },
)
NQ_LA = Published(
    COSINET,
    "dev",
    {
        "questions": 6230,
        "candidates": 193_000,  # printed as 193k
        "answered_share": 0.5547,
        "candidates_per_question": 30.95,
        "words_per_question": 9.38,
        "words_per_candidate": 98.76,
    },
)
# The paper's test sets are made from the dev part of ASNQ.
ASNQ = Published(
    SEQUENTIAL,
    "dev",
    {"questions": 2672, "candidates_per_question": 354, "answers_per_question": 1.29},
)
ASNQ_PLUS = Published(
    SEQUENTIAL,
    "dev",
    {"questions": 2672, "candidates_per_question": 1310, "answers_per_question": 1.87},
)
