"""The declarations of migrations are true: what is declared additive contains only additive statements."""
import pathlib
import re

import pytest
from lib import additive

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIGRATIONS = sorted((ROOT / "schema").glob("*.sql"))
SOURCES = {path: path.read_text() for path in sorted((ROOT / "src/store").rglob("*.[ch]"))}
# The previous release replaces the rows of these tables; this one updates them.
PREVIOUS_RELEASE = "INSERT OR REPLACE INTO platform_posts; INSERT OR REPLACE INTO platform_limits;"
PROGRAM = additive.Program(PREVIOUS_RELEASE + re.sub(r'"\s*\\?\n\s*"', "", "".join(SOURCES.values())))

# Migrations up to this number are released together with `author erase`. So the programs that must tolerate them delete
# no authors, videos or books.
LAST_BEFORE_ERASE = 18
BEFORE_ERASE = additive.Program(re.sub(r'X\(ERASE_.*?"\)|X\(BOOK_DELETE.*?"\)', "", re.sub(r'"\s*\\?\n\s*"', "", "".join(SOURCES.values())), flags=re.S))


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.stem)
def test_additive_migration_has_only_additive_statements(path):
    if additive.is_declared_additive(path.read_text()):
        program = PROGRAM if int(path.name[:3]) > LAST_BEFORE_ERASE else BEFORE_ERASE
        assert additive.findings(path.read_text(), program) == []


def test_schema_begins_with_a_migration_that_is_not_additive():
    assert not additive.is_declared_additive(MIGRATIONS[0].read_text())


@pytest.mark.parametrize("statement, reason", [
    ("DROP TABLE books", "not additive"),
    ("DROP INDEX books_by_author", "not additive"),
    ("ALTER TABLE books RENAME TO works", "not additive"),
    ("ALTER TABLE books RENAME COLUMN title TO name", "not additive"),
    ("ALTER TABLE books DROP COLUMN subtitle", "not additive"),
    ("UPDATE books SET title = ''", "not additive"),
    ("UPDATE books SET subtitle = NULL, title = '' WHERE id = 1", "not additive"),
    ("DELETE FROM books", "not additive"),
    ("INSERT INTO authors (name) VALUES ('x')", "existing table"),
    ("CREATE TRIGGER t AFTER INSERT ON books BEGIN UPDATE books SET title = ''; SELECT 1; END", "not additive"),
    ("CREATE TRIGGER t AFTER INSERT ON authors BEGIN UPDATE books SET title = 1; END", "not additive"),
    ("CREATE UNIQUE INDEX i ON books (title)", "UNIQUE"),
    ("ALTER TABLE books ADD COLUMN pages INTEGER NOT NULL", "DEFAULT"),
    ("ALTER TABLE platform_posts ADD COLUMN seen_at INTEGER", "replace rows"),
    ("CREATE TABLE t (app INTEGER REFERENCES sessions (hash))", "delete rows of sessions"),
    ("ALTER TABLE books ADD COLUMN s BLOB REFERENCES sessions (hash)", "delete rows of sessions"),
    ("PRAGMA journal_mode = DELETE", "not additive"),
])
def test_statement_that_is_not_additive_is_found(statement, reason):
    found = additive.findings(f"PRAGMA user_version = 99;\nCREATE TABLE ok (x TEXT); -- ; a comment\n{statement};\n", PROGRAM)
    assert len(found) == 1 and reason in found[0] and statement in found[0]


@pytest.mark.parametrize("statement", [
    "CREATE TABLE t (a INTEGER NOT NULL REFERENCES apps (id)) STRICT; CREATE UNIQUE INDEX i ON t (a); INSERT INTO t (a) VALUES (1)",
    "CREATE TABLE t (hash BLOB REFERENCES sessions (hash) ON DELETE CASCADE)",
    "ALTER TABLE books ADD COLUMN pages INTEGER",
    "ALTER TABLE books ADD COLUMN pages INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX i ON books (title)",
    "UPDATE books SET subtitle = NULL WHERE subtitle = ''",
    "DROP INDEX books_by_author; CREATE INDEX books_by_author ON books (author_id, created_at)",
    "ALTER TABLE books ADD COLUMN n INTEGER; CREATE TRIGGER t AFTER INSERT ON authors BEGIN UPDATE books SET n = 1 WHERE id = 1; END",
    "INSERT INTO meta (key, value) VALUES ('note', 1)",
])
def test_additive_statement_is_accepted(statement):
    assert additive.findings(f"PRAGMA user_version = 99;\n{statement};\n", PROGRAM) == []


def test_statements_name_their_columns():
    """A statement without column names would fail or misread rows once a newer release has added a column."""
    for path, text in SOURCES.items():
        assert not re.search(r"SELECT (\w+\.)?\*", text), path
        joined = re.sub(r'"\s*\\?\n\s*"', "", text)
        for into in re.findall(r"INSERT (?:OR \w+ )?INTO (?:main\.)?(\w+)(?! ?\()(?=[^.\w])", joined):
            assert into == "temp", f"{path}: INSERT INTO {into} without column names"
