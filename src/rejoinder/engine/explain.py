"""Shows which words of a question an answer matches: Cosinet's relatedness.

Bonadiman & Moschitti 2020: each word of the question keeps its largest cosine to a word of the
sentence; here with the word that it belongs to.
"""

from dataclasses import replace

from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Answer, Answers, WordMatch


def explain_answers(answers: Answers, vectors: StaticVectors) -> Answers:
    """Return the answers, and the closest sentence, with the words that match the question's."""

    def explain(answer: Answer) -> Answer:
        matches = match_words(answers.question, answer.sentence, vectors)
        return replace(answer, matches=tuple(matches))

    explained = tuple(map(explain, answers.answers))
    closest = explain(answers.closest) if answers.closest else None
    return replace(answers, answers=explained, closest=closest)


def match_words(question: str, sentence: str, vectors: StaticVectors) -> list[WordMatch]:
    """Return the closest word of a sentence for each word of a question, in its order."""
    asked = _list_words(question)
    words = _list_words(sentence)
    if not asked or not words:
        return []
    cosines = vectors.embed(asked) @ vectors.embed(words).T
    places = cosines.argmax(axis=1).tolist()
    return [
        WordMatch(word, words[place], round(float(row[place]), 3))
        for word, place, row in zip(asked, places, cosines, strict=True)
    ]


def _list_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(pretokenize(text)) if any(map(str.isalnum, word))]
