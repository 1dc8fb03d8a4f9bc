"""The selector as a scorer, a cross-encoder, and the page vectors that it may store.

Page vectors are those of a document's sentences, by which a selector finds context.  Static vectors
are the shipped ones; an encoder is part of the selector's bundle; n-grams need no vectors.
"""

import copy
import hashlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from rejoinder.bundle.folder import MANIFEST, Bundle, open_bundle
from rejoinder.errors import BundleError, StoreError
from rejoinder.models.encoders.network import Encoded, Readout, open_network, to_length_1
from rejoinder.models.encoders.onnx_weights import Array
from rejoinder.models.encoders.tokens import open_tokenizer
from rejoinder.models.kernel import Matrix
from rejoinder.models.onnx_session import (
    CPU,
    VOCABULARY,
    Feed,
    Runtime,
    refuse_corrupt,
)
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import ContextConfig, list_texts
from rejoinder.models.selector.pair_reader import (
    CANDIDATE,
    QUESTION,
    PairReader,
    PairTokens,
    Pieces,
)
from rejoinder.models.selector.similarity import (
    ENCODER,
    Cosine,
    EncodedTexts,
    Ngrams,
    Similarity,
    StaticTexts,
)
from rejoinder.models.sidecar import Bytes, SidecarRows
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS, load_vectors
from rejoinder.storage.typed import convert
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.text.wordpiece import WordPiece, hash_vocabulary
from rejoinder.types import Candidate, Document, to_candidates

KIND = "selector"
ENCODER_VOCABULARY, ENCODER_TOKENIZER = "encoder.txt", "encoder.json"
ACTIVATION = "activation"
"""The setting of a bundle that names one of `ACTIVATIONS`."""
COSINE = {"alike", "first.weight", "first.bias"}
"""The weights of a score by the cosine of the two sides."""
VECTORS = "vectors"
"""The setting of a bundle that identifies the static vectors it was trained with."""

ACTIVATIONS: dict[str, Callable[[Scores], Scores]] = {
    "identity": lambda scores: scores,
    "sigmoid": lambda scores: 1 / (1 + np.exp(-scores)),
}
"""What a cross-encoder applies to the output of its network, by the name in its settings."""

_log = logging.getLogger(__name__)


