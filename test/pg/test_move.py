"""`viewtally move` between SQLite and a real PostgreSQL: copies every table there and back, continues after a kill, finds every difference."""
import contextlib
import random
import sqlite3
import time

import pytest

from lib import filled_tables, packed_days
from lib.pgstore import StoreDriver
from lib.postgres import Postgres
from lib.viewtally import Viewtally

KILLS_IN_VIDEOS = (9, 9)
COMMITS = 38         # number of commits of `viewtally move` if all tables have already been copied
IDENTITIES = ("authors", "api_keys", "platform_credentials", "webhook_endpoints")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """An installation with rows in every table."""
    vt = Viewtally(tmp_path_factory.mktemp("filled"))
    vt.ensure_database()
    filled_tables.fill(vt.database, seed=1)
    packed_days.check(vt.database)
    return vt


@pytest.fixture
def empty(cluster):
    """The URL of a database without tables."""
    name = cluster.database("template0")
    url = cluster.url(name)
    return url, lambda sql: cluster.sql(sql, name)


def move(vt, source, target, *options, status=0, env=None):
    return vt.run("move", "--from", source, "--to", target, *options, status=status, env=env)


def failure(vt, source, target, *options, status=3):
    return move(vt, source, target, *options, status=status).err


def test_move_to_postgresql_and_back_gives_an_equal_database(filled, empty, tmp_path):
    url, sql = empty
    back = tmp_path / "back.db"
    moved = move(filled, filled.database, url)
    assert "the databases are equal" in moved.out and f"url = {url}" in moved.out
    for table in IDENTITIES:
        with contextlib.closing(sqlite3.connect(filled.database)) as connection:
            largest, = connection.execute(f"SELECT max(id) FROM {table}").fetchone()
        last = int(sql(f"SELECT last_value FROM {table}_id_seq")[0][0])
        assert last >= largest + (1000 if table in ("platform_credentials", "webhook_endpoints") else 0), table
    assert f"path = {back}" in move(filled, url, back).out
    assert filled_tables.dump(back) == filled_tables.dump(filled.database)
    assert packed_days.check(back) == 0
    move(filled, filled.database, back, "--verify")


def test_path_printed_by_move_is_absolute(filled, tmp_path):
    vt = Viewtally(tmp_path / "other")
    assert f"path = {vt.directory}/copy.db" in move(vt, filled.database, "copy.db").out


