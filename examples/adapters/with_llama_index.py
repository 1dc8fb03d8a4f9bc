"""Rerank the nodes of a LlamaIndex retriever, and print the sentence that answers.

Usage: python examples/adapters/with_llama_index.py      (needs rejoinder[llama-index])
"""

from pathlib import Path

from llama_index.core.schema import NodeWithScore, TextNode

from rejoinder.adapters.llama_index import RejoinderRerank

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    nodes = [
        NodeWithScore(node=TextNode(text=path.read_text(encoding="utf-8"), id_=path.name))
        for path in sorted(DOCS.iterdir())
    ]
    reranker = RejoinderRerank(top_n=2, budget_ms=500)
    for hit in reranker.postprocess_nodes(nodes, query_str="How many eggs does a queen lay?"):
        start, end = hit.metadata["rejoinder_start"], hit.metadata["rejoinder_end"]
        print(f"{hit.score:.2f}  {hit.node.node_id}[{start}:{end}]: {hit.text[start:end]}")


if __name__ == "__main__":
    main()
