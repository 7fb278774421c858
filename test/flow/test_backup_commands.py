"""viewtally backup list, verify and prune; targets that are not regular files; standard input and output; the restore drill."""
import contextlib
import gzip
import os
import pathlib
import re
import sqlite3
import stat
import subprocess

import pytest

from lib.lines import author, video
from lib.viewtally import IN_USE, ROOT

NAMES = ["viewtally-20260709T233000Z-{}.db", "viewtally-20260710T003000Z-{}.db", "viewtally-20260710T013000Z-{}.db"]


@pytest.fixture
def world(viewtally):
    """A database with one author, one video and a directory for backups."""
    directory = viewtally.directory / "backups"
    directory.mkdir()
    viewtally.configure({"backup": {"directory": str(directory)}})
    viewtally.import_lines([author("Ada"), video("v", "Ada", "2026-07-01T00:00:00Z", ("youtube",))])
    return viewtally


def sql(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as database:
        found = database.execute(statement).fetchall()
        database.commit()
    return found


def listing(instance):
    return {path.name: (path.lstat().st_mode, path.lstat().st_ino) for path in instance.directory.rglob("*") if not path.name.endswith(".log")}


# --- what FILE may be ---


@pytest.mark.parametrize("kind", ["fifo", "directory", "socket", "device"])
@pytest.mark.parametrize("linked", [False, True], ids=["itself", "link"])
def test_only_regular_files_are_replaced(world, kind, linked):
    target = world.directory / "target"
    make = {"fifo": lambda: os.mkfifo(target), "directory": target.mkdir, "socket": lambda: os.mknod(target, stat.S_IFSOCK | 0o600),
            "device": lambda: os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(1, 3))}
    if kind == "device" and os.geteuid() != 0:
        target = pathlib.Path("/dev/null")      # which only root can replace
    else:
        make[kind]()
    name = target
    if linked:
        name = world.directory / "link"
        name.symlink_to(target)
    before = listing(world)
    words = {"fifo": "is a named pipe", "directory": "is a directory", "socket": "is a socket", "device": "is a device"}
    assert f"{name} {words[kind]}: choose a regular file" in world.run("backup", name, status=2).err
    after = listing(world)
    after.pop("viewtally.db-lock", None)
    before.pop("viewtally.db-lock", None)
    assert after == before


def test_backup_replaces_the_target_of_a_symbolic_link_but_not_the_link(world):
    other = world.directory / "other"
    other.mkdir()
    link = world.directory / "link.db"
    link.symlink_to("other/real.db")
    world.run("backup", "link.db")      # the target does not exist yet
    first = (other / "real.db").stat().st_ino
    world.run("backup", "link.db")
    assert link.is_symlink() and (other / "real.db").stat().st_ino != first and sql(other / "real.db", "SELECT name FROM authors") == [("Ada",)]
    assert [path.name for path in other.iterdir()] == ["real.db"]
    (world.directory / "loop").symlink_to("loop")
    assert "symbolic link" in world.run("backup", "loop", status=3).err.lower()     # the words of ELOOP depend on the libc


@pytest.mark.parametrize("name", ["", "backups/", "./"])
def test_path_without_a_file_name_is_rejected(world, name):
    assert "is not the path of a file" in world.run("backup", name, status=2).err


def test_mistyped_subcommand_creates_no_file(world):
    assert "did you mean prune?" in world.run("backup", "purne", status=2).err and not (world.directory / "purne").exists()
    world.run("backup", "./purne")
    world.run("backup", "purne")        # allowed, because the file exists now
    assert "a subcommand is missing" in world.run("backup", status=2).err


def test_key_rotation_preserves_a_symbolic_link(world):
    real = world.directory / "secrets" / "real.key"
    real.parent.mkdir()
    world.run("secrets", "init", real)
    link = world.directory / "link.key"
    link.symlink_to("secrets/real.key")
    world.configure({"secrets": {"key_file": str(link)}})
    before = real.read_text()
    world.run("secrets", "rotate")
    assert link.is_symlink() and real.read_text() != before and not (world.directory / "link.key.new").exists()


# --- standard output and input ---


