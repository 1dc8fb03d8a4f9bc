"""The catalogue entries of the named data sets, with downloads and published figures."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rejoinder.datasets.dataset import Counts, Dataset, Published, RemoteFile, Source
from rejoinder.datasets.readers import insuranceqa
from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.datasets.readers.pairs import read_asnq, read_pairs, read_yahooqa
from rejoinder.datasets.readers.sentence_lists import read_pool, read_qed, read_selqa
from rejoinder.datasets.readers.squad import V1_ONLY, Answers, read_squad
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.datasets.transforms.held_out import with_dev
from rejoinder.datasets.transforms.long_lists import add_negatives
from rejoinder.types import Example

_WIKIQA_HOMEPAGE = "https://www.microsoft.com/en-us/download/details.aspx?id=52419"
_SQUAD_LICENCE = "CC BY-SA 4.0"
_SQUAD_HOMEPAGE = "https://rajpurkar.github.io/SQuAD-explorer/"
_NQ_LICENCE = "CC BY-SA 3.0"
_NQ_HOMEPAGE = "https://ai.google.com/research/NaturalQuestions"
_ASNQ_HOMEPAGE = "https://github.com/amazon-science/wqa_tanda"
_INSURANCEQA_LICENCE = "research use only"
_INSURANCEQA_HOMEPAGE = "https://github.com/shuzi/insuranceQA"

# GitHub addresses name a commit, so that their content cannot change.
_SQUAD_FILES = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
_TRECQA_FILES = (
    "https://raw.githubusercontent.com/mcrisc/lexdecomp/"
    "89d21f150188b551607317ccb79a07f5316e99e4/trec-qa"
)
_SELQA_FILES = "https://raw.githubusercontent.com/emorynlp/selqa"
_CHECKSUMS = """
squad/train-v1.1.json 30288272 3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955
squad/dev-v1.1.json 4854279 95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9
squad/train-v2.0.json 42123633 68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002
squad/dev-v2.0.json 4370528 80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8
trecqa/train.jsonl 1196589 bf06469e66b0e7736b1f4426eb8d17c5a110d1628ac5a9d80b584bd2fc9aaa5b
trecqa/train-all.jsonl.gz 3090794 20a68643dd4fde1e889b11afd260655c5b8dfed6c00de5c1678fa51577d8ed02
trecqa/dev.jsonl 256671 9c5976698e2798ada7e269d5774bbd12c5fa923776fd1305334412333704029a
trecqa/test.jsonl 263821 b2646549a41a878cd92c2abf3fa5ac6226717962d6ede54e653a213aeaa31c94
selqa/selqa-ass-dev.json 1470163 b4e6687e44a30b486e24d2b06aa3012ec07d61145f3521f35b7d49daae3e0ca4
selqa/selqa-ass-dev.tsv 1842345 0f0d73b379bb4efc6e678e36b122ea17c957998a1d002e3c480b3bc7854f77a9
"""
"""Of each file that may be downloaded: path in the data folder, size in bytes, SHA-256."""

_COSINET = "Bonadiman & Moschitti 2020, Table 2 (arXiv:2003.02349)"
_SEQUENTIAL = "Matsubara et al. 2020, Table 1 (doi:10.1145/3397271.3401266)"


def _remote(path: str, folder: str) -> RemoteFile:
    (line,) = (line for line in _CHECKSUMS.splitlines() if line.startswith(f"{path} "))
    _, size, sha256 = line.split()
    return RemoteFile(f"{folder}/{path.rpartition('/')[2]}", path, int(size), sha256)


def _of_cosinet(split: str, *figures: float) -> tuple[Published, ...]:
    """Return the figures of the Cosinet paper, which counts words with spaCy."""
    names = (
        *("questions", "candidates", "answered_share", "candidates_per_question"),
        *("words_per_question", "words_per_candidate"),
    )
    return (Published(_COSINET, split, dict(zip(names, figures, strict=True))),)


def _of_sequential(*figures: float) -> tuple[Published, ...]:
    """Return the figures of the sequential-reranker paper, whose test sets come from ASNQ dev."""
    names = ("questions", "candidates_per_question", "answers_per_question")
    return (Published(_SEQUENTIAL, "dev", dict(zip(names, figures, strict=True))),)


def _wikiqa(split: str, counts: Counts) -> tuple[Source, ...]:
    name = f"wikiqa/WikiQA-{split}"
    return (
        Source((f"{name}.tsv",), read_wikiqa, counts),
        Source((f"{name}.txt", f"{name}.ref"), read_wikiqa_text, counts),
    )


def _wikiqa_filtered(split: str, counts: Counts) -> tuple[Source, ...]:
    return (Source((f"wikiqa/untokenised-filtered/{split}.tsv",), read_pairs, counts),)


def _trecqa(name: str, counts: Counts) -> Source:
    read = read_trecqa_xml if name.endswith(".xml") else read_trecqa
    return Source((f"trecqa/{name}",), read, counts)


def _squad(
    name: str, read: Callable[..., Iterator[Example]], counts: Counts | None = None
) -> Source:
    return Source((f"squad/{name}.json",), read, counts)


def _squad_v2(
    name: str, title: str, *, published: tuple[Published, ...] = (), answers: Answers = "first"
) -> Dataset:
    read, dev = partial(read_squad, answers=answers), Counts(11_873)
    return Dataset(
        name,
        title,
        _SQUAD_LICENCE,
        _SQUAD_HOMEPAGE,
        splits={
            "train": (_squad("train-v2.0", read),),
            "dev": (_squad("dev-v2.0", read, dev), _squad("dev-v2.0.reconstructed", read, dev)),
        },
        remote=tuple(_remote(f"squad/{s}-v2.0.json", _SQUAD_FILES) for s in ("train", "dev")),
        published=published,
    )


def _selqa(split: str, json: Counts | None = None, tsv: Counts | None = None) -> tuple[Source, ...]:
    return (
        Source((f"selqa/selqa-ass-{split}.json",), read_selqa, json),
        Source((f"selqa/selqa-ass-{split}.tsv",), read_pairs, tsv),
    )


def _nq(*names: str) -> tuple[Source, ...]:
    return tuple(Source((f"nq/{name}",), read_natural_questions) for name in names)


def _insuranceqa(version: insuranceqa.Version, name: str, title: str) -> Dataset:
    splits = {}
    for split, questions in version.questions.items():
        names = (questions, version.answers, insuranceqa.VOCABULARY)
        read = partial(_read_insuranceqa, version, split)
        splits[split] = (Source(tuple(f"insuranceqa/{name}/{file}" for file in names), read),)
    name = f"insuranceqa-{name.lower()}"
    return Dataset(name, title, _INSURANCEQA_LICENCE, _INSURANCEQA_HOMEPAGE, splits)


def _read_insuranceqa(
    version: insuranceqa.Version, split: str, first: Path, *_: Path
) -> Iterator[Example]:
    return insuranceqa.read_insuranceqa(first.parent, version, split)


def _read_asnq_plus(path: Path) -> Iterator[Example]:
    return add_negatives(list(read_asnq(path)))


def _pool(name: str, title: str, licence: str, homepage: str, counts: Counts) -> Dataset:
    source = Source((f"pool/{name}.jsonl.gz",), read_pool, counts)
    by_hand = f"made for training from {homepage}, in the format that docs/datasets.md describes"
    return Dataset(name, title, licence, homepage, with_dev(source), by_hand=by_hand)


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
        published=_of_cosinet("test", 633, 6165, 0.3839, 9.74, 7.28, 25.36),
    ),
    Dataset(
        name="trecqa",
        title="TREC-QA: questions of TREC, sentences of newswire (Wang et al. 2007)",
        licence="newswire text; no licence of the data is stated",
        homepage="https://github.com/mcrisc/lexdecomp/tree/master/trec-qa",
        splits={
            "train": (
                _trecqa("train.jsonl", Counts(94, 5919)),
                _trecqa("xml/train.xml", Counts(94, 4718)),
            ),
            "train-all": (_trecqa("train-all.jsonl.gz", Counts(1229, 53_417)),),
            "dev": (
                # The dev set that papers use; the JSON lines hold longer sentences too.
                _trecqa("xml/dev.xml", Counts(82, 1148)),
                _trecqa("dev.jsonl", Counts(82, 1364)),
            ),
            "test": (
                _trecqa("test.jsonl", Counts(100, 1517)),
                _trecqa("xml/test.xml", Counts(100, 1517)),
            ),
        },
        remote=tuple(
            _remote(f"trecqa/{name}", _TRECQA_FILES)
            for name in ("train.jsonl", "train-all.jsonl.gz", "dev.jsonl", "test.jsonl")
        ),
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
        remote=tuple(_remote(f"squad/{s}-v1.1.json", _SQUAD_FILES) for s in ("train", "dev")),
    ),
    _squad_v2(
        "squad-v2",
        "SQuAD v2.0 as sentences, many questions unanswerable (Rajpurkar et al. 2018)",
        published=_of_cosinet("dev", 11_873, 63_959, 0.4992, 5.38, 10.02, 23.75),
    ),
    _squad_v2(
        "squad-v2-all-answers",
        "SQuAD v2.0 as sentences, spans of all annotators count (Rajpurkar et al. 2018)",
        answers="all",
    ),
    Dataset(
        name="nq-la",
        title="Natural Questions: the paragraph that is the long answer (Kwiatkowski et al. 2019)",
        licence=_NQ_LICENCE,
        homepage=_NQ_HOMEPAGE,
        splits={
            "train": _nq(
                "v1.0-simplified_simplified-nq-train.jsonl.gz",
                "v1.0-simplified_simplified-nq-train.jsonl",
            ),
            "dev": _nq("nq-dev-simplified.jsonl", "nq-dev-simplified.jsonl.gz"),
        },
        # The paper prints 193k candidates.
        published=_of_cosinet("dev", 6230, 193_000, 0.5547, 30.95, 9.38, 98.76),
    ),
    Dataset(
        name="asnq",
        title="ASNQ: sentences of the pages of Natural Questions (Garg et al. 2019)",
        licence=_NQ_LICENCE,
        homepage=_ASNQ_HOMEPAGE,
        splits={
            "train": (Source(("asnq/train.tsv",), read_asnq),),
            "dev": (Source(("asnq/dev.tsv",), read_asnq),),
        },
        published=_of_sequential(2672, 354, 1.29),
    ),
    Dataset(
        name="asnq++",
        title="ASNQ with negatives of other pages, 1,300 a question (Matsubara et al. 2020)",
        licence=_NQ_LICENCE,
        homepage=_ASNQ_HOMEPAGE,
        splits={"dev": (Source(("asnq/dev.tsv",), _read_asnq_plus),)},
        published=_of_sequential(2672, 1310, 1.87),
    ),
    _insuranceqa(
        insuranceqa.V1, "V1", "InsuranceQA V1: pools of 500 answers of experts (Feng et al. 2015)"
    ),
    _insuranceqa(
        insuranceqa.V2,
        "V2",
        "InsuranceQA V2: pools of 500 answers that a search found (Feng et al. 2015)",
    ),
    Dataset(
        name="insuranceqa",
        title="InsuranceQA, whole sentences with 200 negatives a question (Feng et al. 2015)",
        licence=_INSURANCEQA_LICENCE,
        homepage="https://github.com/chatopera/insuranceqa-corpus-zh",
        splits={
            split: (Source((), partial(insuranceqa.read_insuranceqa_package, split), counts),)
            for split, counts in {
                "train": Counts(12_889, 2_599_125),
                "valid": Counts(2000, 403_354),
                "test": Counts(2000, 403_308),
            }.items()
        },
        by_hand=insuranceqa.INSTALL,
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
        remote=(
            _remote(
                "selqa/selqa-ass-dev.json",
                f"{_SELQA_FILES}/d1ddfce49dc3c7fa5c474c7e82e3ad39370d973f/ass",
            ),
            _remote(
                "selqa/selqa-ass-dev.tsv",
                f"{_SELQA_FILES}/b36f5a42cf50b554a3577607ac16ff50b364de3e/ass",
            ),
        ),
    ),
    Dataset(
        name="qed",
        title="QED: sentences of paragraphs of Natural Questions (Lamm et al. 2020)",
        licence=_NQ_LICENCE,
        homepage="https://github.com/google-research-datasets/QED",
        splits=with_dev(
            Source(
                tuple(f"qed-nq/nq-train-0{part}-qed.jsonlines" for part in range(6)),
                read_qed,
                Counts(7167, 33_531),
            )
        ),
    ),
    _pool(
        "bioasq",
        "BioASQ 6b to 9b: snippets of PubMed abstracts (Tsatsaronis et al. 2015)",
        "CC BY 2.5",
        "http://bioasq.org",
        Counts(1854, 102_098),
    ),
    _pool(
        "fairytaleqa",
        "FairytaleQA: sentences of a section of a fairy tale (Xu et al. 2022)",
        "Apache-2.0",
        "https://github.com/uci-soe/FairytaleQAData",
        Counts(6087, 47_036),
    ),
    _pool(
        "medquad",
        "MedQuAD, a sample: sentences of health pages (Ben Abacha & Demner-Fushman 2019)",
        "CC BY 4.0",
        "https://github.com/abachaa/MedQuAD",
        Counts(4000, 105_047),
    ),
    _pool(
        "nq-oracle",
        "NQ-open dev with its paragraph, split into sentences (Kwiatkowski et al. 2019)",
        _NQ_LICENCE,
        _NQ_HOMEPAGE,
        Counts(1448, 5574),
    ),
    _pool(
        "qamr",
        "QAMR: questions about one sentence of Wikipedia or Wikinews (Michael et al. 2018)",
        "MIT",
        "https://github.com/uwnlp/qamr",
        Counts(34_128, 275_122),
    ),
    _pool(
        "squad-train-part",
        "SQuAD v1.1 train, a fifth of it: sentences of a paragraph (Rajpurkar et al. 2016)",
        _SQUAD_LICENCE,
        _SQUAD_HOMEPAGE,
        Counts(18_467, 91_188),
    ),
    _pool(
        "squad-train-sentences",
        "SQuAD v1.1 train, another part: answer sentences without order (Rajpurkar et al. 2016)",
        _SQUAD_LICENCE,
        _SQUAD_HOMEPAGE,
        Counts(7958, 111_757),
    ),
)
