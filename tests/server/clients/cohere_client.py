"""The real `cohere` package, ClientV2 and Client: python cohere_client.py ADDRESS."""

import sys

import cohere

ADDRESS = sys.argv[1]
DOCUMENTS = ["It rained.", "Ünïcode stands first. Ada wrote it.", "Tea is hot."]
QUESTION = "who wrote it?"


def try_v2() -> None:
    client = cohere.ClientV2(api_key="any", base_url=ADDRESS)
    reply = client.rerank(
        model="rerank-v4.0-pro",
        query=QUESTION,
        documents=DOCUMENTS,
        top_n=2,
        max_tokens_per_doc=4096,
    )
    assert reply.results[0].index == 1
    assert len(reply.results) == 2
    assert reply.results[0].relevance_score > reply.results[1].relevance_score
    assert reply.id
    assert reply.meta is not None


def try_spans() -> None:
    client = cohere.ClientV2(api_key="any", base_url=ADDRESS)
    reply = client.rerank(
        model="rerank-v5.0-pro",
        query=QUESTION,
        documents=DOCUMENTS,
        relevant_spans=cohere.RerankRelevantSpans(mode="enabled", threshold=0.1, max_spans=1),
    )
    (span,) = reply.results[0].relevant_spans
    assert DOCUMENTS[1][span.start : span.end] == "Ada wrote it."
    assert 0.1 < span.score <= 1


def try_v1() -> None:
    client = cohere.Client(api_key="any", base_url=ADDRESS)
    reply = client.rerank(
        model="rerank-english-v3.0",
        query=QUESTION,
        documents=[{"text": text, "title": "A title"} for text in DOCUMENTS],
        rank_fields=["title", "text"],
        return_documents=True,
    )
    assert reply.results[0].index == 1
    assert reply.results[0].document.text == DOCUMENTS[1]


def try_errors() -> None:
    client = cohere.ClientV2(api_key="any", base_url=ADDRESS)
    try:
        client.rerank(model="any", query="", documents=DOCUMENTS)
    except cohere.UnprocessableEntityError as error:
        assert error.body == {"message": "query is empty"}  # noqa: PT017
    else:
        raise AssertionError("an empty question was answered")


try_v2()
if hasattr(cohere, "RerankRelevantSpans"):  # since release 7
    try_spans()
try_v1()
try_errors()
sys.stdout.write(f"cohere {cohere.__version__}: ok\n")
