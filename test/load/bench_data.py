"""Data of the benches: authors with a full page of videos and of events each, and many API keys."""
import datetime
import hashlib
import json
import random
import secrets
import sqlite3
import uuid
import zlib

VIDEOS_AN_AUTHOR = 55        # a page of 50 and a next one
PLATFORMS = ("tiktok", "instagram", "youtube")
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DAY = datetime.timedelta(days=1)


def name_uuid(name):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "https://viewtally.example/bench/" + name))


def iso(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def last_days(days):
    """The query string for the statistics of this many days up to today."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return f"start_date={today - (days - 1) * DAY}&end_date={today}"


def author_lines(number, today):
    """One author: a book and 55 videos on three platforms over the last 20 days, with readings yesterday at noon and an hour later,
    so that most videos have reached a milestone or two."""
    rng = random.Random(number)
    author, book = name_uuid(f"author {number}"), name_uuid(f"book {number}")
    yield {"type": "author", "id": author, "name": f"Author {number}"}
    yield {"type": "book", "id": book, "author_id": author, "title": f"The book of author {number}", "created_at": iso(today - 40 * DAY)}
    for n in range(VIDEOS_AN_AUTHOR):
        video = name_uuid(f"video {number} {n}")
        posted = today - 20 * DAY + datetime.timedelta(hours=8 * n)
        posts = [{"platform": platform, "post_id": f"{video}-{platform}", "posted_at": iso(posted + datetime.timedelta(minutes=5 * i)),
                  "url": f"https://{platform}.example/@author{number}/video/{video}"} for i, platform in enumerate(PLATFORMS)]
        yield {"type": "video", "id": video, "author_id": author, "book_id": book, "title": f"Video {n} of author {number}",
               "thumbnail_url": f"https://cdn.example/thumbnails/{video}.jpg", "posts": posts}
        views = int(10 ** rng.uniform(2.2, 4.2))
        for hour in (12, 13):
            for post in posts:
                yield {"type": "reading", "platform": post["platform"], "post_id": post["post_id"], "likes": views // 9,
                       "observed_at": iso(today - DAY + datetime.timedelta(hours=hour)), "views": views * (hour - 11),
                       "comments": views // 90, "shares": views // 40, "saves": views // 50}


def write_lines(path, authors):
    today = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(authors):
            file.writelines(json.dumps(line) + "\n" for line in author_lines(number, today))


def make_key(prefix="service_live_"):
    text = prefix + "".join(secrets.choice(BASE62) for _ in range(43))
    number, check = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        check = BASE62[digit] + check
    return text + check


def read_rows(database, sql):
    connection = sqlite3.connect(database, timeout=60)
    rows = connection.execute(sql).fetchall()
    connection.close()
    return rows


def add_keys(database, count):
    """Creates `count` keys, distributed evenly over the authors; returns [(key, author's number)]. `viewtally key create` commits
    each key separately, which takes minutes for thousands, so these are written in one transaction."""
    authors = read_rows(database, "SELECT count(*) FROM authors")[0][0]
    keys = [(make_key(), number % authors) for number in range(count)]
    insert_keys(database, [(key, uuid.UUID(name_uuid(f"author {number}")).bytes) for key, number in keys])
    return keys


def insert_keys(database, keys):
    """`keys` is [(key, UUID of its author as bytes)]."""
    now = int(datetime.datetime.now().timestamp() * 1000)
    connection = sqlite3.connect(database, timeout=60)
    with connection:
        connection.executemany(
            "INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) SELECT ?, id, ?, 'bench', ?, ? FROM authors WHERE uuid = ?",
            [(uuid.uuid4().bytes, hashlib.sha256(key.encode()).digest(), key[-4:], now, author) for key, author in keys])
    connection.close()


def add_key(database, author):
    """Creates a key for the author with this UUID."""
    key = make_key()
    insert_keys(database, [(key, uuid.UUID(author).bytes)])
    return key
