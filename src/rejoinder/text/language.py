"""Tells whether a text seems to be in another language than English, which the models read.

A question is too short for statistics of letters, but seldom has no function word at all.  Words
that English, or a manual in English, also has (`die`, `was`, `comment`, `du`) tell nothing.
"""

import re

_WORD = re.compile(r"[^\W\d_]+")
LAST_LATIN = "\u024f"
MIN_FOREIGN_WORDS = 2
"""One alone may be a name or an option, such as `-la`, unless the text has accents too."""

ENGLISH = """
    a about after all an and are as at be been but by can could did do does for from had has
    have how i if in into is it its may me must my no not of on or our out should so than that
    the their them then there these they this to up was we were what when where which who whom
    whose why will with would you your
"""
GERMAN = """
    auf aus bei das dem der ein eine einem einen einer für gibt haben ich ist kann kein keine
    mit nach nicht oder sich sie sind und vom von warum welche welchen welcher welches wenn wer
    werden wie wird wir wo wurde zum zur über
"""
FRENCH = """
    au aux avec ce cette dans elle et il je la le les ne nous où pas pourquoi quand que quel
    quelle quelles quels qui quoi sont sur un une vous
"""
SOUTHERN = """
    al che chi cuál cuándo cuánto cómo da das del della delle di dove dónde el em está gli hay
    los las más nel nella não onde os para perché por puede qual quale quando quem quién qué si
    sono são um uma una è
"""
"""Spanish, Portuguese and Italian."""
DUTCH = "de een en het hoe ik met niet te van voor waar wanneer wat welke wie zijn"
NORTHERN = """
    att av det där hur hvad hvordan hvor inte ikke jag jak jest jeg när nie och og som się vad
    vilken är
"""
"""Swedish, Danish, Norwegian and Polish."""
_ENGLISH = frozenset(ENGLISH.split())
_FOREIGN = frozenset(" ".join((GERMAN, FRENCH, SOUTHERN, DUTCH, NORTHERN)).split())


def is_foreign(text: str) -> bool:
    """Return whether a text seems not to be English; False if nothing tells.

    >>> [is_foreign(text) for text in ("Wie heiß ist grüner Tee?", "How hot is it?", "CUPS")]
    [True, False, False]
    """
    words = _WORD.findall(text.lower())
    letters = "".join(words)
    if sum(letter > LAST_LATIN for letter in letters) * 2 > len(letters):
        return True
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    needed = MIN_FOREIGN_WORDS if letters.isascii() else 1
    return foreign >= needed and foreign > english


def describe_language(question: str, text: str, *, noun: str = "answer") -> str:
    """Return a note where a question or a text seems not to be English, else an empty one.

    Args:
        noun: what the text is called in the note.
    """
    named = (("question", question), (noun, text))
    found = [name for name, text in named if is_foreign(text)]
    if not found:
        return ""
    subject = f"the {' and the '.join(found)} {'seems' if len(found) == 1 else 'seem'}"
    return f"{subject} to be in another language; rejoinder was measured on English alone"
