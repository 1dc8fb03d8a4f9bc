"""Explanations: the words of an answer that match the question, by Cosinet's relatedness.

Bonadiman & Moschitti 2020: the relatedness of a word is its largest cosine to a word of the
other text; here with that word.
"""

from dataclasses import replace

from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Answer, Answers, WordMatch


def explain_answers(answers: Answers) -> Answers:
    """Add the matching words to the answers."""
    vectors = load_vectors()

    def explain(answer: Answer) -> Answer:
        matches = match_words(answers.question, answer.sentence, vectors)
        return replace(answer, matches=tuple(matches))

    return replace(answers, answers=tuple(map(explain, answers.answers)))


def match_words(question: str, sentence: str, vectors: StaticVectors) -> list[WordMatch]:
    """Return the closest word of a sentence for each word of a question, in its order."""
    question_words = _list_words(question)
    words = _list_words(sentence)
    if not question_words or not words:
        return []
    cosines = vectors.embed(question_words) @ vectors.embed(words).T
    places = cosines.argmax(axis=1).tolist()
    return [
        WordMatch(word, words[place], round(float(row[place]), 3))
        for word, place, row in zip(question_words, places, cosines, strict=True)
    ]


def _list_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(pretokenize(text)) if any(map(str.isalnum, word))]