class SelectorScorer:
    """Scores with the network of a bundle; deterministic, and safe from many threads."""

    is_pointwise = True

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        self.name = Path(bundle.folder).name
        settings = bundle.manifest.config
        self._tokenizer = open_tokenizer(bundle)
        try:
            self._max_tokens = int(settings["max_tokens"])
            self._tokens = PairTokens(self._tokenizer, max_tokens=self._max_tokens)
            given = settings.get("context", {})
            context = convert(given, ContextConfig, path=bundle.folder / MANIFEST)
            self._activation = ACTIVATIONS[settings.get(ACTIVATION, "identity")]
        except (KeyError, TypeError, ValueError) as error:
            raise bundle.refuse(f"setting or word piece is missing: {error}") from error
        self.tokenizer = _hash_stored(self._tokenizer)
        """The hash of the tokenizer whose stored tokens it reads."""
        self._has_warned = False
        similarity = open_similarity(context, bundle, runtime)
        self.sidecar: PageEncoder | None = None
        """The encoder of its page vectors; None where it reads none."""
        if isinstance(similarity, Cosine):
            self.sidecar = PageEncoder(bundle, context, similarity)
        self._reader = PairReader(self._tokens, context, similarity)
        self._network = open_network(bundle, runtime, make_readout)
        self._try_out(bundle.folder)

    def bind(self, rows: SidecarRows) -> "SelectorScorer":
        """Return the same scorer that reads stored page vectors."""
        bound = copy.copy(self)
        bound._reader = self._reader.bind(rows)
        return bound

    def without_rows(self, error: StoreError) -> "SelectorScorer":
        """Log that page vectors are computed from whole documents, and return the same scorer."""
        _log.warning("%s reads whole documents for their context: %s", self.name, error)
        return self

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        return self._activation(self.get_logits(question, candidates))

    def get_logits(self, question: str, candidates: Candidates) -> Scores:
        """Return the network's output for each candidate, before the activation."""
        feeds = self.read(question, to_candidates(candidates))
        return np.array(self._network.run_all(feeds), dtype=np.float64).reshape(len(feeds))

    def read(self, question: str, candidates: Sequence[Candidate]) -> list[Feed]:
        """Return the network's inputs for each candidate."""
        pieces = [self._tokenize(candidate) for candidate in candidates]
        self._warn_if_too_long(self._tokens.tokenize(question), pieces)
        return self._reader.read(question, candidates, pieces=pieces)

    def encode(self, text: str) -> bytes | None:
        """Return a text as `Candidate.tokens`, to store; None where it is not read back.

        Stored pieces are those of the shipped vectors, for all scorers.
        """
        if self.tokenizer and isinstance(self._tokenizer, WordPiece):
            return self._tokenizer.encode(text)
        return None

    def _tokenize(self, candidate: Candidate) -> Pieces:
        if candidate.tokens is not None and self.tokenizer:
            stored = np.frombuffer(candidate.tokens, dtype="<i4")
            pieces = stored ^ (stored >> 31)  # -1 - piece where it is negative
            if pieces.size == 0 or pieces.max() < len(self._tokenizer):
                return pieces[: self._max_tokens]
        return self._tokens.tokenize(candidate.text)

    def run(self, feed: Feed) -> float:
        """Return the score of one pair, before its activation."""
        return float(np.ravel(self._network.run(feed))[0])

    def _warn_if_too_long(self, question: Pieces, candidates: Sequence[Pieces]) -> None:
        if not self._has_warned and self._tokens.is_too_long(question, candidates):
            self._has_warned = True
            _log.warning(
                "%s reads %d tokens of a question and its candidate: longer candidates are"
                " truncated (this warning is shown once)",
                self.name,
                self._max_tokens,
            )

    def _try_out(self, folder: Path) -> None:
        """Score one pair, with the last piece in it: a network that opens may still be corrupt."""
        last = [len(self._tokenizer) - 1]
        (feed,) = self._reader.read("", [Candidate("", "")], pieces=[last])
        with refuse_corrupt(folder, self._network.name):
            found = np.asarray(self._network.run(feed), dtype=np.float64)
        _check_head(found, f"{folder}: {self._network.name}", self._network.output)
        if not np.isfinite(found).all():
            raise BundleError(f"{folder}: {self._network.name} gives a score that is not finite")


def make_readout(rest: Mapping[str, Array]) -> Readout | None:
    """Return how the kernel reads a score from the last states, as export_graph.py writes it.

    Args:
        rest: the weights beside the encoder; if they are of no known form, returns None.
    """
    if set(rest) == COSINE:
        return _read_cosine(rest)
    for hidden, output in (
        ("pooler.dense", "model.classifier"),
        ("model.classifier.dense", "model.classifier.out_proj"),
    ):
        dense = next((name for name in rest if name.endswith(f"{hidden}.weight")), "")
        names = [dense, dense.replace(".weight", ".bias"), f"{output}.weight", f"{output}.bias"]
        if dense and set(rest) == set(names):
            return _read_classifier(*(np.asarray(rest[name], dtype=np.float32) for name in names))
    return None


def _read_cosine(weights: Mapping[str, Array]) -> Readout:
    alike, by_first = weights["alike"].reshape(-1), weights["first.weight"].reshape(-1)
    bias = float(weights["first.bias"].reshape(-1)[0])

    def read(encoded: Encoded) -> Matrix:
        question, candidate = (to_length_1(encoded.average(kind)) for kind in (QUESTION, CANDIDATE))
        # Sums of rows, not a product of matrices, whose rounding depends on the number of rows.
        product = (question * candidate * alike).sum(axis=1)
        return np.asarray(product + (encoded.get_first() * by_first).sum(axis=1) + bias)

    return read


def _read_classifier(dense: Matrix, dense_bias: Matrix, output: Matrix, bias: Matrix) -> Readout:
    def read(encoded: Encoded) -> Matrix:
        rows = [np.tanh(first @ dense + dense_bias) for first in encoded.get_first()]
        return np.array([float((row * output.reshape(-1)).sum()) for row in rows]) + bias

    return read


