"""Make statements with the sentences that support them, to train `cite` on and to measure it.

Usage: python -m benchmarks.statements --data DATA --to FOLDER

Writes FOLDER/fit.jsonl.gz and FOLDER/dev.jsonl.gz, lists in our own format: the `question` of a
list is a statement, and its candidates are sentences of one page, those that support it labelled.
No statement of a page in dev is in fit.

- Claims are FEVER's, FoolMeTwice's and WiCE's own.  A claim that the page refutes has no
  supporting sentence, and its evidence among the candidates.
- Other statements are made of a question and its answer, by rule: "When did Ada write it?" and
  "1843" become "Ada wrote it in 1843.".  The pool does not say where in its sentence an answer is:
  it is a date, a number or a name there, if exactly one of them fits.  A question that no rule fits
  is left out, and so are those of MultiSpanQA.
- A false statement has the answer of another question of the page, of the same kind, in the place
  of its own.  The page has no supporting sentence for it.
"""

import argparse
import gzip
import hashlib
import heapq
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpus_lists import MULTI_SPAN
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.readers.evidence import SEED
from rejoinder.datasets.readers.jsonl import write_examples
from rejoinder.datasets.readers.judged import shuffle
from rejoinder.text.words import word_set
from rejoinder.types import Candidate, Document, Example

