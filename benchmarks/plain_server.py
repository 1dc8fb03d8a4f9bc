"""A minimal rerank server: starlette around sentence-transformers' CrossEncoder.

Usage: python -m benchmarks.plain_server PORT

The encoder is the selector's base model, with one output.  The benchmark `serve` compares
`rejoinder serve` with it.
"""

import sys
from typing import Any

import uvicorn
from sentence_transformers import CrossEncoder
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rejoinder.models.encoders.loading import find_encoder


def create_app() -> Starlette:
    model = CrossEncoder(find_encoder(), num_labels=1, device="cpu")

    def rank(body: dict[str, Any]) -> list[dict[str, Any]]:
        scores = model.predict([(body["query"], text) for text in body["documents"]])
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        return [{"index": index, "relevance_score": float(scores[index])} for index in order]

    async def rerank(request: Request) -> JSONResponse:
        results = await run_in_threadpool(rank, await request.json())
        return JSONResponse({"results": results})

    return Starlette(routes=[Route("/v2/rerank", rerank, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(create_app(), port=int(sys.argv[1]), log_level="warning")
