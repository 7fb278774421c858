"""Faults of the database and its disk: errors of commands, and continued service."""
import contextlib
import fcntl
import os
import shutil
import sqlite3

import pytest

from lib import wait
from lib.disk import immutable
from lib.lines import author, reading, uid, video
from lib.processes import open_files

COMMANDS = {
    "serve": ("serve",),
    "import": ("import", "-"),
    "key create": ("key", "create", "--author", uid("A"), "--name", "k"),
    "migrate": ("migrate",),
}
# Commands that can create a database, with the options that they need to do so.
CREATES = {"serve": ("--create",), "import": ("--create",), "migrate": ()}
RANGE = {"start_date": "2026-07-01", "end_date": "2026-07-09"}
ALL = ("/videos", {"limit": "100"})
DAY = "2026-07-01T00:00:00Z"
PAGE, TABLE_LEAF = 4096, 13
# Locks of the shared-memory file: https://www.sqlite.org/walformat.html, "WAL locks".
SHM_WRITER, SHM_RECOVER = 120, 122


def lines_of(name, count=3, views=500, title=""):
    lines = [author(name)]
    for number in range(count):
        lines.append(video(f"{name}{number}", name, DAY, **({"title": f"{title} {number}"} if title else {})))
    lines += [reading(f"{name}{number}", "2026-07-02T00:00:00Z", views + number) for number in range(count)]
    return lines


def filled(instance, *names):
    """Imports authors with videos and returns a key for each."""
    for name in names:
        instance.import_lines(lines_of(name))
    return [instance.create_key(uid(name)) for name in names]


def database_of(instance):
    return instance.directory / "viewtally.db"


def summed(answer):
    return sum(row["views"] for row in answer.json()["data"])


def total_views(instance, key):
    with instance.client(key) as client:
        answer = client.get(*ALL)
        assert answer.status == 200, answer
        return summed(answer)


def assert_fails(instance, command, *words, status=3, options=()):
    finished = instance.run(*COMMANDS[command], *options, stdin=b"", status=status, timeout=60)
    printed_lines = [line for line in finished.err.splitlines() if line.startswith("viewtally ")]
    assert len(printed_lines) == 1, finished
    assert all(word in printed_lines[0] for word in words), finished
    assert "listening on" not in finished.out and len(finished.err.splitlines()) <= 5, finished


# --- at start ---


