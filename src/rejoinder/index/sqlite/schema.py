"""The tables of an index, and how those of an older format become them."""

FORMAT = 3

_FEEDBACK = """
CREATE TABLE feedback(
    id INTEGER PRIMARY KEY, sentence TEXT, question TEXT, is_right INTEGER,
    UNIQUE(sentence, question)
);
"""

_SEALS = "CREATE TABLE seals(document INTEGER PRIMARY KEY, digest BLOB);"
"""SQLite notices damage to its pages, not to what stands in them."""

SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files(
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, digest BLOB, metadata TEXT
) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, file BLOB, name TEXT, title TEXT,
    metadata TEXT, text BLOB, sentences INTEGER, generation INTEGER
);
CREATE INDEX documents_by_file ON documents(file);
CREATE INDEX documents_by_generation ON documents(generation);
CREATE TABLE sentences(
    document INTEGER, position INTEGER, start INTEGER, stop INTEGER, line INTEGER, page INTEGER,
    paragraph INTEGER, is_heading INTEGER, text TEXT, tokens BLOB,
    PRIMARY KEY(document, position)
) WITHOUT ROWID;
CREATE TABLE removed(document INTEGER PRIMARY KEY, generation INTEGER);
{_FEEDBACK}
{_SEALS}
"""

UPGRADES = {1: (_FEEDBACK,), 2: (_SEALS,)}
"""For each older format, the statements that make it the next one."""
