import json
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

import rejoinder
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.file import read_cascade_file
from rejoinder.errors import InputError
from rejoinder.evaluation.calibration.sentences import calibrate_sentences, fit_stage, measure
from rejoinder.models.lexical.scorers import Jaccard, RetrievalOrder, WordOverlap
from rejoinder.types import Candidate, Document, Example

TOPICS = ["tea", "bees", "caves", "ice", "rain", "stone", "milk", "wood", "sand", "salt"]


def make_examples(count: int) -> list[Example]:
    examples = []
    for number in range(count):
        topic, other = TOPICS[number % 10], TOPICS[(number + 3) % 10]
        answer = f"the colour of {topic} is {number}."
        if number % 7 == 0:
            answer = f"it is a {topic}."  # few words in common
        texts = [f"the colour of {other} is unknown.", answer, "Nobody knows."]
        document = Document(str(number), topic, texts)
        candidates = tuple(
            Candidate(f"{number}#{place}", text, document, place)
            for place, text in enumerate(texts)
        )
        question = f"what is the colour of {topic}"
        examples.append(Example(str(number), question, candidates, (False, True, False)))
    return examples


def make_cascade() -> Cascade:
    return Cascade("c", [Stage(RetrievalOrder(), 50), Stage(Jaccard(), 20), Stage(WordOverlap())])


def test_a_fitted_cascade_finds_the_answers() -> None:
    seen: list[tuple[int, int]] = []

    fitted = calibrate_sentences(
        make_cascade(),
        {"one": make_examples(60), "two": make_examples(30)},
        on_progress=lambda done, total, _: seen.append((done, total)),
    )

    assert list(fitted.calibration.stages) == ["jaccard", "word-overlap"]
    assert fitted.path is None
    assert fitted.reports["one"].f1 > 0.85
    assert fitted.reports["two"].to_dict()["questions"] == 30
    assert fitted.reports["two"].surviving > 0.97
    assert fitted.reports["two"].kept < 0.9
    assert 0 < fitted.calibration.floor < 0.5
    assert fitted.calibration.pruning <= fitted.calibration.threshold
    assert seen[-1][0] == seen[-1][1] > 90  # some texts are asked without their answers, too
    cascade = Cascade("c", make_cascade().stages, sentences=fitted.calibration)
    found = rejoinder.highlight(
        "what is the colour of tea", "Tea is sold. The colour of tea is 7.", scorer=cascade
    )
    assert found.sentences[1].score > 0.6 > 0.1 > found.sentences[0].score
    assert found.sentences[1].is_highlighted


def test_the_calibration_is_written_into_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[[stage]]\nscorer = "jaccard"\n', encoding="utf-8")

    fitted = calibrate_sentences(
        path,
        {"own": make_examples(40)},
        to=tmp_path / "new" / "c.toml",
        questions=30,
        exclude=lambda question: "tea" in question,
    )

    written = read_cascade_file(tmp_path / "new" / "c.toml")
    assert written.sentences == fitted.calibration
    assert written.sentences
    assert written.sentences.facts["questions"] == 30
    assert read_cascade_file(path).sentences is None


def test_data_sets_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[[stage]]\nscorer = "jaccard"\n', encoding="utf-8")
    rows = [
        json.dumps(
            {
                "question": item.question,
                "candidates": [
                    {"text": candidate.text, "label": int(label)}
                    for candidate, label in zip(item.candidates, item.labels, strict=True)
                ],
            }
        )
        for item in make_examples(20)
    ]
    data = tmp_path / "own.jsonl"
    data.write_text("\n".join(rows), encoding="utf-8")

    fitted = calibrate_sentences(path, [data])

    assert list(fitted.reports) == [str(data)]
    assert fitted.path == path


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(InputError, match="jaccard is not a cascade file"):
        calibrate_sentences("jaccard", {})
    with pytest.raises(InputError, match="c has no stage that reads sentences"):
        calibrate_sentences(Cascade("c", [Stage(RetrievalOrder())]), {})
    unlabelled = [Example("1", "q", (Candidate("a", "b"),), (False,))]
    with pytest.raises(InputError, match="jaccard reads 1 sentences of the data sets"):
        calibrate_sentences(make_cascade(), {"own": unlabelled})


def test_weights_are_those_of_logistic_regression_and_never_negative() -> None:
    rng = np.random.default_rng(0)
    scores, leads = rng.normal(size=4000), rng.normal(size=4000)
    labels = rng.random(4000) < 1 / (1 + np.exp(1 - 2 * scores - 0.5 * leads))

    fitted = fit_stage(scores, leads, labels)
    turned = fit_stage(scores, -leads, labels)

    assert [fitted.intercept, fitted.score, fitted.lead] == pytest.approx([-1, 2, 0.5], abs=0.15)
    assert turned.lead == 0
    assert turned.score > 1.5


def test_a_sentence_counts_as_often_as_its_share() -> None:
    scores, labels = np.array([2.0, -1.0, 0.5, -2.0, 1.0]), np.array([1, 0, 0, 1, 1]) > 0
    leads = np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    twice = np.array([0, 0, 1, 2, 3, 3, 4])

    shared = fit_stage(scores, leads, labels, np.array([2.0, 1.0, 1.0, 2.0, 1.0]))
    repeated = fit_stage(scores[twice], leads[twice], labels[twice])

    assert structs.astuple(shared) == pytest.approx(structs.astuple(repeated), abs=0.01)
    assert structs.astuple(shared) != pytest.approx(
        structs.astuple(fit_stage(scores, leads, labels)), abs=0.01
    )


def test_scores_that_tell_nearly_everything_are_fitted() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 3 == 0
    scores = np.where(labels, 5.0, 4.0) + rng.normal(0, 0.05, 200)
    shares = np.where(np.arange(200) < 130, 0.005, 0.016)

    fitted = fit_stage(scores, np.zeros(200), labels, shares)

    assert list(fitted.rate(scores, np.zeros(200)) > 0.5) == labels.tolist()
    assert fitted.score < 100


def test_a_long_text_counts_as_much_as_a_short_one() -> None:
    short = make_examples(40)
    texts = ["Nobody knows the colour of tea."] * 300
    candidates = tuple(Candidate(f"l#{at}", text, None, at) for at, text in enumerate(texts))
    long = Example("l", "what is the colour of tea", candidates, (True,) + (False,) * 299)

    alone = calibrate_sentences(make_cascade(), {"one": short}).calibration
    both = calibrate_sentences(make_cascade(), {"one": [*short, long]}).calibration

    for name, stage in alone.stages.items():
        assert both.stages[name].score == pytest.approx(stage.score, rel=0.6)


def test_measures_of_sentences() -> None:
    rated = [np.array([0.9, 0.6, 0.1]), np.array([0.2, 0.4])]
    labels = [np.array([True, False, True]), np.array([True, False])]

    assert list(measure(rated, labels, 0.5)) == pytest.approx([0.5, 1 / 3, 0.4, 0.5])
