"""Our own routes: answers, ranking, documents and feedback."""

from tempfile import NamedTemporaryFile
from typing import get_args

from msgspec import Struct
from starlette.responses import Response

from rejoinder.documents.formats import find_suffix
from rejoinder.engine.given import HTML_PROBLEM, is_html
from rejoinder.engine.texts import DocumentRanking
from rejoinder.errors import InputError
from rejoinder.index.report import FileEvent
from rejoinder.index.sqlite.documents import Sort
from rejoinder.index.update import check_upload_name
from rejoinder.server.budget import read_cut
from rejoinder.server.operation import (
    BUDGET_PARAMETER,
    WORKER_STATUSES,
    Call,
    Json,
    check_text,
    describe_parameter,
    operation,
    read_chunks,
)
from rejoinder.server.problems import Problem, to_json
from rejoinder.server.workers.messages import (
    AddDocument,
    AnswerRequest,
    CiteRequest,
    DocumentContent,
    DocumentsPage,
    Facets,
    Feedback,
    Highlighted,
    HighlightRequest,
    InputDocument,
    ListDocuments,
    ListFacets,
    RankRequest,
    ReadDocument,
    Removed,
    RemovedMany,
    RemoveDocument,
    RemoveDocuments,
)
from rejoinder.types import Answers, Citations

MAX_NAME_CHARACTERS = 500
ID: Json = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
AFTER: Json = {**ID, "default": 0}
CONTAINS: Json = {"type": "string", "default": ""}
LIMIT: Json = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
SORTS: tuple[Sort, ...] = get_args(Sort)
SORT: Json = {"type": "string", "enum": list(SORTS), "default": "added"}
MAX_REMOVED = 100
IDS: Json = {"type": "array", "items": ID, "minItems": 1, "maxItems": MAX_REMOVED}
NAME: Json = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARACTERS}
META: Json = {"type": "array", "items": {"type": "string", "pattern": "^[^=]+=.*$"}}


class ManyAnswers(Struct, frozen=True):
    """The answers to each of several questions, in their order."""

    results: list[Answers]


@operation(
    *("POST", "/v1/answer"),
    takes=AnswerRequest,
    gives=Answers | ManyAnswers,
    parameters=(BUDGET_PARAMETER,),
)
async def answer(call: Call) -> Response:
    """Answer a question, or each of a list, with a sentence of the index, or of a text."""
    request = await call.read(AnswerRequest)
    check_text(request.text or "", "text")
    jobs = request.list_jobs()
    if isinstance(request.question, str):
        call.check_question(request.question, "question")
        reply = await call.submit(jobs[0])
        return to_json(reply, headers=read_cut([reply]))
    call.check_count(len(jobs), "question")
    for place, job in enumerate(jobs):
        call.check_question(job.question, f"question[{place}]")
    replies = await call.submit_each(jobs)
    return to_json(b'{"results":[%b]}' % b",".join(replies), headers=read_cut(replies))


@operation(
    *("POST", "/v1/rank"),
    takes=RankRequest,
    gives=DocumentRanking,
    parameters=(BUDGET_PARAMETER,),
)
async def rank(call: Call) -> Response:
    """Rank documents, each by its best sentence."""
    request = await call.read(RankRequest)
    _check_documents(call, request)
    reply = await call.submit(request)
    return to_json(reply, headers=read_cut([reply]))


@operation(
    *("POST", "/v1/highlight"),
    takes=HighlightRequest,
    gives=Highlighted,
    parameters=(BUDGET_PARAMETER,),
)
async def highlight(call: Call) -> Response:
    """Rate every sentence of documents by how likely it answers, and prune them to those."""
    request = await call.read(HighlightRequest)
    _check_documents(call, request)
    if all(is_html(_get_text(document)) for document in request.documents):
        raise Problem(422, f"documents[0] {HTML_PROBLEM}")
    reply = await call.submit(request)
    return to_json(reply, headers=read_cut([reply]))


def _check_documents(call: Call, request: RankRequest | HighlightRequest) -> None:
    call.check_question(request.question, "question")
    call.check_count(len(request.documents), "documents")
    for place, document in enumerate(request.documents):
        check_text(_get_text(document), f"documents[{place}]")
        if not isinstance(document, str):
            check_text(document.title or "", f"documents[{place}].title")


def _get_text(document: str | InputDocument) -> str:
    return document if isinstance(document, str) else document.text


@operation(
    *("POST", "/v1/cite"),
    takes=CiteRequest,
    gives=Citations,
    parameters=(BUDGET_PARAMETER,),
)
async def cite(call: Call) -> Response:
    """Find the sentences of the index, or of texts, that support each sentence of an answer."""
    request = await call.read(CiteRequest)
    check_text(request.answer, "answer")
    if request.sources is not None:
        call.check_count(len(request.sources), "sources")
    for place, source in enumerate(request.sources or ()):
        texts = {"": source} if isinstance(source, str) else {".text": source.text}
        if not isinstance(source, str):
            texts |= {".id": source.id or "", ".title": source.title or ""}
        for field, text in texts.items():
            check_text(text, f"sources[{place}]{field}")
    reply = await call.submit(request)
    return to_json(reply, headers=read_cut([reply]))