def piped(instance, *words, stdin=None, status=0):
    done = subprocess.run([instance.binary, *words, "--config", str(instance.config_path)], input=stdin, capture_output=True, cwd=instance.directory,
                          env=instance.environment(), check=False)
    assert done.returncode == status, done
    return done


def test_backup_is_written_to_and_restored_from_a_pipe(world):
    done = piped(world, "backup", "-")
    assert done.stdout[:16] == b"SQLite format 3\0" and done.stderr == b"" and not list(world.directory.glob(".viewtally-backup-*"))
    copy = world.directory / "copy.db"
    copy.write_bytes(done.stdout)
    assert sql(copy, "PRAGMA integrity_check") == [("ok",)]
    world.import_lines([author("Later")])
    restored = piped(world, "restore", "-", stdin=done.stdout).stdout.decode()
    assert "restored from standard input" in restored
    assert world.sql("SELECT name FROM authors") == [("Ada",)] and not list(world.directory.glob(".viewtally-backup-*"))


@pytest.mark.sqlite_only("damages the database file")
def test_damaged_database_is_not_written_to_standard_output(world):
    size = world.database.stat().st_size
    with open(world.database, "r+b") as file:
        file.seek(size - 4096)
        file.write(b"\xAA" * 4096)
    done = piped(world, "backup", "-", status=3)
    assert done.stdout == b"" and b"is damaged" in done.stderr and not list(world.directory.glob(".viewtally-backup-*"))
    assert "is damaged" in world.run("backup", "file.db", status=3).err and not (world.directory / "file.db").exists()
    assert not list(world.directory.glob(".file.db*"))


def test_unwritable_standard_output_is_an_error(world):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([world.binary, "backup", "-", "--config", str(world.config_path)], stdout=full, stderr=subprocess.PIPE, cwd=world.directory,
                              env=world.environment(), check=False)
    assert done.returncode == 3 and b"standard output cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize(("data", "status", "words"), [(b"", 1, b"standard input is empty"), (b"junk " * 2000, 1, b"standard input is not a database: use a file")], ids=["empty", "junk"])
def test_bad_standard_input_changes_nothing(world, data, status, words):
    assert words in piped(world, "restore", "-", stdin=data, status=status).stderr
    assert world.sql("SELECT name FROM authors") == [("Ada",)] and not list(world.directory.glob("*before*")) and not list(world.directory.glob(".viewtally-*"))


def test_restore_from_standard_input_checks_first_that_the_server_is_stopped(world):
    data = piped(world, "backup", "-").stdout
    with world:
        assert IN_USE.search(piped(world, "restore", "-", stdin=data, status=3).stderr.decode())


def test_restore_does_not_wait_for_a_named_pipe(world):
    os.mkfifo(world.directory / "pipe")
    assert "is not a regular file" in world.run("restore", "pipe", status=2, timeout=30).err


# --- list, verify, prune ---


def make_backups(world):
    """Three backups at different times. Returns their names."""
    world.run("backup", "now")
    made, = (world.directory / "backups").iterdir()
    ident = made.name[-11:-3]
    names = [name.format(ident) for name in NAMES]
    for name in names:
        (made.parent / name).write_bytes(made.read_bytes())
    made.unlink()
    return names


def test_list_needs_no_database(world):
    names = make_backups(world)
    world.lose_database()
    rows = world.run("backup", "list", "--json").json()
    assert [row["file"] for row in rows] == names and rows[0]["started_at"] == "2026-07-09T23:30:00.000Z" and rows[0]["bytes"] > 0
    lines = world.run("backup", "list").out.splitlines()
    assert lines[0].split() == ["STARTED", "BYTES", "DATABASE", "FILE"] and [line.split()[-1] for line in lines[1:]] == names


def test_list_explains_an_empty_or_missing_directory(world):
    assert "has no scheduled backup" in world.run("backup", "list").err and world.run("backup", "list", "--json").json() == []
    assert "has no scheduled backup" in world.run("backup", "verify", status=1).err
    world.configure({"backup": {"directory": "nowhere"}})
    for words in (["list"], ["verify"], ["prune"]):
        assert "the backup directory nowhere cannot be read: No such file or directory" in world.run("backup", *words, status=3).err
    world.configure({"backup": {"directory": None}})
    for words in (["list"], ["verify"], ["prune"]):
        assert "[backup] directory is not set" in world.run("backup", *words, status=2).err


