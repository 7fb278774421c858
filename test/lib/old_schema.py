"""Databases with the schema of an older release, or of a newer one that this release can use."""
import contextlib
import pathlib
import re
import sqlite3

from . import additive

SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "schema"
FILES = sorted(SCHEMA.glob("*.sql"))
NEWEST = len(FILES)
NEWEST_BREAKING = max(number for number, path in enumerate(FILES, 1) if not additive.is_declared_additive(path.read_text()))
AUTHOR = b"\x0b" * 16


def declared_cost(version):
    """Returns (milliseconds, megabytes) per million videos of a migration."""
    match = re.search(r"^-- cost: (\d+) ms and (\d+) MB", FILES[version - 1].read_text(), re.M)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def query(path, statement):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(statement).fetchall()


def value(path, statement):
    (found,), = query(path, statement)
    return found


def version_of(path):
    return value(path, "PRAGMA user_version")


def create(path, version, videos=1):
    """Creates a database as an older release left it, with an author and one video. The stored number of
    the author's videos is `videos`, from which the cost of migrations is estimated."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for file in FILES[:version]:
            database.executescript(file.read_text())
        database.execute("INSERT INTO authors (uuid, name, created_at) VALUES (?, 'Ann', 5)", (AUTHOR,))
        database.execute("INSERT INTO videos (id, uuid, author_id, posted_at, threshold, compared_videos) VALUES (16777217, randomblob(16), 1, 8, 10000, 0)")
        database.execute("UPDATE authors SET videos_count = ?", (videos,))
        database.commit()


def make_newer(path, compatible_since=None):
    """Applies an additive migration of a newer release. With `compatible_since`, applies one that is not additive."""
    newer = version_of(path) + 1
    execute(path, "CREATE TABLE newer_things (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors (id)) STRICT",
            "ALTER TABLE authors ADD COLUMN newer TEXT", "ALTER TABLE videos ADD COLUMN newer INTEGER NOT NULL DEFAULT 7",
            "CREATE INDEX newer_videos ON videos (newer, id)", "INSERT INTO newer_things (author_id) SELECT id FROM authors",
            f"PRAGMA user_version = {newer}")
    if compatible_since:
        execute(path, f"UPDATE meta SET value = {compatible_since} WHERE key = 'compatible_since'")
    return newer
