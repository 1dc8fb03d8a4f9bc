"""Reranks what a LlamaIndex retriever has found, and shows the sentence that answers.

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
    for found in reranker.postprocess_nodes(nodes, query_str="How many eggs does a queen lay?"):
        start, end = found.metadata["rejoinder_start"], found.metadata["rejoinder_end"]
        print(f"{found.score:.2f}  {found.node.node_id}[{start}:{end}]: {found.text[start:end]}")


if __name__ == "__main__":
    main()
