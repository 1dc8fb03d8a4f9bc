"""Bodies that arrive at the same time share one limit of memory."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message

from rejoinder.server.intake import Intake
from rejoinder.server.operation import read_chunks
from rejoinder.server.problems import Problem

SCOPE = {"type": "http", "method": "POST", "headers": []}


class Client:
    """Sends a body of 100 bytes at a time."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Message] = asyncio.Queue()

    def send(self, *, more: bool = True) -> None:
        self.sent.put_nowait({"type": "http.request", "body": b"x" * 100, "more_body": more})

    async def read(self, intake: Intake) -> int:
        chunks = read_chunks(Request(SCOPE, self.sent.get), intake, 10_000, 60)
        return sum([len(chunk) async for chunk in chunks])


def test_bodies_beyond_the_limit_are_refused_and_the_others_arrive() -> None:
    async def run() -> None:
        intake = Intake(299)
        clients = [Client() for _ in range(3)]
        reading = [asyncio.create_task(client.read(intake)) for client in clients]
        for client in clients:
            client.send()
        with pytest.raises(Problem, match="too many bodies are arriving") as caught:
            await reading[2]
        assert caught.value.status == 503
        assert caught.value.headers["connection"] == "close"
        assert caught.value.headers["retry-after"] == "1"
        assert intake.bytes == 200
        clients[0].send(more=False)
        with pytest.raises(Problem):
            await reading[0]  # the third has left, but there is no room for 300 bytes
        clients[1].send(more=False)
        assert await reading[1] == 200
        assert intake.bytes == 0

    asyncio.run(run())


def test_a_client_that_disconnects_makes_room() -> None:
    async def run() -> None:
        intake, client = Intake(1_000), Client()
        reading = asyncio.create_task(client.read(intake))
        client.send()
        client.sent.put_nowait({"type": "http.disconnect"})
        with pytest.raises(Problem, match="disconnected"):
            await reading
        assert intake.bytes == 0

    asyncio.run(run())
