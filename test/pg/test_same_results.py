"""Every statement gives the same rows on SQLite and PostgreSQL, and changes the same rows.

Both databases get the same random rows, then each statement runs with the same random values. Triggers and foreign keys are off in both.
"""
import pathlib
import random
import re
import sqlite3
import subprocess

import pytest
from lib import postgres
from lib.pgdriver import statement_texts
from lib.postgres import SUPERUSER

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROWS, RUNS = 40, 15         # the most rows of a table, and the runs of each statement
NULL = "∅"
UUIDS = [bytes([i]) * 16 for i in range(8)]
HASHES = [bytes([65 + i]) * 32 for i in range(6)]
TEXTS = ["", "a", "B", "b", "ä", "zz", "𝒳", "abcd", "last_event_id"]
TIMES = range(1000, 1008)
VIDEOS = [(author << 24) + n for author in (1, 2, 3) for n in range(1, 7)]
# Values of columns that a CHECK restricts.
CHECKED = {"plan_active": (0, 1), "is_personal": (0, 1), "suffix": ("abcd", "äöüß"), "baseline_pending": (0, 1)}
# Statements with random values or texts of their own.
SKIPPED = {"STORE_ID": "random", "NEW_STORE_ID": "random", "MOVE_STORE_ID": "another table", "MOVE_LAST_ID": "the numbers of sequences",
           "MOVE_RESERVE_IDS": "the same"}
# Tables whose ids PostgreSQL takes from a sequence.
IDENTITY = ("apps", "api_keys", "authors", "books", "platform_credentials", "refresh_runs", "spool_files", "webhook_endpoints")
# Statements that return additional columns on PostgreSQL: the columns of the book (src/store/book_lookup.h).
WITH_BOOK = {"STATS_SCAN", "STATS_SCAN_BOOK", "EVENTS_ASCENDING", "EVENTS_DESCENDING"}


def hashes(column):
    return column in ("hash", "secret_hash", "state_hash")


def random_value(rng, table, column, kind, nullable):
    if nullable and rng.random() < 0.3:
        return None
    if column in CHECKED:
        return rng.choice(CHECKED[column])
    if kind == "uuid":
        return rng.choice(UUIDS)
    if kind == "bytea":
        return rng.choice(HASHES) if hashes(column) else rng.choice([b"", b"\0", b"ab'\\"])
    if kind == "text":
        return rng.choice(TEXTS)
    if (table, column) == ("videos", "id") or column == "video_id":
        return rng.choice(VIDEOS)
    return rng.choice(TIMES) if column == "at" or column.endswith(("_at", "_until")) else rng.randint(0, 6)


def random_parameter(rng, statement, number, kind):
    if f"LIMIT ${number}" in statement.postgres:
        return rng.randint(1, 12)
    if statement.name == "VIDEOS_FOUND" and kind == "text":
        return str(rng.sample(VIDEOS, 5))
    if kind == "uuid":
        return rng.choice(UUIDS)
    if kind == "bytea":
        return rng.choice([*HASHES, *HASHES, b"", b"ab'\\"])
    if kind == "text":
        return rng.choice(TEXTS)
    return rng.choice([*range(7), *range(1, 7), rng.choice(TIMES), rng.choice(TIMES), rng.choice(VIDEOS), rng.choice(VIDEOS), 1 << 40])


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return f"'{value.hex()}'::uuid" if len(value) == 16 else f"'\\x{value.hex()}'::bytea"
    return "'" + value.replace("'", "''") + "'"


def canonical(value):
    """Converts a value of SQLite to the form to which values of psql are converted."""
    if value is None:
        return NULL
    return value.hex() if isinstance(value, bytes) else str(value)


def normalized(text):
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return text.replace("-", "")
    return {"t": "1", "f": "0"}.get(text, text.removeprefix("\\x"))


