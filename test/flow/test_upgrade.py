"""Upgrades: what `viewtally migrate`, `serve` and the other commands do with a database of an older or newer release."""
import contextlib
import fcntl
import json
import random
import re
import sqlite3

import pytest

from lib import old_schema, packed_days, wait
from lib.lines import author, book

MILLION = 1_000_000
MANY_VIDEOS = 1000 * MILLION    # migrating them takes longer than any limit
KILL_STEPS_MAX = 60
BEFORE_DAYS = 17
ADDITIVE_FROM = 8               # from this version, 9 to 11 are additive; 12 is not


def files(instance):
    """Returns what follows "viewtally.db" in the names of the database and its copies, such as "" and ".schema-8".
    Locks and logs are left out."""
    return sorted(path.name.removeprefix("viewtally.db") for path in instance.directory.glob("viewtally.db*")
                  if not path.name.endswith(("-lock", "-migrate", "-import", "-wal", "-shm")))


def is_sound(path):
    return old_schema.value(path, "PRAGMA integrity_check") == "ok"


def assert_migrated(instance):
    assert old_schema.version_of(instance.database) == old_schema.NEWEST and is_sound(instance.database)
    assert [row["name"] for row in instance.run("author", "list", "--json").json()] == ["Ann"]


class Held:
    """The database lock as another process holds it while it uses the database."""

    def __init__(self, instance):
        self.file = open(f"{instance.database}-lock", "w")
        fcntl.flock(self.file, fcntl.LOCK_SH)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.file.close()


# --- viewtally migrate ---


def test_migrate_makes_a_verified_backup_first(viewtally):
    old_schema.create(viewtally.database, 8)
    printed = viewtally.run("migrate").out
    backup = viewtally.directory / "viewtally.db.schema-8"
    assert f"backup: {backup} (verified, " in printed
    assert f"{old_schema.NEWEST - 8} migrations applied" in printed and "migration 9 stats_videos: " in printed
    assert old_schema.version_of(backup) == 8 and is_sound(backup) and old_schema.value(backup, "SELECT name FROM authors") == "Ann"
    assert backup.stat().st_mode == viewtally.database.stat().st_mode
    assert_migrated(viewtally)
    assert "up to date" in viewtally.run("migrate").out
    assert files(viewtally) == ["", ".schema-8"]


@pytest.mark.parametrize("is_empty", [False, True])
def test_migrate_prints_each_migration_once(viewtally, is_empty):
    old_schema.create(viewtally.database, 8)
    if is_empty:
        old_schema.execute(viewtally.database, "DELETE FROM videos")
    printed = viewtally.run("migrate").out
    applied = [line.split()[1] for line in printed.splitlines() if line.startswith("migration ")]
    assert applied == [str(version) for version in range(9, old_schema.NEWEST + 1)]


def test_restoring_the_backup_undoes_the_migration(viewtally):
    """This release migrates the restored copy again at once, and makes no second backup."""
    old_schema.create(viewtally.database, 8)
    viewtally.run("migrate")
    viewtally.run("restore", "viewtally.db.schema-8")
    assert_migrated(viewtally)


def test_migrate_makes_no_backup_on_request(viewtally):
    old_schema.create(viewtally.database, 8)
    assert "verified" not in viewtally.run("migrate", "--no-backup").out
    assert_migrated(viewtally)
    assert files(viewtally) == [""]


def test_new_database_needs_no_backup(viewtally):
    viewtally.run("migrate")
    assert files(viewtally) == [""] and old_schema.version_of(viewtally.database) == old_schema.NEWEST


def test_backup_of_the_same_version_is_replaced(viewtally):
    old_schema.create(viewtally.database, 8)
    (viewtally.directory / "viewtally.db.schema-8").write_text("an older backup")
    viewtally.run("migrate")
    assert old_schema.version_of(viewtally.directory / "viewtally.db.schema-8") == 8


def test_unfinished_backup_is_replaced(viewtally):
    """A killed process may leave part of a copy, with the files that SQLite keeps beside it."""
    old_schema.create(viewtally.database, 8)
    for ending in ("", "-journal", "-wal"):
        (viewtally.directory / f"viewtally.db.schema-8-new{ending}").write_bytes(b"part of a copy" * 1000)
    viewtally.run("migrate")
    assert is_sound(viewtally.directory / "viewtally.db.schema-8") and old_schema.version_of(viewtally.directory / "viewtally.db.schema-8") == 8
    assert not list(viewtally.directory.glob("*.schema-8-*"))


