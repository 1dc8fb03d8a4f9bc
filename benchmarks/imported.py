"""Compare imported models with transformers, and run them in a cascade and in an index.

Usage: python -m benchmarks.imported CROSS_ENCODER ENCODER --data DATA
           [--results benchmarks/results/imported.json]

CROSS_ENCODER is the folder of ms-marco-MiniLM-L-12-v2 with `model.int8.onnx` beside its weights,
ENCODER that of bge-small-en-v1.5.  The cross-encoder is imported from its weights, in fp32 and in
int8, and from its ONNX file.  Each bundle scores the example of its model card, and pairs of QED
dev that transformers scores too, one pair per call.  The int8 bundle then becomes the last stage of
a cascade that is tuned, calibrated and asked with a budget, over an index that bge-small embeds.
Needs the extra `train`.
"""

import argparse
import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import rejoinder
from benchmarks.common import describe_machine
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.models.importing import ImportOptions, import_model
from rejoinder.models.selector.agreement import correlate_ranks
from rejoinder.types import Answers

DOCUMENTS = Path(__file__).parents[1] / "examples" / "docs"
QUESTION = "How many people live in Berlin?"
CARD = {
    "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square"
    " kilometers.": 9.09,
    "Berlin is well known for its museums.": -3.93,
    "New York City is famous for the Metropolitan Museum of Art.": -11.19,
}
"""The texts of the model card, and the scores of the weights in fp32."""
PREFIX = "Represent this sentence for searching relevant passages: "
QUESTIONS = {
    "how are glacier caves formed?": "Most glacier caves are formed by meltwater",
    "how many bees live in a colony in summer?": "A strong colony holds about 50,000 bees",
    "how hot is green tea brewed?": "Green tea should be brewed at about 75 °C",
}
"""Questions about the example documents, and how the right sentence begins."""
BUDGET = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cross_encoder", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=60, help="to tune with")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    with TemporaryDirectory() as place:
        bundles = import_all(arguments.cross_encoder, Path(place))
        pairs = list(islice(read_pairs(arguments.data), arguments.pairs))
        expected = score_with_transformers(arguments.cross_encoder, pairs)
        result = {
            "pairs": len(pairs),
            "dataset": "qed:dev",
            "agreement": {
                name: compare(folder, pairs, expected) for name, folder in bundles.items()
            },
            "cascade": run_cascade(
                Path(place), bundles["int8"], arguments.encoder, arguments.data, arguments.questions
            ),
            "machine": describe_machine(),
        }
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    sys.stdout.write(text)
    if arguments.results:
        arguments.results.write_text(text, encoding="utf-8")


def import_all(source: Path, place: Path) -> dict[str, Path]:
    """Import a cross-encoder in three ways; return the bundles by name."""
    ways: dict[str, tuple[Path, bool]] = {
        "fp32": (source, False),
        "int8": (source, True),
        "int8 ONNX": (source / "model.int8.onnx", False),
    }
    for name, (path, int8) in ways.items():
        import_model(ImportOptions(str(path), place / name, int8=int8))
    return {name: place / name for name in ways}


def read_pairs(data: Path) -> Iterator[tuple[str, str]]:
    """Yield questions with each of their candidates."""
    for example in open_dataset("qed", split="dev", folder=data):
        for candidate in example.candidates:
            yield example.question, candidate.text


def score_with_transformers(source: Path, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Return the original model's scores, one pair per call."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForSequenceClassification.from_pretrained(source).eval()
    torch.set_num_threads(1)  # a pair is too small for several
    scores = []
    for pair in pairs:
        with torch.inference_mode():
            inputs = tokenizer(*pair, truncation=True, max_length=512, return_tensors="pt")
            scores.append(model(**inputs).logits.item())
    return scores


def compare(
    folder: Path, pairs: Sequence[tuple[str, str]], expected: Sequence[float]
) -> dict[str, Any]:
    """Return how near a bundle is to the model card, and to transformers."""
    scorer = load(folder)
    card = scorer.score(QUESTION, list(CARD))
    scores = np.array([scorer.score(question, [text])[0] for question, text in pairs])
    reference = np.array(expected)
    return {
        "card": card.round(2).tolist(),
        "largest difference from the card": round(
            float(np.abs(card - list(CARD.values())).max()), 3
        ),
        "largest difference": round(float(np.abs(scores - reference).max()), 6),
        "spearman": round(correlate_ranks(scores, reference), 5),
    }


def run_cascade(
    place: Path, selector: Path, encoder: Path, data: Path, questions: int
) -> dict[str, Any]:
    """Tune and calibrate a cascade that ends with the selector, and ask it over an index."""
    cascade, index, bge = place / "cascade.toml", place / "index", place / "bge"
    run(
        *("tune", "qed:dev", "--scorer", "cosinet", "--scorer", selector, "--size", "100"),
        *("--questions", questions, "--budget-ms", BUDGET, "--to", cascade, "--data", data),
    )
    run(
        *("calibrate", cascade, "qed:dev", "--unanswerable", "0.5", "--size", "50"),
        *("--questions", "150", "--data", data),
    )
    run("models", "import", encoder, "--to", bge, "--pooling", "first", "--question-prefix", PREFIX)
    run("index", "add", DOCUMENTS, "--index", index, "--embed", bge)
    scorer = load(cascade)
    assert isinstance(scorer, Cascade)
    with rejoinder.open(index, scorer=scorer) as engine:
        engine.answer("why?", budget_ms=BUDGET)  # opens the encoder
        answers = {
            question: describe(engine.answer(question, budget_ms=BUDGET), beginning)
            for question, beginning in QUESTIONS.items()
        }
    return {
        "stages": [f"{stage.scorer.name} {stage.keep or ''}".strip() for stage in scorer.stages],
        "budget_ms": BUDGET,
        "answers": answers,
    }


def describe(result: Answers, beginning: str) -> dict[str, Any]:
    """Return whether the first sentence is right, and what the cascade did."""
    shown = result.answers[0] if result.answers else None
    return {
        "right": bool(shown and shown.sentence.startswith(beginning)),
        "confidence": round(result.confidence or 0.0, 2),
        "ms": round(result.milliseconds, 1),
        "scored": {stage.scorer: stage.scored for stage in result.trace},
    }


def run(*arguments: object) -> str:
    """Run a command of rejoinder; return what it prints."""
    command = [sys.executable, "-m", "rejoinder", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