@operation(
    *("GET", "/v1/documents"),
    gives=DocumentsPage,
    statuses=WORKER_STATUSES,
    parameters=(
        describe_parameter("after", "The `next` of the previous page; 0 for the first.", AFTER),
        describe_parameter("limit", "The size of a page.", LIMIT),
        describe_parameter(
            "contains", "Only documents with this in their name or title.", CONTAINS
        ),
        describe_parameter("sort", "The order; keep it from page to page.", SORT),
    ),
)
async def list_documents(call: Call) -> Response:
    """List the documents of the index, page by page."""
    query = call.request.query_params
    contains = query.get("contains", "")
    check_text(contains, "contains")
    named = query.get("sort", "added")
    sort = next((known for known in SORTS if known == named), None)
    if sort is None:
        raise Problem(422, f"sort must be one of {', '.join(SORTS)}")
    job = ListDocuments(
        after=_parse_number(query.get("after", "0"), "after", ID),
        limit=_parse_number(query.get("limit", "100"), "limit", LIMIT),
        contains=contains,
        sort=sort,
    )
    return to_json(await call.submit(job))


@operation("GET", "/v1/documents/facets", gives=Facets, statuses=WORKER_STATUSES)
async def list_facets(call: Call) -> Response:
    """List the metadata keys of the documents with their most frequent values."""
    return to_json(await call.submit(ListFacets()))


@operation(
    *("POST", "/v1/documents"),
    takes=bytes,
    gives=FileEvent,
    parameters=(
        describe_parameter(
            "name",
            "The file's name or relative path; its suffix determines the format.",
            NAME,
            is_required=True,
        ),
        describe_parameter("meta", "KEY=VALUE metadata, for `where`; may be repeated.", META),
    ),
    writes=True,
)
async def add_document(call: Call) -> Response:
    """Add a file: the body is the file itself."""
    query = call.request.query_params
    name = query.get("name", "")
    check_text(name, "name")
    if not name or len(name) > MAX_NAME_CHARACTERS:
        raise Problem(422, "name must be a file name, such as ?name=tea.md")
    try:
        check_upload_name(name)
    except InputError as error:
        raise Problem(422, f"name: {error}") from error
    metadata = _parse_metadata(query.getlist("meta"))
    call.backend.check_capacity()
    suffix = find_suffix(name)
    limits = call.settings.max_upload_bytes, call.settings.write_timeout_seconds
    with NamedTemporaryFile(suffix=".unknown" if suffix is None else suffix) as file:
        async for chunk in read_chunks(call.request, call.intake, *limits):
            file.write(chunk)
        file.flush()
        # A complete upload is added even if the client disconnects.
        return to_json(await call.backend.submit(AddDocument(name, file.name, metadata)))


ONE_DOCUMENT = (
    describe_parameter(
        "id", "The document's id, from the list.", ID, place="path", is_required=True
    ),
)


@operation(
    *("GET", "/v1/documents/{id}"),
    gives=DocumentContent,
    statuses=(404, *WORKER_STATUSES),
    parameters=ONE_DOCUMENT,
)
async def read_document(call: Call) -> Response:
    """Return a document's text, where its sentences are, and its metadata."""
    id_ = _parse_number(call.request.path_params["id"], "id", ID)
    return to_json(await call.submit(ReadDocument(id_)))


@operation(
    *("DELETE", "/v1/documents/{id}"),
    gives=Removed,
    statuses=(404, *WORKER_STATUSES),
    parameters=ONE_DOCUMENT,
    writes=True,
)
async def remove_document(call: Call) -> Response:
    """Remove a document."""
    id_ = _parse_number(call.request.path_params["id"], "id", ID)
    return to_json(await call.backend.submit(RemoveDocument(id_)))


@operation(
    *("DELETE", "/v1/documents"),
    gives=RemovedMany,
    statuses=WORKER_STATUSES,
    parameters=(
        describe_parameter("id", "The ids of the documents: `?id=1&id=2`.", IDS, is_required=True),
    ),
    writes=True,
)
async def remove_documents(call: Call) -> Response:
    """Remove several documents."""
    given = call.request.query_params.getlist("id")
    if not 1 <= len(given) <= MAX_REMOVED:
        raise Problem(422, f"id must be given 1 to {MAX_REMOVED} times, such as ?id=1&id=2")
    ids = [_parse_number(text, "id", ID) for text in given]
    return to_json(await call.backend.submit(RemoveDocuments(ids)))


@operation("POST", "/v1/feedback", takes=Feedback, gives=Feedback, writes=True)
async def give_feedback(call: Call) -> Response:
    """Mark an answer as right or wrong, for `rejoinder train`."""
    feedback = await call.read(Feedback)
    call.check_question(feedback.question, "question")
    check_text(feedback.sentence, "sentence")
    return to_json(await call.backend.submit(feedback))


OPERATIONS = (
    answer,
    rank,
    highlight,
    cite,
    list_documents,
    list_facets,
    read_document,
    add_document,
    remove_document,
    remove_documents,
    give_feedback,
)


def _parse_number(text: str, name: str, schema: Json) -> int:
    least, most = schema["minimum"], schema["maximum"]
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise Problem(422, f"{name} must be a number from {least} to {most}")
    return number


def _parse_metadata(pairs: list[str]) -> dict[str, str]:
    metadata = {}
    for pair in pairs:
        check_text(pair, "meta")
        key, mark, value = pair.partition("=")
        if not key or not mark:
            raise Problem(422, f"meta must be KEY=VALUE, got {pair!r:.80}")
        metadata[key] = value
    return metadata
