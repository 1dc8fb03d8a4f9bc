"""What tests look at in a parsed document."""

from pathlib import Path

from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock, Sentence
from rejoinder.documents.reading import read_file
from rejoinder.documents.sandbox import SandboxedReader


class ReadDocument:
    """A document that was read to its end."""

    def __init__(self, document: ParsedDocument) -> None:
        self.name = document.name
        self.title = document.title
        self.metadata = document.metadata
        self.blocks: list[SegmentedBlock] = list(document.blocks)
        self.sentences: list[Sentence] = [
            sentence for block in self.blocks for sentence in block.sentences
        ]
        self.text = "".join(block.gap + block.text for block in self.blocks)


def read_whole(path: Path, sandbox: SandboxedReader) -> list[ReadDocument]:
    """Read the documents of a file to their end."""
    return [ReadDocument(document) for document in read_file(path, sandbox=sandbox)]
