"""`viewtally backup` and `restore` are atomic, and after a restore no event id is issued a second time."""
import contextlib
import json
import pathlib
import signal
import sqlite3
import uuid

import pytest

from lib import wait
from lib.viewtally import IN_USE

AUTHOR, VIDEO = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


def first_lines():
    return [{"type": "author", "id": AUTHOR, "name": "A"},
            {"type": "video", "id": VIDEO, "author_id": AUTHOR, "book_id": None, "title": "V", "thumbnail_url": None, "posts": [
                {"platform": "youtube", "post_id": "p", "url": None, "posted_at": "2026-07-01T00:00:00Z"}]}]


def reading(hour, views):
    return {"type": "reading", "platform": "youtube", "post_id": "p",
            "observed_at": f"2026-07-0{1 + hour // 24}T{hour % 24:02d}:00:00Z", "views": views}


def events(instance, key):
    with instance.client(key) as client:
        return [int(event["id"][4:]) for event in client.get("/events", {"limit": "100"}).json()["data"]]


def test_backup_has_all_commits_and_can_be_restored(viewtally):
    viewtally.import_lines([*first_lines(), reading(1, 60_000)])
    key = viewtally.create_key(AUTHOR)
    viewtally.start()
    before = events(viewtally, key)
    assert len(before) == 4  # 1,000, 10,000, viral at 10,000, 50,000
    viewtally.run("backup", "copy.db")
    viewtally.import_lines([reading(2, 600_000)])
    later = events(viewtally, key)
    assert later[:4] == before and len(later) == 7
    # A restore is rejected while the database is in use, and changes nothing.
    refused = viewtally.run("restore", "copy.db", status=3)
    assert IN_USE.search(refused.err) and events(viewtally, key) == later
    viewtally.stop()
    aside = viewtally.run("restore", "copy.db", "--json").json()["replaced_database"]
    viewtally.start()
    assert events(viewtally, key) == before
    # Importing the same readings again creates new events with ids above all that were ever returned.
    viewtally.import_lines([reading(2, 600_000)])
    again = events(viewtally, key)
    assert again[:4] == before and len(again) == 7 and min(again[4:]) > max(later)
    # The replaced data are intact.
    with sqlite3.connect(viewtally.directory / aside) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_restored_database_has_different_etags(viewtally):
    """ETags are derived from the revision. The restored database may reach the same revision with other data."""
    viewtally.import_lines([*first_lines(), reading(1, 5)])
    key = viewtally.create_key(AUTHOR)
    viewtally.start()
    with viewtally.client(key) as client:
        tag = client.get("/stats").headers["ETag"]
    viewtally.run("backup", "copy.db")
    viewtally.stop()
    viewtally.run("restore", "copy.db")
    viewtally.start()
    with viewtally.client(key) as client:
        assert client.get("/stats").headers["ETag"] != tag


def test_backup_during_imports_is_a_snapshot(viewtally):
    viewtally.import_lines(first_lines())
    process = viewtally.background("import", write_readings(viewtally, 72))
    copies = []
    while process.poll() is None:
        copies.append(f"copy-{len(copies)}.db")
        viewtally.run("backup", copies[-1])
    assert process.wait() == 0 and copies
    for name in copies:
        with sqlite3.connect(viewtally.directory / name) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            views, = database.execute("SELECT views FROM videos").fetchone()
            gained, = database.execute("SELECT coalesce(sum(gained), 0) FROM daily").fetchone()
            assert views == gained


def drafts(instance):
    return sorted(path.name for path in instance.directory.glob(".copy.db.draft-*"))


def test_backup_deletes_the_drafts_of_killed_backups_of_the_same_file(viewtally):
    viewtally.import_lines(first_lines())
    other = viewtally.directory / ".other.db.draft-aBcDeF"
    other.touch()
    viewtally.run("backup", "copy.db", status=-signal.SIGKILL, env={"VIEWTALLY_TEST_KILL_AT": "2"})
    [draft] = drafts(viewtally)
    (viewtally.directory / f"{draft}-journal").touch()
    viewtally.run("backup", "copy.db")
    assert drafts(viewtally) == [] and other.exists()


