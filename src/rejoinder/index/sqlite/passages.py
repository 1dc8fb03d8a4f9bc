"""Reads the passages of sentences: the parts of their sections that they are in.

Two statements read the passages of all candidates of a question, and no passage is read twice.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from rejoinder.documents.passages import PART_LENGTH, find_part
from rejoinder.index.sqlite.documents import POSITION_BITS, DocumentStore, Place

CELL_BITS = 7
"""Sections are cut at every 128th block of a document: a table may have a million rows."""
REACH = 64
"""Sentences before and after one that its passage may have."""
_CELL = f"own.block >> {CELL_BITS} << {CELL_BITS}"
_BLOCKS = "blocks WHERE document = own.document AND number"
_SECTIONS = (
    # The offsets of the section: a run of blocks below the same headings.
    "SELECT document, position, start,"
    f" (SELECT start FROM {_BLOCKS} >= first LIMIT 1),"
    f' (SELECT "end" FROM {_BLOCKS} < last ORDER BY number DESC LIMIT 1) FROM ('
    "SELECT own.document, own.position, own.start,"
    f" coalesce((SELECT 1 + number FROM {_BLOCKS} < own.block AND number >= {_CELL}"
    f" AND path IS NOT named.path ORDER BY number DESC LIMIT 1), {_CELL}) AS first,"
    f" coalesce((SELECT number FROM {_BLOCKS} > own.block"
    f" AND number < ({_CELL}) + {1 << CELL_BITS}"
    f" AND path IS NOT named.path ORDER BY number LIMIT 1), ({_CELL}) + {1 << CELL_BITS}) AS last"
    " FROM json_each(?) AS place"
    f" CROSS JOIN sentences AS own ON own.document = place.value >> {POSITION_BITS}"
    f" AND own.position = place.value & {(1 << POSITION_BITS) - 1}"
    " CROSS JOIN blocks AS named ON named.document = own.document"
    " AND named.number = own.block) AS own"
)
_SENTENCES = (
    "SELECT part.key, text FROM (SELECT key, json_extract(value, '$[0]') AS document,"
    " json_extract(value, '$[1]') AS first, json_extract(value, '$[2]') AS behind,"
    " json_extract(value, '$[3]') AS near FROM json_each(?)) AS part"
    " CROSS JOIN sentences ON sentences.document = part.document"
    f" AND position BETWEEN near - {REACH} AND near + {REACH}"
    " WHERE start >= first AND start < behind ORDER BY part.key, position"
)


def get_passages(store: DocumentStore, places: Iterable[Place]) -> dict[Place, str]:
    """Return the passage of each sentence that is still there.

    Sentences of one passage get the same string.  A giant sentence is cut.
    """
    spans: dict[Place, tuple[int, int, int]] = {}
    """The document of each sentence, and the offsets of its passage there."""
    packed = json.dumps([number << POSITION_BITS | position for number, position in places])
    for number, position, start, first, last in store.query(_SECTIONS, (packed,)):
        spans[number, position] = (number, *find_part(start, (first, last)))
    near = {span: position for (_, position), span in spans.items()}
    rows = store.query(_SENTENCES, (json.dumps([(*span, at) for span, at in near.items()]),))
    distinct, passages = list(near), dict[tuple[int, int, int], str]()
    for key, own in groupby(rows, itemgetter(0)):
        passages[distinct[key]] = " ".join(text for _, text in own)[: 2 * PART_LENGTH]
    # A document may have been removed between the two statements.
    return {place: passages[span] for place, span in spans.items() if span in passages}
