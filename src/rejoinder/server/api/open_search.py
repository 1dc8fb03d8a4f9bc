"""The remote model of OpenSearch's semantic highlighter, for a connector of ml-commons.

One document is `question` and `context`, several are `inputs`; its connector sends all three keys,
the unused ones empty.  OpenSearch inserts its tags at offsets of Java strings, so these count
UTF-16 code units.
"""

from collections.abc import Sequence

from msgspec import Struct
from starlette.responses import Response

from rejoinder.engine.given import HTML_PROBLEM, is_html
from rejoinder.server.budget import read_cut
from rejoinder.server.operation import BUDGET_PARAMETER, Call, check_text, operation
from rejoinder.server.problems import Problem, to_json
from rejoinder.server.workers.messages import HighlightRequest, decode_highlights


class OpenSearchInput(Struct, frozen=True):
    """A question and the text of a document."""

    question: str
    context: str


class OpenSearchRequest(Struct, frozen=True):
    """A question and the text of a document, or a list of these."""

    question: str | None = None
    context: str | None = None
    inputs: list[OpenSearchInput] | None = None


class OpenSearchSpan(Struct, frozen=True):
    """A sentence at `[start, end)` of the text, in UTF-16 code units, as in Java."""

    start: int
    end: int


class OpenSearchOne(Struct, frozen=True):
    """The sentences of one document that answer, in its order."""

    highlights: list[OpenSearchSpan]


class OpenSearchMany(Struct, frozen=True):
    """For each document the sentences that answer, in its order."""

    highlights: list[list[OpenSearchSpan]]


@operation(
    *("POST", "/opensearch/highlight"),
    takes=OpenSearchRequest,
    gives=OpenSearchOne | OpenSearchMany,
    parameters=(BUDGET_PARAMETER,),
)
async def highlight(call: Call) -> Response:
    """Highlight as OpenSearch's semantic highlighter model does."""
    request = await call.read(OpenSearchRequest)
    if request.inputs:
        call.check_count(len(request.inputs), "inputs")
        for place, item in enumerate(request.inputs):
            call.check_question(item.question, f"inputs[{place}].question")
            check_text(item.context, f"inputs[{place}].context")
        many, cut = await _highlight(call, request.inputs)
        return to_json(OpenSearchMany(many), headers=cut)
    if not request.question or request.context is None:
        raise Problem(422, "give question and context, or inputs with a list of these")
    call.check_question(request.question, "question")
    check_text(request.context, "context")
    if is_html(request.context):
        raise Problem(422, f"context {HTML_PROBLEM}")
    one = OpenSearchInput(request.question, request.context)
    (spans,), cut = await _highlight(call, [one])
    return to_json(OpenSearchOne(spans), headers=cut)


async def _highlight(
    call: Call, inputs: Sequence[OpenSearchInput]
) -> tuple[list[list[OpenSearchSpan]], dict[str, str]]:
    """Return the highlights of each input, and the header of what the budget cut.

    Inputs with one question are read together; different questions share the budget.
    An input that is HTML has none: one bad document of a search does not cost the others theirs.
    """
    places: dict[str, list[int]] = {}
    for place, item in enumerate(inputs):
        places.setdefault(item.question, []).append(place)
    jobs = [
        HighlightRequest(question, [inputs[place].context for place in own])
        for question, own in places.items()
    ]
    replies = await call.submit_each(jobs, shared_budget=call.read_budget())
    found: dict[int, list[OpenSearchSpan]] = {}
    for own, reply in zip(places.values(), replies, strict=True):
        for place, document in zip(own, decode_highlights(reply).documents, strict=True):
            spans = [(item.start, item.end) for item in document.sentences if item.is_highlighted]
            found[place] = to_utf16(inputs[place].context, spans)
    return [found[place] for place in range(len(inputs))], read_cut(replies)


def to_utf16(text: str, spans: Sequence[tuple[int, int]]) -> list[OpenSearchSpan]:
    """Return spans of code points, in their order, as spans of UTF-16 code units.

    >>> [(span.start, span.end) for span in to_utf16("a🧊b. c", [(0, 4), (5, 6)])]
    [(0, 5), (6, 7)]
    """
    last = units = 0
    converted = []
    for start, end in spans:
        begin = units + _count_units(text[last:start])
        units = begin + _count_units(text[start:end])
        last = end
        converted.append(OpenSearchSpan(begin, units))
    return converted


def _count_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
