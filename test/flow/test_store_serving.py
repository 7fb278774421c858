"""The database is locked, damaged, full or removed while the server runs: responses during the fault, and recovery."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import uuid

import pytest

from lib import wait
from lib.lines import author, book, reading, uid, video
from lib.pages import Browser, session_cookie
from lib.viewtally import SANITIZER_REPORT

POSTED = "2026-07-01T08:00:00Z"
PAGE = 4096
LINES = [author("Ada"), book("Novel", "Ada", created_at=POSTED), video("a", "Ada", POSTED, book_id=uid("Novel")),
         reading("a", "2026-07-09T00:00:00Z", 20000)]
VIDEO_PAGE = f"/videos/{uid('a')}"
MONTH = "/stats?start_date=2026-06-15&end_date=2026-07-14"
MONTHS = [MONTH, MONTH + "&group_by=book", MONTH + "&format=csv"]
PATHS = ["/account", "/books", "/videos", f"/videos/{uid('a')}", "/stats", *MONTHS, "/events"]


class World:
    def __init__(self, instance):
        self.instance = instance
        self.path = pathlib.Path(instance.settings["store"]["path"])
        instance.import_lines(LINES)
        self.key = instance.create_key(uid("Ada"))

    def serve(self):
        self.instance.start()
        self.client = self.instance.client(self.key)
        return self

    def answers(self):
        return {path: self.client.request("GET", "/v1" + path) for path in PATHS}

    def statuses(self):
        return {answer.status for answer in self.answers().values()}

    @contextlib.contextmanager
    def unreadable(self, table):
        """Makes a table unreadable until the block ends: damages its first page in the database file, or renames it on a server. Yields a
        part of the message that the server logs."""
        if self.instance.is_on_server:
            self.instance.sql(f"ALTER TABLE {table} RENAME TO {table}_gone")
            yield "does not exist (42P01)"
            self.instance.sql(f"ALTER TABLE {table}_gone RENAME TO {table}")
            return
        page = self.root_page(table)
        self.truncate_log()
        whole = self.overwrite(page, b"\xa5" * PAGE)
        self.commit_unrelated_change()
        yield "malformed"
        self.overwrite(page, whole)
        self.commit_unrelated_change()

    def root_page(self, table):
        with sqlite3.connect(self.path) as database:
            return database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]

    def overwrite(self, page, data):
        """Overwrites bytes of the database file and returns the old ones."""
        with open(self.path, "r+b") as file:
            file.seek((page - 1) * PAGE)
            before = file.read(len(data))
            file.seek((page - 1) * PAGE)
            file.write(data)
        return before

    def truncate_log(self):
        """Truncates the WAL, so that all pages are read from the database file."""
        database = sqlite3.connect(self.path)
        assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        database.close()

    def commit_unrelated_change(self):
        """Invalidates the page caches of the server's connections."""
        with sqlite3.connect(self.path) as database:
            database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('test', random())")
        database.close()


@pytest.fixture
def world(viewtally):
    made = World(viewtally)
    yield made
    if hasattr(made, "client"):
        made.client.close()


def is_unavailable(answer):
    return (answer.status == 503 and answer.error_code == "internal_error" and answer.headers["Retry-After"] == "5"
            and answer.headers["X-Request-Id"] == answer.json()["error"]["request_id"])


def is_ok_or_unavailable(answer):
    return answer.status == 200 or is_unavailable(answer)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB that can be filled; skips the test if it cannot be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place):
    """Fills the disk; delete the returned file to free the space."""
    path = place / "filler"
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * PAGE)
        except OSError:
            pass
    return path


def test_start_does_not_wait_for_another_writer(world):
    with world.instance.write_transaction():          # waiting for the lock would time out
        world.serve()
        assert world.statuses() == {200}
        assert len(world.instance.run("author", "list", "--json").json()) == 1
        assert len(world.instance.run("key", "list", "--author", uid("Ada"), "--json").json()) == 1


def test_write_that_times_out_is_reported_as_busy(world):
    with world.instance.write_transaction():
        for command in (["author", "add", "--name", "B"], ["author", "set-plan", uid("Ada"), "inactive"], ["import", "-"],
                        ["key", "create", "--author", uid("Ada"), "--name", "n"]):
            done = world.instance.run(*command, stdin=b'{"type":"author","id":"%s","name":"New"}\n' % uid("Ada").encode(),
                                      env={"VIEWTALLY_STORE_BUSY_TIMEOUT_MS": "50"}, status=3)
            assert done.out == "" and "database error: busy" in done.err
    assert world.serve().client.get("/account").json()["data"]["name"] == "Ada"