def test_nothing_is_migrated_if_the_backup_fails(viewtally):
    old_schema.create(viewtally.database, 8)
    (viewtally.directory / "viewtally.db.schema-8").mkdir()
    assert "cannot write the backup" in viewtally.run("migrate", status=3).err
    assert old_schema.version_of(viewtally.database) == 8 and files(viewtally) == ["", ".schema-8"]


def test_nothing_is_migrated_if_the_database_is_damaged(viewtally):
    """The copy fails verification: an index does not match its table."""
    old_schema.create(viewtally.database, 8)
    old_schema.execute(viewtally.database, "PRAGMA writable_schema = ON",
                       "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'videos_by_book') WHERE name = 'books_by_author'")
    assert "damaged" in viewtally.run("migrate", status=3).err
    assert old_schema.version_of(viewtally.database) == 8 and files(viewtally) == [""]


def test_migrate_fails_without_disk_space_for_the_backup(make_viewtally, make_disk):
    home = make_disk("50m")
    viewtally = make_viewtally({"store": {"path": home.path / "viewtally.db"}})
    old_schema.create(viewtally.database, 8)
    old_schema.execute(viewtally.database, "CREATE TABLE filler (x)", "INSERT INTO filler VALUES (zeroblob(20000000))")
    refused = viewtally.run("migrate", status=3).err
    assert re.search(r"needs about \d+\.\d MB of free disk space, with a backup, but its disk has \d+\.\d MB", refused) and "--no-backup" in refused
    assert old_schema.version_of(viewtally.database) == 8
    assert not (home.path / "viewtally.db.schema-8").exists()
    viewtally.run("migrate", "--no-backup")
    assert old_schema.version_of(viewtally.database) == old_schema.NEWEST


def test_migrate_fails_without_disk_space_for_the_migration(viewtally):
    old_schema.create(viewtally.database, 8, videos=MANY_VIDEOS * 1000)
    for option in ([], ["--no-backup"]):
        assert "of free disk space" in viewtally.run("migrate", *option, status=3).err
    assert old_schema.version_of(viewtally.database) == 8 and files(viewtally) == [""]


