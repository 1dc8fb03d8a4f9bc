"""Explanations: the words of an answer that match the question, by Cosinet's relatedness.

Bonadiman & Moschitti 2020: the relatedness of a word is its largest cosine to a word of the
other text; here with that word.  A match of rare words says more than one of frequent words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.text.words import FUNCTION_WORDS, word_set
from rejoinder.types import Answer, Answers, WordMatch

Weigh = Callable[[Sequence[str]], Sequence[float]]
"""Returns how rare each word is, from 0 to 1 (`Retriever.weigh_words`)."""

WEIGHTLESS = FUNCTION_WORDS | word_set(
    """
    after again all always before between both down during each either every few further given
    having hers himself however itself least less more most neither never no nor not now off often
    once only other others ours out over own per same since still than themselves though through
    thus under until up upon via well whether while within without yet yours
    """
)
"""Function words, and others that match in any text."""


def explain_answers(answers: Answers, weigh: Weigh | None = None) -> Answers:
    """Add the matching words to the answers; without `weigh`, all content words weigh 1."""
    vectors = load_vectors()
    texts = [answers.question, *(answer.sentence for answer in answers.answers)]
    words = list(dict.fromkeys(word for text in texts for word in _list_words(text)))
    weights = dict(zip(words, weigh(words), strict=True)) if weigh else {}

    def explain(answer: Answer) -> Answer:
        matches = match_words(answers.question, answer.sentence, vectors, weights)
        return replace(answer, matches=tuple(matches))

    return replace(answers, answers=tuple(map(explain, answers.answers)))


def match_words(
    question: str,
    sentence: str,
    vectors: StaticVectors,
    weights: Mapping[str, float] | None = None,
) -> list[WordMatch]:
    """Return the closest word of a sentence for each word of a question, in its order."""
    question_words = _list_words(question)
    words = _list_words(sentence)
    if not question_words or not words:
        return []
    cosines = vectors.embed(question_words) @ vectors.embed(words).T
    places = cosines.argmax(axis=1).tolist()
    return [
        WordMatch(
            word, other, round(float(row[place]), 3), _weigh_match(word, other, weights or {})
        )
        for word, place, row in zip(question_words, places, cosines, strict=True)
        for other in [words[place]]
    ]


def _weigh_match(word: str, other: str, weights: Mapping[str, float]) -> float:
    if word in WEIGHTLESS or other in WEIGHTLESS:
        return 0.0
    return round(min(weights.get(word, 1.0), weights.get(other, 1.0)), 3)


def _list_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(pretokenize(text)) if any(map(str.isalnum, word))]
