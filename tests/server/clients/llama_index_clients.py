"""LlamaIndex's rerankers for Cohere, TEI and Jina: python llama_index_clients.py ADDRESS."""

import sys

from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

ADDRESS = sys.argv[1]
DOCUMENTS = ["It rained.", "Nobody came. Ada wrote it.", "Tea is hot."]

RERANKERS = [
    CohereRerank(api_key="any", base_url=ADDRESS, top_n=2),
    JinaRerank(api_key="any", base_url=f"{ADDRESS}/v1", top_n=2),
    TextEmbeddingInference(base_url=ADDRESS, top_n=2),
]

for reranker in RERANKERS:
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in DOCUMENTS]
    results = reranker.postprocess_nodes(nodes, QueryBundle("who wrote it?"))
    assert results[0].node.text == DOCUMENTS[1], reranker
    assert len(results) == 2
    assert results[0].score > results[1].score
    sys.stdout.write(f"{type(reranker).__name__}: ok\n")

try:
    RERANKERS[1].postprocess_nodes([NodeWithScore(node=TextNode(text="a"))], QueryBundle(""))
except RuntimeError as error:
    assert str(error) == "query is empty"  # noqa: PT017
else:
    raise AssertionError("an empty question was answered")
