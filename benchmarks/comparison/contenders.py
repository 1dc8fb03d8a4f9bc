"""The contenders: how each is set up, what it needs, and what its weights have seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.comparison.setting import RERANKED

OURS = "ours"
"""The contender that others are compared with."""
NOTHING = "nothing: it is not trained"
MS_MARCO = "MS MARCO passages, on top of MiniLM's own distillation"
PAIRS = "about a billion pairs; MS MARCO, Natural Questions and SQuAD are among them"
BGE = "pairs of the web, then MS MARCO, Natural Questions, SQuAD and others"
SELECTED = (
    "all-MiniLM-L6-v2's billion pairs; then questions of SQuAD without the articles of v2.0 dev,"
    " Natural Questions, QED, FairytaleQA, BioASQ, MedQuAD, **SelQA dev itself**, and of *pooled*"
    " the sets of these names (its documents mostly held out)"
)
SAW = {
    "default": SELECTED,
    "selector": SELECTED,
    "thorough": f"{SELECTED}; one of its stages is ms-marco-MiniLM-L-12 as it is",
    "cosinet": "vectors of all-MiniLM-L6-v2's word pieces; then most of these questions,"
    " **SelQA dev** too",
}


@dataclass(frozen=True)
class Contender:
    """A way to answer."""

    label: str
    family: str
    """Names a line of the pictures: its points are connected."""
    settings: str
    """Threads are those of the process, for all."""
    saw: str
    """What its weights saw before."""
    ranker: str = ""
    """The function that opens it inside documents; empty if it is for corpora only."""
    search: str = ""
    """The function that opens it over a corpus; empty if it is for documents only."""
    indexes: tuple[str, ...] = ()
    """Names in `INDEXES` that have to be there."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_arguments: Mapping[str, Any] = field(default_factory=dict)
    """Those of the search alone."""
    modules: tuple[str, ...] = ()
    """What it imports."""
    packages: tuple[str, ...] = ()
    """What its user installs; `.` is rejoinder."""
    environment: str = ""
    """The file in `requirements/` with what the usual environment lacks."""
    weights: tuple[str, ...] = ()
    """Files in the folder of weights, or `minilm-l6`."""


