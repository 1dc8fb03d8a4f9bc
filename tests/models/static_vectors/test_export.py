import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("model2vec")

import torch
from tests.models.pretrained import write_pretrained
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import load_encoder
from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.static_vectors.export import distil_vectors, write_vectors
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS, load_vectors

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "dog",
    "##s",
    "red",
    "a",
    "##t",
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a real encoder, small and never trained."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    BertModel(config).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return str(folder)


def make_tokenizer() -> PreTrainedTokenizerFast:
    ids = {piece: id_ for id_, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


@pytest.mark.filterwarnings("ignore::Warning")
def test_each_piece_gets_a_vector_of_the_requested_width(encoder: str, tmp_path: Path) -> None:
    made = write_vectors(tmp_path / "v", encoder, width=4)

    loaded = load_vectors(tmp_path / "v")
    assert loaded.width == 4
    assert {"the", "cat", "dog", "##s"} <= set(loaded.vocabulary)
    np.testing.assert_array_equal(loaded.embed(["cats", "red"]), made.embed(["cats", "red"]))
    card = (tmp_path / "v" / "README.md").read_text()
    assert "rejoinder train static-vectors" in card
    manifest = json.loads((tmp_path / "v" / "manifest.json").read_text())
    assert manifest["config"]["encoder"] == encoder


@pytest.mark.filterwarnings("ignore::Warning")
def test_two_runs_give_the_same_numbers(encoder: str) -> None:
    one, other = distil_vectors(encoder, width=4), distil_vectors(encoder, width=4)

    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.scales, other.scales)


def test_a_folder_that_is_no_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not an encoder, it has no config\.json"):
        distil_vectors(str(tmp_path))


@pytest.mark.filterwarnings("ignore::Warning")
def test_a_corrupt_encoder_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")

    with pytest.raises(InputError, match="cannot be loaded as an encoder"):
        distil_vectors(str(tmp_path))


def test_shipped_vectors_are_small_and_know_words() -> None:
    size = sum(path.stat().st_size for path in SHIPPED_VECTORS.iterdir())
    vectors = load_vectors()

    assert size <= 8_000_000
    cat, kitten, car = vectors.embed(["cat", "kitten", "economy"])
    assert cat @ kitten > cat @ car


@pytest.mark.parametrize("architecture", ["roberta", "mpnet"])
def test_an_encoder_with_another_tokenizer_reads_the_shipped_pieces(
    tmp_path: Path, architecture: str
) -> None:
    pretrained = write_pretrained(tmp_path / architecture, architecture)

    made = distil_vectors(str(pretrained), width=8)

    assert made.vocabulary == load_vectors().vocabulary
    encoder, tokenizer = load_encoder(str(pretrained))
    texts = ["river", "rivers", "stone", "a", "ice", "cave", "water", "cat", "house", "tea", "snow"]
    with torch.inference_mode():
        ids = [torch.tensor([TextTokens(tokenizer, max_tokens=64).encode(text)]) for text in texts]
        means = [encoder.eval()(input_ids=own).last_hidden_state[0].mean(dim=0) for own in ids]
    whole = torch.nn.functional.normalize(torch.stack(means), dim=1)
    # Principal components keep what is alike.  Not which word is nearest: the tokenizer has other
    # pieces in each run, and so have the random weights.
    rows = made.embed(texts)
    pairs = np.triu_indices(len(texts), 1)
    alike = np.corrcoef((rows @ rows.T)[pairs], (whole @ whole.T).numpy()[pairs])[0, 1]
    assert alike > 0.3
    assert made.width == 8
