"""A large database in minutes: authors that the importer has made, copied.

The importer takes 22 videos with 606 days of views of each of some authors (the templates). `grow` then copies them, with other ids
and names, until there are enough: the very rows that the importer would have written for those authors, only that their events are
numbered author by author (test_scale_data.py compares the two).
"""
import contextlib
import datetime
import sqlite3
import uuid

import bench_data as data

VIDEOS = 22
PLATFORMS = ("tiktok", "instagram", "youtube")
DAYS_READ = 30
TEXTS = 6               # digits of an author's number in texts
KINDS = {"author": 1, "book": 2, "video": 3}


def make_uuid(kind, number, item=0):
    """Spread over the whole range, as random ones are."""
    spread = number * 2654435761 % 2 ** 32
    return uuid.UUID(bytes=spread.to_bytes(4, "big") + bytes([0, 0, 0x40, KINDS[kind], 0x80, item]) + spread.to_bytes(4, "big") + bytes(2))


def ages():
    """Of the videos, in days: three still grow."""
    return [3 + 10 * video for video in range(VIDEOS)]


def days_a_author():
    return sum(min(age - 1, DAYS_READ) for age in ages())


def views(number, video, day, platform):
    """After so many days. From some hundred to some ten thousand in the end, steeper at first."""
    final = 400 * 2 ** ((number * 7 + video * 5) % 9) + number % 89 + 13 * platform
    return final * day * (2 * DAYS_READ - day) // DAYS_READ ** 2 + day


def author_lines(number, today):
    author, book = make_uuid("author", number), make_uuid("book", number)
    text = f"{number:0{TEXTS}d}"
    yield f'{{"type":"author","id":"{author}","name":"Author {text}"}}\n'
    yield (f'{{"type":"book","id":"{book}","author_id":"{author}","title":"The book of author {text}",'
           f'"created_at":"{data.iso(today - 300 * data.DAY)}"}}\n')
    for video, age in enumerate(ages()):
        posted = data.iso(today - age * data.DAY + datetime.timedelta(hours=10))
        posts = ",".join(f'{{"platform":"{p}","post_id":"{text}-{video:02d}-{p}","posted_at":"{posted}","url":"https://{p}.example/@author/{text}-{video:02d}"}}'
                         for p in PLATFORMS)
        yield (f'{{"type":"video","id":"{make_uuid("video", number, video)}","author_id":"{author}","book_id":"{book}","title":"Video {video} of author {text}",'
               f'"thumbnail_url":"https://cdn.example/thumbnails/{text}-{video:02d}.jpg","posts":[{posts}]}}\n')


def reading_lines(number, model, today):
    """Daily at 9. The views are those of the template `model`."""
    text = f"{number:0{TEXTS}d}"
    for video, age in enumerate(ages()):
        for day in range(1, min(age - 1, DAYS_READ) + 1):
            when = data.iso(today - (age - day) * data.DAY + datetime.timedelta(hours=9))
            for i, p in enumerate(PLATFORMS):
                n = views(model, video, day, i)
                yield (f'{{"type":"reading","platform":"{p}","post_id":"{text}-{video:02d}-{p}","observed_at":"{when}","views":{n},'
                       f'"likes":{n // 9},"comments":{n // 90},"shares":{n // 40},"saves":{n // 50}}}\n')


def write_lines(path, numbers, templates, today):
    """What the importer takes for these authors."""
    with open(path, "w", encoding="utf-8") as file:
        for number in numbers:
            file.writelines(author_lines(number, today))
            file.writelines(reading_lines(number, number % templates, today))


# -- copying -----------------------------------------------------------------------------------------------------------

def text_of(number):
    return f"{number:0{TEXTS}d}"


def copy_uuid(kind):
    """A function for SQL: the UUID of the same item of another author."""
    def copied(number, item):
        return make_uuid(kind, number, item).bytes
    return copied


def copy_blob(blob, old, new):
    return blob.replace(old.encode(), new.encode())


@contextlib.contextmanager
def bare_tables(connection):
    """Triggers and indexes are gone meanwhile: the rows bring what triggers would compute, and sorting is faster than inserting."""
    made = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL").fetchall()
    for kind, name, _ in made:
        connection.execute(f'DROP {kind} "{name}"')
    yield
    for _, _, sql in made:
        connection.execute(sql)


