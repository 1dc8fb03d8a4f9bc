"""HAS in torch and as a bundle: its network, its tokens, and that both score alike."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.hashers import CANDIDATES, EXAMPLE, TEXTS, make_has, write_tiny_has  # noqa: E402
from tests.models.selectors import TOKENIZER, VOCABULARY  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import BundleError, InputError  # noqa: E402
from rejoinder.models.encoders.tokens import TextTokens  # noqa: E402
from rejoinder.models.has import export as export_has  # noqa: E402
from rejoinder.models.has.encoder import TextEncoder  # noqa: E402
from rejoinder.models.has.module import (  # noqa: E402
    Has,
    HasConfig,
    Words,
    load_has,
    measure_distance,
    pad_texts,
    pool,
)
from rejoinder.models.has.scorer import HasScorer  # noqa: E402
from rejoinder.models.onnx_session import Runtime  # noqa: E402
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training.has import HasTorchScorer  # noqa: E402


def write(folder: Path, model: Has, precision: str = "fp32") -> HasScorer:
    return write_tiny_has(folder, model, precision=precision, sample=tuple(TEXTS))


@pytest.mark.parametrize("composition", ["has", "attention", "pooling"])
@pytest.mark.parametrize("width", [None, 20])
def test_a_bundle_scores_as_torch_does(tmp_path: Path, composition: str, width: int | None) -> None:
    model = make_has(composition=composition, width=width)

    scorer = write(tmp_path / "m", model)

    expected = HasTorchScorer(model, TOKENIZER).score(EXAMPLE.question, CANDIDATES)
    found = scorer.score(EXAMPLE.question, CANDIDATES)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert len(set(np.round(expected, 6).tolist())) == len(CANDIDATES)


def test_padding_changes_no_score() -> None:
    model = make_has()
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    texts = [tokens.encode(text) for text in TEXTS]
    with torch.no_grad():
        together = model.encode(*_to_inputs(texts))
        asked = pool(together)[:1]
        scores = model.score(asked.expand(len(texts), -1), model.to_bits(together))
        alone = []
        for text in texts:
            answer = model.encode(*_to_inputs([text]))
            question = pool(model.encode(*_to_inputs(texts[:1])))
            alone.append(model.score(question, model.to_bits(answer)).item())

    np.testing.assert_allclose(scores.numpy(), alone, atol=1e-5)


def _to_inputs(texts: list[list[int]]) -> tuple[Any, Any]:
    padded = pad_texts(texts)
    return padded.ids, padded.mask


def test_the_distance_to_bits_counts_words_only() -> None:
    states = torch.tensor([[[0.5, -1.0], [0.0, 9.0]]])

    both = measure_distance(Words(states, torch.tensor([[True, True]])))
    one = measure_distance(Words(states, torch.tensor([[True, False]])))

    assert one.item() == pytest.approx(0.5**2)  # to 1 and -1
    assert both.item() == pytest.approx(0.5**2 + 1 + 8**2)  # 0 goes to 1


def test_bits_are_held_fixed_while_the_network_learns() -> None:
    states = torch.tensor([[[0.5]]], requires_grad=True)

    measure_distance(Words(states, torch.tensor([[True]]))).sum().backward()

    assert states.grad is not None
    assert states.grad.item() == pytest.approx(2 * (0.5 - 1))


def test_a_text_without_words_is_one_unknown_word() -> None:
    tokens = TextTokens(TOKENIZER, max_tokens=8)

    assert [VOCABULARY[id_] for id_ in tokens.encode("")] == ["[CLS]", "[UNK]", "[SEP]"]
    assert len(tokens.encode("cat " * 50)) == 8
    assert tokens.is_too_long("cat " * 7)
    assert not tokens.is_too_long("cat " * 6)


def test_a_letter_that_is_taken_apart_counts_as_its_parts() -> None:
    jamo = [f"##{letter}" for letter in "한국"]
    tokens = TextTokens(WordPiece([*VOCABULARY, "ᄒ", *jamo]), max_tokens=5)

    assert len(WordPiece([*VOCABULARY, "ᄒ", *jamo]).tokenize("한국")[0]) == 6
    assert tokens.is_too_long("한국")  # two letters, six pieces


def test_int8_says_how_many_bits_it_flips(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has(), "int8")

    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.precision == "int8"
    assert 0 <= manifest.scores["flipped bits"] <= export_has.MAX_FLIPPED


def test_too_many_flipped_bits_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_has, "MAX_FLIPPED", -1.0)

    with pytest.raises(BundleError, match="of all bits differ"):
        write(tmp_path / "m", make_has())

    assert not (tmp_path / "m").exists()


def test_wrong_states_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_has, "MAX_DIFFERENCE", -1.0)

    with pytest.raises(BundleError, match="states in fp32 differ"):
        write(tmp_path / "m", make_has())

    assert not (tmp_path / "m").exists()


def test_an_unknown_precision_or_composition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fp64"):
        write(tmp_path / "m", make_has(), "fp64")
    with pytest.raises(InputError, match="sum"):
        load_has(HasConfig(composition="sum"))


def test_padded_batches_have_the_states_of_each_text(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has())
    bundle = open_bundle(tmp_path / "m")

    batched = TextEncoder(bundle, Runtime(batch=3)).encode(TEXTS)

    for own, expected in zip(batched, TextEncoder(bundle).encode(TEXTS), strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-5)


def test_encoding_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has(), "int8")
    encoder = TextEncoder(open_bundle(tmp_path / "m"), Runtime(threads=2))

    together = encoder.encode(TEXTS)

    for text, states in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(encoder.encode([text])[0], states)


def test_a_bundle_without_its_maximum_length_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "m", make_has(), "int8")
    bundle = open_bundle(tmp_path / "m")
    config = {key: value for key, value in bundle.manifest.config.items() if key != "max_tokens"}

    with pytest.raises(BundleError, match="max_tokens"):
        TextEncoder(replace(bundle, manifest=replace(bundle.manifest, config=config)))