def test_verify_reports_damaged_backups_and_files_that_are_no_backups(world):
    names = make_backups(world)
    folder = world.directory / "backups"
    assert world.run("backup", "verify").out.count("every page is intact") == 3
    assert world.run("backup", "verify", *[folder / names[0]] * 21).out.count("every page is intact") == 21
    with open(folder / names[1], "r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(b"\xAA" * 4096)
    done = world.run("backup", "verify", status=1)
    assert done.out.count("every page is intact") == 2 and names[1] in done.err
    (world.directory / "foreign.db").touch()
    sql(world.directory / "foreign.db", "CREATE TABLE t (x)")
    assert "another program" in world.run("backup", "verify", "foreign.db", status=1).err
    assert "No such file" in world.run("backup", "verify", "missing.db", status=1).err
    assert sorted(path.name for path in folder.iterdir()) == names


@pytest.mark.sqlite_only("reads the database file and its log")
def test_verify_leaves_a_replaced_database_and_its_log_unchanged(world):
    """The newest commits may be only in the log. A crash leaves such files, and `restore --force` renames them."""
    kept = {}
    with contextlib.closing(sqlite3.connect(world.database)) as holder:         # otherwise the last connection would truncate the log
        holder.execute("SELECT count(*) FROM authors").fetchone()
        world.import_lines([author("Bob")])
        for ending in ("", "-wal"):
            kept[ending] = pathlib.Path(f"{world.database}{ending}").read_bytes()
            (world.directory / f"viewtally.db.before-20260710T110000Z{ending}").write_bytes(kept[ending])
    assert kept["-wal"]
    world.run("backup", "verify", "viewtally.db.before-20260710T110000Z")
    assert {ending: (world.directory / f"viewtally.db.before-20260710T110000Z{ending}").read_bytes() for ending in kept} == kept


def test_prune_keeps_the_newest_backup_of_each_period(world):
    names = make_backups(world)
    folder = world.directory / "backups"
    world.configure({"backup": {"keep_hourly": 1, "keep_daily": 2, "keep_weekly": 0}})
    would = world.run("backup", "prune", "--dry-run").out
    assert would == f"would delete {folder}/{names[1]}\n" and len(list(folder.iterdir())) == 3
    assert world.run("backup", "prune").out == f"deleted {folder}/{names[1]}\n"
    assert "nothing to delete: all backups of this database are kept" in world.run("backup", "prune").out
    world.configure({"backup": {"keep_hourly": 0, "keep_daily": 0}})
    world.run("backup", "prune")
    assert [path.name for path in folder.iterdir()] == [names[2]], "the newest backup is always kept"
    assert world.run("backup", "prune").out == "nothing to delete: the only backup of this database is kept\n"


def test_prune_neither_counts_nor_deletes_backups_from_the_future(world):
    names = make_backups(world)
    future = names[0].replace("20260709", "20360709")
    (world.directory / "backups" / future).write_text("")
    world.configure({"backup": {"keep_hourly": 1, "keep_daily": 0, "keep_weekly": 0}})
    world.run("backup", "prune")
    assert {path.name for path in (world.directory / "backups").iterdir()} == {names[2], future}


@pytest.mark.parametrize("by_earlier_release", [False, True])
def test_backups_made_before_a_restore_are_still_pruned(world, by_earlier_release):
    """Earlier releases did not record the time of the restore."""
    names = make_backups(world)
    world.run("restore", f"backups/{names[0]}")
    if by_earlier_release:
        world.sql("UPDATE meta SET value = 1 WHERE key LIKE 'ancestor:%'")
    world.configure({"backup": {"keep_hourly": 0, "keep_daily": 0, "keep_weekly": 0}})
    world.run("backup", "prune")
    assert [row["file"] for row in world.run("backup", "list", "--json").json()] == [names[2]]


def test_backups_that_the_original_database_makes_after_the_restore_are_kept(world, clock):
    """Two installations share the directory. One was created from a backup of the other, which is still in use."""
    names = make_backups(world)
    folder = world.directory / "backups"
    world.run("restore", f"backups/{names[0]}")
    of_the_original = names[0].replace("20260709T233000Z", "20260710T123000Z")
    (folder / of_the_original).write_text("")
    clock.advance(60 * 60 * 1000)
    world.configure({"backup": {"keep_hourly": 0, "keep_daily": 0, "keep_weekly": 0}})
    made = pathlib.Path(world.run("backup", "now").out.split(":")[0]).name
    assert {path.name for path in folder.glob("viewtally-*")} == {of_the_original, made}


@pytest.mark.sqlite_only("only a restore to a file leaves such files")
def test_prune_deletes_replaced_databases_only_with_the_option_before_files(world):
    make_backups(world)
    newest = world.run("backup", "list", "--json").json()[-1]["file"]
    for _ in range(2):
        world.run("restore", f"backups/{newest}")
    (world.directory / "viewtally.db.before-7-wal").touch()             # a WAL whose database was missing at the restore
    others = ["viewtally.db.before-x", "viewtally.db.before-", "other.db.before-7", "viewtally.db2.before-7"]
    for name in others:
        (world.directory / name).touch()
    world.configure({"backup": {"keep_hourly": 0, "keep_daily": 0, "keep_weekly": 0}})
    world.run("backup", "now")
    world.run("backup", "prune")
    before = sorted(path.name for path in world.directory.glob("viewtally.db.before-[0-9]*"))
    assert len([name for name in before if re.fullmatch(r".*-\d{8}T\d{6}Z", name)]) == 2 and "viewtally.db.before-7-wal" in before
    would = world.run("backup", "prune", "--before-files", "--dry-run").out
    assert sorted(line.rsplit("/", 1)[1] for line in would.splitlines()) == before
    assert sorted(path.name for path in world.directory.glob("viewtally.db.before-[0-9]*")) == before
    world.run("backup", "prune", "--before-files")
    assert not list(world.directory.glob("viewtally.db.before-[0-9]*")) and all((world.directory / name).exists() for name in others)
    assert "nothing to delete" in world.run("backup", "prune", "--before-files").out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change owners")
def test_backup_made_by_root_belongs_to_the_owner_of_the_directory(world):
    os.chown(world.directory / "backups", 12345, 12346)
    world.run("backup", "now")
    made, = (world.directory / "backups").iterdir()
    assert (made.stat().st_uid, made.stat().st_gid, stat.S_IMODE(made.stat().st_mode)) == (12345, 12346, 0o600)


@pytest.mark.sqlite_only("only a restore to a file leaves such files")
@pytest.mark.parametrize("state", ["missing", "damaged"])
def test_prune_deletes_no_replaced_database_if_the_current_one_is_missing_or_damaged(world, state):
    world.run("backup", "one.db")
    world.run("restore", "one.db")
    if state == "missing":
        world.database.unlink()
    else:
        with open(world.database, "r+b") as file:
            file.seek(-4096, os.SEEK_END)
            file.write(b"\xAA" * 4096)
    world.run("backup", "prune", "--before-files", status=3)
    assert len(list(world.directory.glob("viewtally.db.before-*"))) == 1


# --- the drill ---


def test_drill_prints_a_report_and_changes_nothing(world):
    world.run("backup", "copy.db")
    copy = world.directory / "copy.db"
    copy.chmod(0o400)
    world.configure({"backup": {"directory": None}})
    with world:             # the server keeps running
        before = {name: value for name, value in listing(world).items() if not name.startswith("viewtally.db-")}
        done = world.run("restore", "--drill", "copy.db")
        assert {name: value for name, value in listing(world).items() if not name.startswith("viewtally.db-")} == before
    for line in ("integrity  every page is intact", "schema     0 migrations applied", "sums       all numbers agree", "content    1 author",
                 "result     copy.db can be restored"):
        assert line in done.out
    assert "standard input can be restored" in piped(world, "restore", "--drill", "-", stdin=copy.read_bytes()).stdout.decode()
    assert not list(world.directory.glob(".viewtally-backup-*"))


@pytest.mark.sqlite_only("the size of the database file is the space that a backup needs")
def test_error_for_a_full_disk_says_how_to_get_space(world, make_disk):
    disk = make_disk("1m")
    world.run("backup", "then.db")
    refused = world.run("restore", "--drill", "then.db", status=3, env={"TMPDIR": str(disk.path)})
    assert "a copy of then.db needs 16 MiB: free some space, or select another directory with $TMPDIR" in refused.err and "keep" not in refused.err
    assert not list(disk.path.iterdir())
    world.configure({"backup": {"directory": str(disk.path)}})
    assert f"a copy of {world.database} needs 16 MiB: free some space, or keep fewer backups ([backup] keep_hourly" in world.run("backup", "now", status=3).err


def test_error_of_a_backup_names_the_disk_that_is_full(make_viewtally, make_disk, tmp_path):
    """Without a running server, SQLite creates a file beside the database before it can read it."""
    full, small = make_disk("16m"), make_disk("64k")
    viewtally = make_viewtally({"store": {"path": str(full.path / "viewtally.db")}})
    viewtally.import_lines([author("Ada")])
    refused = viewtally.run("backup", str(small.path / "copy.db"), status=3)
    assert f"no space left on the disk of {small.path}/" in refused.err
    full.fill()
    refused = viewtally.run("backup", str(tmp_path / "copy.db"), status=3)
    assert f"no space left on the disk of {viewtally.database}\n" in refused.err


def test_drill_prints_json(world):
    world.run("backup", "copy.db")
    done = world.run("restore", "--drill", "copy.db", "--json").json()
    assert done.pop("duration_ms") >= 0 and done.pop("bytes") == (world.directory / "copy.db").stat().st_size
    assert done == {"file": "copy.db", "restorable": True, "error": None, "migrations": 0, "authors": 1, "newest_reading_at": None}
    (world.directory / "junk").write_text("junk")
    sql(world.directory / "copy.db", BREAKS["views"])
    for name, error in (("junk", "junk is not a database"), ("copy.db", "the numbers do not agree")):
        failed = world.run("restore", "--drill", name, "--json", status=1)
        assert (failed.json()["restorable"], error in failed.json()["error"], failed.err) == (False, True, "")
    assert piped(world, "restore", "--drill", "-", "--json", stdin=b"junk", status=1).stdout.startswith(b'{"file":"standard input","restorable":false,')


BREAKS = {
    "views": "UPDATE videos SET views = views + 1",
    "gains": "INSERT INTO daily (video_id, day, gained, gained_total) SELECT id, 20000, 5, 6 FROM videos",
    "gains of a platform": "INSERT INTO author_daily (author_id, day, platform, gained) SELECT id, 20000, 0, 1 FROM authors",
    "baseline of a platform": "INSERT INTO author_daily (author_id, day, platform, gained) SELECT id, -2147483648, 0, 9999 FROM authors",
    "count of an author": "UPDATE authors SET videos_count = 7",
    "books": "UPDATE authors SET books_count = 7",
    "event id": "UPDATE authors SET last_event_id = 7",
    "reference": "INSERT INTO post_keys (platform, post_id, video_id) VALUES (4, 'x', 999)",
}


@pytest.mark.parametrize("what", BREAKS)
def test_drill_rejects_a_backup_whose_numbers_do_not_agree(world, what):
    world.run("backup", "copy.db")
    sql(world.directory / "copy.db", BREAKS[what])
    done = world.run("restore", "--drill", "copy.db", status=1)
    assert "copy.db cannot be restored" in done.err and "the numbers do not agree" in done.err
    assert not list(world.directory.glob(".viewtally-backup-*"))


def test_drill_rejects_packed_days_that_differ_from_the_table_daily(world):
    """The packed daily gains have the same sum as the rows of the table daily, but another date."""
    world.run("backup", "copy.db")
    for statement in ("DELETE FROM author_daily", "DELETE FROM daily", "INSERT INTO daily SELECT id, 20001, 5, 5 FROM videos",
                      "UPDATE videos SET baseline = 0, views = 5, days = x'01c2b8020505'"):
        sql(world.directory / "copy.db", statement)
    world.run("restore", "--drill", "copy.db")
    sql(world.directory / "copy.db", "UPDATE videos SET days = x'01c0b8020505'")
    err = world.run("restore", "--drill", "copy.db", status=1).err
    assert "in 1 place; this rule is broken: the packed daily gains of a video equal its rows in the table daily" in err


def test_drill_rejects_a_damaged_file_and_migrates_a_copy_of_an_old_one(world):
    world.run("backup", "copy.db")
    data = (world.directory / "copy.db").read_bytes()
    (world.directory / "cut.db").write_bytes(data[:len(data) // 2])
    assert "cut.db is incomplete" in world.run("restore", "--drill", "cut.db", status=1).err
    old = world.directory / "old.db"
    with contextlib.closing(sqlite3.connect(old)) as database:
        for path in sorted((ROOT / "schema").glob("00[1-6]*.sql")):
            database.executescript(path.read_text(encoding="utf-8"))
    assert "migrations applied" in world.run("restore", "--drill", old).out
    assert sql(old, "PRAGMA user_version") == [(6,)], "the file itself is not migrated"


@pytest.mark.sqlite_only("the path of the database file")
def test_drill_rejects_the_database_itself(world):
    assert "is the database itself" in world.run("restore", "--drill", "viewtally.db", status=2).err


def test_error_for_a_file_that_is_no_backup_is_one_line_with_its_name(world):
    world.run("backup", "copy.db")
    data = (world.directory / "copy.db").read_bytes()
    foreign = world.directory / "foreign.db"
    sql(foreign, "CREATE TABLE t (x)")
    files = {"text": (b"hello\n", "is not a database: use a file that viewtally backup has written"), "empty": (b"", "is empty"),
             "copy.gz": (gzip.compress(data), "is compressed with gzip: unpack it first"),
             "half": (data[:len(data) // 2], f"is incomplete: it has {len(data) // 2} of {len(data)} bytes"),
             "damaged": (data[:12288] + b"\xAA" * 4096 + data[16384:], "is not a database, or it is damaged"),
             "foreign.db": (foreign.read_bytes(), "is an SQLite database of another program")}
    for name, (content, what) in files.items():
        (world.directory / name).write_bytes(content)
        for command, status in ((["backup", "verify"], 1), (["restore", "--drill"], 1), (["restore"], 3)):
            done = world.run(*command, name, status=status)
            assert f"{name} {what}" in done.err and len(done.err.splitlines()) == 1, (command, done.err)
            assert ".viewtally-" not in done.err and "-restore" not in done.err
        if content:
            piped_err = piped(world, "restore", "-", stdin=content, status=3 if name == "damaged" else 1).stderr.decode()
            assert f"standard input {what}" in piped_err and ".viewtally-" not in piped_err and len(piped_err.splitlines()) == 1, piped_err
    assert world.sql("SELECT name FROM authors") == [("Ada",)]


# --- the examples of docs/backups.md ---


def documented(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / "docs/backups.md").read_text(encoding="utf-8"), re.M | re.S)


def test_documented_commands_work(world):
    """Runs each `viewtally` line of docs/backups.md, with its paths replaced. test_litestream.py runs the commands of
    Litestream."""
    folder, usb, programs = (world.directory / name for name in ("backups", "usb", "bin"))
    for new in (usb, programs):
        new.mkdir()
    scripts = {"viewtally": f'exec {world.binary} "$@" --config {world.config_path}', "ssh": 'shift; eval "$*"'}
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    settings = dict(re.findall(r"^(\w+) = (.*)$", next(text for text in documented("ini") if "keep_hourly" in text), re.M))
    world.configure({"backup": {**settings, "directory": str(folder)}})
    world.run("backup", "now")
    made, = folder.iterdir()
    lines = [line for text in documented("sh") for line in text.splitlines() if line.startswith("viewtally") and "replica.db" not in line]
    assert len(lines) >= 4
    for line in lines:
        line = line.replace("/var/backups/viewtally/viewtally-20261124T103000Z-1a2b3c4d.db", str(made)).replace("/mnt/usb", str(usb))
        subprocess.run(["sh", "-ec", line], cwd=world.directory, check=True, capture_output=True,
                       env={**world.environment(), "PATH": f"{programs}:{os.environ['PATH']}"})
    assert (usb / "viewtally.db").exists() and (world.directory / "viewtally.db.gz").exists() and list(world.directory.rglob("viewtally*.before-*"))
