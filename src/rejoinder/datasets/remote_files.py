"""Files that may be fetched, each with its checksum.

GitHub addresses name a commit, so that what they lead to cannot change.
"""

from rejoinder.datasets.dataset import RemoteFile

_SQUAD = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
_LEXDECOMP = (
    "https://raw.githubusercontent.com/mcrisc/lexdecomp/"
    "89d21f150188b551607317ccb79a07f5316e99e4/trec-qa"
)
_SELQA = "https://raw.githubusercontent.com/emorynlp/selqa"

SQUAD_V1 = (
    RemoteFile(
        f"{_SQUAD}/train-v1.1.json",
        "squad/train-v1.1.json",
        30_288_272,
        "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
    ),
    RemoteFile(
        f"{_SQUAD}/dev-v1.1.json",
        "squad/dev-v1.1.json",
        4_854_279,
        "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
    ),
)
SQUAD_V2 = (
    RemoteFile(
        f"{_SQUAD}/train-v2.0.json",
        "squad/train-v2.0.json",
        42_123_633,
        "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
    ),
    RemoteFile(
        f"{_SQUAD}/dev-v2.0.json",
        "squad/dev-v2.0.json",
        4_370_528,
        "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
    ),
)
TRECQA = (
    RemoteFile(
        f"{_LEXDECOMP}/train.jsonl",
        "trecqa/train.jsonl",
        1_196_589,
        "bf06469e66b0e7736b1f4426eb8d17c5a110d1628ac5a9d80b584bd2fc9aaa5b",
    ),
    RemoteFile(
        f"{_LEXDECOMP}/train-all.jsonl.gz",
        "trecqa/train-all.jsonl.gz",
        3_090_794,
        "20a68643dd4fde1e889b11afd260655c5b8dfed6c00de5c1678fa51577d8ed02",
    ),
    RemoteFile(
        f"{_LEXDECOMP}/dev.jsonl",
        "trecqa/dev.jsonl",
        256_671,
        "9c5976698e2798ada7e269d5774bbd12c5fa923776fd1305334412333704029a",
    ),
    RemoteFile(
        f"{_LEXDECOMP}/test.jsonl",
        "trecqa/test.jsonl",
        263_821,
        "b2646549a41a878cd92c2abf3fa5ac6226717962d6ede54e653a213aeaa31c94",
    ),
)
SELQA = (
    RemoteFile(
        f"{_SELQA}/d1ddfce49dc3c7fa5c474c7e82e3ad39370d973f/ass/selqa-ass-dev.json",
        "selqa/selqa-ass-dev.json",
        1_470_163,
        "b4e6687e44a30b486e24d2b06aa3012ec07d61145f3521f35b7d49daae3e0ca4",
    ),
    RemoteFile(
        f"{_SELQA}/b36f5a42cf50b554a3577607ac16ff50b364de3e/ass/selqa-ass-dev.tsv",
        "selqa/selqa-ass-dev.tsv",
        1_842_345,
        "0f0d73b379bb4efc6e678e36b122ea17c957998a1d002e3c480b3bc7854f77a9",
    ),
)