def test_migrate_killed_at_any_step_can_be_repeated(make_viewtally):
    versions = set()
    for step in range(1, KILL_STEPS_MAX):
        viewtally = make_viewtally(seams=True)
        old_schema.create(viewtally.database, 8)
        killed = viewtally.run("migrate", status=None, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
        if killed.status == 0:
            break
        assert killed.status == -9
        version = old_schema.version_of(viewtally.database)
        versions.add(version)
        assert is_sound(viewtally.database)
        repeated = viewtally.run("migrate")
        assert f"{old_schema.NEWEST - version or 1} migration" in repeated.out or "up to date" in repeated.out
        assert_migrated(viewtally)
        assert is_sound(viewtally.directory / "viewtally.db.schema-8") and not [name for name in files(viewtally) if name.endswith("-new")]
    assert versions == set(range(8, old_schema.NEWEST + 1)) and step > 8


# --- the packed days of migration 18 ---

SLICE = 2000        # videos, as in src/store/sqlite/days_fill.c


def create_with_days(path, videos):
    """A database before migration 18 whose videos have gains on up to 40 days."""
    rng = random.Random(videos)
    old_schema.create(path, BEFORE_DAYS, videos)
    rows, sums = [], []
    for video in range(16777218, 16777218 + videos):
        day, total = rng.randrange(20000, 20400), 0
        for _ in range(rng.choice([0, 1, 7, 32, 40])):
            gained = rng.choice([1, 20, 3000])
            total += gained
            rows.append((video, day, gained, total))
            day += rng.choice([1, 1, 1, 12])
        sums.append((video, total + 5))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executemany("INSERT INTO videos (id, uuid, author_id, posted_at, threshold, compared_videos, baseline, views) "
                             "VALUES (?1, randomblob(16), 1, 8, 10000, 0, 5, ?2)", sums)
        database.executemany("INSERT INTO daily VALUES (?, ?, ?, ?)", rows)


def test_migration_fills_the_packed_days(viewtally):
    create_with_days(viewtally.database, 2 * SLICE + 10)
    assert "1 migration applied" in viewtally.run("migrate").out
    assert packed_days.check(viewtally.database) == 0
    viewtally.run("migrate", "--check")


def test_interrupted_fill_of_the_packed_days_is_completed(make_viewtally):
    """If the process is killed after a slice, the next process fills the other videos. Reads are correct at any time."""
    left = []
    for step in range(1, KILL_STEPS_MAX):
        viewtally = make_viewtally(seams=True)
        create_with_days(viewtally.database, 2 * SLICE + 10)
        killed = viewtally.run("migrate", "--no-backup", status=None, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
        if killed.status == 0:
            break
        left.append(packed_days.check(viewtally.database))
        if left[-1]:
            checked = viewtally.run("migrate", "--check", status=1).out
            assert "migration 18 video_days: additive" in checked and f"schema version {old_schema.NEWEST}" in checked
            assert "migration 18 video_days: " in viewtally.run("migrate", "--no-backup").out
        assert packed_days.check(viewtally.database) == 0
        assert "up to date" in viewtally.run("migrate").out
    assert sorted(left, reverse=True) == left and 0 < left[1] < left[0] and left[-1] == 0


def test_server_completes_the_fill_of_the_packed_days(viewtally):
    create_with_days(viewtally.database, SLICE + 10)
    viewtally.run("migrate", "--no-backup")
    old_schema.execute(viewtally.database, "UPDATE videos SET days = x''", "DELETE FROM meta WHERE key = 'days_filled_to'")
    viewtally.start()
    assert packed_days.check(viewtally.database) == 0


def test_video_whose_daily_gains_do_not_add_up_keeps_its_rows(viewtally):
    create_with_days(viewtally.database, 20)
    old_schema.execute(viewtally.database, "UPDATE videos SET views = views + 1 WHERE id = 16777220")
    migrated = viewtally.run("migrate")
    assert "daily gains of the video with row id 16777220 do not add up to its views minus its baseline" in migrated.out + migrated.err
    assert old_schema.value(viewtally.database, "SELECT hex(days) FROM videos WHERE id = 16777220") == ""
    assert old_schema.value(viewtally.database, "SELECT count(*) FROM videos WHERE days <> x''") > 5


def test_migration_clears_video_ids_that_may_not_have_been_looked_up(viewtally):
    """Release 0.2.0 also stored a Facebook post as resolved to itself if its page lacked the permission to look up the video id."""
    old_schema.create(viewtally.database, 13)
    old_schema.execute(viewtally.database, "INSERT INTO platform_posts (platform, post_id, resolved_id, views_source) VALUES "
                       "(3, '10_1', '10_1', 4), (3, '10_2', '777', 5), (0, 'v1', 'v1', 0)")
    viewtally.run("migrate", "--no-backup")
    assert old_schema.query(viewtally.database, "SELECT post_id, resolved_id, views_source FROM platform_posts ORDER BY post_id") == [
        ("10_1", None, 4), ("10_2", "777", 5), ("v1", "v1", 0)]


def test_concurrent_processes_migrate_once(viewtally):
    old_schema.create(viewtally.database, 8)
    processes = [viewtally.background("migrate") for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    printed = "".join(process.output.read_text() for process in processes)
    assert printed.count("migration 9 stats_videos: ") == 1 and printed.count("(verified, ") == 1
    assert printed.count("up to date") == 2
    assert_migrated(viewtally)


def test_process_waits_for_another_that_migrates(viewtally):
    old_schema.create(viewtally.database, 8)
    with open(f"{viewtally.database}-migrate", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        waiting = viewtally.background("migrate")
        wait.until(lambda: "waiting for another process" in waiting.output.read_text(), "the process to wait")
        # The other process can lock the database exclusively, because the waiting process does not use it.
        with open(f"{viewtally.database}-lock", "w") as lock:
            wait.until(lambda: try_lock(lock), "the waiting process to release the database")
    assert waiting.wait(60) == 0
    assert_migrated(viewtally)


def test_process_that_has_waited_prints_the_version_of_the_migrated_database(viewtally):
    old_schema.create(viewtally.database, 8)
    viewtally.run("migrate")
    migrated = viewtally.database.rename(viewtally.directory / "migrated.db")
    old_schema.create(viewtally.database, 8)
    with open(f"{viewtally.database}-migrate", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        waiting = viewtally.background("migrate", "--json")
        wait.until(lambda: "waiting for another process" in waiting.output.read_text(), "the process to wait")
        migrated.rename(viewtally.database)
    assert waiting.wait(60) == 0
    printed = json.loads(waiting.output.read_text().splitlines()[-1])
    assert (printed["state"], printed["applied"], printed["schema_version"]) == ("up_to_date", 0, old_schema.NEWEST)


def try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_migration_that_is_not_additive_needs_all_processes_stopped(viewtally):
    old_schema.create(viewtally.database, 8)
    with Held(viewtally):
        refused = viewtally.run("migrate", status=3).err
        assert "is in use by processes that could not use it after this migration: stop the server" in refused
        assert "viewtally migrate" in viewtally.run("serve", status=3).err
    assert old_schema.version_of(viewtally.database) == 8 and files(viewtally) == [""]
    viewtally.run("migrate")
    assert_migrated(viewtally)


# --- viewtally migrate --check ---


def test_migrate_check_changes_nothing(viewtally):
    assert "would be created" in viewtally.run("migrate", "--check", status=1).out
    assert not viewtally.database.exists()
    old_schema.create(viewtally.database, 8, videos=MILLION)
    before = viewtally.database.read_bytes()
    checked = viewtally.run("migrate", "--check", status=1).out
    assert "schema version 8, 1000000 videos" in checked
    assert f"{old_schema.NEWEST - 8} migrations to schema version {old_schema.NEWEST}, about" in checked and "with a backup" in checked
    assert f"migration 9 stats_videos: additive, about {old_schema.declared_cost(9)[0] / 1000:.1f} s" in checked
    assert "migration 12 vocabulary: not additive, about 0.0 s" in checked and "cannot use the database afterwards" in checked
    assert "with a backup" not in viewtally.run("migrate", "--check", "--no-backup", status=1).out
    assert viewtally.database.read_bytes() == before and files(viewtally) == [""]
    viewtally.run("migrate")
    assert "up to date" in viewtally.run("migrate", "--check").out


def test_migrate_prints_json(viewtally):
    missing = viewtally.run("migrate", "--check", "--json", status=1).json()
    assert (missing["state"], missing["schema_version"], missing["migrations"]) == ("missing", 0, [])
    old_schema.create(viewtally.database, 8, videos=MILLION)
    plan = viewtally.run("migrate", "--check", "--json", status=1).json()
    assert (plan["database"], plan["state"], plan["schema_version"], plan["program_version"]) == (str(viewtally.database), "pending", 8, old_schema.NEWEST)
    assert plan["videos"] == MILLION and plan["needed_bytes"] > 0 and plan["free_bytes"] > 0 and plan["estimate_ms"] > 0 and plan["additive"] is False
    assert [m["version"] for m in plan["migrations"]] == list(range(9, old_schema.NEWEST + 1))
    assert plan["migrations"][0] == {"version": 9, "name": "stats_videos", "additive": True, "estimate_ms": old_schema.declared_cost(9)[0]}
    done = viewtally.run("migrate", "--json").json()
    assert done == {"database": str(viewtally.database), "state": "migrated", "schema_version": old_schema.NEWEST, "program_version": old_schema.NEWEST,
                    "applied": old_schema.NEWEST - 8, "backup": f"{viewtally.database}.schema-8", "finalized_videos": 0}
    again = viewtally.run("migrate", "--json").json()
    assert (again["state"], again["applied"], again["backup"]) == ("up_to_date", 0, None)
    assert viewtally.run("migrate", "--check", "--json").json()["state"] == "up_to_date"
    viewtally.database.unlink()
    created = viewtally.run("migrate", "--json").json()
    assert (created["state"], created["schema_version"], created["backup"]) == ("created", old_schema.NEWEST, None)


def test_migrate_check_estimates_no_negative_numbers_for_a_damaged_database(viewtally):
    old_schema.create(viewtally.database, 8, videos=2 ** 62)
    plan = viewtally.run("migrate", "--check", "--json", status=3).json()
    assert all(m["estimate_ms"] >= 0 for m in plan["migrations"])
    assert plan["estimate_ms"] > max(m["estimate_ms"] for m in plan["migrations"]) > 2 ** 50 and plan["needed_bytes"] > 2 ** 50


def test_migrate_check_reports_a_disk_without_space(viewtally):
    old_schema.create(viewtally.database, 8, videos=MANY_VIDEOS * 1000)
    checked = viewtally.run("migrate", "--check", status=3)
    assert "too little free space" in checked.err and "min with a backup" in checked.out


# --- the server and other commands ---


def test_server_applies_short_migrations(viewtally):
    """A migration that is not additive is preceded by a backup, because the previous release could not be started again."""
    old_schema.create(viewtally.database, 11)
    viewtally.start()
    assert "migration 12 vocabulary: " in viewtally.log and f"{old_schema.NEWEST - 11} migrations applied" in viewtally.log
    backup = viewtally.directory / "viewtally.db.schema-11"
    assert f"backup before the migration: {backup} (verified, " in viewtally.log and old_schema.version_of(backup) == 11
    viewtally.stop()
    assert_migrated(viewtally)


def test_server_that_has_waited_too_long_names_the_migration(make_viewtally, clock):
    """The other process also holds the database lock exclusively, like a restore."""
    clock.set_monotonic(1_000_000)
    viewtally = make_viewtally(clock=clock)
    old_schema.create(viewtally.database, 11)
    with open(f"{viewtally.database}-migrate", "w") as turn, open(f"{viewtally.database}-lock", "w") as lock:
        fcntl.flock(turn, fcntl.LOCK_EX)
        server = viewtally.background("serve")
        wait.until(lambda: "waiting for another process" in server.output.read_text(), "the server to wait")
        wait.until(lambda: try_lock(lock), "the server to release the database")
        clock.advance(31_000)
        assert server.wait(60) == 3
    assert "is being migrated by another process: try again" in server.output.read_text()


@pytest.mark.parametrize("command", [("serve",), ("serve", "--create"), ("author", "list"), ("refresh",)], ids=" ".join)
def test_server_leaves_a_long_migration_to_the_migrate_command(viewtally, command):
    viewtally.configure({"refresh": {"source": "simulated"}})
    old_schema.create(viewtally.database, 8, videos=100 * MILLION)
    refused = viewtally.run(*command, status=3).err
    assert "has schema version 8 and must be migrated" in refused and "run `viewtally migrate`" in refused
    assert old_schema.version_of(viewtally.database) == 8 and files(viewtally) == [""]


def test_command_that_migrates_reports_its_backup(viewtally):
    old_schema.create(viewtally.database, 11)
    listed = viewtally.run("author", "list")
    assert "Ann" in listed.out and f"copied to {viewtally.database}.schema-11 before it was migrated" in listed.err


# --- a database of a newer release ---


def test_newer_compatible_schema_is_used(viewtally):
    """The previous release runs on the new schema: it serves, imports, backs up and restores, and changes no schema."""
    ann = viewtally.add_author("Ann")
    newer = old_schema.make_newer(viewtally.database)
    assert f"schema version {newer} of a newer release, which this release can use" in viewtally.run("migrate").out
    assert f"schema version {newer} of a newer release" in viewtally.run("migrate", "--check").out
    key = viewtally.create_key(ann)
    viewtally.start()
    viewtally.import_lines([author("Bob"), book("Novel", "Bob")])
    assert viewtally.client(key).get("/videos").status == 200
    viewtally.run("backup", "newer.db")
    viewtally.stop()
    viewtally.run("restore", "newer.db")
    assert old_schema.version_of(viewtally.database) == newer and is_sound(viewtally.database)
    assert {row["name"] for row in viewtally.run("author", "list", "--json").json()} == {"Ann", "Bob"}


def test_newer_incompatible_schema_is_refused(viewtally):
    viewtally.add_author("Ann")
    newer = old_schema.make_newer(viewtally.database, compatible_since=old_schema.NEWEST + 1)
    for command in (("serve",), ("migrate",), ("migrate", "--check"), ("author", "list")):
        assert f"has schema version {newer}, newer than version {old_schema.NEWEST} of this binary, which cannot use it" in viewtally.run(*command, status=3).err
    assert old_schema.version_of(viewtally.database) == newer