@pytest.mark.sqlite_only("the state of the database file; test/pg/test_server_upgrade.py has the states of a database on a server")
@pytest.mark.parametrize("command", COMMANDS)
class TestAtStart:
    def test_missing_directory_is_reported(self, make_viewtally, command):
        instance = make_viewtally({"store": {"path": "/nowhere/at/all/viewtally.db"}})
        assert_fails(instance, command, "/nowhere/at/all", "No such file or directory")

    def test_path_below_a_file_is_reported(self, viewtally, command):
        (viewtally.directory / "file").write_bytes(b"")
        viewtally.configure({"store": {"path": viewtally.directory / "file" / "viewtally.db"}})
        assert_fails(viewtally, command, "is not a directory")

    def test_database_that_is_a_directory_is_reported(self, viewtally, command):
        database_of(viewtally).mkdir()
        # For the server, such a path is a configuration error.
        assert_fails(viewtally, command, "must be a regular file", status=2 if command == "serve" else 3)

    def test_file_that_is_not_a_database_is_preserved(self, viewtally, command):
        text = b"These are notes, not a database.\n" * 400
        database_of(viewtally).write_bytes(text)
        assert_fails(viewtally, command, "viewtally.db is not a database")
        assert database_of(viewtally).read_bytes() == text

    def test_damaged_header_is_reported(self, viewtally, command):
        filled(viewtally, "A")
        with open(database_of(viewtally), "r+b") as file:
            file.seek(16)
            file.write(b"\xff" * 60)
        damaged = database_of(viewtally).read_bytes()
        assert_fails(viewtally, command, "viewtally.db is not a database, or it is damaged")
        assert database_of(viewtally).read_bytes() == damaged

    def test_truncated_database_is_reported_as_damaged(self, viewtally, command):
        filled(viewtally, "A")
        os.truncate(database_of(viewtally), 3 * PAGE)
        assert_fails(viewtally, command, "viewtally.db", "damaged")

    def test_newer_schema_is_rejected(self, viewtally, command):
        filled(viewtally, "A")
        with contextlib.closing(sqlite3.connect(database_of(viewtally))) as database:
            database.execute("PRAGMA user_version = 4711")
            database.execute("UPDATE meta SET value = 4711 WHERE key = 'compatible_since'")
            database.commit()
        before = database_of(viewtally).read_bytes()
        assert_fails(viewtally, command, "schema version 4711", "newer")
        assert database_of(viewtally).read_bytes() == before

    def test_database_of_another_program_is_preserved(self, viewtally, command):
        with contextlib.closing(sqlite3.connect(database_of(viewtally))) as database:
            database.execute("CREATE TABLE bookmarks (url TEXT)")
        before = database_of(viewtally).read_bytes()
        assert_fails(viewtally, command, "another program")
        assert database_of(viewtally).read_bytes() == before

    def test_read_only_database_is_reported(self, viewtally, command):
        filled(viewtally, "A")
        with immutable(database_of(viewtally)):
            assert_fails(viewtally, command, "viewtally.db is not writable: Operation not permitted")

    def test_read_only_directory_is_reported(self, viewtally, command):
        filled(viewtally, "A")
        home = viewtally.directory / "home"
        home.mkdir()
        shutil.move(database_of(viewtally), home / "viewtally.db")
        viewtally.configure({"store": {"path": home / "viewtally.db"}})
        with immutable(home):
            assert_fails(viewtally, command, str(home), "cannot open the lock file", "viewtally.db-lock", "Operation not permitted")

    def test_missing_permission_to_create_a_database_is_reported(self, viewtally, command):
        home = viewtally.directory / "home"
        why = (f"database {home}/viewtally.db does not exist",) if command not in CREATES else ("cannot open the lock file", "viewtally.db-lock", "Operation not permitted")
        home.mkdir()
        viewtally.configure({"store": {"path": home / "viewtally.db"}})
        with immutable(home):
            assert_fails(viewtally, command, *why, options=CREATES.get(command, ()))

    def test_full_disk_prevents_a_new_database(self, make_viewtally, make_disk, command):
        disk = make_disk("64k")
        why = "no space left on the disk" if command in CREATES else "does not exist"
        assert_fails(make_viewtally({"store": {"path": disk.path / "viewtally.db"}}), command, why, options=CREATES.get(command, ()))

    def test_disk_too_full_for_the_wal_is_reported(self, make_viewtally, make_disk, command):
        disk = make_disk("1m")
        instance = make_viewtally({"store": {"path": disk.path / "viewtally.db"}})
        filled(instance, "A")
        disk.fill()
        assert_fails(instance, command, "no space left on the disk")
        disk.make_room()
        instance.run("migrate")


@pytest.mark.sqlite_only("the path of the database file")
@pytest.mark.parametrize("command", COMMANDS)
def test_database_in_memory_is_rejected(make_viewtally, command):
    instance = make_viewtally({"store": {"path": ":memory:"}})
    assert_fails(instance, command, "must be a file", ":memory:", status=2 if command == "serve" else 3)


# --- locked ---


