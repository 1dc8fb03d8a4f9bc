import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.soak import soak
from click.testing import CliRunner
from tests.models.conftest import WORDS, make_cosinet

import rejoinder
from rejoinder.bundle.folder import open_bundle, write_bundle
from rejoinder.cli import main
from rejoinder.errors import BundleError, UnknownNameError
from rejoinder.models.cosinet.network import CosinetNetwork
from rejoinder.models.parallel import spread
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS
from rejoinder.types import Candidate, Document, to_candidates

QUESTION = "Where is the red cat?"
TEXTS = ["The cat is here.", "It rained.", "the dog", "", "red red red"]


def test_a_bundle_is_loaded_by_its_folder(bundle: Path) -> None:
    scorer = rejoinder.load(bundle)

    ranking = rejoinder.rank(QUESTION, TEXTS, scorer=scorer)

    assert scorer.name == "small"
    assert len(ranking.items) == len(TEXTS)
    assert ranking.items[0].score >= ranking.items[-1].score


def test_plain_strings_score_like_candidates(bundle: Path) -> None:
    scorer = rejoinder.load(str(bundle))

    np.testing.assert_array_equal(
        scorer.score(QUESTION, TEXTS),
        scorer.score(QUESTION, to_candidates(TEXTS)),
    )


def test_without_a_head_a_score_does_not_depend_on_the_others(tmp_path: Path) -> None:
    scorer = rejoinder.load(make_cosinet(tmp_path / "m", "none"))
    candidates = to_candidates(TEXTS)

    together = scorer.score(QUESTION, candidates)
    alone = [scorer.score(QUESTION, [candidate])[0] for candidate in candidates]

    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_a_head_reads_each_document_and_the_order_of_documents_changes_nothing(
    tmp_path: Path,
) -> None:
    scorer = rejoinder.load(make_cosinet(tmp_path / "m", "birnn"))
    one, two = Document("one"), Document("two")
    candidates = [Candidate(str(at), text, one, at) for at, text in enumerate(TEXTS[:3])]
    others = [Candidate(f"x{at}", text, two, at) for at, text in enumerate(TEXTS[1:])]

    there = scorer.score(QUESTION, [*candidates, *others])
    back = scorer.score(QUESTION, [*others, *candidates])
    alone = scorer.score(QUESTION, candidates)
    lone = scorer.score(QUESTION, to_candidates(TEXTS[:3]))

    np.testing.assert_allclose(there, [*back[4:], *back[:4]], atol=1e-6)
    np.testing.assert_allclose(there[:3], alone, atol=1e-6)
    assert np.abs(alone - lone).max() > 1e-4


@pytest.mark.parametrize("compiled", [True, False])
def test_the_kernel_and_numpy_give_the_same_scores(bundle: Path, compiled: bool) -> None:
    scorer = RankerScorer(open_bundle(bundle), CosinetNetwork, compiled=compiled)

    np.testing.assert_allclose(
        scorer.score(QUESTION, TEXTS),
        rejoinder.load(bundle).score(QUESTION, to_candidates(TEXTS)),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "text",
    ["", " \n", "x" * 100_000, "word " * 20_000, "猫 नमस्ते 😀", "\ud800\udc00", "\x00", "?" * 600],
)
def test_any_text_gets_a_finite_score(bundle: Path, text: str) -> None:
    scorer = rejoinder.load(bundle)

    assert np.isfinite(scorer.score(text, to_candidates([text, "the cat"]))).all()
    assert np.isfinite(scorer.score(QUESTION, to_candidates([text]))).all()


def test_no_candidates_give_no_scores(bundle: Path) -> None:
    assert rejoinder.load(bundle).score(QUESTION, []).tolist() == []


