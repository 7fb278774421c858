"""The large database of `make bench-scale` is copied, not imported: it must be what the importer would have made."""
import datetime
import shutil
import sqlite3

import scale_data

TEMPLATES, COPIES = 2, 3
# Whole tables, with UUIDs for row ids; of events and times of creation only what does not depend on the order of the import.
DUMPS = {
    "authors": "SELECT uuid, name, plan_active, rev, books_count, videos_count, views_refreshed_at FROM authors",
    "books": "SELECT b.uuid, a.uuid, title, subtitle, b.created_at, videos_posted FROM books b JOIN authors a ON a.id = author_id",
    "videos": "SELECT v.uuid, a.uuid, b.uuid, posted_at, views, baseline, first_reading_at, views_updated_at, went_viral_at, is_viral, views_when_viral, "
              "threshold, author_median_views, compared_videos, baseline_pending, v.title, thumbnail_url, posts, milestones, recent "
              "FROM videos v JOIN authors a ON a.id = v.author_id JOIN books b ON b.id = book_id",
    "post_keys": "SELECT platform, post_id, uuid FROM post_keys JOIN videos ON id = video_id",
    "daily": "SELECT uuid, day, gained, gained_total FROM daily JOIN videos ON id = video_id",
    "events": "SELECT a.uuid, row_number() OVER (PARTITION BY a.id ORDER BY e.id), v.uuid, type, occurred_at, value, e.threshold, e.author_median_views, "
              "a.last_event_id = max(e.id) OVER (PARTITION BY a.id) FROM events e JOIN authors a ON a.id = e.author_id JOIN videos v ON v.id = video_id",
    "event ids": "SELECT count(*) - count(DISTINCT id), max(id) = (SELECT value FROM meta WHERE key = 'last_event_id') FROM events",
    "schema": "SELECT type, name, sql FROM sqlite_schema",
}


def dump(database):
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = {name: sorted(connection.execute(sql).fetchall(), key=repr) for name, sql in DUMPS.items()}
    connection.close()
    return found


def make(viewtally, numbers, today):
    viewtally.run("migrate")
    path = viewtally.directory / "lines"
    scale_data.write_lines(path, numbers, TEMPLATES, today)
    viewtally.run("import", "--create", str(path))
    return viewtally.settings["store"]["path"]


def test_a_grown_database_is_what_the_importer_makes(make_viewtally, tmp_path):
    today = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    config = {"events": {"history_start": "2020-01-01"}}
    model = make(make_viewtally(config), range(TEMPLATES), today)
    imported = make(make_viewtally(config), range(TEMPLATES * COPIES), today)
    grown = make_viewtally(config)
    shutil.copy(model, tmp_path / "grown.db")
    scale_data.grow(tmp_path / "grown.db", model, TEMPLATES, COPIES)
    wanted, found = dump(imported), dump(tmp_path / "grown.db")
    for name, rows in wanted.items():
        assert found[name] == rows, name
    assert len(wanted["videos"]) == TEMPLATES * COPIES * scale_data.VIDEOS
    assert len(wanted["daily"]) == TEMPLATES * COPIES * scale_data.days_a_author()
    assert len(wanted["events"]) > TEMPLATES * COPIES * scale_data.VIDEOS
    grown.configure({"store": {"path": tmp_path / "grown.db"}})
    [key] = scale_data.add_keys(tmp_path / "grown.db", [5])
    grown.start()
    with grown.client(key) as client:
        assert client.get("/account").json()["data"]["name"] == "Author 000005"
        assert len(client.get("/videos").json()["data"]) == scale_data.VIDEOS
