"""Fills all tables of a database file with random rows, and reads them back. The values are not plausible, but follow the schema."""
import contextlib
import itertools
import random
import sqlite3

from . import packed_days

NOT_MOVED = {"leases", "refresh_lease", "backup_state", "meta", "sqlite_sequence", "sqlite_stat1"}
REFERRED = ["erased_authors", "authors", "books", "videos", "apps", "api_keys", "webhook_endpoints", "refresh_runs", "spool_files"]
FLAGS = {"plan_active", "is_personal"}
TEXTS = ["", "a", "Zürich", "日本語", "it's \\ \"quoted\"", "😀 tab\t", "x" * 3000]


class Filler:
    def __init__(self, connection, rng):
        self.connection = connection
        self.rng = rng
        self.numbers = 0

    def columns(self, table):
        """Yields (name, type, nullable, number of the key column) of all columns that are not generated."""
        for _, name, kind, is_required, _, key, hidden in self.connection.execute(f"PRAGMA table_xinfo({table})"):
            if not hidden:
                yield name, kind, not is_required and not key, key

    def references(self, table):
        return {row[3]: row[2] for row in self.connection.execute(f"PRAGMA foreign_key_list({table})")}

    def value(self, table, name, kind, nullable):
        self.numbers += 1
        if nullable and self.rng.random() < 0.3:
            return None
        if name == "uuid" or name == "step_author":
            return self.rng.randbytes(16)
        if name.endswith("hash"):
            return self.rng.randbytes(32)
        if kind == "BLOB":
            return self.rng.randbytes(self.rng.choice([0, 1, 40, 5000]))
        if name == "suffix":
            return f"{self.rng.randrange(10000):04}"
        if kind == "TEXT":
            unique = name in ("client_id", "post_id", "account_id", "uri") or (table, name) in (("logins", "name"), ("spool_files", "name"))
            return f"{self.rng.choice(TEXTS)}{self.numbers}" if unique else self.rng.choice(TEXTS)
        return self.rng.randrange(2) if name in FLAGS else self.rng.choice([0, 1, -1, self.rng.randrange(1 << 53), -(1 << 62), (1 << 63) - 1])

    def video(self, row):
        """Gives the video valid gains by day. Returns the rows of the table daily."""
        days = sorted(self.rng.sample(range(20000, 20060), self.rng.randrange(5)))
        gains = [(day, self.rng.randrange(1, 1 << self.rng.randrange(1, 40))) for day in days]
        row["baseline"] = self.rng.randrange(1 << 40)
        row["views"] = row["baseline"] + sum(gain for _, gain in gains)
        row["days"] = packed_days.pack(gains)
        totals = itertools.accumulate(gain for _, gain in gains)
        daily = [(day, gain, total) for (day, gain), total in zip(gains, totals)]
        row["recent"] = packed_days.pack_recent(daily)
        return [(row["id"], *day) for day in daily]

    def fill(self, table, count):
        columns = list(self.columns(table))
        references = self.references(table)
        rows = {name: [row[0] for row in self.connection.execute(f"SELECT {'rowid' if name in REFERRED[1:] else 'hash'} FROM {name}")]
                for name in set(references.values())}
        alone = [name for name, _, _, key in columns if key] in (["id"], ["author_id"])
        for n in range(count):
            row = {name: self.value(table, name, kind, nullable) for name, kind, nullable, _ in columns}
            for name, other in references.items():
                if row[name] is not None:
                    row[name] = rows[other][n % len(rows[other])] if table == "logins" else self.rng.choice(rows[other])
            if alone and table != "logins":
                row["id"] = 2 * n + 2
            daily = self.video(row) if table == "videos" else []
            done = self.connection.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                                           list(row.values()))
            if done.rowcount:
                self.connection.executemany("INSERT INTO daily VALUES (?, ?, ?, ?)", daily)


def tables(connection):
    return [name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") if name not in NOT_MOVED]


def fill(database, seed, count=40, more=()):
    """Adds about `count` rows to each table, and 100 times as many to the tables in `more`."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        # The triggers of the previous release would change the counts of authors and books.
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        filler = Filler(connection, random.Random(seed))
        names = tables(connection)
        for name in [*REFERRED, *(name for name in names if name not in REFERRED and name != "daily")]:
            filler.fill(name, 100 * count if name in more else count)
        for _, sql in triggers:
            connection.execute(sql)
        # As if rows with higher row ids had been deleted.
        connection.execute("UPDATE sqlite_sequence SET seq = seq + 1000")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [("last_erased_author", 5000), ("last_erased_key", 6000), ("expiry_floor", 7),
                                                                  ("key_rotations", 2), ("ancestor:AB", 1)])
        connection.execute("UPDATE meta SET value = 8000000000000 WHERE key = 'last_event_id'")
        empty = [name for name in names if not connection.execute(f"SELECT 1 FROM {name}").fetchone()]
        assert not empty


def dump(database):
    """Returns {table: rows}, without what a move leaves out."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        result = {}
        for name in tables(connection):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_xinfo({name})") if (name, row[1]) != ("videos", "recent")]
            result[name] = sorted(map(repr, connection.execute(f"SELECT {', '.join(columns)} FROM {name}")))
        return result


def meta(database):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))
