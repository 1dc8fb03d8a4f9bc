"""Tells whether a text seems to be in another language than English, which the models read.

A question is too short for statistics of letters, but seldom has no function word at all: those of
each language are counted against those of English.  A word that both have (`die`, `come`) counts
for both, and so tells nothing.
"""

import re
from collections import Counter

_WORD = re.compile(r"[^\W\d_]+")
FIRST_ACCENTED = "\u00c0"
LAST_LATIN = "\u024f"
MIN_FOREIGN_WORDS = 2
"""One alone may be a name or an option, such as `-la`."""

ENGLISH = """
    a about ad after ai all also am an and are as at be been before being between both but by can co
    com come comment could day did die dies do does doing don door dove down due during each era eu
    far for from go had ham has hat have hay he her him his hoe how i if in into io is it its just
    kim kind made man me men met mi min mit more most much must my na no non nor not now of off on
    one only or os other our out over own per pod ran same serve she should so some son such ten
    than that the their them then there these they this those till to too two under until up us var
    war was we were what when where which while who whom whose why will with would you your
"""
NAMES = """
    af al ben ci da de del den der dos du e el en es et fa fr han it la las los ma mon o po san se
    sv van va von y
"""
"""Parts of names, and codes: they say no more than a word that English has."""
LANGUAGES = {
    "German": """
        an auf aus bei das dass dem den der des die dies diese dieser dieses du ein eine einem einen
        einer er es für gibt habe haben hat heißt ich ihr im in ist kann kein keine kostet können
        macht man mein mich mir mit muss nach nicht oder ohne sein sich sie sind soll um und uns vom
        von vor wann war warum was weil welche welchen welcher welches wenn wer werden wie wieso wir
        wird wo wurde wurden zu zum zur zwei zwischen über""",
    "French": """
        ai au aux avec avez avoir ce ces cet cette combien comment dans de des deux du elle en es
        est et faire fait faut il ils imprimer installer je la le les leur lui mais mes mon ne nos
        notre nous on ont ou où par pas peut peux pour pourquoi quand que quel quelle quelles quels
        qui quoi sa sans se ses son sont sur très tu un une utiliser va vos votre vous être""",
    "Spanish": """
        al como con cual cuando cuanto cuantos cuesta cuál cuáles cuándo cuánto cuántos cómo de del
        desde donde dos dónde el en entre es esta este esto está están fue hace hacer hay la las lo
        los mi mis muy más no para pero por porque puede pueden puedo que quien quién qué se ser si
        sin sobre son su sus también tiene tienen un una unos ya""",
    "Portuguese": """
        ao aos as até com como custa da das de do dois dos duas em entre essa esse esta este está eu
        faz fazer fica foi há isso mais mas me meu minha muito na nas no nos não onde os ou para
        pela pelo pode podem por porque posso quais qual quando quanto quantos que quem se sem ser
        seu sua são também tem um uma você às é""",
    "Italian": """
        ad ai al alla alle anche che chi ci come con configuro cosa costa da dal dalla degli dei del
        della delle di dove due era essere fa faccio fare gli ha hanno ho il in installo io la le lo
        ma mi mia mio nei nel nella non per perché più posso possono può qual quale quali quando
        quanti quanto questa questo sei senza serve si sia sono stampare stampo su sul sulla
        trova un una uno uso è""",
    "Dutch": """
        aan als bij dan dat de deze die dit door een en er geen haar heb hebben heeft het hij hoe
        hoeveel ik in is je kan kost kun kunnen maar me mee met mijn moet naar niet nog of om onder
        ons ook op over te tot uit van veel voor waar waarmee waarom wanneer was wat we welk welke
        werd werden wie wij worden wordt ze zich zij zijn zo""",
    "Swedish": """
        alla att av blir de den det detta din du där efter eller en ett finns från för går ha har
        heter hon hur inte jag kan kostar ligger man med men min mot mycket ni när någon några och
        om oss på sedan sig sin ska skriver som till två under ut utan vad var vara varför vem vid
        vilka vilken vilket är över""",
    "Danish and Norwegian": """
        af alle at av både de den der det dette din du efter eller en er et etter for fra få ham han
        har heter hun hva hvad hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornår
        ikke jeg kan koster ligger man med min mot må noen nogle når og også om på sig skal som til
        to ut var ved vi vil være""",
    "Polish": """
        ale bez być był było co czego czy czym dla dlaczego do dwa dwie gdy gdzie go ich ile jak
        jaka jaki jakie jako jest jestem kiedy kosztuje kto która które który ma mam mi mnie mogę
        moja moje można na nad nie od oraz po pod przed przez przy się są tak te tego ten to tu
        tylko we za ze że żeby""",
    "Turkish": """
        ama ben bir bu bunu da daha de değil en gibi hangi hangisi her iki ile için kadar kaç kim
        kimdir mi mu mü mı nasıl ne neden nedir nelerdir nerede neresi neresidir niye niçin olan
        olarak olur sen siz var ve veya ya yok çok şu""",  # noqa: RUF001
}
"""Function words and some words of questions, also those that English has.

Single letters are not: they are options and initials.
"""
OPENERS = """
    combien como cuando cuál cuáles cuándo cuánto cuántos cómo czy dlaczego dónde gdzie hangi
    hoeveel hur hva hvad hvem hvilke hvilken hvor hvordan hvorfor jaka jakie kiedy kto nasıl när
    onde où perché posso pourquoi puedo quand quando que quel quelle quelles quels quem qui quién
    qué vad varför vem vilka vilken waar waarom wann wanneer warum welche welcher welches welke wie
    wieso
"""  # noqa: RUF001
"""Words that only ask: the first word of a text counts twice if it is one."""
LOANWORDS = "café cafés cliché déjà façade fiancé fiancée naïve pokémon résumé à"
"""Words that English writes with accents."""
_ENGLISH = frozenset(f"{ENGLISH} {NAMES}".split())
_OPENERS = frozenset(OPENERS.split())
_LOANWORDS = frozenset(LOANWORDS.split())
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _listed in LANGUAGES.items():
    for _word in set(_listed.split()):
        _LANGUAGES_OF.setdefault(_word, []).append(_language)


def is_foreign(text: str) -> bool:
    """Return whether a text seems not to be English; False if nothing tells.

    >>> [is_foreign(text) for text in ("Wie heiß ist grüner Tee?", "How hot is it?", "CUPS")]
    [True, False, False]
    """
    written = _WORD.findall(text)
    letters = "".join(written)
    if sum(letter > LAST_LATIN for letter in letters) * 2 > len(letters):
        return True
    words = [word.lower() for word in written]
    asking = [word for word in words[:1] if word in _OPENERS]
    counts = Counter(
        language for word in words + asking for language in _LANGUAGES_OF.get(word, ())
    )
    foreign = max(counts.values(), default=0) + sum(map(_is_accented, written))
    english = sum(word in _ENGLISH for word in words)
    return foreign >= MIN_FOREIGN_WORDS and foreign > english


def _is_accented(word: str) -> bool:
    """Return whether a word has accents, and is not listed, borrowed or a name."""
    if word.isascii() or not word.islower() or word in _LOANWORDS or word in _LANGUAGES_OF:
        return False
    return any(FIRST_ACCENTED <= letter <= LAST_LATIN for letter in word)


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
