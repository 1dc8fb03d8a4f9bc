"""Reranks documents with LangChain, then retrieves sentences from an index as part of a chain.

Usage: python examples/adapters/with_langchain.py      (needs rejoinder[langchain])
"""

import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

import rejoinder
from rejoinder.adapters.langchain import RejoinderRerank, RejoinderRetriever
from rejoinder.cli import main as run_rejoinder

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    documents = [
        Document(path.read_text(encoding="utf-8"), metadata={"source": path.name})
        for path in sorted(DOCS.iterdir())
    ]
    reranker = RejoinderRerank(top_n=2)
    for found in reranker.compress_documents(documents, "How many eggs does a queen lay?"):
        score = found.metadata["relevance_score"]
        print(f"{score:.2f}  {found.metadata['source']}: {found.metadata['rejoinder_sentence']}")

    with tempfile.TemporaryDirectory() as folder:
        index = ["index", "add", str(DOCS), "--index", folder]
        run_rejoinder(index, standalone_mode=False)
        engine = rejoinder.open(folder)
        chain = RejoinderRetriever(engine=engine, k=1) | RunnableLambda(cite)
        print(chain.invoke("How are glacier caves formed?"))
        engine.close()


def cite(found: list[Document]) -> str:
    sources = [f"{item.page_content} [{Path(item.metadata['source']).name}]" for item in found]
    return "\n".join(sources) or "No sentence answers that."


if __name__ == "__main__":
    main()
