"""The tool `cite`, through the SDK's own client."""

import time
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from mcp import Client

from rejoinder.engine.engine import Engine
from rejoinder.mcp.messages import MAX_ADDED, MAX_CITED
from rejoinder.server.settings import Settings
from tests.mcp.test_tools import MODES, TEA, call, run, text_of

ANSWER = f"{TEA} It is sold by lighthouse keepers."


@pytest.mark.parametrize("mode", MODES)
def test_results_match_the_schema(engine: Engine, settings: Settings, mode: str) -> None:
    calls: list[dict[str, Any]] = [
        {"answer": ANSWER},
        {"answer": ANSWER, "sources": ["It rained.", TEA]},
        {"answer": ANSWER, "where": {"team": "none"}},
        {"answer": ANSWER, "budget_ms": 0},
        {"answer": "Wie heiß ist der grüne Tee? Der Tee ist nicht heiß."},
    ]

    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        schema = next(tool.output_schema for tool in tools if tool.name == "cite")
        for arguments in calls:
            result = await client.call_tool("cite", arguments)
            assert not result.is_error, text_of(result)
            jsonschema.validate(result.structured_content, schema)

    run(engine, settings, work, mode=mode)


def test_citations_are_quoted_with_their_place(engine: Engine, settings: Settings) -> None:
    result = call(engine, settings, "cite", answer=ANSWER)

    found = result.structured_content
    first, second = found["sentences"]
    assert (found["supported"], found["unsupported"]) == (1, 1)
    assert ANSWER[first["start"] : first["end"]] == first["text"] == TEA
    (item, *_) = first["citations"]
    assert item["sentence"] == TEA
    assert item["document"].endswith("tea.md")
    assert item["uri"].startswith("rejoinder://documents/")
    assert second["citations"] == []
    shown = text_of(result)
    assert shown.startswith("1 supported, 1 without support:\n")
    assert f'1. supported: "{TEA}"\n   | "{TEA}"\n   {item["document"]}, line 3' in shown
    assert '2. unsupported: "It is sold by lighthouse keepers."' in shown


def test_a_budget_leaves_sentences_unread(engine: Engine, settings: Settings) -> None:
    hurried = replace(settings, budget_ms=0)

    results = [
        call(engine, settings, "cite", answer=ANSWER, budget_ms=0),
        call(engine, hurried, "cite", answer=ANSWER),
    ]

    for result in results:
        found = result.structured_content
        assert [item["verdict"] for item in found["sentences"]] == ["unread", "unread"]
        assert (found["supported"], found["unsupported"], found["unread"]) == (0, 0, 2)
        assert "support" in found["cut"]
        shown = text_of(result)
        assert shown.startswith("0 supported, 0 without support, 2 not checked in time:\n")
        assert "unsupported" not in shown
    whole = call(engine, hurried, "cite", answer=ANSWER, budget_ms=60_000).structured_content
    assert (whole["supported"], whole["unread"], whole["cut"]) == (1, 0, [])


def test_offsets_of_a_citation_are_those_of_read(engine: Engine, settings: Settings) -> None:
    found = call(engine, settings, "cite", answer=ANSWER).structured_content
    item = found["sentences"][0]["citations"][0]

    place: dict[str, Any] = {"from": item["start"], "to": item["end"]}
    part = call(engine, settings, "read", document=item["document"], **place)

    assert part.structured_content["text"] == item["sentence"]


def test_given_texts_are_cited_by_their_place(engine: Engine, settings: Settings) -> None:
    texts = ["It rained.", f"Hello. {TEA}"]

    found = call(engine, settings, "cite", answer=ANSWER, sources=texts).structured_content

    (item,) = found["sentences"][0]["citations"]
    assert (item["document"], item["uri"]) == ("1", "")
    assert texts[1][item["start"] : item["end"]] == TEA


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "missing required field `answer`"),
        ({"answer": ""}, "length >= 1"),
        ({"answer": " "}, "the answer has no sentence"),
        ({"answer": "a" * (MAX_CITED + 1)}, f"length <= {MAX_CITED}"),
        ({"answer": "It is so. " * 201}, "201 sentences; the limit is 200"),
        ({"answer": "It is.", "sources": []}, "length >= 1"),
        ({"answer": "It is.", "sources": "It is."}, "Expected `array | null`, got `str`"),
        ({"answer": "It is.", "sources": ["a\0"]}, "sources is not text: a null byte"),
        ({"answer": "It is.", "sources": ["<html>It is."]}, "source 0 is HTML"),
        ({"answer": "It is.", "sources": ["a" * (MAX_ADDED + 1)]}, "1,000,001 characters"),
        ({"answer": "It is.", "top": 3}, "it takes answer, sources, where"),
    ],
)
def test_bad_arguments_are_an_error_of_the_tool(
    engine: Engine, settings: Settings, arguments: dict[str, Any], problem: str
) -> None:
    result = call(engine, settings, "cite", **arguments)

    assert result.is_error
    assert problem in text_of(result)
    assert "\n" not in text_of(result)


def test_ten_megabytes_are_refused_at_once(engine: Engine, settings: Settings) -> None:
    begun = time.monotonic()

    result = call(engine, settings, "cite", answer="It is.", sources=["It is so. " * 1_000_000])

    assert result.is_error
    assert time.monotonic() - begun < 10
