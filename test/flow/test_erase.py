"""author erase, video remove and book remove: what they delete, what stays, and what a restore or an import brings back."""
import fcntl
import hashlib
import re
import uuid

import pytest

from lib import oauth
from lib.clock import DEFAULT_NOW, to_ms
from lib.lines import author, book, reading, uid, video

DAY = "2026-07-01T00:00:00.000Z"

# What `author erase` does with each table. Add a new table to ERASED or KEPT; if to ERASED, insert rows of it in
# fill().
ERASED = {"authors", "books", "videos", "daily", "author_daily", "post_keys", "platform_posts", "events", "api_keys", "oauth_codes", "logins", "invitations", "sessions",
          "devices", "platform_credentials", "platform_links", "audit", "webhook_endpoints", "webhook_attempts", "webhook_requests"}
KEPT = {"meta", "apps", "app_redirects", "refresh_lease", "leases", "refresh_runs", "refresh_counts", "spool_files", "spool_errors", "platform_limits",
        "backup_state", "erased_authors"}


def erased(instance):
    """Returns the tables of ERASED that the database has. PostgreSQL has no table `daily`, which exists only for the previous release."""
    return ERASED - {"daily"} if instance.is_on_server else ERASED


def references_exist(instance):
    """Returns True if no foreign key is violated. PostgreSQL itself rejects such rows."""
    return instance.is_on_server or sql(instance, "PRAGMA foreign_key_check") == []


def at(hour):
    return f"2026-07-01T{hour:02}:00:00.000Z"


def sql(instance, statement, *values):
    return instance.sql(statement, *values)


def lines_of(name):
    return [author(name), book(f"{name} book", name), video(f"{name} one", name, DAY, ("youtube", "tiktok"), book_id=uid(f"{name} book")),
            video(f"{name} two", name, DAY), video(f"{name} draft", name, book_id=uid(f"{name} book")),
            reading(f"{name} one", at(1), 900), reading(f"{name} one", at(2), 20000), reading(f"{name} two", at(2), 1500)]


def fill(instance, name):
    """Inserts rows into all tables that no import fills."""
    row, = sql(instance, "SELECT id FROM authors WHERE name = ?", name)[0]

    def secret(table):
        return hashlib.sha256(f"{table} {name}".encode()).digest()
    for statement, *values in (
            ("INSERT INTO logins (author_id, name) VALUES (?, ?)", row, name.lower()),
            ("INSERT INTO invitations (hash, author_id, created_at, expires_at) VALUES (?, ?, 1, 2)", secret("i"), row),
            ("INSERT INTO sessions (hash, author_id, created_at, seen_at, expires_at) VALUES (?, ?, 1, 1, 2)", secret("s"), row),
            ("INSERT INTO devices (hash, author_id, created_at, expires_at) VALUES (?, ?, 1, 2)", secret("d"), row),
            ("INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at, key_id) SELECT ?, 1, ?, 'x', 'y', 1, "
             "(SELECT min(id) FROM api_keys WHERE author_id = ?)", secret("c"), row, row),
            ("INSERT INTO platform_credentials (author_id, api, account_id, access_sealed, obtained_at) VALUES (?, 0, ?, ?, 1)", row, name, b"\1"),
            ("INSERT INTO platform_posts (platform, post_id) VALUES (2, ?)", f"youtube-{name} one"),
            ("INSERT INTO platform_links (state_hash, session_hash, author_id, api, created_at) VALUES (?, ?, ?, 0, 1)", secret("l"), secret("s"), row),
            ("INSERT INTO webhook_endpoints (uuid, author_id, url, types, created_at, state_at, position) VALUES (?, ?, 'https://x', 0, 1, 1, 1)",
             uuid.UUID(bytes=secret("w")[:16]), row),
            ("INSERT INTO webhook_attempts SELECT id, 1, 5, 1, 1, 200, NULL, 0 FROM webhook_endpoints WHERE author_id = ?", row),
            ("INSERT INTO webhook_requests SELECT id, 5, 1 FROM webhook_endpoints WHERE author_id = ?", row)):
        sql(instance, statement, *values)


