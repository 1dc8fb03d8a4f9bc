"""Rerank documents with LangChain, then retrieve sentences from an index as part of a chain.

Usage: python examples/adapters/with_langchain.py      (needs rejoinder[langchain])
"""

import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

import rejoinder
from rejoinder.adapters.langchain import RejoinderRerank, RejoinderRetriever

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    documents = [
        Document(path.read_text(encoding="utf-8"), metadata={"source": path.name})
        for path in sorted(DOCS.iterdir())
    ]
    reranker = RejoinderRerank(top_n=2)
    for document in reranker.compress_documents(documents, "How many eggs does a queen lay?"):
        score = document.metadata["relevance_score"]
        print(
            f"{score:.2f}  {document.metadata['source']}: {document.metadata['rejoinder_sentence']}"
        )

    with tempfile.TemporaryDirectory() as folder:
        with rejoinder.Index(folder, create=True) as index:
            index.add([DOCS])
        engine = rejoinder.open(folder)
        chain = RejoinderRetriever(engine=engine, k=1) | RunnableLambda(cite)
        print(chain.invoke("How are glacier caves formed?"))
        engine.close()


def cite(documents: list[Document]) -> str:
    sources = [f"{item.page_content} [{Path(item.metadata['source']).name}]" for item in documents]
    return "\n".join(sources) or "No sentence answers that."


if __name__ == "__main__":
    main()