MIN_OTHERS = 2
FIT_CANDIDATES = 8
MAX_CANDIDATES = 12
"""Sentences of a list: those that support, and those that share most words with the statement; a
list has at least `MIN_OTHERS` of the latter.  Lists to train on are shorter: `FIT_CANDIDATES`."""
CLAIMS_HELD_OUT = 5
"""One claim in so many is in dev: the pages of the claims are in no other training."""
FALSE_SHARE = 0.5
"""False statements, as a share of the statements that they are made of."""
KINDS = ("year", "number", "name")
_WORD = re.compile(r"\w+")
_STOP = word_set(
    """a an and are as at be by did do does for from had has have in is it its of on or that the to
    was were which who whom whose what when where with"""
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer as a phrase, and its page."""

    id: str
    question: str
    answer: str
    title: str
    sentences: tuple[str, ...]
    labels: tuple[bool, ...]
    held_out: bool


# Statements from questions -----------------------------------------------------------------------

_BE = word_set("is are was were")
_MODAL = word_set("can could will would should must may might has have had")
_DO = word_set("did does do")
_SUBJECT = word_set("who what which")
_PARTICIPLE = word_set(
    """born built begun broken brought bought caught chosen cut drawn driven eaten fought forbidden
    found given grown held hidden hit hurt kept known laid led left lost made meant met paid put
    read ridden risen run said seen sent set shot shown shut sold spent spoken stolen struck sung
    sunk taken taught thought thrown told understood won worn written become based"""
)
_BASE = word_set(
    """accept achieve act add adopt aim allow announce appear apply argue arrive ask attack attempt
    attend ban become begin believe belong break bring build buy call cause change choose claim
    come compare compete complete conquer consider consist contain continue contribute control
    cover create decide declare defeat depend describe design develop die discover drop earn eat
    edit emerge employ end enter establish exist expand experience fall feel fight file fill find
    finish fly focus follow force form found gain get give go grow happen have help hit hold host
    identify include increase influence introduce invade invent join keep kill know last launch
    lead learn leave live lose love make marry mean meet merge move name need occur offer open
    operate oppose organize originate own pass pay perform place play possess prefer prevent
    produce promote propose protect prove provide publish purchase put reach read receive record
    refer refuse reign reject release rely remain remove replace represent require result return
    ring rise rule run say see seek sell send serve set share show sign sing sit speak spend split
    spread stand star start state stay stop study succeed suffer suggest support take teach tell
    think translate travel try turn use view visit vote want win work write"""
)
_PAST_FORMS = """
    become:became begin:began break:broke bring:brought build:built buy:bought choose:chose
    come:came eat:ate fall:fell feel:felt fight:fought find:found fly:flew get:got give:gave go:went
    grow:grew have:had hit:hit hold:held keep:kept know:knew lead:led learn:learned leave:left
    lose:lost make:made mean:meant meet:met pay:paid put:put read:read ring:rang rise:rose run:ran
    say:said see:saw seek:sought sell:sold send:sent set:set show:showed sing:sang sit:sat
    speak:spoke spend:spent split:split spread:spread stand:stood take:took teach:taught tell:told
    think:thought try:tried win:won write:wrote
"""
_PAST = dict(pair.split(":") for pair in _PAST_FORMS.split())
_TIME = re.compile(r"(?i)(?:in )?(?:what|which) (?:year|month|century|decade)\b")
_PREPOSITION = re.compile(
    r"(?i)(?:in|on|at|by|from|to|near|during|after|before|since|until|around|between|early|late)\b"
)


def make_statement(question: str, answer: str) -> str | None:
    """Return a question and its answer as a statement; None if no rule fits.

    >>> make_statement("When did Ada write the notes?", "1843")
    'Ada wrote the notes in 1843.'
    >>> make_statement("who wrote the notes", "Ada")
    'Ada wrote the notes.'
    """
    text = " ".join(question.split()).rstrip(" ?.").strip()
    answer = " ".join(answer.split()).strip(" .,;")
    words = text.split()
    if not 3 <= len(words) <= 24 or not 1 <= len(answer.split()) <= 12:
        return None
    made = _state(words, answer)
    return None if made is None else f"{made[0].upper()}{made[1:]}."


def _state(words: list[str], answer: str) -> str | None:
    first, second = words[0].lower(), words[1].lower()
    text = " ".join(words)
    if match := _TIME.match(text):
        return _state_order(text[match.end() :].split(), _place(answer, "in"))
    if first in ("when", "where"):
        return _state_order(words[1:], _place(answer, "in"))
    if text.lower().startswith(("how many ", "how much ")):
        return _state_amount(words[2:], answer)
    if first not in _SUBJECT:
        return None
    if second in _DO or (second in _BE and first != "who"):
        return _state_order(words[1:], answer)
    if first == "who" and (second in _BE | _MODAL or _is_verb(second)):
        return f"{answer} {' '.join(words[1:])}"
    if first == "who":
        return None
    return _state_noun(words[1:], answer)


def _state_noun(words: list[str], answer: str) -> str | None:
    """Return the statement of "which NOUN …", without its first word."""
    for place, word in enumerate(words[:6]):
        low = word.lower()
        if low in _DO and place:
            return _state_order(words[place:], f"the {' '.join(words[:place])} {answer}")
        if place and (low in _BE | _MODAL or low.endswith("ed")):
            return f"{answer} {' '.join(words[place:])}"
    return None


def _state_amount(words: list[str], answer: str) -> str | None:
    for place, word in enumerate(words[:5]):
        low = word.lower()
        amount = f"{answer} {' '.join(words[:place])}"
        if place and words[place - 1].lower() in answer.lower().split():
            amount = answer
        if low in _DO and place:
            return _state_order(words[place:], amount)
        if low in _BE | _MODAL and place:
            return f"{amount} {' '.join(words[place:])}"
    return None


def _state_order(words: list[str], answer: str) -> str | None:
    """Return the statement of "did SUBJECT VERB REST" with the answer at its end."""
    if len(words) < 2:
        return None
    aux, rest = words[0].lower(), words[1:]
    if aux in _DO:
        for place, word in enumerate(rest):
            if place and word.lower() in _BASE:
                verb = _inflect(word.lower(), aux)
                return " ".join([*rest[:place], verb, *rest[place + 1 :], answer])
        return None
    if aux in _BE | _MODAL:
        for place, word in enumerate(rest):
            low = word.lower()
            if place and (low in _PARTICIPLE or (low.endswith("ed") and len(low) > 4)):
                return " ".join([*rest[:place], aux, *rest[place:], answer])
        return " ".join([*rest, aux, answer]) if aux in _BE else None
    return None


def _inflect(verb: str, aux: str) -> str:
    if aux == "do":
        return verb
    if aux == "does":
        if verb == "have":
            return "has"
        is_long = verb.endswith(("s", "sh", "ch", "x", "o"))
        is_y = verb.endswith("y") and verb[-2] not in "aeou"
        return f"{verb[:-1]}ies" if is_y else f"{verb}{'es' if is_long else 's'}"
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


def _is_verb(word: str) -> bool:
    return word.endswith("ed") or word in _PAST.values() or word.removesuffix("s") in _BASE


def _place(answer: str, preposition: str) -> str:
    return answer if _PREPOSITION.match(answer) else f"{preposition} {answer}"


# Answers of the pool -----------------------------------------------------------------------------

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE = re.compile(
    rf"(?:{_MONTH} \d{{1,2}}, |\d{{1,2}} {_MONTH} |{_MONTH} )?\b1?\d{{3}}\b|\b20\d\d\b"
)
_NUMBER = re.compile(r"\b\d[\d,.]*\d\b(?: (?:million|billion|percent|%))?|\b\d\b")
_NAME = re.compile(r"\b[A-Z][\w.'’-]+(?: (?:of |the |de |von )?[A-Z][\w.'’-]+)+")


def guess_answer(question: str, sentence: str) -> str | None:
    """Return the one date, number or name of a sentence that may answer; None if not sure."""
    low = question.lower()
    if low.startswith("when") or re.search(r"(?:what|which) year", low):
        found = _DATE.findall(sentence)
    elif low.startswith(("how many", "how much")):
        found = [
            item for item in _NUMBER.findall(sentence) if not re.fullmatch(r"1\d{3}|20\d\d", item)
        ]
    elif low.startswith("who"):
        found = _NAME.findall(sentence)
    else:
        return None
    asked = set(_WORD.findall(low))
    new = {item for item in found if not asked & {*_WORD.findall(item.lower())} - _STOP}
    return new.pop() if len(new) == 1 else None


def find_kind(answer: str) -> str:
    """Return the kind of an answer, one of `KINDS`, or "other"."""
    if _DATE.search(answer):
        return "year"
    if re.search(r"\d", answer):
        return "number"
    return "name" if answer[:1].isupper() else "other"


# Lists -------------------------------------------------------------------------------------------


def read_asked(data: Path) -> Iterator[Asked]:
    """Yield questions with the phrase that answers, those of QED, SQuAD and the pool."""
    spans = read_spans(data)
    sources = ("qed:fit", "qed:dev", "squad-v1:dev-not-in-v2", "nq-oracle:fit", "nq-oracle:dev")
    for name in (*sources, "squad-train-part:fit", "squad-train-part:dev"):
        for example in open_dataset(name, folder=data):
            right = [
                item for item, is_ in zip(example.candidates, example.labels, strict=True) if is_
            ]
            if not right:
                continue
            answer = spans.get(example.id) or guess_answer(example.question, right[0].text)
            document = right[0].document
            if answer and document:
                yield Asked(
                    f"{name.split(':')[0]}/{example.id}",
                    example.question,
                    answer,
                    document.title,
                    tuple(item.text for item in example.candidates),
                    example.labels,
                    name.endswith(":dev"),
                )


def read_spans(data: Path) -> dict[str, str]:
    """Return the phrases that answer the questions of QED and of SQuAD v1.1, by id."""
    spans = {}
    for path in sorted((data / "qed-nq").glob("*.jsonlines")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if len(row["answer_text"]) == 1:
                spans[str(row["example_id"])] = row["answer_text"][0]
    squad = json.loads((data / "squad" / "dev-v1.1.json").read_text(encoding="utf-8"))
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            for row in paragraph["qas"]:
                spans[row["id"]] = row["answers"][0]["text"]
    return spans


def read_excluded(data: Path) -> set[str]:
    """Return the questions of MultiSpanQA, as `_normalise` writes them."""
    with gzip.open(data / MULTI_SPAN, "rt", encoding="utf-8") as file:
        rows = json.load(file)["data"]
    return {_normalise(" ".join(row["question"])) for row in rows}


def make_stated(asked: Iterable[Asked], excluded: set[str]) -> Iterator[Example]:
    """Yield the lists of statements made of questions, and of false ones."""
    pages: dict[str, dict[str, None]] = defaultdict(dict)
    by_kind: dict[tuple[str, str], list[str]] = defaultdict(list)
    kept = []
    for item in asked:
        pages[item.title].update(dict.fromkeys(item.sentences))
        by_kind[item.title, find_kind(item.answer)].append(item.answer)
        if _normalise(item.question) not in excluded:
            kept.append(item)
    for item in kept:
        statement = make_statement(item.question, item.answer)
        if statement is None:
            continue
        support = {text for text, label in zip(item.sentences, item.labels, strict=True) if label}
        page = list(pages[item.title])
        yield make_list(item.id, statement, page, support, item.title, held_out=item.held_out)
        draw = random.Random(item.id)
        others = by_kind[item.title, find_kind(item.answer)]
        wrong = [text for text in others if not _share_words(text, item.answer)]
        if wrong and draw.random() < FALSE_SHARE:
            false = make_statement(item.question, draw.choice(wrong))
            if false:
                yield make_list(
                    *(f"{item.id}/false", false, page, set(), item.title),
                    held_out=item.held_out,
                    shown=support,
                )


def make_list(
    id: str,
    statement: str,
    page: Sequence[str],
    support: AbstractSet[str],
    title: str,
    *,
    held_out: bool,
    shown: AbstractSet[str] = frozenset(),
) -> Example:
    """Return a list of the sentences that support, or are shown, and of the closest others."""
    limit = MAX_CANDIDATES if held_out else FIT_CANDIDATES
    wanted = {word for word in _WORD.findall(statement.lower()) if word not in _STOP}
    scores = Counter({text: len(wanted & {*_WORD.findall(text.lower())}) for text in page})
    close = [text for text, _ in scores.most_common() if text not in support | shown]
    room = max(4, limit - len(support | shown))
    chosen = {*support, *shown, *close[:room]}
    texts = [text for text in page if text in chosen]
    document = Document("page", title)
    candidates = tuple(
        Candidate(str(place), text, document, place) for place, text in enumerate(texts)
    )
    return Example(id, statement, candidates, tuple(text in support for text in texts))


def read_claims(data: Path) -> Iterator[tuple[bool, Example]]:
    """Yield the lists of the claims, and whether each is held out."""
    for name, read in (
        ("fm2-dev", read_fm2_lists),
        ("wice-dev", _read_wice),
        ("fever-part", _read_fever),
    ):
        with gzip.open(data / "claims" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        yield from read(rows)


def read_fm2_lists(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[bool, Example]]:
    """Yield the list of each claim, and whether it is held out."""
    for number, row in enumerate(rows):
        evidence = {_clean(item["text"]) for item in row["gold_evidence"]}
        found = [_clean(item["text"]) for item in row["retrieved_evidence"]]
        # The evidence often comes last, which scorers that read order learn and exploit.
        page = shuffle(list(dict.fromkeys([*found, *sorted(evidence)])), seed=SEED, index=number)
        title = row["wikipedia_page"]
        support = evidence if row["label"] == "SUPPORTS" else set()
        held_out, name = _is_held_out(title), f"fm2/{row['id']}"
        yield (
            held_out,
            make_list(
                *(name, _clean(row["text"]), page, support, title),
                held_out=held_out,
                shown=evidence,
            ),
        )


def _read_wice(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[bool, Example]]:
    for row in rows:
        if row["label"] == "partially_supported":
            continue  # its sentences support some of it: neither a citation nor none
        sets = [chosen for chosen in row["supporting_sentences"] if chosen]
        page = [_clean(text) for text in row["evidence"]]
        right = {page[place] for chosen in sets for place in chosen}
        support = right if row["label"] == "supported" else set()
        title = page[0].removeprefix("(meta data) TITLE: ")
        id = hashlib.sha256(row["claim"].encode()).hexdigest()[:12]
        if len(right) > MAX_CANDIDATES:
            continue
        sentences = [text for text in dict.fromkeys(page[1:]) if text]
        held_out, name = _is_held_out(title), f"wice-{row['label']}/{id}"
        yield (
            held_out,
            make_list(
                *(name, _clean(row["claim"]), sentences, support, title),
                held_out=held_out,
                shown=right,
            ),
        )


def _read_fever(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[bool, Example]]:
    """Read claims without their pages: claims that share evidence are about one page."""
    parts = _join_rows(rows)
    pools: dict[str, dict[str, None]] = defaultdict(dict)
    for row, part in zip(rows, parts, strict=True):
        pools[part].update(dict.fromkeys(map(_clean, row["evidence"])))
    everything: dict[bool, list[str]] = {held: [] for held in (False, True)}
    for part, texts in pools.items():
        everything[_is_held_out(part)].extend(texts)
    by_word = {held: _index(texts) for held, texts in everything.items()}
    for row, part in zip(rows, parts, strict=True):
        held, claim = _is_held_out(part), _clean(row["claim"])
        evidence = {_clean(text) for text in row["evidence"]}
        if len(evidence) > 4:
            continue  # sentences of several pages, most of which do not support it alone
        support = evidence if row["label"] == "SUPPORTS" else set()
        others = _find_close(claim, everything[held], by_word[held])
        page = list(dict.fromkeys([*sorted(evidence), *pools[part], *others]))
        random.Random(claim).shuffle(page)
        id = hashlib.sha256(claim.encode()).hexdigest()[:12]
        yield (
            held,
            make_list(
                *(f"fever-{row['label'].lower()}/{id}", claim, page, support, ""),
                held_out=held,
                shown=evidence,
            ),
        )


def _join_rows(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a name for each claim; claims that share a sentence of evidence have the same."""
    parent: dict[str, str] = {}

    def find(text: str) -> str:
        while parent.setdefault(text, text) != text:
            text = parent[text]
        return text

    for row in rows:
        first, *others = row["evidence"]
        for other in others:
            parent[find(other)] = find(first)
    return [find(row["evidence"][0]) for row in rows]


def _index(texts: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        for word in {*_WORD.findall(text.lower())} - _STOP:
            places[word].append(place)
    return places


def _find_close(claim: str, texts: Sequence[str], places: dict[str, list[int]]) -> list[str]:
    """Return sentences of other claims that share the rarest words."""
    scores: dict[int, float] = defaultdict(float)
    for word in sorted({*_WORD.findall(claim.lower())} - _STOP):
        for place in places.get(word, ()):
            scores[place] += 1 / len(places[word])
    return [
        texts[place] for place in heapq.nlargest(MAX_CANDIDATES, scores, key=scores.__getitem__)
    ]


_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "``": '"',
    "''": '"',
    "--": "–",
}


def _clean(text: str) -> str:
    """Return tokenised text as people write it."""
    for mark, sign in _BRACKETS.items():
        text = text.replace(mark, sign)
    text = re.sub(r" ([.,;:!?)\]%]|'s\b|n't\b)", r"\1", " ".join(text.split()))
    return re.sub(r"([(\[]) ", r"\1", text)


def _normalise(question: str) -> str:
    return " ".join(_WORD.findall(question.lower()))


def _share_words(one: str, other: str) -> bool:
    first, second = ({*_WORD.findall(text.lower())} - _STOP for text in (one, other))
    return bool(first & second)


def _is_held_out(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % CLAIMS_HELD_OUT == 0


def make_lists(data: Path) -> dict[str, list[Example]]:
    """Return the lists of each part, fit and dev."""
    parts: dict[str, list[Example]] = {"fit": [], "dev": []}
    asked: dict[bool, list[Asked]] = {False: [], True: []}
    for item in read_asked(data):
        asked[item.held_out].append(item)
    titles = {item.title for item in asked[True]}
    asked[False] = [item for item in asked[False] if item.title not in titles]
    excluded = read_excluded(data)
    for held, items in asked.items():
        parts["dev" if held else "fit"] += make_stated(items, excluded)
    for held, example in read_claims(data):
        parts["dev" if held else "fit"].append(example)
    return {part: list(filter(_is_hard, examples)) for part, examples in parts.items()}


def _is_hard(example: Example) -> bool:
    """Return whether a list has other sentences than those that support its statement."""
    return example.labels.count(False) >= MIN_OTHERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    for part, examples in make_lists(arguments.data).items():
        write_examples(arguments.to / f"{part}.jsonl.gz", examples)
        counts = Counter(example.id.split("/")[0] for example in examples)
        shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        print(f"{part}: {len(examples):,} lists: {shown}", file=sys.stderr)


if __name__ == "__main__":
    main()
