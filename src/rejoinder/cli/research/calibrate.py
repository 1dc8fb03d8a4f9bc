"""`rejoinder calibrate`: fit a scorer's confidence, and when it says "no answer"."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table, say, show_progress

if TYPE_CHECKING:
    from rejoinder.evaluation.calibrate import Calibrated, Observed
    from rejoinder.models.scorer import Scorer
    from rejoinder.types import Example


@click.command(
    epilog=options.example(
        "rejoinder calibrate cascade.toml qed nq-oracle --take-out 0.5 --precision 0.8 --data data"
    )
)
@click.argument("scorer")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option(
    "--to", type=click.Path(path_type=Path), help="The cascade's file.  [default: SCORER itself]"
)
@click.option(
    "--take-out",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Of this share of the questions take the answers out, so that they have none.",
)
@click.option(
    "--size",
    type=click.IntRange(min=1),
    help="Lengthen every second list to so many, as `tune` does: confidence must hold there too.",
)
@click.option("--questions", type=click.IntRange(min=1), help="Of each set read only so many.")
@click.option(
    "--precision", type=click.FloatRange(0, 1), help="Answer as often as this precision allows."
)
@click.option(
    "--answer-rate", type=click.FloatRange(0, 1), help="Answer this share of the questions."
)
@click.option(
    "--test",
    "tests",
    multiple=True,
    help="Also measure on NAME[:SPLIT], which nothing is fitted to.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw precision against rate.")
@options.data_folder
@options.as_json
def calibrate(**given: Any) -> None:
    """Fit how likely SCORER's first candidate is an answer, on one DATASET or several.

    DATASET is NAME[:SPLIT] or a JSON-lines file, with questions that have an answer and
    questions that have none; dev unless you say otherwise.  Without --precision or --answer-rate
    the threshold is 0.5.  Its figures are of five folds, each rated by a fit to the other four.
    """
    from rejoinder.cascade.loading import load
    from rejoinder.errors import InputError
    from rejoinder.evaluation.calibrate import calibrate as fit
    from rejoinder.evaluation.calibrate import check

    if given["precision"] is not None and given["answer_rate"] is not None:
        raise InputError("give --precision or --answer-rate, not both")
    target = _choose_target(given)
    scorer = load(given["scorer"])
    observed = _observe(scorer, "fitting", _read_all(given))
    fitted = fit(observed, precision=given["precision"], answer_rate=given["answer_rate"])
    names = given["datasets"]
    fitted_to = names[0] if len(names) == 1 else f"{len(names)} data sets"
    found = {f"{fitted_to} (held-out folds)": fitted}
    for test in given["tests"]:
        observed = _observe(scorer, test, _read(test, given))
        found[test] = check(fitted.calibration, observed)
    _write(target, given, fitted)
    if given["picture"]:
        from rejoinder.evaluation.plots import draw_curves

        draw_curves(given["picture"], found)
        say(f"drew {given['picture']}")
    if given["as_json"]:
        print_json({name: item.to_dict() for name, item in found.items()})
    else:
        _print(found)
    say(f"wrote {target}: {fitted.method}, threshold {fitted.calibration.threshold:.3f}")


def _choose_target(given: dict[str, Any]) -> Path:
    from rejoinder.errors import InputError

    if given["to"]:
        return Path(given["to"])
    if Path(given["scorer"]).suffix != ".toml":
        raise InputError(
            f"{given['scorer']} is no cascade's file; say where to write one with --to"
        )
    return Path(given["scorer"])


def _read(dataset: str, given: dict[str, Any]) -> "list[Example]":
    from rejoinder.datasets.catalogue import open_for_choosing

    return list(islice(open_for_choosing(dataset, given["folder"]), given["questions"]))


def _read_all(given: dict[str, Any]) -> "list[Example]":
    """Return the questions to fit to, some of them with long lists, some without an answer."""
    from rejoinder.datasets.transforms.long_lists import extend_every_second
    from rejoinder.datasets.transforms.unanswerable import remove_answers

    examples: list[Example] = []
    for dataset in given["datasets"]:
        found = _read(dataset, given)
        examples += extend_every_second(found, size=given["size"]) if given["size"] else found
    return list(remove_answers(examples, share=given["take_out"]))


def _observe(scorer: "Scorer", what: str, examples: "list[Example]") -> "Observed":
    from rejoinder.evaluation.calibrate import observe

    with show_progress(what) as progress:
        return observe(scorer, examples, on_question=lambda done: progress(done, len(examples), ""))


def _write(target: Path, given: dict[str, Any], fitted: "Calibrated") -> None:
    from dataclasses import replace

    from rejoinder.cascade.file import (
        CascadeFile,
        StageLine,
        move_cascade_file,
        name_scorer,
        read_cascade_file,
        write_cascade_file,
    )

    source = Path(given["scorer"])
    if source.suffix == ".toml":
        cascade = move_cascade_file(read_cascade_file(source), source.parent, target.parent)
    else:
        stage = StageLine(name_scorer(given["scorer"], target.parent))
        cascade = CascadeFile(target.stem, (stage,))
    facts = {
        "dataset": " ".join(given["datasets"]),
        "take_out": given["take_out"],
        "questions": fitted.questions,
        "answerable": fitted.answerable,
        "method": fitted.method,
        "precision": round(fitted.precision, 4),
        "answer_rate": round(fitted.answer_rate, 4),
        "area_share": round(fitted.area_share, 4),
        "calibration_error": round(fitted.calibration_error, 4),
    }
    calibration = replace(fitted.calibration, facts=facts)
    write_cascade_file(target, replace(cascade, calibration=calibration))


def _print(found: "dict[str, Calibrated]") -> None:
    print_table(
        [
            "questions of",
            "questions",
            "with answer",
            "precision",
            "answer rate",
            "of oracle",
            "ECE",
        ],
        [
            [
                name,
                str(item.questions),
                str(item.answerable),
                percent(item.precision),
                percent(item.answer_rate),
                percent(item.area_share),
                f"{item.calibration_error:.4f}",
            ]
            for name, item in found.items()
        ],
    )
    click.echo()
    first = next(iter(found.values()))
    print_table(
        ["answer rate", "precision", "threshold"],
        [
            [percent(row["answer_rate"]), percent(row["precision"]), f"{row['threshold']:.3f}"]
            for row in first.to_dict()["curve"][1::2]
        ],
    )