class Pair:
    """A SQLite database in memory, and a PostgreSQL database that a script for psql fills with the same rows."""

    def __init__(self, cluster, database):
        self.cluster, self.database = cluster, database
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None)
        for path in sorted((ROOT / "schema").glob("*.sql")):
            self.sqlite.executescript(path.read_text())
        for name, in self.sqlite.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            self.sqlite.execute(f"DROP TRIGGER {name}")
        self.columns = {}
        for table, *column in cluster.sql(
                "SELECT c.relname, a.attname, format_type(a.atttypid, NULL), NOT a.attnotnull, a.attgenerated FROM pg_attribute a "
                "JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 "
                "AND c.relname NOT IN ('store', 'barriers') ORDER BY c.relname, a.attnum", database):
            self.columns.setdefault(table, []).append(column)

    def fill(self, rng):
        """Inserts the rows that SQLite accepts into both."""
        script = ["SET session_replication_role = replica;"]
        for table, columns in self.columns.items():
            chosen = [column for column in columns if not column[3]]
            names = ", ".join(column[0] for column in chosen)
            for _ in range(ROWS):
                values = [random_value(rng, table, name, kind, nullable == "t") for name, kind, nullable, _ in chosen]
                try:
                    self.sqlite.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", values)
                except sqlite3.IntegrityError:
                    continue
                script.append(f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({', '.join(map(literal, values))});")
        script += [f"ALTER TABLE {table} ALTER id RESTART WITH 1000;" for table in IDENTITY]
        self.sqlite.execute("DELETE FROM meta WHERE key IN ('store_id', 'days_filled_to')")
        self.cluster.sql("\n".join(script), self.database)

    def table_dump(self, table):
        return f"SELECT {', '.join(name for name, *_ in self.columns[table])} FROM {table}"

    def run_sqlite(self, statement, values, table):
        """Returns the rows of the result or, if the statement writes, the rows of the changed table; "error" if it
        violates a constraint."""
        count = max([0, *map(int, re.findall(r"\?(\d+)", statement.sqlite))])
        self.sqlite.execute("BEGIN")
        try:
            rows = self.sqlite.execute(statement.sqlite, [*values, *[None] * (count - len(values))]).fetchall()
            if table:
                rows = self.sqlite.execute(self.table_dump(table)).fetchall()
        except sqlite3.IntegrityError:
            return "error"
        finally:
            self.sqlite.execute("ROLLBACK")
        return [[canonical(value) for value in row] for row in rows]

    def run_postgres(self, calls):
        """Runs (statement, values, table) in one session and returns what run_sqlite() returns for each."""
        script = ["SET session_replication_role = replica;", "SET client_min_messages = error;", f"\\pset null '{NULL}'"]
        script += [f"PREPARE {statement.name} AS {statement.postgres};" for statement in {call[0] for call in calls}]
        for statement, values, table in calls:
            arguments = f"({', '.join(map(literal, values))})" if values else ""
            execute = f"EXECUTE {statement.name}{arguments}"
            script.append(f"\\echo ==\nBEGIN;\n{execute} \\g {'/dev/null' if table else ''}\n\\echo :SQLSTATE")
            script.append(f"{self.table_dump(table)};\nROLLBACK;" if table else "ROLLBACK;")
        done = subprocess.run([postgres.programs() / "psql", "-X", "-q", "-At", "-F", "\t", "-h", self.cluster.directory, "-p", str(self.cluster.port),
                               "-U", SUPERUSER, "-d", self.database, "-f", "-"], input="\n".join(script), capture_output=True, text=True, check=True)
        return [self.parse(part.splitlines(), call[2]) for part, call in zip(done.stdout.split("==\n")[1:], calls, strict=True)]

    @staticmethod
    def parse(lines, table):
        at = next(i for i, line in enumerate(lines) if re.fullmatch(r"[0-9A-Z]{5}", line))
        if lines[at].startswith("23"):
            return "error"
        assert lines[at] == "00000", lines[at]
        rows = lines[at + 1:] if table else lines[:at]
        return [[normalized(value) for value in line.split("\t")] for line in rows]


def difference(one, other):
    """Returns the rows that only one of the two results has."""
    if "error" in (one, other):
        return one[:5], other[:5]
    return [row for row in one if row not in other], [row for row in other if row not in one]


def written_table(statement):
    found = re.match(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)", statement.sqlite)
    return found and found[1]


def without_id(columns, rows):
    """Removes the column id, which PostgreSQL takes from a sequence."""
    at = [name for name, *_ in columns].index("id")
    return [row[:at] + row[at + 1:] for row in rows]


@pytest.fixture
def pair(cluster):
    database = cluster.database("template0")
    cluster.sql("".join(path.read_text() for path in sorted((ROOT / "schema/pg").glob("*.sql"))), database)
    return Pair(cluster, database)


@pytest.mark.parametrize("seed", range(2))
def test_statements_give_the_same_rows_on_sqlite_and_postgresql(pair, seed):
    rng = random.Random(seed)
    pair.fill(rng)
    statements = [statement for statement in statement_texts() if statement.sqlite and statement.name not in SKIPPED]
    prepared = "".join(f"PREPARE {s.name} AS {s.postgres};" for s in statements)
    types = dict(pair.cluster.sql(prepared + "SELECT name, array_to_string(parameter_types, ' ') FROM pg_prepared_statements", pair.database))
    calls = []
    for statement in statements:
        kinds = types[statement.name.lower()].split()
        for _ in range(RUNS if kinds else 1):
            calls.append((statement, [random_parameter(rng, statement, number, kind) for number, kind in enumerate(kinds, 1)], written_table(statement)))
    different, found = {}, set()
    for (statement, values, table), postgres_rows in zip(calls, pair.run_postgres(calls), strict=True):
        sqlite_rows = pair.run_sqlite(statement, values, table)
        if table in IDENTITY and statement.postgres.startswith("INSERT") and "error" not in (sqlite_rows, postgres_rows):
            sqlite_rows, postgres_rows = (without_id(pair.columns[table], rows) for rows in (sqlite_rows, postgres_rows))
        if statement.name in WITH_BOOK:
            postgres_rows = [row[:-2] for row in postgres_rows]
        if table and "error" not in (sqlite_rows, postgres_rows):
            sqlite_rows, postgres_rows = sorted(sqlite_rows), sorted(postgres_rows)
        if sqlite_rows != postgres_rows:
            different.setdefault(statement.name, []).append((values, *difference(sqlite_rows, postgres_rows)))
        if sqlite_rows and sqlite_rows != "error":
            found.add(statement.name)
    assert "\n".join(f"{name}: {len(runs)} runs, such as {runs[0]}" for name, runs in different.items()) == ""
    assert len(found) > 150     # most statements found or changed rows