def counts(instance):
    tables = instance.tables() - {"store"}
    assert tables == erased(instance) | KEPT
    return {table: sql(instance, f"SELECT count(*) FROM {table}")[0][0] for table in tables}


def check_sums(instance, name="sums.db"):
    """Runs a restore drill, which compares all numbers of the database."""
    (instance.directory / name).unlink(missing_ok=True)
    instance.run("backup", name)
    instance.run("restore", "--drill", name)


@pytest.fixture
def world(viewtally):
    """Ann and Bob with a book, three videos and an API key each. Also an app."""
    viewtally.import_lines(lines_of("Ann") + lines_of("Bob"))
    oauth.add_app(viewtally)
    viewtally.anns, viewtally.bobs = (viewtally.create_key(uid(name)) for name in ("Ann", "Bob"))
    return viewtally


@pytest.fixture
def full_world(world):
    """Ann and Bob, with rows in every table of ERASED."""
    for name in ("Ann", "Bob"):
        fill(world, name)
    return world


# --- author erase ---

def test_erase_deletes_the_rows_of_one_author_from_every_table(full_world):
    before = counts(full_world)
    assert all(before[table] >= 2 and before[table] % 2 == 0 for table in erased(full_world)), before
    printed = full_world.run("author", "erase", "ann").out
    after = counts(full_world)
    assert {table: after[table] for table in erased(full_world)} == {table: before[table] // 2 for table in erased(full_world)}
    assert {table: after[table] for table in KEPT - {"meta", "erased_authors"}} == {table: before[table] for table in KEPT - {"meta", "erased_authors"}}
    assert dict(re.findall(r"^  (\w+) +(\d+)$", printed, re.M)) == {table: str(before[table] // 2) for table in erased(full_world)}
    assert sql(full_world, "SELECT hash FROM erased_authors") == [(hashlib.sha256(b"viewtally erased author " + bytes.fromhex(uid("Ann").replace("-", ""))).digest(),)]
    assert references_exist(full_world)
    sql(full_world, "DELETE FROM platform_credentials")         # not sealed with a real key
    check_sums(full_world)


def test_erase_leaves_no_earlier_post_id(full_world):
    """An import has corrected the id of a post after a refresh had stored something about it."""
    full_world.import_lines([{"type": "video", "id": uid("Ann one"), "posts": [{"platform": "youtube", "post_id": "corrected"}]}])
    full_world.run("author", "erase", "ann")
    assert sql(full_world, "SELECT post_id FROM platform_posts") == [("youtube-Bob one",)]


def test_dry_run_changes_nothing(full_world):
    before = counts(full_world)
    printed = full_world.run("author", "erase", "--dry-run", uid("Ann")).out
    assert "Dry run: nothing was changed" in printed and re.search(r"videos +3\n", printed)
    assert counts(full_world) == before


@pytest.mark.sqlite_only("reads the database files")
def test_erased_text_is_not_in_the_database_files(world):
    path = world.directory / "viewtally.db"

    def contents():
        return b"".join(file.read_bytes() for file in world.directory.glob("viewtally.db*"))
    assert b"Ann one" in contents() and b"Ann book" in contents()
    world.run("author", "erase", uid("Ann"))
    assert b"Ann" not in contents() and b"Bob one" in contents() and path.exists()


def test_running_server_rejects_the_keys_of_an_erased_author_and_serves_others(world):
    world.start()
    with world.client(world.anns) as ann, world.client(world.bobs) as bob:
        pages = [bob.get(path).json() for path in ("/account", "/videos", "/books", "/events")]
        for path in ("/account", "/videos", "/events") * 2:
            assert ann.get(path).status == 200
        world.run("author", "erase", uid("Ann"))
        assert ann.get("/videos").error_code == "invalid_api_key"
        pages[0]["data"]["key"].pop("last_used_at")
        now = [bob.get(path).json() for path in ("/account", "/videos", "/books", "/events")]
        now[0]["data"]["key"].pop("last_used_at")
        assert now == pages


def test_row_ids_of_the_erased_author_are_not_used_again(world):
    """The caches of a running server contain row ids. Bob, who is erased, has the newest ones."""
    world.start()
    with world.client(world.bobs) as bob:
        for _ in range(3):
            assert len(bob.get("/videos").json()["data"]) == 2
    old = sql(world, "SELECT max(id) FROM authors"), sql(world, "SELECT max(id) FROM api_keys")
    world.run("author", "erase", uid("Bob"))
    new = world.add_author("New")
    key = world.create_key(new)
    assert sql(world, "SELECT max(id) FROM authors") > old[0] and sql(world, "SELECT max(id) FROM api_keys") > old[1]
    with world.client(key) as client:
        assert client.get("/videos").json()["data"] == []


def test_erase_deletes_the_redis_data_of_the_keys(make_viewtally, clock, redis):
    instance = make_viewtally({"redis": {"url": redis.url}}, clock)
    instance.import_lines(lines_of("Ann") + lines_of("Bob"))
    for name in ("Ann", "Bob"):
        for _ in range(60):         # more keys than one call to Redis deletes
            instance.create_key(uid(name))
    keys = {name: [entry["id"] for entry in instance.run("key", "list", "--author", uid(name), "--json").json()] for name in ("Ann", "Bob")}
    for key in keys["Ann"] + keys["Bob"]:
        redis.call("SET", f"viewtally:{{limit}}:{key}", "window")
        redis.call("HSET", f"viewtally:{{limit}}:poll:{key}", "after", "1")
    instance.run("author", "erase", uid("Ann"))
    left = [name for name in redis.call("KEYS", "viewtally:{limit}:*") if not name.endswith("probe")]
    assert len(left) == 120 and {name[-36:] for name in left} == set(keys["Bob"])


def test_unavailable_redis_is_reported(make_viewtally, clock):
    instance = make_viewtally({"redis": {"url": "redis://127.0.0.1:1/0"}}, clock)
    instance.import_lines(lines_of("Ann"))
    instance.create_key(uid("Ann"))
    assert "Redis is unavailable" in instance.run("author", "erase", uid("Ann"), status=1).err
    assert sql(instance, "SELECT count(*) FROM authors") == [(0,)]


def test_restore_erases_the_author_again(world):
    world.run("backup", "then.db")
    world.run("author", "erase", uid("Ann"))
    assert "carried over: 1 author erased again\n" in world.run("restore", "then.db").out
    assert sql(world, "SELECT name FROM authors") == [("Bob",)]
    assert sql(world, "SELECT count(*) FROM videos") == [(3,)]
    check_sums(world)
    world.start()
    assert world.client(world.anns).get("/account").error_code == "invalid_api_key"
    assert world.client(world.bobs).get("/account").status == 200


def test_import_does_not_create_an_erased_author_again(world):
    world.run("author", "erase", uid("Ann"))
    failed = world.import_lines(lines_of("Ann"), status=1)
    assert "this author was erased" in failed.err and sql(world, "SELECT name FROM authors") == [("Bob",)]
    world.run("author", "add", "--name", "Ann", "--id", uid("Ann"))
    world.import_lines(lines_of("Ann"))
    assert sql(world, "SELECT count(*) FROM erased_authors") == [(0,)]
    assert sql(world, "SELECT count(*) FROM videos") == [(6,)]


def test_unknown_author_is_an_error(world):
    assert "no author has this id or sign-in name" in world.run("author", "erase", uid("Nobody"), status=1).err
    world.run("author", "erase", status=2)


# --- video remove, book remove ---

def data(client, path):
    return client.get(path).json()["data"]


def test_removed_video_disappears_from_every_response(world):
    world.start()
    with world.client(world.anns) as client:
        events = data(client, "/events")
        assert {event["video"]["title"] for event in events} == {"Ann one", "Ann two"}
        for _ in range(3):
            assert len(data(client, "/videos")) == 2 and data(client, "/books")[0]["videos_posted"] == 1
        assert world.run("video", "remove", uid("Ann one"), "--dry-run").out.startswith("Dry run: would remove video \"Ann one\" with 20000 views")
        assert len(data(client, "/videos")) == 2
        assert world.run("video", "remove", uid("Ann one")).out == "Removed video \"Ann one\" with 20000 views.\n"
        assert [v["title"] for v in data(client, "/videos")] == ["Ann two"]
        assert client.get(f"/videos/{uid('Ann one')}").status == 404
        assert data(client, "/events") == [event for event in events if event["video"]["title"] == "Ann two"]
        assert data(client, "/books")[0]["videos_posted"] == 0 and data(client, "/account")["videos_count"] == 1
        rows = data(client, "/stats?start_date=2026-07-01&end_date=2026-07-01")
        assert [row["video"]["title"] for row in rows] == ["Ann two"]
    check_sums(world)
    actions = [entry["action"] for entry in world.run("audit", "--author", uid("Ann"), "--json").json()]
    # The entry of the removal is not always the newest one: the first use of the key may be recorded after it.
    assert actions.count("video.removed") == 1
    assert references_exist(world)


def test_nothing_is_removed_during_a_refresh(world):
    """A reading that the run has queued could otherwise reach a new video with the row id of the removed one."""
    lease = "UPDATE refresh_lease SET holder = 'host-1-1', taken_at = :now, expires_at = :now + 20000"
    sql(world, lease.replace(":now", str(to_ms(DEFAULT_NOW))))
    before = counts(world)
    for command in (("video", "remove", uid("Ann one")), ("book", "remove", uid("Ann book"), "--with-videos"), ("author", "erase", uid("Ann"))):
        refused = world.run(*command, status=3)
        assert "nothing was changed: a refresh is running; repeat the command when it has ended" in refused.err
        assert world.run(*command, "--dry-run").out
    assert counts(world) == before
    sql(world, "UPDATE refresh_lease SET holder = '', expires_at = 0")
    world.run("video", "remove", uid("Ann one"))


@pytest.mark.sqlite_only("takes the lock file of imports")
def test_nothing_is_removed_during_an_import(world):
    before = counts(world)
    with open(f"{world.database}-import", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)        # what an import does
        for command in (("video", "remove", uid("Ann one")), ("book", "remove", uid("Ann book"), "--with-videos"), ("author", "erase", uid("Ann"))):
            refused = world.run(*command, status=3)
            assert "nothing was changed: an import is running; repeat the command when it has ended" in refused.err
    assert counts(world) == before
    world.run("video", "remove", uid("Ann one"))


@pytest.mark.sqlite_only("takes the lock file of imports")
def test_lock_of_imports_is_the_same_for_every_path_of_the_database(world):
    link = world.directory / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(world.database)
    with open(f"{world.database}-import", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        world.configure({"store": {"path": str(link)}})
        assert "nothing was changed: an import is running" in world.run("video", "remove", uid("Ann one"), status=3).err
    world.run("video", "remove", uid("Ann one"))
    assert list(link.parent.iterdir()) == [link]


def test_event_ids_are_not_used_again_after_the_newest_was_removed(world):
    newest, = sql(world, "SELECT max(id) FROM events")[0]
    owner, = sql(world, "SELECT v.title FROM events e JOIN videos v ON v.id = e.video_id WHERE e.id = ?", newest)[0]
    world.run("video", "remove", uid(owner))
    other = owner[:3] + (" two" if owner.endswith("one") else " one")
    world.import_lines([reading(other, at(5), 500000)])
    assert sql(world, "SELECT min(id) FROM events WHERE occurred_at = (SELECT max(occurred_at) FROM events)")[0][0] > newest
    check_sums(world)


def test_post_of_a_removed_video_can_be_imported_again(world):
    world.run("video", "remove", uid("Ann one"))
    world.import_lines(lines_of("Ann"))
    assert sql(world, "SELECT views FROM videos WHERE title = 'Ann one'") == [(20000,)]
    check_sums(world)


def test_removing_a_book_with_videos_needs_an_option(world):
    before = counts(world)
    failed = world.run("book", "remove", uid("Ann book"), status=1)
    assert "the book has 2 videos. --keep-videos keeps them" in failed.err and counts(world) == before
    world.run("book", "remove", uid("Ann book"), "--keep-videos", "--with-videos", status=2)
    assert "no book has this id" in world.run("book", "remove", uid("Nothing"), status=1).err
    assert "no video has this id" in world.run("video", "remove", uid("Nothing"), status=1).err
    world.run("video", "remove", "x", status=2)


def test_removed_book_leaves_its_videos_without_a_book(world):
    world.start()
    with world.client(world.anns) as client:
        for _ in range(3):
            assert {v["book"] and v["book"]["title"] for v in data(client, "/videos")} == {"Ann book", None}
        world.run("book", "remove", uid("Ann book"), "--keep-videos")
        assert data(client, "/books") == [] and {v["book"] for v in data(client, "/videos")} == {None}
        assert data(client, "/account")["books_count"] == 0 and {e["video"]["book"] for e in data(client, "/events")} == {None}
    check_sums(world)


def test_book_is_removed_with_its_videos(world):
    world.run("book", "remove", uid("Ann book"), "--with-videos", "--dry-run")
    assert sql(world, "SELECT count(*) FROM books") == [(2,)]
    world.run("book", "remove", uid("Ann book"), "--with-videos")
    assert sorted(title for title, in sql(world, "SELECT title FROM videos")) == ["Ann two", "Bob draft", "Bob one", "Bob two"]
    assert [entry["action"] for entry in world.run("audit", "--author", uid("Ann"), "--limit", "1", "--json").json()] == ["book.removed"]
    check_sums(world)


# --- killed at any step ---

@pytest.mark.sqlite_only("counts the points at which a file is changed")
def test_erase_killed_at_any_step_leaves_all_or_nothing_and_can_be_repeated(full_world):
    """A kill point follows the deletion from each table, the commit, and the truncation of the WAL."""
    saved = {path.name: path.read_bytes() for path in full_world.directory.glob("viewtally.db*")}
    before = counts(full_world)
    seen = set()
    for step in range(1, 100):
        for path in full_world.directory.glob("viewtally.db*"):
            path.unlink()
        for name, content in saved.items():
            (full_world.directory / name).write_bytes(content)
        done = full_world.run("author", "erase", uid("Ann"), status=None, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
        assert done.status in (0, -9), done
        after = counts(full_world)
        is_erased = after["authors"] == before["authors"] // 2
        if is_erased:
            assert {table: after[table] for table in erased(full_world)} == {table: before[table] // 2 for table in erased(full_world)} and after["erased_authors"] == 1
        else:
            assert after == before
        seen.add((done.status, is_erased))
        again = full_world.run("author", "erase", uid("Ann")).out
        assert again == f"Author {uid('Ann')} has been erased before.\n" if is_erased else again.startswith("Deleted author")
        assert counts(full_world)["authors"] == before["authors"] // 2 and references_exist(full_world)
        assert b"Ann one" not in b"".join(path.read_bytes() for path in full_world.directory.glob("viewtally.db*"))
        if done.status == 0:
            break
    assert seen == {(-9, False), (-9, True), (0, True)} and step > 20
