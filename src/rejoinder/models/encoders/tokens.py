"""The tokenizer of a bundle, and single texts as the inputs of its network; without torch."""

from collections.abc import Sequence

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import InputError
from rejoinder.models.onnx_session import VOCABULARY
from rejoinder.text.tokenizer import JsonTokenizer, Tokenizer
from rejoinder.text.wordpiece import CLS, SEP, WordPiece

TOKENIZER = "tokenizer.json"
"""The file of a bundle that holds a tokenizer that is not uncased WordPiece."""


def open_tokenizer(
    bundle: Bundle, *, vocabulary: str = VOCABULARY, json: str = TOKENIZER
) -> Tokenizer:
    """Return the tokenizer of a bundle; the names are those of its files.

    Raises:
        BundleError: it is missing or cannot be read.
        MissingExtraError: it needs the library `tokenizers`.
    """
    try:
        if json in bundle.manifest.files:
            from rejoinder.models.encoders.loading import make_tokenizer

            return make_tokenizer(bundle.read_text(json), json)
        pieces = WordPiece(bundle.read_text(vocabulary).split("\n")[:-1])
        _ = pieces.frame
    except (InputError, KeyError, ValueError) as error:
        raise bundle.refuse(f"file, setting or word piece is missing: {error}") from error
    return pieces


def write_tokenizer(
    tokenizer: Tokenizer, *, vocabulary: str = VOCABULARY, json: str = TOKENIZER
) -> dict[str, bytes]:
    """Return the file of a bundle that `open_tokenizer` reads, by name."""
    if isinstance(tokenizer, JsonTokenizer):
        return {json: tokenizer.content.encode()}
    assert isinstance(tokenizer, WordPiece), "there are two kinds of tokenizers"
    return {vocabulary: "".join(f"{piece}\n" for piece in tokenizer.vocabulary).encode()}


def trim(tokenizer: Tokenizer, rows: int) -> tuple[Tokenizer, list[int]]:
    """Return the tokenizer that a bundle keeps, and the row of the embedding for each of its ids.

    Word pieces are put in another order; other tokenizers keep all rows of the embedding.
    """
    if not isinstance(tokenizer, WordPiece):
        return tokenizer, list(range(rows))
    kept = order_pieces(tokenizer.vocabulary)
    return WordPiece([tokenizer.vocabulary[row] for row in kept]), kept


def order_pieces(vocabulary: Sequence[str]) -> list[int]:
    """Return the rows of an encoder's vocabulary that a bundle keeps, in its order.

    The pieces of words come first, so that they have the ids of the shipped static vectors,
    and stored tokens fit both; then `[CLS]` and `[SEP]`.  Other special tokens are left out.
    """
    special = [vocabulary.index(token) for token in (CLS, SEP)]
    return [row for row, piece in enumerate(vocabulary) if not _is_special(piece)] + special


def _is_special(piece: str) -> bool:
    is_bracketed = len(piece) > 2 and piece[0] == "[" and piece[-1] == "]"
    return is_bracketed and piece not in ("[PAD]", "[UNK]")


class TextTokens:
    """Tokenises a text for the network: [CLS], its tokens, [SEP]."""

    def __init__(self, tokenizer: Tokenizer, *, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._first, _, self._last = tokenizer.frame
        self._room = max_tokens - len(self._first) - len(self._last)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, truncated where it is too long.

        A text without a word becomes one unknown token, so that it has a vector too.
        """
        return [*self._first, *self._tokenize(text)[: self._room], *self._last]

    def is_too_long(self, text: str) -> bool:
        """Return whether the end of a text would be truncated."""
        # Most texts are short, which their length tells: a token has at least one letter.  A
        # letter of other scripts may become several tokens, as Korean syllables do.
        is_surely_short = text.isascii() and len(text) <= self._room
        return not is_surely_short and len(self._tokenize(text)) > self._room

    def _tokenize(self, text: str) -> list[int]:
        return self._tokenizer.to_ids(text) or [self._tokenizer.unknown]
