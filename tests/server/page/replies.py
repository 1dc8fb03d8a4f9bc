"""Replies of the server for answers that the examples do not have."""

from typing import Any

from playwright.sync_api import Page

Json = dict[str, Any]


def make_answer(sentence: str, context: list[Json], start: int, **fields: Any) -> Json:
    """Return an answer; `source` has the fields that are not of the answer itself."""
    own = {"rank": 1, "other_sources": [], "matches": [], "confidence": None}
    source = {
        "document": "folder/manual.md",
        "title": "Manual",
        "line": 4,
        "page": None,
        "headings": ["Setup"],
        "anchor": "",
        "document_id": 1,
        "url": "",
        "start": start,
        "end": start + len(sentence),
    }
    for key, value in fields.items():
        (own if key in own else source)[key] = value
    return {
        "sentence": sentence,
        "source": source,
        "score": 1.0,
        "found_by": ["words"],
        "context": context,
        **own,
    }


def reply_with(page: Page, *answers: Json) -> None:
    """Let the server answer every question with these."""
    reply = {
        "answers": answers,
        "abstains": False,
        "confidence": None,
        "scorer": "served",
        "retrieved": len(answers),
        "milliseconds": 1.0,
        "trace": [],
    }

    def fulfil(route: Any) -> None:
        route.fulfill(json={**reply, "question": route.request.post_data_json["question"]})

    page.route("**/v1/answer", fulfil)


def make_blocks(*blocks: tuple[str, str]) -> list[Json]:
    """Return blocks of a kind and a text, one empty line apart."""
    made, start = [], 0
    for kind, text in blocks:
        made.append({"kind": kind, "text": text, "start": start, "end": start + len(text)})
        start += len(text) + 2
    return made
