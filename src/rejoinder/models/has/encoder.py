"""A transformer that returns a vector for each token of a text."""

from collections.abc import Sequence

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.models.encoders.network import open_network, read_states
from rejoinder.models.encoders.tokens import TextTokens, open_tokenizer
from rejoinder.models.kernel import Matrix
from rejoinder.models.onnx_session import CPU, Runtime, refuse_corrupt, to_feed


class TextEncoder:
    """Encodes texts with the network of a bundle; safe from many threads."""

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        tokenizer = open_tokenizer(bundle)
        try:
            self.max_tokens = int(bundle.manifest.config["max_tokens"])
            self.tokens = TextTokens(tokenizer, max_tokens=self.max_tokens)
        except (KeyError, ValueError) as error:
            raise bundle.refuse(f"file, setting or word piece is missing: {error}") from error
        self._network = open_network(bundle, runtime, read_states)
        with refuse_corrupt(bundle.folder):  # a network that opens may still be corrupt
            (states,) = self.encode([""])
        self.width = states.shape[1]

    def encode(self, texts: Sequence[str]) -> list[Matrix]:
        """Return the vectors of each text's tokens, without [CLS] and [SEP], shape (N, D)."""
        tokens = [self.tokens.encode(text) for text in texts]
        states = self._network.run_all([to_feed(ids) for ids in tokens])
        return [
            np.asarray(own[1 : len(ids) - 1], dtype=np.float32)  # padding follows
            for ids, own in zip(tokens, states, strict=True)
        ]