def test_long_write_of_another_process_delays_no_read(world):
    """Reads continue; the key's time of use is written when the lock is released."""
    world.instance.configure({"store": {"busy_timeout_ms": 600_000}})
    world.serve()
    with world.instance.write_transaction():
        for _ in range(40):
            for path in PATHS:                      # waiting for the lock would end with 503
                assert world.client.request("GET", "/v1" + path).status == 200
        assert world.client.get("/account").json()["data"]["key"]["last_used_at"] is None
    assert wait.until(lambda: world.client.get("/account").json()["data"]["key"]["last_used_at"], "the use to be written")
    assert world.client.opened == 1


def test_shutdown_waits_for_a_write_lock_no_longer_than_the_busy_timeout(world):
    """The write of the key's time of use waits for the lock."""
    world.instance.configure({"store": {"busy_timeout_ms": 300}})
    world.serve()
    with world.instance.write_transaction():
        assert world.statuses() == {200}
        world.instance.stop()


@pytest.mark.parametrize("table, hit", [("api_keys", set(PATHS)), ("authors", set(PATHS)), ("books", {"/books", MONTHS[1]}),
                                        ("videos", {"/videos", f"/videos/{uid('a')}", "/stats", *MONTHS}), ("events", {"/events"})])
def test_unreadable_table_gives_503_until_it_is_repaired(world, table, hit):
    world.serve()
    assert world.statuses() == {200}
    wait.until(lambda: world.client.get("/account").json()["data"]["key"]["last_used_at"], "the use to be written")
    with world.unreadable(table) as logged:
        answers = world.answers()
        for path, answer in answers.items():
            assert is_unavailable(answer) if path in hit else is_ok_or_unavailable(answer), (path, answer)
        assert world.client.get("/nowhere").status == 404 and world.client.get("/openapi.json").status == 200
        assert logged in world.instance.log and len(world.instance.log.splitlines()) < 60
    wait.until(lambda: world.statuses() == {200}, "service to be back")


@pytest.mark.parametrize("table, hit", [("authors", {"/dashboard", "/videos", VIDEO_PAGE}), ("videos", {"/dashboard", "/videos", VIDEO_PAGE}),
                                        ("events", {"/dashboard"}), ("sessions", {"/dashboard", "/videos", VIDEO_PAGE})])
def test_web_page_reports_unavailable_data(world, table, hit):
    world.serve()
    browser = Browser(world.client)
    browser.cookies["viewtally-session"] = session_cookie(world.instance, uid("Ada"))
    see = lambda: {path: browser.get(path, follow=False).status for path in ("/dashboard", "/videos", VIDEO_PAGE)}     # noqa: E731
    assert set(see().values()) == {200}
    world.instance.import_lines([author("Ada", plan_active=True), reading("a", "2026-07-09T01:00:00Z", 20001)])     # invalidates cached responses
    with world.unreadable(table):
        shown = see()
        assert {path for path, status in shown.items() if status == 503} >= hit and set(shown.values()) <= {200, 503}
        failed = browser.get("/dashboard", follow=False)
        assert "cannot reach its data" in failed.text and failed.headers["Retry-After"] == "5"
    wait.until(lambda: set(see().values()) == {200}, "service to be back")


def test_unreadable_table_ends_a_long_poll(world):
    world.instance.import_lines([author("Bob"), video("b", "Bob", POSTED), reading("b", "2026-07-09T00:00:00Z", 10)])
    world.serve()
    head = world.client.get("/events?after=latest").json()["next_cursor"]
    with world.unreadable("events"):
        world.instance.sql("UPDATE authors SET last_event_id = last_event_id + 1 WHERE uuid = ?", uuid.UUID(uid("Ada")))
        assert is_unavailable(world.client.get("/events", {"wait": "55", "after": head}))


