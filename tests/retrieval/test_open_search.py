"""Queries to OpenSearch and Elasticsearch; without a server, no response is tested."""

import pytest

from rejoinder.errors import StoreError
from rejoinder.retrieval.open_search import (
    ElasticsearchRetriever,
    Fields,
    OpenSearchRetriever,
    to_body,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients' own


def test_any_word_counts_and_filters_are_exact() -> None:
    body = to_body("who?", 5, Fields(text="body"), {"lang": "en", "team": ["red", "blue"]})

    assert body["size"] == 5
    assert body["query"]["bool"]["must"]["multi_match"] == {
        "query": "who?",
        "fields": ["body", "title^0.3"],
    }
    assert body["query"]["bool"]["filter"] == [
        {"terms": {"metadata.lang": ["en"]}},
        {"terms": {"metadata.team": ["red", "blue"]}},
    ]


@pytest.mark.parametrize("kind", [OpenSearchRetriever, ElasticsearchRetriever])
def test_a_server_that_is_not_there_is_named(
    kind: type[OpenSearchRetriever | ElasticsearchRetriever],
) -> None:
    retriever = kind("http://127.0.0.1:1", "sentences")

    assert retriever.search(" ", 5) == []
    with pytest.raises(StoreError, match="the search server does not answer") as caught:
        retriever.search("who?", 5)
    assert "\n" not in str(caught.value)
