"""Faults of the database and its disk, on the whole program: what a command says, and what a server goes on doing."""
import contextlib
import os
import shutil
import sqlite3
import subprocess

import pytest

from lib.lines import author, book, reading, uid, video

COMMANDS = {
    "serve": ("serve",),
    "import": ("import", "-"),
    "key create": ("key", "create", "--author", uid("A"), "--name", "k"),
    "migrate": ("migrate",),
}
DAY = "2026-07-01T00:00:00Z"
PAGE = 4096


def lines_of(name, count=3, views=500, title=""):
    lines = [author(name)]
    for number in range(count):
        lines.append(video(f"{name}{number}", name, DAY, **({"title": f"{title} {number}"} if title else {})))
    lines += [reading(f"{name}{number}", "2026-07-02T00:00:00Z", views + number) for number in range(count)]
    return lines


def filled(instance, *names):
    """Authors with videos; a key for each."""
    for name in names:
        instance.import_lines(lines_of(name))
    return [instance.create_key(uid(name)) for name in names]


def database_of(instance):
    return instance.directory / "viewtally.db"


def assert_refused(instance, command, *words, status=3):
    finished = instance.run(*COMMANDS[command], stdin=b"", status=status, timeout=60)
    said = [line for line in finished.err.splitlines() if line.startswith("viewtally: ")]
    assert len(said) == 1, finished
    assert all(word in said[0] for word in words), finished
    assert "listening on" not in finished.out and len(finished.err.splitlines()) <= 5, finished


@contextlib.contextmanager
def immutable(path):
    """Not to be written even by root, whom permission bits do not stop."""
    if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode != 0:
        pytest.skip("chattr +i is not possible here (wants root and a file system that has it)")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)


class Disk:
    def __init__(self, path):
        self.path = path

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(b"x" * PAGE)

    def make_room(self):
        (self.path / "filler").unlink()

    def resize(self, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)


@pytest.fixture
def make_disk(tmp_path):
    """make_disk("1m") is an empty file system of that size."""
    made = []

    def make(size):
        path = tmp_path / f"disk-{len(made)}"
        path.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True, check=False).returncode == 0
        if not mounted:
            pytest.skip("a tmpfs cannot be mounted here (wants root)")
        made.append(path)
        return Disk(path)

    yield make
    for path in made:
        # Lazily: the server of the test may end later.
        subprocess.run(["umount", "-l", str(path)], check=True)


# --- at start ---


@pytest.mark.parametrize("command", COMMANDS)
class TestAtStart:
    def test_the_directory_is_missing(self, make_viewtally, command):
        instance = make_viewtally({"store": {"path": "/nowhere/at/all/viewtally.db"}})
        assert_refused(instance, command, "/nowhere/at/all", "No such file or directory")

    def test_the_directory_is_a_file(self, viewtally, command):
        (viewtally.directory / "file").write_bytes(b"")
        viewtally.configure({"store": {"path": viewtally.directory / "file" / "viewtally.db"}})
        assert_refused(viewtally, command, "is not a directory")

    def test_the_database_is_a_directory(self, viewtally, command):
        database_of(viewtally).mkdir()
        # The server says of such a path that the configuration is wrong.
        assert_refused(viewtally, command, "must be a file", status=2 if command == "serve" else 3)

    def test_no_database(self, viewtally, command):
        text = b"These are notes, not a database.\n" * 400
        database_of(viewtally).write_bytes(text)
        assert_refused(viewtally, command, "viewtally.db is not a database")
        assert database_of(viewtally).read_bytes() == text

    def test_a_damaged_header(self, viewtally, command):
        filled(viewtally, "A")
        with open(database_of(viewtally), "r+b") as file:
            file.seek(16)
            file.write(b"\xff" * 60)
        damaged = database_of(viewtally).read_bytes()
        assert_refused(viewtally, command, "viewtally.db is not a database, or it is damaged")
        assert database_of(viewtally).read_bytes() == damaged

    def test_cut_short(self, viewtally, command):
        filled(viewtally, "A")
        os.truncate(database_of(viewtally), 3 * PAGE)
        assert_refused(viewtally, command, "viewtally.db", "damaged")

    def test_a_newer_schema(self, viewtally, command):
        filled(viewtally, "A")
        with contextlib.closing(sqlite3.connect(database_of(viewtally))) as database:
            database.execute("PRAGMA user_version = 4711")
        before = database_of(viewtally).read_bytes()
        assert_refused(viewtally, command, "schema version 4711", "newer")
        assert database_of(viewtally).read_bytes() == before

    def test_the_database_of_another_program(self, viewtally, command):
        with contextlib.closing(sqlite3.connect(database_of(viewtally))) as database:
            database.execute("CREATE TABLE bookmarks (url TEXT)")
        before = database_of(viewtally).read_bytes()
        assert_refused(viewtally, command, "another program")
        assert database_of(viewtally).read_bytes() == before

    def test_a_file_that_may_not_be_written(self, viewtally, command):
        filled(viewtally, "A")
        with immutable(database_of(viewtally)):
            assert_refused(viewtally, command, "viewtally.db may not be written: Operation not permitted")

    def test_a_directory_that_may_not_be_written(self, viewtally, command):
        filled(viewtally, "A")
        home = viewtally.directory / "home"
        home.mkdir()
        shutil.move(database_of(viewtally), home / "viewtally.db")
        viewtally.configure({"store": {"path": home / "viewtally.db"}})
        with immutable(home):
            assert_refused(viewtally, command, str(home), "may not be written")

    def test_a_directory_that_takes_no_new_database(self, viewtally, command):
        home = viewtally.directory / "home"
        home.mkdir()
        viewtally.configure({"store": {"path": home / "viewtally.db"}})
        with immutable(home):
            assert_refused(viewtally, command, "viewtally.db cannot be created", "Operation not permitted")

    def test_no_room_for_a_new_database(self, make_viewtally, make_disk, command):
        disk = make_disk("64k")
        assert_refused(make_viewtally({"store": {"path": disk.path / "viewtally.db"}}), command, "no room on the disk")

    def test_no_room_beside_the_database(self, make_viewtally, make_disk, command):
        disk = make_disk("1m")
        instance = make_viewtally({"store": {"path": disk.path / "viewtally.db"}})
        filled(instance, "A")
        disk.fill()
        assert_refused(instance, command, "no room on the disk")
        disk.make_room()
        instance.run("migrate")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_database_in_memory_is_none(make_viewtally, command):
    instance = make_viewtally({"store": {"path": ":memory:"}})
    assert_refused(instance, command, "must be a file", ":memory:", status=2 if command == "serve" else 3)