@dataclass(frozen=True)
class IndexBuilder:
    """What builds an index over a corpus."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""


INDEXES = {
    "rejoinder": IndexBuilder("ours:index"),
    "bm25s": IndexBuilder("lexical:index", {"engine": "bm25s"}, "bm25s"),
    "fts5": IndexBuilder("lexical:index", {"engine": "fts5"}),
    "tantivy": IndexBuilder("lexical:index", {"engine": "tantivy"}),
    "minilm-l6": IndexBuilder("bi_encoders:index", {"encoder": "minilm-l6"}),
    "bge-small": IndexBuilder("bi_encoders:index", {"encoder": "bge-small"}),
    "txtai": IndexBuilder("assembled:index", {}, "txtai"),
}
CROSS_ENCODERS = {
    "sentence-transformers": (
        "sentence-transformers",
        "fp32, batches of 32, at most 512 tokens",
        ("sentence_transformers", "torch"),
        ("sentence-transformers",),
        "model.safetensors",
    ),
    "flashrank": (
        "FlashRank",
        "int8, one padded batch, at most 512 tokens; its session is limited to the threads",
        ("flashrank",),
        ("FlashRank",),
        "model.int8.onnx",
    ),
    "onnxruntime": (
        "onnxruntime",
        "int8, one pair per call, at most 512 tokens",
        ("onnxruntime", "tokenizers"),
        ("onnxruntime", "tokenizers"),
        "model.int8.onnx",
    ),
}
"""Label, settings, modules, packages and weights by runtime."""


def _list_lexical() -> dict[str, Contender]:
    rows = {
        "bm25s": ("bm25s", "English stop words, PyStemmer", ("bm25s", "PyStemmer"), "bm25s"),
        "fts5": ("SQLite FTS5", "porter unicode61, content words joined by OR", (), ""),
        "tantivy": ("Tantivy", "en_stem on title and text", ("tantivy",), ""),
    }
    return {
        name: Contender(
            f"BM25, {label}",
            f"BM25, {label}",
            f"{settings}; rows are sentences with titles",
            NOTHING,
            "lexical:open_ranker",
            "lexical:open_search",
            (name,),
            {"engine": name},
            modules={"bm25s": ("bm25s", "Stemmer")}.get(name, packages),
            packages=packages,
            environment=environment,
        )
        for name, (label, settings, packages, environment) in rows.items()
    }


def _list_bi_encoders() -> dict[str, Contender]:
    rows = {
        "minilm-l6": ("all-MiniLM-L6-v2", PAIRS, "minilm-l6"),
        "bge-small": ("bge-small-en-v1.5", BGE, "bge-small/model.safetensors"),
    }
    return {
        name: Contender(
            f"bi-encoder, {label}",
            f"bi-encoder, {label}",
            "inside documents sentence-transformers, fp32, batches of 32; over corpora int8 in"
            " onnxruntime, one text per call, exact search",
            saw,
            "bi_encoders:open_ranker",
            "bi_encoders:open_search",
            (name,),
            {"encoder": name},
            modules=("sentence_transformers", "torch"),
            packages=("sentence-transformers",),
            environment="sentence-transformers",
            weights=(weights,),
        )
        for name, (label, saw, weights) in rows.items()
    }


def _list_cross_encoders() -> dict[str, Contender]:
    found = {}
    for runtime, (label, settings, modules, packages, weights) in CROSS_ENCODERS.items():
        common: dict[str, Any] = {
            "saw": MS_MARCO,
            "search": "cross_encoders:open_search",
            "arguments": {"runtime": runtime},
            "weights": (f"ms-marco-minilm-l12/{weights}",),
            "environment": runtime if runtime != "onnxruntime" else "bm25s",
        }
        name = f"cross-encoder, ms-marco-MiniLM-L-12 in {label}"
        found[runtime] = Contender(
            name,
            f"bm25s → ms-marco-MiniLM-L-12 in {label}",
            f"{settings}; over corpora it reranks the first {RERANKED} of bm25s",
            ranker="cross_encoders:open_ranker",
            indexes=("bm25s",),
            search_arguments={"found_by": "bm25s"},
            modules=(*modules, "bm25s", "Stemmer"),
            packages=(*packages, "bm25s", "PyStemmer"),
            **common,
        )
        if runtime == "flashrank":
            continue  # the same weights as in onnxruntime
        found[f"ours-{runtime}"] = Contender(
            f"rejoinder's search → ms-marco-MiniLM-L-12 in {label}",
            f"rejoinder's search → ms-marco-MiniLM-L-12 in {label}",
            f"{settings}; it reranks the first {RERANKED} of our search",
            indexes=("rejoinder",),
            search_arguments={"found_by": "ours"},
            modules=modules,
            packages=(".", *packages),
            **common,
        )
    return found


def _list_assembled() -> dict[str, Contender]:
    label = "txtai: keyword index → ms-marco-MiniLM-L-12"
    return {
        "txtai": Contender(
            label,
            label,
            f"Embeddings(keyword=True, content=True), Reranker over the first {RERANKED}, fp32 in"
            " torch, one pair per call",
            MS_MARCO,
            search="assembled:open_search",
            indexes=("txtai",),
            modules=("txtai", "torch"),
            packages=("txtai",),
            environment="txtai",
            weights=("ms-marco-minilm-l12/model.safetensors",),
        )
    }


def _list_ours() -> dict[str, Contender]:
    rows: dict[str, tuple[str, str, dict[str, Any]]] = {
        OURS: ("**rejoinder, default**", "default", {}),
        "ours-5": ("rejoinder, default, 5 ms", "default", {"budget_ms": 5}),
        "ours-20": ("rejoinder, default, 20 ms", "default", {"budget_ms": 20}),
        "thorough": ("rejoinder, thorough", "thorough", {}),
        "cosinet": ("rejoinder, cosinet alone", "cosinet", {}),
        "selector": ("rejoinder, selector alone", "selector", {}),
    }
    found = {}
    for name, (label, scorer, options) in rows.items():
        budget = f"budget_ms={options['budget_ms']}" if options else "no budget"
        is_single = scorer in ("cosinet", "selector")
        found[name] = Contender(
            label,
            f"rejoinder, {scorer}",
            f"`{scorer}`, {budget}, int8",
            SAW[scorer],
            "ours:open_ranker",
            "" if is_single else "ours:open_search",
            () if is_single else ("rejoinder",),
            {"scorer": scorer} | options,
            packages=(".",),
        )
    return found


CONTENDERS: dict[str, Contender] = {
    **_list_lexical(),
    **_list_bi_encoders(),
    **_list_cross_encoders(),
    **_list_assembled(),
    **_list_ours(),
}


def is_ours(name: str) -> bool:
    """Return whether a contender answers with our models alone."""
    return CONTENDERS[name].packages == (".",)
