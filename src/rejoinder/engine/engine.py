"""Answers questions over documents that are held in memory."""

from collections.abc import Iterable

from rejoinder.engine.documents import ReadDocument
from rejoinder.errors import InputError
from rejoinder.records import Answer, Candidate, ScoredCandidate, Source
from rejoinder.runtime.bm25 import Bm25, CorpusStatistics
from rejoinder.runtime.ranking import rank


class Engine:
    """Ranks all sentences of its documents; headings are context, never answers."""

    def __init__(self, documents: Iterable[ReadDocument]) -> None:
        self._documents = {read.document.id: read for read in documents}
        self._candidates = [
            Candidate(f"{read.document.id}#{position}", text, read.document, position)
            for read in self._documents.values()
            for position, (text, sentence) in enumerate(
                zip(read.document.sentences, read.sentences, strict=True)
            )
            if not sentence.is_heading
        ]
        statistics = CorpusStatistics.from_texts(item.text for item in self._candidates)
        self._scorer = Bm25(corpus=statistics)

    @property
    def sentence_count(self) -> int:
        """How many sentences may be an answer."""
        return len(self._candidates)

    def answer(self, question: str, *, top: int = 1) -> list[Answer]:
        """Return the best sentences, best first; none when no sentence shares a word.

        Raises:
            InputError: the question is empty.
        """
        if not question.strip():
            raise InputError("the question is empty")
        ranking = rank(question, self._candidates, scorer=self._scorer)
        return [self._to_answer(item) for item in ranking.items[:top] if item.score > 0]

    def _to_answer(self, item: ScoredCandidate) -> Answer:
        candidate = item.candidate
        assert candidate.document is not None
        assert candidate.position is not None
        read = self._documents[candidate.document.id]
        sentence = read.sentences[candidate.position]
        source = Source(
            document=candidate.document.id,
            title=candidate.document.title,
            line=read.find_line(sentence.start),
            start=sentence.start,
            end=sentence.end,
        )
        return Answer(candidate.text, source, item.score, item.rank)