@pytest.mark.sqlite_only("fills the disk of the database file; test/pg/test_full_disk.py fills that of PostgreSQL")
def test_reads_succeed_while_the_disk_is_full(viewtally, small_disk):
    viewtally.configure({"store": {"path": small_disk / "x.db"}})
    world = World(viewtally).serve()
    assert world.statuses() == {200}
    wait.until(lambda: world.client.get("/account").json()["data"]["key"]["last_used_at"], "the use to be written")
    filler = fill(small_disk)
    more = [video(f"v{i}", "Ada", POSTED, title="x" * 1500) for i in range(60)]
    done = viewtally.import_lines(more, status=3)
    assert done.err.splitlines()[-1].startswith("viewtally import: the import stopped: ")
    assert "no space left" in done.err or "No space" in done.err
    viewtally.clock.advance(60_000)                     # so that the next use of the key is written
    for _ in range(5):
        assert world.statuses() == {200}
    done = viewtally.run("key", "create", "--author", uid("Ada"), "--name", "n", status=None)
    filler.unlink()
    viewtally.import_lines(more)
    assert world.client.get("/account").json()["data"]["videos_count"] == 61
    viewtally.clock.advance(60_000)
    wait.until(lambda: world.client.get("/account").json()["data"]["key"]["last_used_at"] == "2026-07-10T12:02:00.000Z", "the use to be written")
    if done.status == 0:
        assert world.client.get("/account", key=done.out.strip()).status == 200      # the printed key exists
    else:
        assert done.status == 3 and done.out == ""
    assert len(viewtally.log.splitlines()) < 60
    world.client.close()
    viewtally.stop()


@pytest.mark.sqlite_only("limits the size of the write-ahead log")
def test_server_survives_its_file_size_limit(world):
    """Because of RLIMIT_FSIZE, the WAL cannot grow. Reads succeed, times of use are lost, and the server keeps
    running."""
    world.serve()
    pid = world.instance.pid
    subprocess.run(["prlimit", f"--pid={pid}", "--fsize=4096:4096"], check=True)
    for minute in range(3):
        world.instance.clock.advance(60_000)
        assert world.statuses() == {200}
    world.instance.import_lines([author("Ada", name="Renamed")])
    assert world.client.get("/account").json()["data"]["name"] == "Renamed"


def snapshot(world, place):
    """A consistent copy of the database, made by SQLite."""
    source, copy = sqlite3.connect(world.path), sqlite3.connect(place)
    source.backup(copy)
    source.close()
    copy.close()
    return place


@pytest.mark.sqlite_only("removes the database files")
@pytest.mark.parametrize("how", ["replaced", "deleted", "log deleted", "shared memory deleted", "all but the database deleted", "truncated to nothing"])
def test_server_survives_removal_of_its_files(world, how):
    """No crash, no hang, no partial response; an intact database is served after a restart."""
    copy = snapshot(world, world.path.parent / "copy.db")
    world.serve()
    before = {path: answer.body for path, answer in world.answers().items()}
    log, shared = (pathlib.Path(f"{world.path}-{tail}") for tail in ("wal", "shm"))
    if how == "replaced":
        os.replace(shutil.copy(copy, world.path.parent / "new.db"), world.path)
    elif how == "deleted":
        world.path.unlink()
    elif how == "truncated to nothing":
        os.truncate(world.path, 0)
    else:
        for path in {"log deleted": [log], "shared memory deleted": [shared]}.get(how, [log, shared]):
            path.unlink()
    for minute in range(3):
        world.instance.clock.advance(60_000)            # a write each round
        for path, answer in world.answers().items():
            assert is_ok_or_unavailable(answer), (path, answer)
            assert answer.status == 503 or path == "/account" or answer.body == before[path], path
    world.client.close()
    world.instance.stop()
    for path in (world.path, log, shared):
        path.unlink(missing_ok=True)
    shutil.copy(copy, world.path)
    world.serve()
    assert {path: answer.body for path, answer in world.answers().items() if path != "/account"} == \
           {path: body for path, body in before.items() if path != "/account"}


def test_stopped_or_killed_import_delays_no_read_and_can_be_repeated(world):
    """Reads continue, and running the import again completes it."""
    world.serve()
    lines = [video(f"v{i}", "Ada", POSTED) for i in range(50)]
    lines += [reading(f"v{i}", f"2026-07-09T{hour:02}:{minute:02}:00Z", (60 * hour + minute) * 10)
              for hour in range(10) for minute in range(60) for i in range(50)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    process = world.instance.command("import", "-")
    process.stdin.write(data)
    process.stdin.close()
    wait.until(lambda: world.client.get("/account").json()["data"]["videos_count"] == 51, "the import to begin")
    process.send_signal(signal.SIGSTOP)
    for _ in range(20):
        assert world.statuses() == {200}
    process.kill()
    process.wait()
    assert world.statuses() == {200}
    again = world.instance.import_lines(lines, status=None)
    assert again.status in (0, 1)
    total = {item["title"]: item["views"] for item in world.client.get("/videos", {"limit": 100}).json()["data"]}
    assert total == {"a": 20000, **{f"v{i}": 5990 for i in range(50)}}
    assert not SANITIZER_REPORT.search(world.instance.log)
    assert not re.search(r"-import-|\.viewtally", " ".join(path.name for path in world.instance.directory.iterdir()))
