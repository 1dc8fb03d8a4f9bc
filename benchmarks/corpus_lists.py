"""Make the lists that the shipped selector is trained on, and lists to calibrate it on.

Usage: python -m benchmarks.corpus_lists --data DATA --manuals FOLDER --to lists.jsonl.gz
       python -m benchmarks.corpus_lists --data DATA --in-document --to own.jsonl.gz
       python -m benchmarks.corpus_lists --data DATA --manuals FOLDER --calibration \
           --to calibration.jsonl.gz
       python -m benchmarks.corpus_lists --data DATA --in-document --calibration \
           --to own-calibration.jsonl.gz

The lists are mined (`rejoinder mine`) from data sets whose licences allow everyone to use them, and
from the headings of the manuals of Debian packages, which are downloaded where FOLDER lacks them.
With --in-document, they are lists of each question's own document instead.  Documents of questions
that `benchmarks.open_corpus` asks are left out, and so are the questions of MultiSpanQA.  Nothing
of the manuals that `benchmarks.open_corpus` asks is read.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpora.pooled import read_pool
from benchmarks.manuals.packages import fetch_packages
from rejoinder.training.mining import mine_lists
from rejoinder.training.options import MiningOptions

DATA = (
    "qed:fit",
    "nq-oracle:fit",
    "squad-train-part:fit@0.22",
    "squad-v1:dev-not-in-v2@0.35",
    "selqa:dev",
    "fairytaleqa:fit@0.15",
    "bioasq:fit@0.4",
    "medquad:fit@0.15",
    "squad-train-sentences:fit@0.05",
)
"""Natural questions are asked all, those that were written to a paragraph in part."""
IN_DOCUMENT = (
    "qed:fit",
    "nq-oracle:fit",
    "squad-train-part:fit@0.2",
    "squad-v1:dev-not-in-v2@0.3",
    "selqa:dev",
    "fairytaleqa:fit@0.1",
    "bioasq:fit@0.4",
    "medquad:fit@0.1",
)
HEADINGS = 4500
HELD_OUT = (
    "qed:dev",
    "nq-oracle:dev",
    "squad-train-part:dev",
    "fairytaleqa:dev",
    "bioasq:dev@0.5",
    "medquad:dev@0.5",
)
"""Questions to calibrate on: of documents that no training has seen."""
CALIBRATION_HEADINGS = 1200
FOUND = 100
CANDIDATES = 10
"""Candidates of a list to train on."""
UNANSWERABLE = 0.4
"""The share of lists to calibrate on whose answers are taken out."""
ELSEWHERE = 0.3
"""The share of questions to calibrate on that are also asked of documents of another kind."""
MULTI_SPAN = Path("multispanqa") / "valid.json.gz"
MANUALS = {
    "aptitude-doc-en": ["usr/share/doc/aptitude/html/en"],
    "debian-edu-doc-en": ["usr/share/doc/debian-edu-doc-en"],
    "exim4-doc-html": ["usr/share/doc/exim4-doc-html/spec_html"],
    "ghostscript-doc": ["usr/share/doc/ghostscript/html"],
    "gnumeric-doc": ["usr/share/help/C/gnumeric"],
    "grass-doc": ["usr/share/doc/grass-doc/html"],
    "haproxy-doc": ["usr/share/doc/haproxy"],
    "harden-doc": ["usr/share/doc/harden-doc/html/en-US"],
    "maint-guide": ["usr/share/doc/maint-guide/html"],
    "mercurial-common": ["usr/lib/python3/dist-packages/mercurial/helptext"],
    "nut-doc": ["usr/share/doc/nut-doc/html"],
    "postgis-doc": ["usr/share/doc/postgis-doc"],
    "python-jinja2-doc": ["usr/share/doc/python-jinja2-doc/html"],
    "python-pandas-doc": [
        f"usr/share/doc/python-pandas-doc/html/{part}"
        for part in ("user_guide", "getting_started", "development", "*.html")
    ],
    "python-scipy-doc": [
        f"usr/share/doc/python-scipy-doc/html/{part}" for part in ("tutorial", "dev", "*.html")
    ],
    "python-sqlalchemy-doc": ["usr/share/doc/python-sqlalchemy-doc/html"],
    "shorewall-doc": ["usr/share/doc/shorewall-doc/html"],
    "sphinx-doc": ["usr/share/doc/sphinx-doc/html"],
    "varnish-doc": ["usr/share/doc/varnish/html"],
}
"""The files of each package that are its manual; API references are left out."""
UNREAD = ("_sources", "_modules", "changelog", "whatsnew")
"""Folders that repeat the manual, or hold no text of it."""


def main() -> None:
    options = parse_options()
    if not options.in_document:
        fetch_packages(MANUALS, options.manuals, unread=UNREAD)
    with tempfile.TemporaryDirectory() as folder:
        exclude = Path(folder, "exclude.txt")
        exclude.write_text("".join(f"{text}\n" for text in list_excluded(options.data)))
        print(mine_lists(make_options(options, exclude), choose_data(options), say=say))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--manuals", type=Path, default=Path("training-manuals"))
    parser.add_argument("--in-document", action="store_true")
    parser.add_argument("--calibration", action="store_true")
    parser.add_argument("--to", type=Path, required=True)
    return parser.parse_args()


def choose_data(options: argparse.Namespace) -> list[str]:
    if not options.calibration:
        return list(IN_DOCUMENT if options.in_document else DATA)
    searched = [choice.partition("@")[0] + "@0" for choice in DATA]
    return list(HELD_OUT) if options.in_document else [*HELD_OUT, *searched]


def make_options(options: argparse.Namespace, exclude: Path) -> MiningOptions:
    if options.in_document:
        return MiningOptions(
            to=options.to,
            exclude=exclude,
            in_document=True,
            candidates=FOUND if options.calibration else CANDIDATES,
            unanswerable=UNANSWERABLE if options.calibration else 0.0,
            untitled=0.0,
            seed=int(options.calibration),
            data_folder=options.data,
        )
    if not options.calibration:
        return MiningOptions(
            to=options.to,
            documents=[options.manuals],
            headings=HEADINGS,
            exclude=exclude,
            data_folder=options.data,
        )
    return MiningOptions(
        to=options.to,
        documents=[options.manuals],
        headings=CALIBRATION_HEADINGS,
        exclude=exclude,
        found=FOUND,
        passages=True,
        unanswerable=UNANSWERABLE,
        elsewhere=ELSEWHERE,
        untitled=0.0,
        seed=1,
        data_folder=options.data,
    )


def list_excluded(data: Path) -> Iterator[str]:
    """Yield the questions whose documents are left out."""
    for question in read_pool(data).questions:
        yield " ".join(question.text.split())
    with gzip.open(data / MULTI_SPAN, "rt", encoding="utf-8") as file:
        for row in json.load(file)["data"]:
            yield " ".join(row["question"])


def say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
