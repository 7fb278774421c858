#!/usr/bin/python3
"""Measures the migrations on a generated database with the schema of an older release (docs/upgrading.md).

    test/load/bench_migrations.py [--videos 1000000] [--from 8] [--directory /var/tmp]

Fills a database of schema version FROM, runs `viewtally migrate` on it, and prints the output of this command and the
growth of the file.
"""
import argparse
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import programs     # noqa: E402

VIDEOS_AN_AUTHOR = 55
DAYS_A_VIDEO = 10
POSTS_BYTES = 700       # three posts with addresses, as src/store/pack.h packs them
RECENT_BYTES = 45       # seven days


def numbers(count):
    return f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "


def fill(database, videos, has_recent):
    authors = max(1, videos // VIDEOS_AN_AUTHOR)
    # In the order of an import: the videos of an author are neighbors, their UUIDs are random.
    statements = [
        numbers(authors) + "INSERT INTO authors (id, uuid, name, created_at) SELECT i, randomblob(16), 'Author ' || i, i FROM n",
        numbers(authors) + "INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) "
        "SELECT randomblob(16), i, randomblob(32), 'key', 'abcd', i FROM n",
        numbers(authors) + "INSERT INTO books (id, uuid, author_id, title, created_at) SELECT i, randomblob(16), i, 'The book of author ' || i, i FROM n",
        numbers(videos) + "INSERT INTO videos (id, uuid, author_id, book_id, posted_at, views, first_reading_at, views_updated_at, threshold, "
        "compared_videos, title, thumbnail_url, posts, milestones) SELECT i, randomblob(16), "
        f"min({authors}, 1 + i / {VIDEOS_AN_AUTHOR}), min({authors}, 1 + i / {VIDEOS_AN_AUTHOR}), 1780000000000 + i % {VIDEOS_AN_AUTHOR} * 28800000, "
        f"{10 * DAYS_A_VIDEO}, 1780000000000, 1782000000000, 10000, 20, 'Video ' || i || ' about a book', "
        f"'https://cdn.example/thumbnails/' || hex(randomblob(16)) || '.jpg', randomblob({POSTS_BYTES}), randomblob(24) FROM n",
        numbers(videos) + "INSERT INTO post_keys (platform, post_id, video_id) SELECT p.column1, hex(randomblob(8)), i FROM n, (VALUES (0), (1), (2)) p",
        numbers(videos) + "INSERT INTO daily (video_id, day, gained, gained_total) SELECT i, 20600 + d.value, 10, 10 * d.value "
        "FROM n, generate_days d",
        numbers(videos) + "INSERT INTO events (author_id, id, video_id, type, occurred_at, value) "
        f"SELECT min({authors}, 1 + i / {VIDEOS_AN_AUTHOR}), i, i, 1, 1782000000000, 1000 FROM n",
    ]
    if has_recent:
        statements.append(f"UPDATE videos SET recent = randomblob({RECENT_BYTES})")
    database.execute("CREATE TEMP TABLE generate_days (value INTEGER)")
    database.executemany("INSERT INTO generate_days VALUES (?)", [(day,) for day in range(1, DAYS_A_VIDEO + 1)])
    for statement in statements:
        database.execute(statement)


def generate(path, version, videos):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -500000")
        for file in sorted((ROOT / "schema").glob("*.sql"))[:version]:
            database.executescript(file.read_text())
        fill(database, videos, version >= 7)
        database.commit()
        database.execute("PRAGMA journal_mode = WAL")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--videos", type=int, default=1_000_000)
    parser.add_argument("--from", type=int, default=8, dest="version", help="schema version of the generated database")
    parser.add_argument("--directory", default="/var/tmp")
    parser.add_argument("--binary", default=str(ROOT / "build/release/viewtally"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = f"{directory}/bench.db"
        started = time.monotonic()
        generate(path, arguments.version, arguments.videos)
        before = os.path.getsize(path)
        print(f"generated {arguments.videos:,} videos in {time.monotonic() - started:.0f} s: {before / 1e9:.2f} GB", flush=True)
        env = {**os.environ, "VIEWTALLY_STORE_PATH": path}
        status = subprocess.run([arguments.binary, "migrate", "--check"], env=env, cwd=directory, check=False).returncode
        started = time.monotonic()
        status = subprocess.run([arguments.binary, "migrate"], env=env, cwd=directory, check=False).returncode
        print(f"in all {time.monotonic() - started:.1f} s; the file grew by {(os.path.getsize(path) - before) / 1e6:.0f} MB")
        return status


if __name__ == "__main__":
    programs.exit_on_signals(main)
