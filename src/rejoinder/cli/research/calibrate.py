"""`rejoinder calibrate`: fit a scorer's confidence and its "no answer" threshold."""

from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, say, show_interval, show_progress
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.evaluation.calibration.calibrate import CalibrateResult


@click.command(
    epilog=options.example(
        "rejoinder calibrate cascade.toml qed nq-oracle --unanswerable 0.5 --precision 0.8"
        " --data data"
    )
)
@click.argument("scorer")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--to", type=options.PATH, help="The cascade file.  [default: SCORER itself]")
@click.option(
    "--unanswerable",
    type=options.SHARE,
    default=0.0,
    show_default=True,
    help="Remove the answers of this share of the questions.",
)
@click.option("--size", type=options.COUNT, help="Extend every second list to this many.")
@click.option("--questions", type=options.COUNT, help="Read only this many of each data set.")
@click.option("--precision", type=options.SHARE, help="Answer as often as this precision allows.")
@click.option("--answer-rate", type=options.SHARE, help="Answer this share of the questions.")
@click.option(
    "--sentences",
    is_flag=True,
    help="Fit what `highlight` shows instead: how likely each sentence of a text answers.",
)
@click.option(
    "--exclude",
    type=options.PATH,
    help="Questions that --sentences does not fit to, one per line, in any case and punctuation.",
)
@click.option(
    "--stop",
    type=options.SHARE,
    metavar="RISK",
    help="Also fit when the last stage, and those that read passages, stop reading: at this risk"
    " that an unread candidate wins.",
)
@click.option("--test", "tests", multiple=True, help="Also measure on NAME[:SPLIT]; not fitted to.")
@click.option("--plot", type=options.PATH, help="Plot precision against answer rate.")
@options.data_folder
@takes_format
def calibrate(
    scorer: str, datasets: tuple[str, ...], output: Output, sentences: bool, **given: Any
) -> None:
    """Fit how likely SCORER's first candidate is an answer, and when no candidate is one.

    DATASET is NAME[:SPLIT] or a JSON-lines file, with answerable and unanswerable questions;
    the default split is dev.  Without --precision or --answer-rate, SCORER will abstain where it
    is likelier than not that no candidate answers.  The figures come from five-fold
    cross-validation.
    """
    if given["exclude"] and not sentences:
        raise click.UsageError("--exclude needs --sentences")
    if sentences:
        _calibrate_sentences(scorer, datasets, output, given)
        return
    from rejoinder.evaluation import CalibrateOptions, calibrate

    del given["exclude"]
    with show_progress("calibrating") as progress:
        result = calibrate(scorer, datasets, CalibrateOptions(**given), on_progress=progress)
    if given["plot"]:
        say(f"wrote {given['plot']}")
    stop = {"stop": result.stop.to_dict()} if result.stop else {}
    output.show_json({name: item.to_dict() for name, item in result.reports.items()} | stop)
    if not output.is_json:
        _print(result, output)
    fitted = result.fitted
    calibration = fitted.calibration
    decisive = "answerability" if calibration.answerability else "confidence"
    say(
        f"wrote {result.path}: {fitted.method}; it abstains below"
        f" {calibration.threshold:.3f} {decisive}"
    )


def _calibrate_sentences(
    scorer: str, datasets: tuple[str, ...], output: Output, given: dict[str, Any]
) -> None:
    from rejoinder.evaluation import calibrate_sentences
    from rejoinder.evaluation.calibration.sentences import read_excluded

    used = ("to", "folder", "questions", "exclude")
    for name, value in given.items():
        if value and name not in used:
            raise click.UsageError(f"--sentences cannot be used with --{name.replace('_', '-')}")
    if given["exclude"]:
        given["exclude"] = read_excluded(given["exclude"])
    with show_progress("calibrating") as progress:
        result = calibrate_sentences(
            *(scorer, datasets),
            on_progress=progress,
            **{name: given[name] for name in used if given[name] is not None},
        )
    output.show_json({name: item.to_dict() for name, item in result.reports.items()})
    if not output.is_json:
        output.show(
            ["data set", "questions", "precision", "recall", "F1", "answers kept", "text kept"],
            [
                [
                    name,
                    str(item.questions),
                    *(percent(value) for value in list(item.to_dict().values())[1:]),
                ]
                for name, item in result.reports.items()
            ],
        )
    fitted = result.calibration
    say(
        f"wrote {result.path}: sentences are highlighted from {fitted.threshold:g}, and kept from"
        f" {fitted.pruning:g}"
    )


def _print(result: "CalibrateResult", output: Output) -> None:
    output.show(
        [
            *("data set", "questions", "answerable", "precision", "answer rate"),
            *("right stated", "unanswerable refused", "of oracle", "ECE"),
        ],
        [
            [
                name,
                str(item.questions),
                str(item.answerable),
                percent(item.precision),
                percent(item.answer_rate),
                percent(item.right_stated),
                percent(item.unanswerable_refused),
                percent(item.area_share),
                f"{item.calibration_error:.4f}",
            ]
            for name, item in result.reports.items()
        ],
    )
    output.show(
        ["answer rate", "precision", "min confidence"],
        [
            [percent(row["answer_rate"]), percent(row["precision"]), f"{row['threshold']:.3f}"]
            for row in result.fitted.to_dict()["curve"][1::2]
        ],
    )
    if stop := result.stop:
        whole = [
            percent(stop.accuracy),
            percent(stop.accuracy_of_all),
            show_interval(stop.difference),
        ]
        *others, last = [
            [f"{item.read:.1f}", f"{item.given:.1f}", item.scorer] for item in stop.stages
        ]
        output.show(
            ["candidates read", "of", "stage", "first right", "reading all", "difference"],
            [*([*row, "", "", ""] for row in others), [*last, *whole]],
        )
