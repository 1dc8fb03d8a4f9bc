"""URLs of indexes in search engines."""

import pytest

from rejoinder.errors import InputError
from rejoinder.retrieval.url import parse_url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("my-index", "'my-index' is no search engine; known: opensearch://"),
        ("solr://host/tea", "'solr' is no search engine"),
        (
            "https://host:9200/tea",
            r"https:// names no engine; begin with one, like open",
        ),
        ("qdrant+ftp://host/tea", "'qdrant.ftp' is no search engine"),
        ("qdrant://host/Tea", "'Tea' cannot be the name of an index in qdrant: up to 40 of a-z"),
        ("qdrant://host/a/b", "'a/b' cannot be the name"),
        ("postgresql://host/db?name=t;DROP", "'t;DROP' cannot be the name"),
        ("qdrant://[host/tea", "not a URL of the form ENGINE://HOST:PORT/NAME"),
    ],
)
def test_a_wrong_url_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        parse_url(text)
    assert "\n" not in str(caught.value)


def test_parts_have_defaults() -> None:
    url = parse_url("qdrant+https://:s%2Fecret@one,[::1],two:6000")

    assert url.addresses == ["https://one:6333", "https://[::1]:6333", "https://two:6000"]
    assert (url.name, url.password, url.user) == ("rejoinder", "s/ecret", "")
    assert "ecret" not in url.shown


def test_the_client_of_postgresql_reads_the_rest() -> None:
    url = parse_url("postgres://me:pw@one,two:5433/db?name=tea&sslmode=require")

    assert url.rest == "postgresql://me:pw@one,two:5433/db?sslmode=require"
    assert url.place == "one:5432,two:5433/tea"
    assert "pw" not in url.shown + url.place
