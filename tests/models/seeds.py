"""Tiny models with random weights: a bundle of each family, and models to import.

Usage: python -m tests.models.seeds

Writes the seeds of fuzzing again, after the format of bundles has changed: they are files, because
making them takes torch and many seconds.
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from onnx import TensorProto
from safetensors.numpy import save

from rejoinder.bundle.folder import WEIGHTS, Manifest, write_bundle
from rejoinder.models.encoders.architectures import keep_layers
from rejoinder.models.encoders.onnx_graph import Graph
from rejoinder.models.has.export import write_has
from rejoinder.models.importing import ImportOptions, import_model
from rejoinder.models.selector.export import write_selector
from rejoinder.models.static_vectors.vectors import StaticVectors, quantise_rows, to_files
from tests.models.conftest import make_cosinet
from tests.models.hashers import make_has
from tests.models.networks import make_ranker
from tests.models.pretrained import ARCHITECTURES
from tests.models.selectors import TOKENIZER, make_contextual, make_selector, write_encoder
from tests.reliability.bundles import write_static_bundle

SEEDS = Path(__file__).parents[1] / "reliability" / "seeds"
WIDTH = 64
PIECES = 300
AXES = ("pairs", "tokens")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_bundles(folder: Path) -> None:
    """Write a bundle of each family."""
    for head in ("none", "birnn"):
        make_cosinet(folder / f"cosinet-{head}", head)
    for family in ("rel-cnn", "compare-aggregate", "compare-aggregate-bilstm"):
        _write_small_ranker(folder / family)
    for name, selector in (("selector", make_selector()), ("multiway", make_contextual("local"))):
        write_selector(folder / name, selector, TOKENIZER, training={}, sample=[])
    hasher = make_has()
    write_has(folder / "has", hasher, TOKENIZER, training={}, sample=[])
    write_static_bundle(folder / "static-encoder")
    with TemporaryDirectory() as place:
        source = _write_layer(Path(place, "encoder"))
        options = ImportOptions(str(source), folder / "transformer-encoder")
        import_model(options)
    (folder / "support").mkdir()
    shutil.copy(WEIGHTS / "support" / "manifest.json", folder / "support")


def _write_small_ranker(folder: Path) -> None:
    """Write a ranker with fewer hidden units than networks have that are trained."""
    words = ["cat", "dog", "red", "the", "is", "here", "where", "?"]
    rows = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    vectors = StaticVectors(words, *quantise_rows(rows), are_pieces=False)
    state = make_ranker(folder.name).state_dict()
    weights = {
        name: np.ascontiguousarray(
            value.numpy()[tuple(slice(_shrink(size)) for size in value.shape)]
        )
        for name, value in state.items()
    }
    config = {"model": folder.name, "vector_width": 8, "head": "none", "are_pieces": False}
    files = {"weights.safetensors": save(weights), **to_files(vectors)}
    write_bundle(folder, Manifest(folder.name, config), files)


def _shrink(size: int) -> int:
    return {100: 6, 201: 13}.get(size, size // 50 if size >= 150 else size)


def _write_layer(folder: Path) -> Path:
    """Write an encoder of one layer: a part of an archive may have 100 kB."""
    from transformers import BertModel

    write_encoder(folder, width=WIDTH)
    encoder = BertModel.from_pretrained(folder, add_pooling_layer=False)
    keep_layers(encoder, 1)
    encoder.save_pretrained(folder)
    return folder


def write_sources(folder: Path) -> None:
    """Write models to import: cross-encoders, a sentence encoder, and one with safetensors."""
    uncased, bytes_ = (ARCHITECTURES[name][0]() for name in ("bert", "roberta"))
    classifier = {"architectures": ["BertForSequenceClassification"], "num_labels": 1}
    _write_onnx(folder / "cross-encoder", uncased, "logits", classifier)
    _write_onnx(folder / "cross-encoder-bpe", bytes_, "logits", classifier)
    home = folder / "sentence-encoder"
    _write_onnx(home, uncased, "last_hidden_state", {"architectures": ["BertModel"]})
    kinds = ("Transformer", "Pooling", "Normalize")
    modules = [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    _write_json(home / "modules.json", modules)
    _write_json(home / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    prompts = {"prompts": {"query": "query: "}}
    _write_json(home / "config_sentence_transformers.json", prompts)
    _write_safetensors(folder / "safetensors", uncased)


def _write_onnx(folder: Path, tokenizer: Any, result: str, config: dict[str, Any]) -> None:
    folder.mkdir()
    (folder / "model.onnx").write_bytes(make_network(result))
    tokenizer.save(str(folder / "tokenizer.json"))
    stated = {**config, "model_type": "bert", "max_position_embeddings": 64}
    _write_json(folder / "config.json", stated)
    _write_json(folder / "tokenizer_config.json", {"model_max_length": 64})


def _write_safetensors(folder: Path, tokenizer: Any) -> None:
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "max_position_embeddings": 40}
    counts = {"vocab_size": PIECES, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(**sizes, **counts, num_labels=1)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.save_pretrained(folder)


def make_network(result: str) -> bytes:
    """Return an ONNX file that gives the states of a text, or a score of their mean."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32) / 8

    state = {"words.weight": draw(PIECES, WIDTH), "kinds.weight": draw(2, WIDTH)}
    state |= {"dense.weight": draw(WIDTH, WIDTH), "dense.bias": draw(WIDTH)}
    state |= {"output.weight": draw(1, WIDTH), "output.bias": draw(1)}
    graph = Graph(state, is_int8=False, epsilon=1e-6)
    words = graph.add("Gather", graph.constant("words.weight"), "input_ids")
    kinds = graph.add("Gather", graph.constant("kinds.weight"), "token_type_ids")
    states = graph.add("Tanh", graph.linear(graph.add("Add", words, kinds), "dense"))
    mask = graph.add("Unsqueeze", graph.to_float("attention_mask"), graph.constant([2]))
    is_score = result == "logits"
    states = graph.add("Mul", states, mask, result=None if is_score else result)
    shape: list[Any] = [*AXES, WIDTH]
    if is_score:
        mean = graph.add("ReduceMean", states, graph.constant([1]), keepdims=0)
        graph.add("Identity", graph.linear_fp32(mean, "output"), result=result)
        shape = ["pairs", 1]
    inputs = {name: (TensorProto.INT64, AXES) for name in INPUTS}
    return graph.to_bytes(inputs, result, shape)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    for name, write in (("bundle", write_bundles), ("import", write_sources)):
        shutil.rmtree(SEEDS / name, ignore_errors=True)
        (SEEDS / name).mkdir()
        write(SEEDS / name)


if __name__ == "__main__":
    main()
