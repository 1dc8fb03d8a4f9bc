"""Haystack's rankers for Cohere and TEI: python haystack_clients.py ADDRESS."""

import asyncio
import sys

from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker
from haystack_integrations.components.rankers.huggingface_api import (
    HuggingFaceTEIRanker,
    TruncationDirection,
)

ADDRESS = sys.argv[1]
DOCUMENTS = ["It rained.", "Nobody came. Ada wrote it.", "Tea is hot."]
QUESTION = "who wrote it?"

RANKERS = [
    CohereRanker(api_key=Secret.from_token("any"), api_base_url=ADDRESS, top_k=2),
    HuggingFaceTEIRanker(url=ADDRESS, top_k=2, token=Secret.from_token("any")),
]


def check(results: list[Document]) -> None:
    assert results[0].content == DOCUMENTS[1]
    assert len(results) == 2
    assert results[0].score > results[1].score


for ranker in RANKERS:
    given = [Document(content=text) for text in DOCUMENTS]
    check(ranker.run(query=QUESTION, documents=given)["documents"])
    check(asyncio.run(ranker.run_async(query=QUESTION, documents=given))["documents"])
    sys.stdout.write(f"{type(ranker).__name__}: ok\n")

truncated = RANKERS[1].run(
    query=QUESTION,
    documents=[Document(content=text) for text in DOCUMENTS],
    truncation_direction=TruncationDirection.RIGHT,
)
check(truncated["documents"])
try:
    RANKERS[1].run(query="", documents=[Document(content="a")])
except Exception as error:
    assert "query is empty" in str(error) or "422" in str(error)  # noqa: PT017
else:
    raise AssertionError("an empty question was answered")
