"""Deadlocks with transactions of other programs, which hold locks of tables: viewtally runs its transaction again."""
import contextlib
import pathlib
import sys
import threading

import psycopg2
import pytest

from lib import lines, postgres, wait
from lib.accounts import PASSWORD, make_key
from lib.clock import FakeClock
from lib.pages import sign_up
from lib.viewtally import Viewtally

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "platforms"))
from platformworld import Standins, World           # noqa: E402

SIMULATED = {"refresh": {"source": "simulated"}}
POSTED = "2026-06-20T08:00:00Z"
REPEATS = 5                     # STORE_REPEATS_MAX


@pytest.fixture(scope="module")
def private():
    """A PostgreSQL whose sessions look for a deadlock after two seconds, so that this test has time to cause one."""
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    with postgres.Postgres(("deadlock_timeout = 2s",), schema="") as made:
        yield made


@pytest.fixture
def database(private):
    return private.database("template0")


@pytest.fixture
def make(private, tmp_path):
    numbers = iter(range(100))

    def make(database, **config):
        directory = tmp_path / f"installation-{next(numbers)}"
        directory.mkdir()
        clock = FakeClock(directory / "clock", "2026-07-10T12:00:00Z")
        made = Viewtally(directory, {"store": {"url": private.url(database)}, **config}, clock=clock)
        made.run("migrate")
        made.import_lines([lines.author("Ann"), *(lines.video(f"v{n}", "Ann", POSTED) for n in range(40))])
        return made

    return make


@contextlib.contextmanager
def operator(private, database):
    """The session of an operator, which waits for locks so long that viewtally is the victim of each deadlock."""
    with contextlib.closing(psycopg2.connect(private.url(database))) as connection, connection.cursor() as cursor:
        cursor.execute("SET deadlock_timeout = '1min'")
        yield cursor


def lock(cursor, table):
    cursor.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")         # conflicts with writes, but not with reads


