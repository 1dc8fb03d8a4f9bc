"""The data sets that have a name: one entry each, facts only."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rejoinder.datasets import published, remote_files
from rejoinder.datasets.dataset import Counts, Dataset, Source
from rejoinder.datasets.pool_entries import POOL_ENTRIES
from rejoinder.datasets.readers import insuranceqa, insuranceqa_package
from rejoinder.datasets.readers.asnq import read_asnq
from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.datasets.readers.pairs import read_pairs
from rejoinder.datasets.readers.qed import read_qed
from rejoinder.datasets.readers.selqa import read_selqa
from rejoinder.datasets.readers.squad import V1_ONLY, read_squad
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.datasets.readers.yahooqa import read_yahooqa
from rejoinder.datasets.transforms.held_out import with_dev
from rejoinder.datasets.transforms.negatives import add_negatives
from rejoinder.types import Example

_WIKIQA_HOMEPAGE = "https://www.microsoft.com/en-us/download/details.aspx?id=52419"
_SQUAD_LICENCE = "CC BY-SA 4.0"
_SQUAD_HOMEPAGE = "https://rajpurkar.github.io/SQuAD-explorer/"
_INSURANCEQA_LICENCE = "research use only"
_INSURANCEQA_HOMEPAGE = "https://github.com/shuzi/insuranceQA"


def _from_folder(
    read: Callable[[Path, str], Iterator[Example]], split: str
) -> Callable[..., Iterator[Example]]:
    """Turn a reader of a folder into one that takes the folder's files."""
    return lambda first, *_: read(first.parent, split)


def _wikiqa(split: str, counts: Counts) -> tuple[Source, ...]:
    name = f"wikiqa/WikiQA-{split}"
    return (
        Source((f"{name}.tsv",), read_wikiqa, counts),
        Source((f"{name}.txt", f"{name}.ref"), read_wikiqa_text, counts),
    )


def _wikiqa_filtered(split: str, counts: Counts) -> tuple[Source, ...]:
    return (Source((f"wikiqa/untokenised-filtered/{split}.tsv",), read_pairs, counts),)


def _squad(
    name: str, read: Callable[..., Iterator[Example]], counts: Counts | None = None
) -> Source:
    return Source((f"squad/{name}.json",), read, counts)


def _squad_v2(read: Callable[..., Iterator[Example]]) -> dict[str, tuple[Source, ...]]:
    dev = Counts(11_873)
    return {
        "train": (_squad("train-v2.0", read),),
        "dev": (_squad("dev-v2.0", read, dev), _squad("dev-v2.0.reconstructed", read, dev)),
    }


def _selqa(split: str, json: Counts | None = None, tsv: Counts | None = None) -> tuple[Source, ...]:
    return (
        Source((f"selqa/selqa-ass-{split}.json",), read_selqa, json),
        Source((f"selqa/selqa-ass-{split}.tsv",), read_pairs, tsv),
    )


def _nq(*names: str) -> tuple[Source, ...]:
    return tuple(Source((f"nq/{name}",), read_natural_questions) for name in names)


def _insuranceqa_v1(split: str) -> tuple[Source, ...]:
    names = (insuranceqa.V1_QUESTIONS[split], insuranceqa.V1_ANSWERS, insuranceqa.VOCABULARY)
    files = tuple(f"insuranceqa/V1/{name}" for name in names)
    return (Source(files, _from_folder(insuranceqa.read_insuranceqa_v1, split)),)


def _insuranceqa_v2(split: str) -> tuple[Source, ...]:
    names = (insuranceqa.V2_QUESTIONS[split], insuranceqa.V2_ANSWERS, insuranceqa.VOCABULARY)
    files = tuple(f"insuranceqa/V2/{name}" for name in names)
    return (Source(files, _from_folder(insuranceqa.read_insuranceqa_v2, split)),)


def _read_package(split: str) -> Iterator[Example]:
    folder = insuranceqa_package.find_insuranceqa_package()
    return insuranceqa_package.read_insuranceqa_package(folder, split)