def make_long_list(count: int, *, in_order: bool) -> list[Candidate]:
    """Return candidates of many lengths, in one order or in none."""
    rng = np.random.default_rng(0)
    return [
        Candidate(
            str(at),
            " ".join(rng.choice(WORDS, rng.integers(0, 40))),
            position=at if in_order else None,
        )
        for at in range(count)
    ]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_scores_do_not_depend_on_threads(bundle: Path, compiled: bool, in_order: bool) -> None:
    candidates = make_long_list(333, in_order=in_order)
    opened = open_bundle(bundle)

    one, many = (
        RankerScorer(opened, CosinetNetwork, threads=threads, compiled=compiled).score(
            QUESTION, candidates
        )
        for threads in (1, 3)
    )

    np.testing.assert_allclose(one, many, atol=0 if compiled else 1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_scores_do_not_depend_on_the_batch(bundle: Path, compiled: bool) -> None:
    scorer = RankerScorer(open_bundle(bundle), CosinetNetwork, compiled=compiled)
    candidates = make_long_list(100, in_order=False)

    together = scorer.score(QUESTION, candidates)

    parts = [scorer.score(QUESTION, candidates[at : at + 7]) for at in range(0, 100, 7)]
    np.testing.assert_allclose(together, np.concatenate(parts), atol=0 if compiled else 1e-6)


def test_threads_are_set_when_a_bundle_is_loaded(bundle: Path) -> None:
    candidates = make_long_list(200, in_order=True)

    np.testing.assert_array_equal(
        rejoinder.load(bundle, threads=2).score(QUESTION, candidates),
        rejoinder.load(bundle).score(QUESTION, candidates),
    )


def test_eight_threads_get_the_scores_of_one_and_memory_stays(bundle: Path) -> None:
    scorer = rejoinder.load(bundle)
    questions = [
        (f"where is the {word}?", make_long_list(1 + 9 * at, in_order=at % 2 == 0))
        for at, word in enumerate(["cat", "dog", "owl"] * 4)
    ]

    results = soak(scorer, questions, seconds=1.5, threads=8)

    assert results["lists_scored"] > 0
    assert results["wrong"] == 0
    assert results["memory_growth_mb"] < 30


@pytest.mark.parametrize("threads", [1, 3])
def test_many_questions_score_like_each_alone(bundle: Path, threads: int) -> None:
    scorer = rejoinder.load(bundle)
    questions = [(QUESTION, TEXTS), ("who?", TEXTS[:1]), ("", [])]

    results = spread(lambda item: scorer.score(*item), questions, threads=threads)

    for (question, texts), scores in zip(questions, results, strict=True):
        np.testing.assert_array_equal(scores, scorer.score(question, to_candidates(texts)))


def test_threads_of_asyncio_get_the_same_scores(bundle: Path) -> None:
    scorer = rejoinder.load(bundle)

    async def work() -> list[object]:
        scoring = (asyncio.to_thread(scorer.score, QUESTION, TEXTS) for _ in range(4))
        return list(await asyncio.gather(*scoring))

    for results in asyncio.run(work()):
        np.testing.assert_array_equal(results, scorer.score(QUESTION, to_candidates(TEXTS)))


def test_a_bundle_without_a_scorer_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="a bundle of kind 'static-vectors' holds no scorer"):
        rejoinder.load(SHIPPED_VECTORS)
    with pytest.raises(BundleError, match="not a bundle"):
        rejoinder.load(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown scorer 'nowhere/model'"):
        rejoinder.load("nowhere/model")


def test_a_missing_weight_is_named(bundle: Path) -> None:
    from safetensors.numpy import load, save

    opened = open_bundle(bundle)
    weights = load((bundle / "weights.safetensors").read_bytes())
    del weights["output.bias"]
    files = {name: (bundle / name).read_bytes() for name in opened.manifest.files}
    write_bundle(bundle, opened.manifest, files | {"weights.safetensors": save(weights)})

    with pytest.raises(BundleError, match=r"weight or setting 'output\.bias' is missing"):
        rejoinder.load(bundle)


def test_commands_take_a_bundle_as_scorer(bundle: Path) -> None:
    ranked = CliRunner().invoke(
        main, ["rank", QUESTION, "--scorer", str(bundle), "--json"], input="\n".join(TEXTS)
    )
    verified = CliRunner().invoke(main, ["models", "verify", str(bundle)])
    shown = CliRunner().invoke(main, ["models", "show", str(bundle)])
    seeds = CliRunner().invoke(
        main, ["evaluate", str(bundle), "examples/questions.jsonl", "--seeds", "2"]
    )

    assert len(json.loads(ranked.stdout)["candidates"]) == 4
    assert verified.stderr == f"{bundle} is complete and scores\n"
    assert json.loads(shown.stdout)["kind"] == "cosinet"
    assert "draws no random numbers" in seeds.stderr


def test_a_corrupt_bundle_fails_verification(bundle: Path) -> None:
    path = bundle / "vocabulary.txt"
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    result = CliRunner().invoke(main, ["models", "verify", str(bundle)])

    assert result.exit_code == 1
    assert (
        result.stderr
        == f"Error: {bundle}: file 'vocabulary.txt' is corrupt; export the bundle again\n"
    )