def test_move_from_an_unusable_source_creates_nothing(filled, empty, tmp_path):
    """An empty database that it had created would pass for a copy: a server would start with it."""
    url, sql = empty
    (tmp_path / "text").write_text("this file is not a database\n" * 100)
    assert "not a database" in failure(filled, tmp_path / "text", url)
    assert sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [["0"]]
    assert "Connection refused" in failure(filled, "postgresql://u@127.0.0.1:1/d", tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_no_command_opens_a_copy_that_could_not_begin(tmp_path):
    """The source is locked by a long transaction of another process."""
    vt, copy = Viewtally(tmp_path / "source"), Viewtally(tmp_path / "copy")
    vt.add_author()
    with contextlib.closing(sqlite3.connect(vt.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert "busy" in failure(vt, vt.database, copy.database)
    assert "is an incomplete copy" in copy.run("author", "list", status=3).err
    move(vt, vt.database, copy.database)


def test_move_warns_if_a_server_uses_the_source(tmp_path):
    vt = Viewtally(tmp_path / "live")
    vt.ensure_database()
    warning = f"uses {vt.database}: stop this process before the move ends"
    assert warning not in move(vt, vt.database, tmp_path / "first.db").err
    with vt:
        assert warning in move(vt, vt.database, tmp_path / "second.db").err


def test_move_rejects_a_target_url_with_a_password(filled):
    text = failure(filled, filled.database, "postgresql://u:s3cret@h/d", status=2)
    assert "--to: the URL must not contain a password" in text and "s3cret" not in text


def test_move_names_its_option_if_the_password_file_is_missing(filled, tmp_path):
    text = failure(filled, filled.database, "postgresql://u@127.0.0.1:1/d", "--password-file", tmp_path / "none")
    assert f"--password-file {tmp_path}/none: No such file or directory" in text and "[store]" not in text


def test_move_rejects_a_password_file_that_can_be_read_only_once(filled):
    text = failure(filled, filled.database, "postgresql://u@127.0.0.1:1/d", "--password-file", "/dev/null", status=2)
    assert "--password-file: /dev/null is not a regular file" in text and "write the password to a file" in text


def test_the_copy_has_its_own_identity(filled, tmp_path):
    copy = tmp_path / "copy.db"
    move(filled, filled.database, copy)
    before, after = filled_tables.meta(filled.database), filled_tables.meta(copy)
    assert after["store_id"] != before["store_id"]
    assert after["last_event_id"] == before["last_event_id"] == 8000000000000
    assert {key: after[key] for key in ("last_erased_author", "last_erased_key", "expiry_floor", "key_rotations", "ancestor:AB")} == \
        {"last_erased_author": 5000, "last_erased_key": 6000, "expiry_floor": 7, "key_rotations": 2, "ancestor:AB": 1}
    assert after[f"ancestor:{before['store_id'].hex().upper()}"] > 1_700_000_000_000
    assert "moving" not in after
    with contextlib.closing(sqlite3.connect(copy)) as connection, contextlib.closing(sqlite3.connect(filled.database)) as original:
        sequences = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
        assert connection.execute(sequences).fetchall() == original.execute(sequences).fetchall()


def test_event_ids_continue_after_the_current_time(tmp_path):
    vt, started_ms = Viewtally(tmp_path / "a"), time.time() * 1000
    vt.add_author()
    move(vt, vt.database, tmp_path / "b.db")
    assert filled_tables.meta(tmp_path / "b.db")["last_event_id"] >= int(started_ms)


def test_gains_that_only_the_table_daily_has_are_moved(filled, empty, tmp_path):
    stale = tmp_path / "stale.db"
    move(filled, filled.database, stale)
    packed_days.make_stale(stale, random.Random(3))
    assert packed_days.check(stale) > 0
    move(filled, stale, empty[0])
    move(filled, filled.database, empty[0], "--verify")


def test_texts_that_are_not_utf8_are_replaced(filled, empty, tmp_path):
    """SQLite may contain the name of a file, or a part of a character at the end of a message."""
    url, sql = empty
    source = tmp_path / "source.db"
    move(filled, filled.database, source)
    with contextlib.closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE refresh_runs SET error = 'x' || CAST(x'E5AD' AS TEXT) WHERE id = (SELECT min(id) FROM refresh_runs)")
        connection.execute("UPDATE spool_files SET name = CAST(x'C4C5' AS TEXT) || 'n' WHERE id = (SELECT min(id) FROM spool_files)")
        connection.execute("UPDATE authors SET rev = 1, feed_rev = 1")        # a trigger increments them
        connection.execute("UPDATE videos SET title = CAST(x'6100FF' AS TEXT) WHERE id = (SELECT max(id) FROM videos)")
    moved = move(filled, source, url)
    assert "the databases are equal" in moved.out
    assert "3 texts, such as the name of a file in the spool, are not valid UTF-8" in moved.err
    assert sql("SELECT error FROM refresh_runs ORDER BY id LIMIT 1") == [["x\ufffd\ufffd"]]
    assert sql("SELECT name FROM spool_files ORDER BY id LIMIT 1") == [["\ufffd\ufffdn"]]
    assert sql("SELECT title FROM videos ORDER BY id DESC LIMIT 1") == [["a\ufffd\ufffd"]]
    assert "3 texts" in move(filled, source, url, "--verify").err
    assert "texts" not in move(filled, url, tmp_path / "back.db").err


def test_move_refuses_a_target_that_is_not_empty(filled, empty, tmp_path):
    url, sql = empty
    other = Viewtally(tmp_path / "other")
    other.add_author()
    before = filled_tables.dump(other.database)
    assert "is not empty: its table authors has rows. Nothing was changed" in failure(filled, filled.database, other.database)
    assert filled_tables.dump(other.database) == before and "moving" not in filled_tables.meta(other.database)
    move(filled, other.database, url)
    assert "is not empty" in failure(filled, filled.database, url)
    assert sql("SELECT count(*) FROM authors") == [["1"]]
    assert "the databases differ: only" in failure(filled, filled.database, url, "--verify", status=1)


def test_move_refuses_the_database_itself_as_its_target(filled, empty):
    assert "in use" in failure(filled, filled.database, filled.database)
    assert "are the same database" in failure(filled, filled.database, filled.database, "--verify")
    move(filled, filled.database, empty[0])
    assert "are the same database" in failure(filled, empty[0], empty[0])


def test_move_between_servers_that_hide_their_identity(filled, cluster, tmp_path):
    """A provider may revoke pg_control_system(). The older timeline of the target then does not make it a former primary of the source."""
    with Postgres(schema="") as source:
        urls = []
        for server in (source, cluster):
            name = server.database("template0")
            server.sql(f"CREATE ROLE mover LOGIN; ALTER DATABASE {name} OWNER TO mover", "postgres")
            server.sql("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; GRANT ALL ON SCHEMA public TO mover", name)
            urls.append(server.url(name, "mover"))
        source.begin_timeline()
        move(filled, filled.database, urls[0])
        assert "the databases are equal" in move(filled, *urls).out


def test_verify_reports_only_a_difference_with_status_1(filled, cluster):
    cluster.sql("CREATE DATABASE latin_target TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'", database="postgres")
    assert "UTF8" in failure(filled, filled.database, cluster.url("latin_target"), "--verify")


def test_move_continues_after_kills(filled, empty, tmp_path):
    """Each run is killed at a random commit, also in the middle of a table, and the next one continues."""
    url, sql = empty
    big = Viewtally(tmp_path / "big", seams=True)
    big.ensure_database()
    filled_tables.fill(big.database, seed=2, count=90, more={"videos", "audit"})
    tables = filled_tables.dump(big.database).keys() - {"daily"}
    copied, sizes = 0, set()
    rng = random.Random(4)
    for kill_at in [*KILLS_IN_VIDEOS, *(rng.randrange(1, COMMITS) for _ in range(8))]:
        move(big, big.database, url, status=-9, env={"VIEWTALLY_TEST_KILL_AT": str(kill_at)})
        assert sql("SELECT count(*) FROM meta WHERE key = 'moving'") == [["1"]]
        before, copied = copied, sum(int(sql(f"SELECT count(*) FROM {table}")[0][0]) for table in tables)
        assert copied >= before
        sizes.add(int(sql("SELECT count(*) FROM videos")[0][0]))
    assert sizes == {4000, 8000, 9000}, sizes
    assert "incomplete copy" in failure(big, url, tmp_path / "x.db")
    assert "is an incomplete copy of a different database" in failure(filled, filled.database, url)
    assert "(in addition to those that an interrupted move had copied)" in move(big, big.database, url).out
    assert sql("SELECT count(*) FROM meta WHERE key = 'moving'") == [["0"]]
    back = tmp_path / "back.db"
    move(big, url, back)
    assert filled_tables.dump(back) == filled_tables.dump(big.database)


def test_lost_connection_is_reported_with_the_way_to_continue(filled, empty, tmp_path):
    url, sql = empty
    Viewtally(tmp_path / "target", {"store": {"url": url}}).run("migrate")
    sql("CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
        "CREATE TRIGGER cut AFTER INSERT ON videos EXECUTE FUNCTION cut()")
    assert failure(filled, filled.database, url).endswith("database error: input/output error; run the same command again: it continues\n")
    sql("DROP TRIGGER cut ON videos")
    assert "(in addition to those that an interrupted move had copied)" in move(filled, filled.database, url).out


@pytest.mark.parametrize("engine, kill_at", [("SQLite", "40"), ("PostgreSQL", "10")])
def test_migrate_refuses_an_incomplete_copy(engine, kill_at, empty, tmp_path):
    vt = Viewtally(tmp_path / "source", seams=True)
    vt.add_author()
    copy = Viewtally(tmp_path / "copy", config={"store": {"url": empty[0]}} if engine == "PostgreSQL" else {})
    target = empty[0] if engine == "PostgreSQL" else copy.database
    move(vt, vt.database, target, status=-9, env={"VIEWTALLY_TEST_KILL_AT": kill_at})
    for command in ("migrate", "--check"), ("migrate", "--check", "--json"), ("migrate",):
        refused = copy.run(*command, status=3)
        assert refused.out == "" and refused.err.endswith(
            f"viewtally migrate: {target} is an incomplete copy: run the same `viewtally move` again, which continues it\n")


def test_change_of_the_source_between_two_runs_is_found(filled, tmp_path):
    vt = Viewtally(tmp_path / "a", seams=True)
    vt.ensure_database()
    filled_tables.fill(vt.database, seed=5)
    copy = tmp_path / "copy.db"
    move(vt, vt.database, copy, status=-9, env={"VIEWTALLY_TEST_KILL_AT": "40"})
    with contextlib.closing(sqlite3.connect(vt.database)) as connection, connection:
        connection.execute("UPDATE authors SET name = 'renamed' WHERE id = 2")
    assert "the databases differ: the row of authors with id = 2 differs in the column name" in failure(vt, vt.database, copy)
    assert "incomplete copy" in failure(vt, copy, tmp_path / "x.db")


def columns(sql):
    return sql("SELECT c.table_name, c.column_name, c.data_type, c.is_nullable FROM information_schema.columns c JOIN pg_class t "
               "ON t.relname = c.table_name AND t.relkind = 'r' WHERE c.table_schema = 'public' AND c.is_generated = 'NEVER' "
               "AND c.table_name NOT IN ('meta', 'store', 'barriers', 'leases', 'refresh_lease', 'backup_state') ORDER BY 1, 2")


def test_verification_of_a_backup_reports_its_progress(empty, tmp_path):
    """Otherwise a scheduled backup could not be stopped during the verification, and would not renew its lease."""
    url, sql = empty
    with StoreDriver(url) as driver:
        driver.ok("migrate")
        sql("INSERT INTO authors (uuid, created_at, name) SELECT gen_random_uuid(), n, 'Ann' FROM generate_series(1, 20000) n")
        (tmp_path / "b.db").touch()
        assert int(driver.ok(f"backup {tmp_path}/b.db")) > 20_000 + 20_000      # rows copied and compared


CHANGED = {"bigint": "{0} + CASE WHEN {0} > 0 THEN -1 ELSE 1 END", "text": "{0} || 'x'", "bytea": "'\\x00' || {0}", "uuid": "gen_random_uuid()"}
CHECKED = {"plan_active": "1 - plan_active", "is_personal": "1 - is_personal", "hash": "sha256(hash)", "secret_hash": "sha256(secret_hash)",
           "state_hash": "sha256(state_hash)", "suffix": "CASE suffix WHEN '0001' THEN '0002' ELSE '0001' END"}


def test_every_column_is_compared(filled, cluster):
    name = cluster.database("template0")
    url = cluster.url(name)
    move(filled, filled.database, url)
    cluster.sql(f"ALTER DATABASE {name} SET session_replication_role = replica")        # no foreign keys
    found = columns(lambda text: cluster.sql(text, name))
    assert len(found) > 150
    for table, column, kind, _ in found:
        names = ", ".join(other for of, other, _, _ in found if of == table)
        value = CHECKED.get(column, CHANGED[kind]).format(column)
        cluster.sql(f"CREATE TABLE saved AS SELECT * FROM {table}; UPDATE {table} SET {column} = {value} WHERE ctid = "
                    f"(SELECT ctid FROM {table} WHERE {column} IS NOT NULL ORDER BY {column} DESC LIMIT 1)", name)
        why = failure(filled, filled.database, url, "--verify", status=1)
        assert f"the databases differ: the row of {table} with " in why and why.endswith(f" differs in the column {column}\n") or \
            "the databases differ: only " in why and f"has the row of {table} with " in why, (table, column, why)
        cluster.sql(f"DELETE FROM {table}; INSERT INTO {table} ({names}) SELECT {names} FROM saved; DROP TABLE saved", name)
    move(filled, filled.database, url, "--verify")
