"""Reads the part of SQuAD v1.1's training set that the project trains on, from the published file.

The part came without its paragraphs' places in SQuAD.  `squad_part.txt.gz` lists its questions, one
per line: SQuAD's own id where it was known (61 %), else a hash of the question's letters and
digits, since a fifth of the texts were tokenised.  Each line ends with the part that the
question belongs to, fit or dev.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from rejoinder.datasets.files import read_lines
from rejoinder.datasets.json_rows import read_json
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.datasets.readers.squad import (
    Squad,
    SquadArticle,
    SquadParagraph,
    SquadQuestion,
    label_sentences,
)
from rejoinder.errors import DataError
from rejoinder.text.sentences import split_sentences
from rejoinder.types import Example

LIST = Path(__file__).with_name("squad_part.txt.gz")
TITLE_LENGTH = 40
"""Characters of a paragraph that are its title where the part names no article."""
_ID = re.compile(r"[0-9a-f]{24}")


def read_squad_part(
    path: Path, *, part: str | None = None, listed: Path = LIST
) -> Iterator[Example]:
    """Yield the questions of the part, in the order of the file; a paragraph is one document.

    Args:
        part: fit or dev; both by default.
        listed: the list of questions.

    Raises:
        DataError: the file lacks some of the questions: it is not train-v1.1.json.
    """
    wanted = {key: own for key, own in list_questions(listed).items() if part in (None, own)}
    found = set()
    for article in read_json(path, Squad).data:
        for paragraph in article.paragraphs:
            for question in paragraph.qas:
                keys = (question.id, hash_question(question.question))
                if key := next((key for key in keys if key in wanted), None):
                    found.add(key)
                    yield _to_example(article, paragraph, question, key)
    if len(found) < len(wanted):
        problem = f"has {len(found):,} of the {len(wanted):,} questions of squad-train-part"
        expected = "train-v1.1.json of SQuAD v1.1 has all of them"
        raise DataError(f"{problem}; {expected}: rejoinder data get squad-v1", path=path)


@cache
def list_questions(path: Path) -> dict[str, str]:
    """Return the part, fit or dev, of each id or hash."""
    return dict(line.split(" ") for _, line in read_lines(path))


def hash_question(question: str) -> str:
    """Return a hash of the letters and digits of a question.

    >>> hash_question("Who 's there ?") == hash_question("Who's there?")
    True
    """
    letters = "".join(filter(str.isalnum, question.lower()))
    return sha256(letters.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _to_example(
    article: SquadArticle, paragraph: SquadParagraph, question: SquadQuestion, key: str
) -> Example:
    context = paragraph.context
    sentences = split_sentences(context)
    labels = label_sentences(question, sentences)
    judged = [
        Judged(sentence.extract(context), label)
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    title = article.title if _ID.fullmatch(key) else context[:TITLE_LENGTH]
    return to_ordered_example(question.id, question.question, judged, title=title)