def _check_head(found: Scores, network: str, output: str) -> None:
    """Check that a network gives one number for a pair."""
    if found.ndim == 1 and found.size > 1 and output == "logits":
        raise BundleError(
            f"{network} gives {found.size} labels; a cross-encoder that ranks has one"
        )
    if found.size != 1:
        raise BundleError(
            f"{network} has no scoring head: its output {output!r} has the shape {found.shape};"
            " import it with `rejoinder models import --as sentence-encoder`"
        )


def _hash_stored(tokenizer: Tokenizer) -> str | None:
    """Return the hash of stored tokens, if a selector has the same ids for the same pieces."""
    shipped = (SHIPPED_VECTORS / VOCABULARY).read_text(encoding="utf-8").split("\n")[:-1]
    is_same = (
        isinstance(tokenizer, WordPiece) and [*tokenizer.vocabulary[: len(shipped)]] == shipped
    )
    return hash_vocabulary(shipped) if is_same else None


class PageEncoder:
    """Turns documents into the vectors by which a selector's bundle finds context.

    Bundles that embed with the same weights have the same hash, and read each other's vectors.
    """

    name = "context"

    def __init__(self, bundle: Bundle, config: ContextConfig, embedder: Cosine) -> None:
        self.folder = bundle.folder
        weights, files = [name_vectors()], bundle.manifest.files
        if config.similarity == "encoder":
            names = (ENCODER, ENCODER_VOCABULARY, ENCODER_TOKENIZER)
            weights = [str(files[name]) for name in names if name in files]
        self.hash = hashlib.sha256("\n".join(weights).encode()).hexdigest()[:16]
        self.row_bytes = 4 * embedder.width
        self._embedder = embedder

    def encode(self, document: Document, context: Collection[int]) -> list[Bytes]:  # noqa: ARG002
        """Return one row per sentence, headings included, and one for the title after them."""
        texts = list_texts(document.sentences[:], document.title)
        vectors = self._embedder.embed(texts).astype("<f4")
        return list(vectors.view(np.uint8)[:, None])


def open_page_encoder(bundle: Bundle) -> PageEncoder:
    """Return the encoder of the page vectors that a selector's bundle reads."""
    try:
        config = ContextConfig(**bundle.manifest.config.get("context", {}))
    except (TypeError, ValueError) as error:
        raise bundle.refuse(f"cannot read its settings of context: {error}") from error
    similarity = open_similarity(config, bundle)
    if not isinstance(similarity, Cosine):
        raise BundleError(
            f"{bundle.folder}: reads no context that is chosen by vectors, so it stores nothing"
            " beside an index; leave out --sidecar"
        )
    return PageEncoder(bundle, config, similarity)


def open_similarity(
    context: ContextConfig, bundle: Bundle, runtime: Runtime = CPU
) -> Similarity | None:
    """Return the similarity by which a selector's bundle finds context."""

    def open_encoder() -> Cosine:
        try:
            network = (bundle.folder / ENCODER).read_bytes()
        except OSError as error:
            raise bundle.refuse(f"{ENCODER} is missing: {error}") from error
        tokenizer = open_tokenizer(bundle, vocabulary=ENCODER_VOCABULARY, json=ENCODER_TOKENIZER)
        return EncodedTexts(network, tokenizer, bundle.folder, runtime)

    similarity = get_similarity(context, open_encoder)
    is_static = isinstance(similarity, StaticTexts)
    if is_static and bundle.manifest.config.get(VECTORS) != name_vectors():
        raise BundleError(
            f"{bundle.folder}: was trained with other static vectors than those that come"
            " with rejoinder; train it again"
        )
    return similarity


def get_similarity(context: ContextConfig, open_encoder: Callable[[], Cosine]) -> Similarity | None:
    """Return the similarity by which a selector finds context; None where it reads no page."""
    if not context.has_page:
        return None
    if context.similarity == "ngrams":
        return Ngrams()
    return get_static() if context.similarity == "static" else open_encoder()


@cache
def get_static() -> StaticTexts:
    """Return the cosine of the shipped vectors."""
    return StaticTexts(load_vectors())


@cache
def name_vectors() -> str:
    """Return the checksum that identifies the shipped vectors."""
    return str(open_bundle(SHIPPED_VECTORS).manifest.files["vectors.safetensors"])