@pytest.mark.sqlite_only("locks the database file")
def test_backup_does_not_delete_the_draft_of_a_running_backup(viewtally):
    viewtally.import_lines(first_lines())
    with contextlib.closing(sqlite3.connect(viewtally.database, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN IMMEDIATE")
        running = viewtally.background("backup", "copy.db")     # creates its draft, then waits for the database
        wait.until(lambda: drafts(viewtally), "the draft")
        running.send_signal(signal.SIGSTOP)
    before = drafts(viewtally)
    viewtally.run("backup", "copy.db")
    assert drafts(viewtally) == before
    running.kill()
    running.wait()
    viewtally.run("backup", "copy.db")
    assert drafts(viewtally) == []


def write_readings(instance, hours):
    path = instance.directory / "readings.ndjson"
    path.write_text("".join(json.dumps(reading(hour, 100 * hour)) + "\n" for hour in range(1, hours)))
    return path


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "cut":
        data = data[:len(data) // 2]
    elif how == "page":
        data[-4096:] = b"\xAA" * 4096  # in an index that no other check reads
    else:
        data = bytearray(b"not a database at all, but long enough to look at " * 100)
    path.write_bytes(data)


def test_damaged_backup_is_rejected_and_nothing_is_lost(viewtally):
    viewtally.import_lines([*first_lines(), reading(1, 60_000)])
    viewtally.run("backup", "good.db")
    good = (viewtally.directory / "good.db").read_bytes()
    for how in ("cut", "page", "junk"):
        bad = viewtally.directory / f"{how}.db"
        bad.write_bytes(good)
        damage(bad, how)
        refused = viewtally.run("restore", bad, status=3)
        assert refused.err
        assert len(viewtally.run("author", "list", "--json").json()) == 1
    assert viewtally.run("restore", "nowhere.db", status=3).err == "viewtally restore: cannot read nowhere.db: No such file or directory\n"
    assert leftover_files(viewtally) == []


def test_failed_backup_leaves_no_files(viewtally):
    viewtally.import_lines(first_lines())
    assert viewtally.run("backup", "no/such/place.db", status=3).err
    (viewtally.directory / "taken.db").mkdir()
    assert viewtally.run("backup", "taken.db", status=2).err
    assert leftover_files(viewtally) == []
    viewtally.lose_database()
    assert viewtally.run("backup", "x.db", status=3).err
    assert leftover_files(viewtally) == []
    assert viewtally.run("backup", status=2).err and viewtally.run("restore", "a", "b", status=2).err


@pytest.mark.sqlite_only("the path of the database file")
def test_backup_does_not_overwrite_the_database(viewtally):
    viewtally.import_lines(first_lines())
    (viewtally.directory / "other-name.db").symlink_to("viewtally.db")
    (viewtally.directory / "viewtally.db-key-lock").touch()
    viewtally.start()
    before = (viewtally.directory / "viewtally.db").stat().st_ino
    for name in ("viewtally.db", "./viewtally.db", viewtally.directory / "viewtally.db", "other-name.db", "viewtally.db-wal", "viewtally.db-key-lock"):
        assert "belongs to the database itself" in viewtally.run("backup", name, status=2).err
    assert (viewtally.directory / "viewtally.db").stat().st_ino == before
    viewtally.stop()
    viewtally.run("backup", "good.db")


def leftover_files(instance):
    """Returns the names of the temporary files that commands have left."""
    known = {"config.ini", "viewtally.db", "good.db", "cut.db", "page.db", "junk.db", "taken.db", "clock", "viewtally.db-import", "viewtally.db-lock"}
    return [path.name for path in pathlib.Path(instance.directory).iterdir()
            if path.name not in known and path.suffix not in (".log", ".ndjson")]
