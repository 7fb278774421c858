"""viewtally restore: it applies no write-ahead log (WAL) of another database, refuses while a server runs, and leaves
no empty database after a crash."""
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest

from lib import wait
from lib.disk import immutable
from lib.doctor import diagnose, expect, use_link
from lib.lines import author, uid
from lib.preloading import preloaded

MANY = 300
KILL_STEPS_MAX = 40


def sql(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as database:
        found = database.execute(statement, values).fetchall()
        database.commit()
    return found


def authors(instance):
    return [row["name"] for row in instance.run("author", "list", "--json").json()]


def integrity(path):
    return sql(path, "PRAGMA integrity_check")


def crashed_with_log(instance):
    """A database whose newest commits are in its -wal file only, as a crash leaves it. The backup `one.db` has one author."""
    instance.import_lines([author("One")])
    instance.run("backup", "one.db")
    with contextlib.closing(sqlite3.connect(instance.database)) as holder:      # otherwise the last connection would truncate the log
        holder.execute("PRAGMA wal_autocheckpoint = 0")
        holder.execute("SELECT count(*) FROM authors").fetchone()
        instance.import_lines([author(f"Author {n}") for n in range(MANY)])
        for ending in ("", "-wal", "-shm"):
            shutil.copy(f"{instance.database}{ending}", f"{instance.directory}/crashed{ending}")
    for ending in ("", "-wal", "-shm"):
        path = f"{instance.database}{ending}"
        if os.path.exists(path):
            os.unlink(path)
        shutil.copy(f"{instance.directory}/crashed{ending}", path)
    assert os.path.getsize(f"{instance.database}-wal") > 0


BEFORE = "viewtally.db.before-????????T??????Z"


def files_put_aside(instance):
    return sorted(path.name.removeprefix("viewtally.db.before-")[len("20260710T120000Z"):] for path in instance.directory.glob("viewtally.db.before-*"))


# --- files that belong to the old database ---


def test_wal_of_a_moved_database_is_not_recovered(viewtally):
    crashed_with_log(viewtally)
    os.rename(viewtally.database, viewtally.directory / "moved.db")
    viewtally.run("restore", "one.db")
    assert authors(viewtally) == ["One"] and integrity(viewtally.database) == [("ok",)]
    assert files_put_aside(viewtally) == ["-shm", "-wal"]


def test_most_recently_replaced_database_is_found_under_either_name_format(viewtally):
    """The name contains the time of the restore. Earlier releases wrote it in seconds since 1970."""
    viewtally.import_lines([author("One")])
    viewtally.database.rename(viewtally.directory / "viewtally.db.before-1783684799")       # 2026-07-10 11:59:59
    for name in ("before-20260709T120000Z", "before-junk", "before-20260710T120000", "before-20260732T000000Z"):
        (viewtally.directory / f"viewtally.db.{name}").touch()
    assert "viewtally.db.before-1783684799 (and its -wal file" in viewtally.run("author", "list", status=3).err
    (viewtally.directory / "viewtally.db.before-20260710T120000Z").touch()
    assert "viewtally.db.before-20260710T120000Z (and its -wal file" in viewtally.run("author", "list", status=3).err


@pytest.mark.parametrize("time", ["20260710120000", "9223372036854775", "99991231T235959Z"])
def test_copy_with_another_format_of_the_time_is_not_taken_for_a_replaced_database(viewtally, time):
    """If it were, the next restore would need a name with a later time, which does not exist in year 9999."""
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    copy = viewtally.directory / f"viewtally.db.before-{time}"
    copy.touch()
    for _ in range(2):
        assert f"moved to {viewtally.database}.before-20" in viewtally.run("restore", "one.db").out
    viewtally.run("backup", "prune", "--before-files")
    assert list(viewtally.directory.glob("viewtally.db.before-*")) == [copy]


def test_old_database_is_put_aside_with_its_wal(viewtally):
    crashed_with_log(viewtally)
    printed = viewtally.run("restore", "one.db").out
    assert authors(viewtally) == ["One"]
    aside, = viewtally.directory.glob(BEFORE)
    assert str(aside) in printed
    assert sql(aside, "SELECT count(*) FROM authors") == [(MANY + 1,)]


def test_damaged_database_is_put_aside_with_its_wal(viewtally):
    crashed_with_log(viewtally)
    damage_header(viewtally)
    viewtally.run("restore", "--force", "one.db")
    assert authors(viewtally) == ["One"] and integrity(viewtally.database) == [("ok",)]
    assert files_put_aside(viewtally) == ["", "-shm", "-wal"]


def test_orphaned_journal_is_not_rolled_back_into_the_restored_database(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    with contextlib.closing(sqlite3.connect(viewtally.database)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA cache_size = 1")                       # writes pages and journal before the commit
        database.execute("UPDATE authors SET name = hex(randomblob(20000))")
        database.execute("CREATE TABLE filler AS SELECT randomblob(4000) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9))")
        shutil.copy(f"{viewtally.database}-journal", viewtally.directory / "journal")
        database.rollback()
    viewtally.database.rename(viewtally.directory / "moved.db")
    shutil.copy(viewtally.directory / "journal", f"{viewtally.database}-journal")
    viewtally.run("restore", "one.db")
    assert authors(viewtally) == ["One"] and integrity(viewtally.database) == [("ok",)]
    assert "-journal" in files_put_aside(viewtally)


def test_restore_preserves_a_symbolic_link_to_the_database(viewtally):
    crashed_with_log(viewtally)
    volume = viewtally.directory / "volume"
    volume.mkdir()
    for ending in ("", "-wal", "-shm"):
        os.rename(f"{viewtally.database}{ending}", f"{volume}/data.db{ending}")
    os.symlink("volume/data.db", viewtally.database)
    viewtally.run("restore", "one.db")
    assert viewtally.database.is_symlink() and authors(viewtally) == ["One"]
    assert len(list(volume.glob("data.db.before-*"))) == 1
    assert sql(volume / "data.db", "SELECT count(*) FROM authors") == [(1,)]


# --- running processes ---


def damage_header(instance):
    """Damages the first page, and the header of the WAL, which may have an intact copy of that page."""
    log = instance.database.with_name("viewtally.db-wal")
    for path in [instance.database, *([log] if log.exists() else [])]:
        with open(path, "r+b") as file:
            file.seek(16)
            file.write(b"\xff" * 60)


@pytest.mark.parametrize("damaged", [False, True], ids=["sound", "damaged"])
def test_restore_fails_while_a_server_runs(viewtally, damaged):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    viewtally.start()
    before = viewtally.database.stat().st_ino
    if damaged:
        damage_header(viewtally)
    refused = viewtally.run("restore", "one.db", status=3)
    assert "is in use: stop the server" in refused.err and "--force" in refused.err
    assert viewtally.database.stat().st_ino == before and files_put_aside(viewtally) == []
    assert not (viewtally.directory / "viewtally.db-restore").exists()
    viewtally.stop()


def test_damaged_database_is_replaced_only_with_force(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    damage_header(viewtally)
    damaged = viewtally.database.read_bytes()
    refused = viewtally.run("restore", "one.db", status=3)
    assert "is not a database, or it is damaged" in refused.err and "--force" in refused.err
    assert viewtally.database.read_bytes() == damaged and files_put_aside(viewtally) == []
    forced = viewtally.run("restore", "--force", "one.db")
    assert "--force: skipped: SQLite's own check" in forced.out and authors(viewtally) == ["One"]


def test_restore_detects_an_open_sqlite_shell(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    with contextlib.closing(sqlite3.connect(viewtally.database)) as shell:
        shell.execute("SELECT count(*) FROM authors").fetchone()
        assert "is in use" in viewtally.run("restore", "one.db", status=3).err


def test_restore_fails_while_another_command_runs(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    importing = viewtally.command("import", "-")
    importing.stdin.write(b"\n")
    importing.stdin.flush()
    try:
        wait_for_lock(viewtally, importing.pid)
        assert "stop the server and all other viewtally commands" in viewtally.run("restore", "one.db", status=3).err
    finally:
        importing.communicate()
    viewtally.run("restore", "one.db")


def wait_for_lock(instance, pid):
    """Waits until the process holds the shared lock. If the test tried to lock the file, the process could fail."""
    inode = (instance.directory / "viewtally.db-lock").stat().st_ino
    held = re.compile(rf"FLOCK +ADVISORY +READ +{pid} \S+:{inode} ")
    wait.until(lambda: held.search(pathlib.Path("/proc/locks").read_text(encoding="ascii")), "the process to hold the lock")


@pytest.mark.parametrize("words", [["serve"], ["serve", "--create"], ["migrate"], ["import", "-"], ["author", "list"], ["status"], ["backup", "two.db"],
                                   ["key", "list", "--author", uid("One")], ["import", "--dry-run", "-"], ["demo", "-"]], ids=" ".join)
def test_no_command_opens_the_database_during_a_restore(viewtally, words):
    viewtally.import_lines([author("One")])
    lock = viewtally.directory / "viewtally.db-lock"
    with subprocess.Popen(["flock", "--exclusive", str(lock), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdin.write(b"locked\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == b"locked\n"
        assert "is being replaced by `viewtally restore` or `viewtally move`" in viewtally.run(*words, status=3).err
        holder.stdin.close()


def test_error_of_a_restore_on_a_full_disk_names_this_disk(make_viewtally, make_disk):
    disk = make_disk("16m")
    viewtally = make_viewtally({"store": {"path": str(disk.path / "viewtally.db")}})
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    for room in range(0, 2 << 20, 64 << 10):
        disk.fill(room)
        done = viewtally.run("restore", "one.db", status=None)
        (disk.path / "filler").unlink()
        if done.status == 0:
            break
        assert done.status == 3 and f"no space left on the disk of {viewtally.database}" in done.err and "--force" not in done.err, done
    assert room > 0 and authors(viewtally) == ["One"]


@pytest.mark.parametrize("words", [("status",), ("migrate", "--check")], ids=" ".join)
def test_restore_that_is_renaming_files_is_not_reported_as_interrupted(viewtally, words):
    """The advice for an interrupted restore would then replace the database that has just been restored."""
    viewtally.import_lines([author("One")])
    viewtally.database.rename(viewtally.directory / "viewtally.db.before-20260710T120000Z")
    (viewtally.directory / "viewtally.db-restore").touch()
    with open(viewtally.directory / "viewtally.db-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is being replaced by `viewtally restore`" in viewtally.run(*words, status=3).err
    assert "a restore was interrupted" in viewtally.run(*words, status=3).err


def test_restore_fails_if_the_lock_file_cannot_be_opened(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    lock = viewtally.directory / "viewtally.db-lock"
    lock.unlink()
    lock.symlink_to("elsewhere")
    refused = viewtally.run("restore", "one.db", status=3)
    assert "cannot open the lock file" in refused.err and "--force" in refused.err
    assert "cannot open the lock file" in viewtally.run("serve", status=3).err
    assert "skipped: the database lock" in viewtally.run("restore", "--force", "one.db").out
    lock.unlink()
    assert authors(viewtally) == ["One"]


def test_restore_does_not_replace_the_lock_file(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    lock = viewtally.directory / "viewtally.db-lock"
    before = lock.stat().st_ino
    viewtally.run("restore", "one.db")
    viewtally.start()
    viewtally.stop()
    assert lock.stat().st_ino == before and lock.stat().st_size == 0


def test_database_itself_is_rejected_as_backup(viewtally):
    viewtally.import_lines([author("One")])
    assert "is the database itself" in viewtally.run("restore", "viewtally.db", status=2).err
    viewtally.database.with_name("empty.db").touch()
    assert "is empty" in viewtally.run("restore", "empty.db", status=3).err
    assert authors(viewtally) == ["One"] and not (viewtally.directory / "viewtally.db-restore").exists()


def test_files_put_aside_are_moved_back_if_one_cannot_be_moved(viewtally):
    crashed_with_log(viewtally)
    damage_header(viewtally)
    before = {path.name: path.read_bytes() for path in viewtally.directory.glob("viewtally.db*") if path.suffix == ".db"}
    with immutable(viewtally.database.with_name("viewtally.db-wal")):
        assert "cannot be renamed: Operation not permitted" in viewtally.run("restore", "--force", "one.db", status=3).err
        assert {name: (viewtally.directory / name).read_bytes() for name in before} == before
        assert files_put_aside(viewtally) == [] and not (viewtally.directory / "viewtally.db-restore").exists()
    viewtally.run("restore", "--force", "one.db")
    assert authors(viewtally) == ["One"]


def test_restored_database_is_reported_although_its_directory_cannot_be_synced(viewtally, tmp_path):
    crashed_with_log(viewtally)
    damage_header(viewtally)                        # so that the report lists what is valid in the restored database
    environment = {**preloaded("failingsync", tmp_path), "FAILINGSYNC_UNLESS": f"{viewtally.database}-restore"}
    done = viewtally.run("restore", "--force", "one.db", status=3, env=environment)
    assert "viewtally.db has been restored, but its directory cannot be synced to disk: Input/output error" in done.err
    assert "restored from one.db" in done.out and f"The old database was moved to {viewtally.database}.before-" in done.out
    assert "Everything listed below is valid now" in done.out
    assert authors(viewtally) == ["One"]


# --- killed at any step ---


def restore_killed_at(instance, step):
    """Runs the restore of `one.db` and kills it at the step. Returns False if the restore ended before that step."""
    done = instance.run("restore", "--force", "one.db", status=None, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
    assert done.status in (0, -signal.SIGKILL), done
    return done.status != 0


@pytest.mark.parametrize("damaged", [False, True], ids=["sound", "damaged"])
def test_restore_killed_at_any_step_leaves_no_empty_or_mixed_database(viewtally, damaged):
    """After each kill, the database is the old one, the new one, or missing. If it is missing, commands print how to
    continue. Then the restore is repeated."""
    crashed_with_log(viewtally)
    if damaged:
        damage_header(viewtally)
    start = {path.name: path.read_bytes() for path in viewtally.directory.glob("viewtally.db*")}
    seen, step = set(), 1
    while step < KILL_STEPS_MAX:
        for path in viewtally.directory.glob("viewtally.db*"):
            path.unlink()
        for name, data in start.items():
            (viewtally.directory / name).write_bytes(data)
        if not restore_killed_at(viewtally, step):
            break
        seen.add(state_after_kill(viewtally, damaged))
        viewtally.run("restore", "--force", "one.db")
        assert authors(viewtally) == ["One"] and integrity(viewtally.database) == [("ok",)]
        assert not (viewtally.directory / "viewtally.db-restore").exists()
        assert_old_files_are_intact(viewtally, damaged, start)
        step += 1
    assert seen == {"old", "missing", "new"} and 5 < step < KILL_STEPS_MAX


def state_after_kill(instance, damaged):
    if not instance.database.exists():
        before = {path.name for path in instance.directory.iterdir()}
        for words in (["serve"], ["serve", "--create"], ["migrate"], ["import", "--create", "-"], ["status"]):
            refused = instance.run(*words, status=3)
            assert "does not exist because a restore was interrupted: run `viewtally restore FILE` again" in refused.err, refused
            assert "viewtally.db.before-" in refused.err
        assert {path.name for path in instance.directory.iterdir()} <= before | {"viewtally.db-lock"}
        return "missing"
    with open(instance.database, "rb") as file:
        file.seek(16)
        if file.read(4) == b"\xff" * 4:
            return "old"
    names = authors(instance)
    assert integrity(instance.database) == [("ok",)]
    assert len(names) in (1, MANY + 1)
    return "new" if len(names) == 1 else "old"


def assert_old_files_are_intact(instance, damaged, start):
    """Asserts that one of the sets of files put aside is the old database with its complete WAL."""
    sets = list(instance.directory.glob(BEFORE))
    if damaged:
        assert any(path.read_bytes() == start["viewtally.db"] and
                   path.with_name(path.name + "-wal").read_bytes() == start["viewtally.db-wal"] for path in sets)
    else:
        assert (MANY + 1,) in [count for path in sets for count in sql(path, "SELECT count(*) FROM authors")]


def test_interrupted_restore_can_be_undone_by_renaming(viewtally):
    crashed_with_log(viewtally)
    step = 1
    while viewtally.database.exists():
        assert restore_killed_at(viewtally, step)
        step += 1
    aside, = viewtally.directory.glob(BEFORE)
    aside.rename(viewtally.database)
    assert len(authors(viewtally)) == MANY + 1
    viewtally.run("restore", "one.db")
    assert authors(viewtally) == ["One"]


def test_interrupted_restore_names_the_database_that_it_renamed_even_if_the_clock_was_set_back(viewtally):
    crashed_with_log(viewtally)
    damage_header(viewtally)
    earlier = viewtally.directory / "viewtally.db.before-20990101T000000Z"      # of a restore while the clock was ahead
    earlier.write_bytes(b"")
    step = 1
    while viewtally.database.exists():
        assert restore_killed_at(viewtally, step)
        step += 1
    aside, = set(viewtally.directory.glob(BEFORE)) - {earlier}
    assert f"renaming {aside} (and its -wal file" in viewtally.run("status", status=3).err
    viewtally.run("restore", "--force", "one.db")
    assert aside.with_name(aside.name + "-wal").exists() and not earlier.with_name(earlier.name + "-wal").exists()


def test_interrupted_restore_can_be_repeated_after_the_old_database_was_verified(viewtally):
    """The restore was killed between the renames of the -wal and of the -shm file. The verification creates a -shm file."""
    crashed_with_log(viewtally)
    damage_header(viewtally)
    step = 1
    while viewtally.database.exists():
        assert restore_killed_at(viewtally, step)
        step += 1
    while pathlib.Path(f"{viewtally.database}-wal").exists():
        assert restore_killed_at(viewtally, 1)
    aside, = viewtally.directory.glob(BEFORE)
    assert pathlib.Path(f"{viewtally.database}-shm").exists()
    viewtally.run("backup", "verify", aside, status=1)
    assert aside.with_name(aside.name + "-shm").exists()
    viewtally.run("restore", "--force", "one.db")
    assert authors(viewtally) == ["One"] and files_put_aside(viewtally) == ["", "-shm", "-wal"]


def test_error_for_a_missing_database_names_the_replaced_one(viewtally):
    viewtally.import_lines([author("One")])
    viewtally.run("backup", "one.db")
    viewtally.run("restore", "one.db")
    viewtally.database.unlink()
    refused = viewtally.run("serve", status=3)
    assert "does not exist: check that its volume is mounted. To return to the database that the last restore replaced, rename" in refused.err and ".before-" in refused.err


def test_doctor_does_not_open_a_database_behind_a_symbolic_link_during_a_restore(viewtally):
    viewtally.import_lines([author("One")])
    lock_file = f"{viewtally.database}-lock"
    use_link(viewtally)
    with open(lock_file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        expect(diagnose(viewtally, status=1), "database.open", "error", "is being replaced")