@contextlib.contextmanager
def holding_file_lock(instance, *statements):
    """Holds the lock that the statements acquire, as another process would, until the block ends."""
    with contextlib.closing(sqlite3.connect(database_of(instance), isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)
        yield database


@pytest.mark.sqlite_only("locks the whole database file")
def test_commands_wait_until_a_lock_is_released(viewtally):
    """The whole file is locked, as for a repair. Every command continues when the lock is released."""
    filled(viewtally, "A")
    with holding_file_lock(viewtally, "PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE"):
        waiting = [viewtally.background(*COMMANDS[name]) for name in COMMANDS if name != "serve"]
        for process in waiting:
            wait.until(lambda pid=process.pid: holds_open(pid, database_of(viewtally)), "the command to open the database")
            assert process.poll() is None
    assert [process.wait(60) for process in waiting] == [0] * len(waiting)
    viewtally.start()


def holds_open(pid, path):
    with contextlib.suppress(OSError):          # the process has ended
        return os.path.realpath(path) in open_files(pid)
    return False


@pytest.mark.parametrize("command", ["import", "key create"])
def test_write_lock_that_is_not_released_is_reported_as_busy(viewtally, command):
    viewtally.configure({"store": {"busy_timeout_ms": 50}})
    filled(viewtally, "A")
    with viewtally.write_transaction():
        finished = viewtally.run(*COMMANDS[command], stdin=b'{"type":"author","id":"%s","name":"Z"}' % uid("Z").encode(), status=3)
    assert "busy" in finished.err or "locked" in finished.err, finished
    viewtally.run(*COMMANDS[command])


@pytest.mark.parametrize("command", ["serve", pytest.param("migrate", marks=pytest.mark.sqlite_only("with PostgreSQL, it waits for writers"))])
def test_start_does_not_need_the_write_lock(viewtally, command):
    """If there is nothing to migrate, the start writes nothing."""
    key, = filled(viewtally, "A")
    with viewtally.write_transaction():
        if command == "serve":
            viewtally.start()
            assert total_views(viewtally, key) == 1503
        else:
            viewtally.run("migrate")


# --- while serving ---


@pytest.mark.sqlite_only("damages pages of the database file")
def test_damaged_page_affects_one_author_and_is_logged_once_a_second(viewtally, clock):
    """One author's videos cannot be read. Others are not affected; the error is logged once a second, not for each request."""
    for name in "AB":
        viewtally.import_lines(lines_of(name, 60, title=name * 300))
    broken, sound = (viewtally.create_key(uid(name)) for name in "AB")
    data = database_of(viewtally).read_bytes()
    pages = [data[at:at + PAGE] for at in range(0, len(data), PAGE)]
    mine = [number for number, page in enumerate(pages) if page[0] == TABLE_LEAF and b"A" * 300 in page and b"B" * 300 not in page]
    assert len(mine) > 3
    with open(database_of(viewtally), "r+b") as file:
        for number in mine:
            file.seek(number * PAGE)
            file.write(b"\xff" * 100)
    clock.set_monotonic(5_000_000)
    viewtally.start()
    with viewtally.client(broken) as unlucky, viewtally.client(sound) as lucky:
        for _ in range(100):
            answer = unlucky.get("/videos")
            assert (answer.status, answer.error_code) == (503, "internal_error"), answer
            assert int(answer.headers["Retry-After"]) > 0 and answer.headers["ETag"] is None
            assert lucky.get("/videos").status == 200
        assert summed(lucky.get(*ALL)) == 60 * 500 + sum(range(60))
        printed_lines = [line for line in viewtally.log.splitlines() if "malformed" in line or "damaged" in line]
        assert len(printed_lines) == 1, viewtally.log
        assert len(viewtally.log.splitlines()) < 10, viewtally.log
        clock.advance(1_000)
        assert unlucky.get("/videos").status == 503
        assert "99 more errors not logged" in viewtally.log
        assert unlucky.opened == lucky.opened == 1


def last_used(instance):
    return [used for used, in instance.sql("SELECT last_used_at FROM api_keys")]


def test_write_lock_of_another_process_delays_no_read_and_no_time_of_use_is_lost(viewtally):
    names = "ABCD"
    keys = filled(viewtally, *names)
    viewtally.configure({"store": {"busy_timeout_ms": 600_000}})
    viewtally.start()
    with viewtally.write_transaction():
        # A read that waited for the lock would hang.
        for _ in range(25):
            assert [total_views(viewtally, key) for key in keys] == [1503] * 4
        assert last_used(viewtally) == [None] * 4
    wait.until(lambda: all(last_used(viewtally)), "the times of use")
    assert "cannot be written" not in viewtally.log


@pytest.mark.sqlite_only("locks the database file")
def test_other_process_cannot_lock_out_a_server(viewtally):
    """Statements that would lock out the server fail while it runs."""
    key, = filled(viewtally, "A")
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    for statements in (("PRAGMA journal_mode = DELETE",), ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE")):
        with contextlib.closing(sqlite3.connect(database_of(viewtally), timeout=0, isolation_level=None)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                for statement in statements:
                    other.execute(statement)
    with holding_file_lock(viewtally, "BEGIN EXCLUSIVE"):
        assert total_views(viewtally, key) == 1503


@pytest.mark.sqlite_only("the write-ahead log of the database file")
def test_reads_give_503_while_another_process_recovers_the_wal(viewtally):
    """This is the only case in which SQLite rejects a reader. The server responds with 503 without waiting, and with
    200 as soon as the recovery ends."""
    key, = filled(viewtally, "A")
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    with open(f"{database_of(viewtally)}-shm", "r+b", buffering=0) as shm, viewtally.client(key) as client:
        fcntl.lockf(shm, fcntl.LOCK_EX, SHM_RECOVER - SHM_WRITER + 1, SHM_WRITER)
        header = os.pread(shm.fileno(), 96, 0)
        os.pwrite(shm.fileno(), b"\xee" * 96, 0)
        for _ in range(5):
            answer = client.get(*ALL)
            assert (answer.status, answer.error_code) == (503, "internal_error"), answer
            assert int(answer.headers["Retry-After"]) > 0
        os.pwrite(shm.fileno(), header, 0)
        fcntl.lockf(shm, fcntl.LOCK_UN, SHM_RECOVER - SHM_WRITER + 1, SHM_WRITER)
        answer = client.get(*ALL)
        assert answer.status == 200 and summed(answer) == 1503


@pytest.mark.sqlite_only("fills the disk of the database file; test/pg/test_full_disk.py fills that of PostgreSQL")
def test_server_survives_a_full_disk(make_viewtally, make_disk, clock):
    disk = make_disk("1m")
    instance = make_viewtally({"store": {"path": disk.path / "viewtally.db"}}, clock)
    whole = make_viewtally(clock=clock)
    key, = filled(instance, "A")
    filled(whole, "A")
    instance.start()
    many = lines_of("B", 300, title="B" * 1500)
    with instance.client(key) as client:
        stopped = instance.import_lines(many, status=3)
        assert "the import stopped" in stopped.err or "no room" in stopped.err, stopped
        assert summed(client.get(*ALL)) == 1503
        disk.fill()
        for _ in range(5):
            assert summed(client.get(*ALL)) == 1503
            assert client.get("/videos").status == 200
        instance.import_lines(many, status=3)
        disk.make_room()
        disk.resize("64m")
        instance.import_lines(many)
        whole.import_lines(many)
        assert client.get(*ALL).status == 200 and client.opened == 1
    answers = []
    for each in (instance, whole):
        other = each.create_key(uid("B"))
        if not each.running:
            each.start()
        with each.client(other) as client:
            answers.append([client.get(path, params).json() for path, params in (ALL, ("/stats", RANGE), ("/events", None))])
    assert answers[0] == answers[1]
    assert len(answers[0][0]["data"]) == 100
    assert answers[0][1]["data"]


def other_database(viewtally, make_viewtally, clock):
    other = make_viewtally(clock=clock)
    key, = filled(other, "C")
    return database_of(other), key


@pytest.mark.sqlite_only("replaces the database file")
def test_server_continues_with_its_open_file_after_the_database_is_replaced(viewtally, make_viewtally, clock):
    """The server continues with the file that it has open; after a restart it serves the new file.

    The test also deletes the WAL of the old file, which SQLite would apply to the new one. `viewtally restore` is the
    safe way to replace a database."""
    key, = filled(viewtally, "A")
    other, other_key = other_database(viewtally, make_viewtally, clock)
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    os.replace(other, database_of(viewtally))
    for tail in ("-wal", "-shm"):
        os.unlink(f"{database_of(viewtally)}{tail}")
    for _ in range(10):
        assert total_views(viewtally, key) == 1503
    with viewtally.client(other_key) as client:
        assert client.get(*ALL).status == 401
    viewtally.stop()
    viewtally.start()
    assert total_views(viewtally, other_key) == 1503
    with viewtally.client(key) as client:
        assert client.get(*ALL).status == 401
    viewtally.stop()
    assert_intact(viewtally)


def assert_intact(instance):
    with contextlib.closing(sqlite3.connect(instance.as_file())) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.sqlite_only("deletes the database file")
def test_server_continues_after_the_database_is_deleted(viewtally):
    key, = filled(viewtally, "A")
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    os.unlink(database_of(viewtally))
    for _ in range(10):
        assert total_views(viewtally, key) == 1503
    viewtally.stop()
    viewtally.start()
    with viewtally.client(key) as client:
        assert client.get(*ALL).status == 401
    key, = filled(viewtally, "A")
    assert total_views(viewtally, key) == 1503


@pytest.mark.sqlite_only("deletes files of SQLite")
@pytest.mark.parametrize("tail", ["-wal", "-shm"])
def test_server_continues_after_the_wal_or_shm_file_is_deleted(viewtally, tail):
    key, = filled(viewtally, "A")
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    os.unlink(f"{database_of(viewtally)}{tail}")
    for _ in range(10):
        assert total_views(viewtally, key) == 1503
    viewtally.stop()
    viewtally.start()
    assert total_views(viewtally, key) == 1503
    viewtally.stop()
    assert_intact(viewtally)


def test_kill_9_loses_nothing_that_was_confirmed(viewtally):
    key, = filled(viewtally, "A")
    viewtally.start()
    keys = [key]
    for number in range(5):
        viewtally.import_lines([reading("A0", f"2026-07-0{3 + number}T00:00:00Z", 1000 * (number + 1))])
        keys.append(viewtally.create_key(uid("A"), f"k{number}"))
        expected = 1000 * (number + 1) + 501 + 502
        assert total_views(viewtally, keys[-1]) == expected
        viewtally.kill()
        viewtally.start()
        assert [total_views(viewtally, each) for each in keys] == [expected] * len(keys)
    viewtally.stop()
    assert_intact(viewtally)