def _read_asnq_plus(path: Path) -> Iterator[Example]:
    return add_negatives(list(read_asnq(path)))


def _read_qed(*paths: Path) -> Iterator[Example]:
    return read_qed(paths)


ENTRIES = (
    Dataset(
        name="wikiqa",
        title="WikiQA: search questions, sentences of a Wikipedia summary (Yang et al. 2015)",
        licence="Microsoft Research Data License: research and technology development only",
        homepage=_WIKIQA_HOMEPAGE,
        splits={
            "train": _wikiqa("train", Counts(2118, 20_360)),
            "dev": _wikiqa("dev", Counts(296, 2733)),
            "test": _wikiqa("test", Counts(633, 6165)),
            "train-filtered": _wikiqa_filtered("train", Counts(873, 8672)),
            "dev-filtered": _wikiqa_filtered("dev", Counts(122, 1126)),
            "test-filtered": _wikiqa_filtered("test", Counts(237, 2341)),
        },
        by_hand=f"accept its licence at {_WIKIQA_HOMEPAGE} and unpack the archive",
        published=(published.WIKIQA,),
    ),
    Dataset(
        name="trecqa",
        title="TREC-QA: questions of TREC, sentences of newswire (Wang et al. 2007)",
        licence="newswire text; no licence of the data is stated",
        homepage="https://github.com/mcrisc/lexdecomp/tree/master/trec-qa",
        splits={
            "train": (
                Source(("trecqa/train.jsonl",), read_trecqa, Counts(94, 5919)),
                Source(("trecqa/xml/train.xml",), read_trecqa_xml, Counts(94, 4718)),
            ),
            "train-all": (
                Source(("trecqa/train-all.jsonl.gz",), read_trecqa, Counts(1229, 53_417)),
            ),
            "dev": (
                # The dev set that papers use; the JSON lines hold longer sentences too.
                Source(("trecqa/xml/dev.xml",), read_trecqa_xml, Counts(82, 1148)),
                Source(("trecqa/dev.jsonl",), read_trecqa, Counts(82, 1364)),
            ),
            "test": (
                Source(("trecqa/test.jsonl",), read_trecqa, Counts(100, 1517)),
                Source(("trecqa/xml/test.xml",), read_trecqa_xml, Counts(100, 1517)),
            ),
        },
        remote=remote_files.TRECQA,
    ),
    Dataset(
        name="squad-v1",
        title="SQuAD v1.1 as sentences of a paragraph (Rajpurkar et al. 2016)",
        licence=_SQUAD_LICENCE,
        homepage=_SQUAD_HOMEPAGE,
        splits={
            "train": (_squad("train-v1.1", read_squad),),
            "dev": (_squad("dev-v1.1", read_squad, Counts(10_570)),),
            "dev-not-in-v2": (
                _squad("dev-v1.1", partial(read_squad, titles=V1_ONLY), Counts(4557)),
            ),
        },
        remote=remote_files.SQUAD_V1,
    ),
    Dataset(
        name="squad-v2",
        title="SQuAD v2.0 as sentences, many questions unanswerable (Rajpurkar et al. 2018)",
        licence=_SQUAD_LICENCE,
        homepage=_SQUAD_HOMEPAGE,
        splits=_squad_v2(read_squad),
        remote=remote_files.SQUAD_V2,
        published=(published.SQUAD_V2,),
    ),
    Dataset(
        name="squad-v2-all-answers",
        title="SQuAD v2.0 as sentences, spans of all annotators count (Rajpurkar et al. 2018)",
        licence=_SQUAD_LICENCE,
        homepage=_SQUAD_HOMEPAGE,
        splits=_squad_v2(partial(read_squad, answers="all")),
        remote=remote_files.SQUAD_V2,
    ),
    Dataset(
        name="nq-la",
        title="Natural Questions: the paragraph that is the long answer (Kwiatkowski et al. 2019)",
        licence="CC BY-SA 3.0",
        homepage="https://ai.google.com/research/NaturalQuestions",
        splits={
            "train": _nq(
                "v1.0-simplified_simplified-nq-train.jsonl.gz",
                "v1.0-simplified_simplified-nq-train.jsonl",
            ),
            "dev": _nq("nq-dev-simplified.jsonl", "nq-dev-simplified.jsonl.gz"),
        },
        published=(published.NQ_LA,),
    ),
    Dataset(
        name="asnq",
        title="ASNQ: sentences of the pages of Natural Questions (Garg et al. 2019)",
        licence="CC BY-SA 3.0",
        homepage="https://github.com/amazon-science/wqa_tanda",
        splits={
            "train": (Source(("asnq/train.tsv",), read_asnq),),
            "dev": (Source(("asnq/dev.tsv",), read_asnq),),
        },
        published=(published.ASNQ,),
    ),
    Dataset(
        name="asnq++",
        title="ASNQ with negatives of other pages, 1,300 a question (Matsubara et al. 2020)",
        licence="CC BY-SA 3.0",
        homepage="https://github.com/amazon-science/wqa_tanda",
        splits={"dev": (Source(("asnq/dev.tsv",), _read_asnq_plus),)},
        published=(published.ASNQ_PLUS,),
    ),
    Dataset(
        name="insuranceqa-v1",
        title="InsuranceQA V1: pools of 500 answers of experts (Feng et al. 2015)",
        licence=_INSURANCEQA_LICENCE,
        homepage=_INSURANCEQA_HOMEPAGE,
        splits={split: _insuranceqa_v1(split) for split in insuranceqa.V1_QUESTIONS},
    ),
    Dataset(
        name="insuranceqa-v2",
        title="InsuranceQA V2: pools of 500 answers that a search found (Feng et al. 2015)",
        licence=_INSURANCEQA_LICENCE,
        homepage=_INSURANCEQA_HOMEPAGE,
        splits={split: _insuranceqa_v2(split) for split in insuranceqa.V2_QUESTIONS},
    ),
    Dataset(
        name="insuranceqa",
        title="InsuranceQA, whole sentences with 200 negatives a question (Feng et al. 2015)",
        licence=_INSURANCEQA_LICENCE,
        homepage="https://github.com/chatopera/insuranceqa-corpus-zh",
        splits={
            "train": (Source((), partial(_read_package, "train"), Counts(12_889, 2_599_125)),),
            "valid": (Source((), partial(_read_package, "valid"), Counts(2000, 403_354)),),
            "test": (Source((), partial(_read_package, "test"), Counts(2000, 403_308)),),
        },
        by_hand=insuranceqa_package.INSTALL,
    ),
    Dataset(
        name="yahooqa",
        title="YahooQA: five answers of Yahoo! Answers a question (Tay et al. 2017)",
        licence="text of Yahoo! Answers; no licence of the data is stated",
        homepage="https://arxiv.org/abs/1707.06372",
        splits={
            split: (Source((f"yahooqa/{split}.tsv",), read_yahooqa),)
            for split in ("train", "dev", "test")
        },
    ),
    Dataset(
        name="selqa",
        title="SelQA: sentences of a Wikipedia section (Jurczyk et al. 2016)",
        licence="Apache-2.0; text of Wikipedia",
        homepage="https://github.com/emorynlp/selqa",
        splits={
            "train": _selqa("train"),
            "dev": _selqa("dev", json=Counts(785, 9419), tsv=Counts(785, 9377)),
            "test": _selqa("test"),
        },
        remote=remote_files.SELQA,
    ),
    Dataset(
        name="qed",
        title="QED: sentences of paragraphs of Natural Questions (Lamm et al. 2020)",
        licence="CC BY-SA 3.0",
        homepage="https://github.com/google-research-datasets/QED",
        splits=with_dev(
            Source(
                tuple(f"qed-nq/nq-train-0{part}-qed.jsonlines" for part in range(6)),
                _read_qed,
                Counts(7167, 33_531),
            )
        ),
    ),
    *POOL_ENTRIES,
)