def deadlock(private, database, first, second, action):
    """Runs `action`, whose transaction writes `second` and then `first`, and causes a deadlock. Returns its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(action()))
    waiting = f"SELECT 1 FROM pg_locks WHERE relation = '{first}'::regclass AND NOT granted"
    with operator(private, database) as cursor, contextlib.closing(psycopg2.connect(private.url(database))) as other, other.cursor() as viewer:
        other.autocommit = True

        def is_waiting():
            viewer.execute(waiting)
            return viewer.fetchone()

        lock(cursor, first)
        thread.start()
        wait.until(is_waiting, f"a transaction to wait for {first}")
        lock(cursor, second)                                        # returns when viewtally's transaction has been ended
        cursor.connection.rollback()
    thread.join()
    assert "deadlock detected" in private.log()
    return results[0]


# Fails the first statements that write a row of a table, {count} in all, also if their transactions are rolled back.
CONFLICTS = """
CREATE SEQUENCE conflicts;
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF {condition} AND nextval('conflicts') <= {count} THEN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END IF; RETURN NULL; END $$;
"""


def cause_conflicts(private, database, table, count, condition="true"):
    trigger = f"CREATE TRIGGER conflict AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION conflict();"
    private.sql(CONFLICTS.format(count=count, condition=condition) + trigger, database)


def conflicts(private, database):
    """How many statements the trigger has run for."""
    return int(private.sql("SELECT last_value FROM conflicts", database)[0][0])


def rows(private, database, table, columns="*"):
    return private.sql(f"SELECT {columns} FROM {table} ORDER BY 1, 2", database)


# -- writes of requests ----------------------------------------------------------------------------------------------------------


def test_request_whose_write_is_the_victim_of_a_deadlock_succeeds(private, database, make):
    with make(database) as server:
        browser = sign_up(server, lines.uid("Ann"), "ann", PASSWORD)
        key = deadlock(private, database, "audit", "api_keys", lambda: make_key(browser))
        assert server.client(key).get("/account").status == 200
        assert len(rows(private, database, "api_keys")) == 1
        assert [action for action, _ in rows(private, database, "audit", "action, id")].count("key.created") == 1
        assert "runs again (repetition 1 of 5)" in server.log


@pytest.mark.parametrize("count, created", [(REPEATS, True), (REPEATS + 1, False)])
def test_write_of_a_request_is_repeated_five_times(private, database, make, count, created):
    with make(database) as server:
        browser = sign_up(server, lines.uid("Ann"), "ann", PASSWORD)
        cause_conflicts(private, database, "api_keys", count)
        page = browser.send(browser.get("/keys"), "/keys", {"name": "laptop"}, follow=False)
        assert page.status == (200 if created else 503)
        assert len(rows(private, database, "api_keys")) == created and conflicts(private, database) == REPEATS + 1


# -- the refresh -----------------------------------------------------------------------------------------------------------------

WRITTEN = {
    "videos": "author_id, id, views, baseline, views_updated_at, went_viral_at, posts, milestones, days",
    "events": "author_id, video_id, type, occurred_at, value",
    "author_daily": "*",
    "refresh_counts": "source, platform, name, value",
    "refresh_runs": "cause, outcome, error",
}


def refreshed(private, database, server):
    """What a run has written."""
    server.run("refresh")
    return {table: rows(private, database, table, columns) for table, columns in WRITTEN.items()}


@pytest.fixture
def expected(private, make):
    """The result of a run without a conflict."""
    database = private.database("template0")
    found = refreshed(private, database, make(database, **SIMULATED))
    assert found["events"] and found["refresh_runs"] == [["1", "0", ""]]
    return found


def test_run_that_is_the_victim_of_a_deadlock_applies_each_reading_once(private, database, make, expected):
    server = make(database, **SIMULATED)
    assert deadlock(private, database, "author_daily", "videos", lambda: refreshed(private, database, server)) == expected


@pytest.mark.parametrize("table", ["refresh_lease", "refresh_runs", "refresh_counts", "events", "videos", "author_daily"])
def test_conflict_in_any_transaction_of_a_run_changes_no_result(private, database, make, expected, table):
    server = make(database, **SIMULATED)
    cause_conflicts(private, database, table, 2)
    assert refreshed(private, database, server) == expected
    assert conflicts(private, database) > 2


def test_run_fails_after_five_repetitions_and_the_next_one_applies_the_readings(private, database, make, expected):
    server = make(database, **SIMULATED)
    cause_conflicts(private, database, "videos", REPEATS + 1)
    failed = server.run("refresh", status=3)
    assert "database error: busy" in failed.err
    found = refreshed(private, database, server)
    assert {table: found[table] for table in ("videos", "events", "author_daily")} == {table: expected[table] for table in ("videos", "events", "author_daily")}


def limits_after_run(private, database, make, conflicts=0):
    server = make(database)
    with contextlib.closing(Standins(server.clock, only="tiktok,youtube")) as standins:
        world = World(server, standins)
        world.configure()
        world.add(platforms=("tiktok", "youtube"))
        if conflicts:
            cause_conflicts(private, database, "platform_limits", conflicts, "NEW.api = 3")       # YouTube, which is stored after TikTok
        world.refresh()
    return rows(private, database, "platform_limits")


def test_repeated_transaction_stores_the_limits_of_the_platforms_again(private, make):
    expected = limits_after_run(private, private.database("template0"), make)
    assert {"last_success", "units"} <= {name for _, name, *_ in expected}
    database = private.database("template0")
    assert limits_after_run(private, database, make, conflicts=2) == expected and conflicts(private, database) > 2


# -- what is not repeated --------------------------------------------------------------------------------------------------------


def test_command_that_is_the_victim_of_a_deadlock_changes_nothing(private, database, make):
    server = make(database)
    cause_conflicts(private, database, "api_keys", 1)
    arguments = ("key", "create", "--author", lines.uid("Ann"), "--name", "laptop")
    assert "nothing was changed: database error: busy" in server.run(*arguments, status=3).err
    server.run(*arguments)
    assert len(rows(private, database, "api_keys")) == 1


def test_import_that_is_the_victim_of_a_deadlock_can_be_repeated(private, database, make):
    server = make(database)
    reading = lines.reading("v7", "2026-07-10T01:00:00Z", 25_000)
    cause_conflicts(private, database, "videos", 1)
    assert "the import stopped: database error: busy" in server.import_lines([reading], status=3).err
    server.import_lines([reading])
    assert private.sql("SELECT max(views) FROM videos", database) == [["25000"]]
