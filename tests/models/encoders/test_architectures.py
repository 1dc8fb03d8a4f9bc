"""Every supported architecture: it trains, is exported, and its tokenizer is the library's."""

import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.models.hashers import EXAMPLE  # noqa: E402
from tests.models.pretrained import ARCHITECTURES, make_texts, write_pretrained  # noqa: E402
from tests.models.selectors import WORDS  # noqa: E402

import rejoinder  # noqa: E402
from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.models.encoders.architectures import (  # noqa: E402
    get_layers,
    get_max_tokens,
    is_packed,
    keep_layers,
    read_states,
)
from rejoinder.models.encoders.loading import load_encoder  # noqa: E402
from rejoinder.models.encoders.tokens import TextTokens  # noqa: E402
from rejoinder.models.has.encoder import TextEncoder  # noqa: E402
from rejoinder.models.importing import ImportOptions, import_model  # noqa: E402
from rejoinder.models.selector.export import reopen_selector  # noqa: E402
from rejoinder.models.selector.pair_reader import PairTokens  # noqa: E402
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder  # noqa: E402
from rejoinder.training import train_has, train_selector  # noqa: E402
from rejoinder.training.options import HasOptions, SelectorOptions  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer  # noqa: E402
from rejoinder.types import Candidate, Example  # noqa: E402

TEXTS = [candidate.text for candidate in EXAMPLE.candidates]


def make_examples(count: int) -> list[Example]:
    """Return questions of random words, each with an answer that repeats it."""
    rng = random.Random(0)
    examples = []
    for number in range(count):
        question, *wrong = (" ".join(rng.sample(WORDS, 6)) for _ in range(3))
        texts = [f"{question} here", *wrong]
        candidates = tuple(Candidate(str(place), text) for place, text in enumerate(texts))
        examples.append(Example(str(number), question, candidates, (True, False, False)))
    return examples


EXAMPLES = make_examples(20)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pretrained(architecture: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pretrained(tmp_path_factory.mktemp("models") / architecture, architecture)


@pytest.mark.parametrize("recipe", ["cosine", "classifier"])
def test_a_selector_trains_and_its_bundle_scores_as_torch_does(
    pretrained: Path, tmp_path: Path, recipe: str
) -> None:
    options = SelectorOptions(
        to=tmp_path / "m", encoder=str(pretrained), recipe=recipe, epochs=1, questions_per_step=1
    )

    trained = train_selector(options, EXAMPLES)

    assert trained.steps == 20
    scorer = rejoinder.load(tmp_path / "m")  # the gate has compared fp32 and int8 with torch
    scores = scorer.score(EXAMPLE.question, TEXTS)
    assert len(set(np.round(scores, 6))) == len(TEXTS)
    again = SelectorTorchScorer(*reopen_selector(tmp_path / "m")).score(EXAMPLE.question, TEXTS)
    np.testing.assert_allclose(again, scores, atol=0.5)  # int8, and a remainder of its steps


def test_has_trains_and_its_bundle_encodes_as_torch_does(pretrained: Path, tmp_path: Path) -> None:
    options = HasOptions(to=tmp_path / "m", encoder=str(pretrained), epochs=1, questions_per_step=1)

    trained = train_has(options, EXAMPLES)

    assert trained.steps == 20
    assert trained.flipped_bits is not None
    (states,) = TextEncoder(open_bundle(tmp_path / "m")).encode(["the cave"])
    _, tokenizer = load_encoder(str(pretrained))
    assert states.shape == (len(tokenizer.to_ids("the cave")), 64)


def test_a_sentence_encoder_is_imported(pretrained: Path, tmp_path: Path) -> None:
    import_model(ImportOptions(str(pretrained), tmp_path / "m"))

    encoder, tokenizer = load_encoder(str(pretrained))
    ids = torch.tensor([TextTokens(tokenizer, max_tokens=96).encode("the deep river")])
    with torch.inference_mode():
        states = read_states(encoder.eval(), ids, torch.ones_like(ids), torch.zeros_like(ids))
    mean = torch.nn.functional.normalize(states[0].mean(dim=0), dim=0).numpy()
    vector = TransformerEncoder(open_bundle(tmp_path / "m")).encode("the deep river")
    assert vector @ mean > 0.98


def test_states_are_those_of_the_encoder(pretrained: Path) -> None:
    encoder, _ = load_encoder(str(pretrained))
    mask = torch.tensor([[1] * 9, [1] * 5 + [0] * 4])
    padding = encoder.config.pad_token_id
    ids = torch.where(mask.bool(), torch.randint(5, 100, mask.shape), padding)

    with torch.inference_mode():
        states = read_states(encoder.eval(), ids, mask, torch.zeros_like(ids))
        expected = encoder(input_ids=ids, attention_mask=mask).last_hidden_state

    is_token = mask.bool()
    torch.testing.assert_close(states[is_token], expected[is_token], atol=1e-4, rtol=1e-4)


def test_the_fast_path_is_chosen_for_layers_of_bert(pretrained: Path, architecture: str) -> None:
    encoder, _ = load_encoder(str(pretrained))

    assert is_packed(encoder) == (architecture in ("bert", "bert-cased", "roberta", "xlm-roberta"))


def test_fewer_layers_are_kept(pretrained: Path) -> None:
    encoder, _ = load_encoder(str(pretrained))
    keep_layers(encoder, 1)

    ids = torch.arange(5, 12)[None]
    states = read_states(encoder, ids, torch.ones_like(ids), torch.zeros_like(ids))

    assert (len(get_layers(encoder)), encoder.config.num_hidden_layers) == (1, 1)
    assert states.shape == (1, 7, 64)


def test_the_longest_input_is_read(pretrained: Path) -> None:
    encoder, _ = load_encoder(str(pretrained))
    ids = torch.full((1, get_max_tokens(encoder.config)), 7)

    assert ids.shape[1] == 96
    assert read_states(encoder, ids, torch.ones_like(ids), torch.zeros_like(ids)).shape[1] == 96


def test_tokens_are_those_of_transformers(pretrained: Path) -> None:
    from transformers import AutoTokenizer

    library = AutoTokenizer.from_pretrained(pretrained)
    _, tokenizer = load_encoder(str(pretrained))
    texts = make_texts(10_000)
    single = TextTokens(tokenizer, max_tokens=10_000)
    pair = PairTokens(tokenizer, max_tokens=10_000)

    expected = library(texts)["input_ids"]
    for text, ids in zip(texts, expected, strict=True):
        if len(ids) > 2:  # a text without a token is one unknown token to us
            assert single.encode(text) == ids, text
    pairs = list(zip(texts[:1000], texts[1000:2000], strict=True))
    joined = [
        pair.join(pair.tokenize(one), pair.tokenize(other))[0].tolist() for one, other in pairs
    ]
    assert joined == library(*map(list, zip(*pairs, strict=True)))["input_ids"]