# What each table gets. :n templates, :c the copy; old and new author numbers, and the distances of ids, stand in `copies`.
COPIES = [
    "INSERT INTO authors SELECT t.id + c.authors, author_uuid(c.first + t.id - 1, 0), replace(t.name, six(t.id - 1), six(c.first + t.id - 1)), t.plan_active, "
    "t.created_at, t.rev, CASE t.last_event_id WHEN 0 THEN 0 ELSE t.last_event_id + c.events END, t.books_count, t.videos_count, t.views_refreshed_at, t.feed_rev "
    "FROM copies c CROSS JOIN model.authors t",
    "INSERT INTO books SELECT t.id + c.books, book_uuid(c.first + t.author_id - 1, 0), t.author_id + c.authors, "
    "replace(t.title, six(t.author_id - 1), six(c.first + t.author_id - 1)), t.subtitle, t.created_at, t.videos_posted FROM copies c CROSS JOIN model.books t",
    "INSERT INTO videos ({columns}) SELECT {values} FROM copies c CROSS JOIN model.videos t",
    "INSERT INTO post_keys SELECT t.platform, replace(t.post_id, six(v.author_id - 1), six(c.first + v.author_id - 1)), t.video_id + c.videos "
    "FROM (SELECT DISTINCT platform FROM model.post_keys ORDER BY platform) p CROSS JOIN copies c CROSS JOIN model.post_keys t CROSS JOIN model.videos v "
    "WHERE t.platform = p.platform AND v.id = t.video_id",
    "INSERT INTO daily SELECT t.video_id + c.videos, t.day, t.gained, t.gained_total FROM copies c CROSS JOIN model.daily t",
    "INSERT INTO events SELECT t.author_id + c.authors, t.id + c.events, t.video_id + c.videos, t.type, t.occurred_at, t.value, t.threshold, "
    "t.author_median_views FROM copies c CROSS JOIN model.events t",
]
# Of a video's columns those that are not simply copied. Its id is the author's, shifted by 24 bits, and a number from 1 on (SQL_NEXT_VIDEO).
VIDEO_VALUES = {
    "id": "t.id + c.videos", "uuid": "video_uuid(c.first + t.author_id - 1, (t.id & 0xffffff) - 1)", "author_id": "t.author_id + c.authors",
    "book_id": "t.book_id + c.books", "title": "replace(t.title, six(t.author_id - 1), six(c.first + t.author_id - 1))",
    "thumbnail_url": "replace(t.thumbnail_url, six(t.author_id - 1), six(c.first + t.author_id - 1))",
    "posts": "copy_blob(t.posts, six(t.author_id - 1), six(c.first + t.author_id - 1))",
}


def grow(database, model, templates, copies):
    """`database` is a copy of `model`, which holds authors 0 to templates - 1 and nothing else; gets so many copies in all."""
    connection = sqlite3.connect(database, isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000", "temp_store = MEMORY", "locking_mode = EXCLUSIVE"):
        connection.execute(f"PRAGMA {setting}")
    for kind in KINDS:
        connection.create_function(f"{kind}_uuid", 2, copy_uuid(kind), deterministic=True)
    connection.create_function("six", 1, text_of, deterministic=True)
    connection.create_function("copy_blob", 3, copy_blob, deterministic=True)
    connection.execute("ATTACH ? AS model", (str(model),))
    count = {table: connection.execute(f"SELECT count(*), coalesce(max(id), 0) FROM model.{table}").fetchone() for table in ("authors", "books")}
    if any(number != last for number, last in count.values()) or count["authors"][0] != templates:
        raise SystemExit(f"the templates are not numbered from 1 on: {count}")
    events = connection.execute("SELECT value FROM model.meta WHERE key = 'last_event_id'").fetchone()[0]
    connection.execute("CREATE TEMP TABLE copies (first, authors, books, videos, events)")
    connection.executemany("INSERT INTO copies VALUES (?, ?, ?, ?, ?)",
                           [(c * templates, c * templates, c * count["books"][0], (c * templates) << 24, c * events) for c in range(1, copies)])
    columns = [row[1] for row in connection.execute("PRAGMA main.table_info(videos)")]      # those that are generated are not among them
    values = [VIDEO_VALUES.get(name, f"t.{name}") for name in columns]
    with bare_tables(connection):
        connection.execute("BEGIN")
        for sql in COPIES:
            connection.execute(sql.format(columns=", ".join(columns), values=", ".join(values)))
        connection.execute("UPDATE meta SET value = ? WHERE key = 'last_event_id'", (events * copies,))
        connection.execute("COMMIT")
    connection.execute("DETACH model")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def add_keys(database, numbers):
    """A key for each of these authors; [key]."""
    keys = [data.make_key() for _ in numbers]
    data.insert_keys(database, [(key, make_uuid("author", number).bytes) for key, number in zip(keys, numbers)])
    return keys
