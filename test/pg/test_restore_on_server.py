"""`viewtally restore FILE` into a database on a server: what comes back, what is carried over, and what a failure leaves."""
import json
import os
import re
import subprocess

import pytest

from lib import lines, old_schema, postgres, wait
from lib.pgstore import StoreDriver
from lib.viewtally import Viewtally
from test_commands import Commands, history, world

READ_LATER = "2026-07-03T00:00:00Z"


@pytest.fixture
def commands(tmp_path, url):
    """An installation with one video, and its backup b.db from the time when the video had 25,000 views."""
    made = Commands(tmp_path, url, REFRESH_SOURCE="simulated")
    made.run("migrate")
    made.run("import", "-", stdin=world(25_000))
    made.run("backup", "b.db")
    return made


def add_views(commands, views):
    commands.run("import", "-", stdin=json.dumps(lines.reading("Wave", READ_LATER, views)) + "\n")


def replaced_file(text):
    return re.search(r"The old data was copied to (\S+)\n", text)[1]


def test_data_of_the_backup_replace_the_data_in_postgresql(commands, tmp_path, sql, url):
    add_views(commands, 99_000)
    commands.run("author", "add", "--name", "Bob")
    newest, = sql("SELECT max(id) FROM events")[0]
    identity = sql("SELECT id FROM store")
    text = commands.run("restore", "b.db")
    assert "restored from b.db" in text and "valid now" not in text
    assert sql("SELECT views, (SELECT count(*) FROM authors) FROM videos") == [["25000", "1"]]
    assert sql("SELECT id FROM store") != identity
    add_views(commands, 99_000)
    assert int(sql("SELECT max(id) FROM events")[0][0]) > int(newest)
    kept = replaced_file(text)
    assert {path.name for path in tmp_path.iterdir()} == {"b.db", os.path.basename(kept)} and os.stat(kept).st_mode & 0o777 == 0o600
    old = Commands(tmp_path, "", STORE_PATH=kept)
    assert {author["name"] for author in old.json("author", "list")} == {"Ann", "Bob"}
    assert "every page is intact" in commands.run("restore", "--drill", kept)
    assert url.split("?")[0] in text


def test_revocations_are_carried_over(commands):
    ann = lines.uid("Ann")
    bob = commands.json("author", "add", "--name", "Bob")["id"]
    early = commands.json("key", "create", "--author", ann, "--name", "early")["id"]
    app = commands.json("app", "add", "--name", "Charts", "--redirect-uri", "https://charts.example/back", "--home-url", "https://charts.example")
    commands.run("author", "invite", ann, "--login", "ann")
    commands.run("backup", "b.db")
    commands.run("key", "revoke", early)
    commands.run("app", "remove", app["client_id"])
    commands.run("author", "set-plan", ann, "inactive")
    commands.run("author", "erase", bob)
    restored = commands.json("restore", "b.db")
    carried = restored["revocations"]
    assert carried["complete"] and carried["valid"] == [] and restored["replaced_database"].endswith(".db")
    found = {name: count for name, count in carried["carried_over"].items() if count}
    assert {name: found[name] for name in ("keys_revoked", "apps_removed", "plans_ended", "authors_erased")} == dict.fromkeys(
        ("keys_revoked", "apps_removed", "plans_ended", "authors_erased"), 1)
    [author] = commands.json("author", "list")
    assert (author["name"], author["plan_active"]) == ("Ann", False)
    assert [key["revoked_at"] is None for key in commands.json("key", "list", "--author", ann)] == [False]


def test_restore_refuses_while_a_server_runs(commands, tmp_path, sql, url):
    add_views(commands, 99_000)
    with Viewtally(tmp_path / "server", {"store": {"url": url}}) as server:
        with server.admin() as client:
            wait.until(lambda: client.get("/readyz").status == 200, "the server to be ready")
        text = commands.run("restore", "b.db", status=3)
        assert "other viewtally processes use this database" in text and "Nothing was changed. --force skips this check" in text
        assert sql("SELECT views FROM videos") == [["99000"]]
        assert "--force: skipped" in commands.run("restore", "--force", "b.db")
    assert sql("SELECT views FROM videos") == [["25000"]]


def test_restore_refuses_during_an_import(commands, sql, url):
    """An import remembers row ids of videos, so no restore may run during it. The application_name of this import
    differs, so that the check for other processes does not find it. Its lock must prevent the restore."""
    add_views(commands, 99_000)
    with StoreDriver(f"{url}&application_name=other") as importer:
        importer.ok("open write 0")
        importer.ok("share")        # the import lock
        for options in ([], ["--force"]):
            text = commands.run("restore", *options, "b.db", status=3)
            assert "an import is running: repeat the command when it has ended. Nothing was changed" in text
    assert sql("SELECT views FROM videos") == [["99000"]]
    commands.run("restore", "b.db")
    assert sql("SELECT views FROM videos") == [["25000"]]


def test_restore_refuses_before_it_reads_standard_input(commands, tmp_path, url):
    with Viewtally(tmp_path / "server", {"store": {"url": url}}) as server:
        with server.admin() as client:
            wait.until(lambda: client.get("/readyz").status == 200, "the server to be ready")
        reader, writer = os.pipe()      # nothing is ever written
        refused = subprocess.run([os.environ["VIEWTALLY_SEAMS_BIN"], "restore", "-"], cwd=tmp_path, env=commands.env, stdin=reader, check=False,
                                 capture_output=True, text=True, timeout=60)
        os.close(reader)
        os.close(writer)
    assert refused.returncode == 3 and "other viewtally processes use this database" in refused.stderr


def test_backup_of_standard_input_is_restored(commands, tmp_path, sql):
    add_views(commands, 99_000)
    with open(tmp_path / "b.db", "rb") as file:
        subprocess.run([os.environ["VIEWTALLY_SEAMS_BIN"], "restore", "-"], cwd=tmp_path, env=commands.env, stdin=file, check=True, capture_output=True)
    assert sql("SELECT views FROM videos") == [["25000"]]


@pytest.mark.parametrize("content", [b"", b"no database", None], ids=["empty", "other", "damaged"])
def test_unusable_backup_changes_nothing(commands, tmp_path, sql, content):
    add_views(commands, 99_000)
    whole = (tmp_path / "b.db").read_bytes()
    (tmp_path / "b.db").write_bytes(whole[:20_000] + bytes(len(whole) - 20_000) if content is None else content)
    commands.run("restore", "b.db", status=3)
    assert sql("SELECT views FROM videos") == [["99000"]] and [path.name for path in tmp_path.iterdir()] == ["b.db"]


def test_error_names_the_role_that_does_not_own_the_tables(commands, tmp_path, sql, url):
    add_views(commands, 99_000)
    sql("""CREATE ROLE restorer LOGIN;
           GRANT USAGE ON SCHEMA public TO restorer;
           GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO restorer;
           GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO restorer""")
    try:
        served = Commands(tmp_path, url.replace("tester@", "restorer@"))
        text = served.run("restore", "b.db", status=3)
        assert "the role restorer does not own the tables: use the role that ran `viewtally migrate`. Nothing was changed" in text
        assert sql("SELECT views FROM videos") == [["99000"]] and [path.name for path in tmp_path.iterdir()] == ["b.db"]
    finally:
        sql("DROP OWNED BY restorer; DROP ROLE restorer")


def test_tables_may_be_in_a_schema_whose_name_must_be_quoted(tmp_path, sql, url):
    sql('CREATE SCHEMA "My schema"')
    commands = Commands(tmp_path, f"{url}&options=-csearch_path%3D%22My%5C%20schema%22")
    commands.run("migrate")
    commands.run("import", "-", stdin=world(25_000))
    commands.run("backup", "b.db")
    add_views(commands, 99_000)
    assert "restored from b.db" in commands.run("restore", "b.db")
    assert sql('SELECT views FROM "My schema".videos') == [["25000"]]


def test_kill_leaves_the_old_or_the_new_data(commands, tmp_path, sql):
    """After each kill, an author is added. This fails if the next id that would be issued is in use."""
    entities, readings = history(videos=5, hours=3)
    commands.run("import", "-", stdin=entities + readings)
    number = kills = 0
    while True:
        number += 1
        add_views(commands, 50_000 + number)
        commands.run("author", "add", "--name", f"Bob {number}")
        before = sql("SELECT (SELECT sum(views) FROM videos), (SELECT count(*) FROM authors)")
        done = subprocess.run([os.environ["VIEWTALLY_SEAMS_BIN"], "restore", "b.db"], cwd=tmp_path, check=False, capture_output=True, timeout=120,
                              env={**commands.env, "TMPDIR": str(tmp_path), "VIEWTALLY_TEST_KILL_AT": str(1 + 3 * kills)})
        after = sql("SELECT (SELECT sum(views) FROM videos), (SELECT count(*) FROM authors)")
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        kills += 1
        if after != before:
            break
    assert kills >= 10 and after[0][:2] == ["25000", "1"]


def test_snapshot_from_before_the_restore_still_has_the_old_data(commands, sql, url):
    """A backup or pg_dump that runs at the same time as the restore uses such a snapshot."""
    add_views(commands, 99_000)
    reader = subprocess.Popen([postgres.programs() / "psql", url, "-At"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        reader.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM meta WHERE false;\n")
        reader.stdin.flush()
        assert [reader.stdout.readline(), reader.stdout.readline()] == ["BEGIN\n", "0\n"]
        commands.run("restore", "b.db")
        assert sql("SELECT views FROM videos") == [["25000"]]
        output, _ = reader.communicate("SELECT views FROM videos;\n", timeout=60)
        assert output == "99000\n"
    finally:
        reader.kill()
        reader.wait()


def test_old_data_is_kept_if_the_commit_fails(commands, sql):
    add_views(commands, 99_000)
    sql("""CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
           CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON store DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session()""")
    text = commands.run("restore", "b.db", status=3)
    kept = re.search(r"It is unknown whether the data was replaced; the old data is in (\S+)\. Run the command again", text)[1]
    assert Commands(commands.directory, "", STORE_PATH=kept).json("author", "list")
    assert sql("SELECT views FROM videos") == [["99000"]]
    sql("DROP TRIGGER at_commit ON store")
    assert "restored from b.db" in commands.run("restore", "b.db")


def test_account_that_the_replaced_data_never_had_is_restored(commands, sql):
    """A restore sets the sequences of ids back to those of the backup, as in a database file. So the rule for missing
    accounts (carry.h) knows that "new" was not disconnected: the replaced data has never issued its id."""
    def connect(name):
        sql(f"INSERT INTO platform_credentials (author_id, api, account_id, access_sealed, obtained_at, version) SELECT id, 0, '{name}', 'x', 1, 1 FROM authors")

    connect("old")
    commands.run("backup", "old.db")
    connect("new")
    commands.run("backup", "new.db")
    commands.run("restore", "old.db")
    assert sql("SELECT account_id FROM platform_credentials") == [["old"]]
    commands.run("restore", "new.db")
    assert sql("SELECT account_id FROM platform_credentials ORDER BY id") == [["old"], ["new"]]


def test_restore_refuses_while_a_viewtally_server_with_another_application_name_runs(commands, tmp_path, sql, url):
    with Viewtally(tmp_path / "server", {"store": {"url": f"{url}&application_name=other"}}) as server:
        with server.admin() as client:
            wait.until(lambda: client.get("/readyz").status == 200, "the server to be ready")
        assert "other viewtally processes use this database" in commands.run("restore", "b.db", status=3)
    restored = commands.run("restore", "b.db")      # waits until the server is known to have ended
    assert "restored from b.db" in restored and "--force" not in restored


def test_sqlite_file_at_store_path_can_be_restored_to_postgresql(commands, tmp_path, sql, url):
    """[store] path may still name the former database file. If [store] url is set, that file is a backup like any
    other."""
    add_views(commands, 99_000)
    Commands(tmp_path, url, STORE_PATH="b.db").run("restore", "b.db")
    assert sql("SELECT views FROM videos") == [["25000"]]


def lose_block(cluster, database, table):
    """Overwrites the first block of a table on the disk of the server."""
    [[path]] = cluster.sql(f"SELECT pg_relation_filepath('{table}')", database)
    cluster.stop()
    with open(cluster.data / path, "r+b") as file:
        file.write(b"\xa5" * 8192)
    cluster.start()


@pytest.mark.parametrize("table", ["events", "api_keys"])
def test_restore_needs_force_if_a_lost_block_prevents_the_copy_of_the_present_data(tmp_path, table):
    with postgres.Postgres(schema="") as private:
        database = private.database("template0")
        commands = Commands(tmp_path, private.url(database))
        commands.run("migrate")
        commands.run("import", "-", stdin=world(25_000))
        key = commands.json("key", "create", "--author", lines.uid("Ann"), "--name", "laptop")["id"]
        commands.run("backup", "b.db")
        commands.run("key", "revoke", key)
        lose_block(private, database, table)
        refused = commands.run("restore", "b.db", status=3)
        assert "the present data cannot be copied" in refused and "--force" in refused and "Nothing was changed" in refused
        forced = commands.run("restore", "--force", "b.db")
        assert "--force: skipped: the copy of the present data" in forced
        assert "Some revocations after the backup could not be carried over" in forced and key in forced
        assert private.sql("SELECT views FROM videos", database) == [["25000"]]
        assert [path.name for path in tmp_path.iterdir()] == ["b.db"]
        add_views(commands, 99_000)
        commands.run("move", "--verify", "--from", private.url(database), "--to", commands.run("backup", "c.db").split(":")[0])


def test_backup_of_an_older_schema_is_migrated_and_one_of_a_newer_schema_is_refused(commands, tmp_path, sql):
    add_views(commands, 99_000)
    old_schema.create(tmp_path / "old.db", 8)
    (tmp_path / "newer.db").write_bytes((tmp_path / "b.db").read_bytes())
    old_schema.make_newer(tmp_path / "newer.db", compatible_since=old_schema.NEWEST + 1)
    refused = commands.run("restore", "newer.db", status=3)
    assert "newer than version" in refused and "Nothing was changed" in refused and refused.count("\n") == 1
    assert sql("SELECT views FROM videos") == [["99000"]]
    assert "restored from old.db" in commands.run("restore", "old.db")
    assert sql("SELECT name, videos_count FROM authors") == [["Ann", "1"]] and old_schema.version_of(tmp_path / "old.db") == 8


def test_drill_changes_nothing_on_the_server(commands, tmp_path, sql):
    add_views(commands, 99_000)
    before = sql("SELECT pg_current_wal_insert_lsn()")
    assert "can be restored" in commands.run("restore", "--drill", "b.db")
    away = Commands(tmp_path, "postgresql://u@127.0.0.1:1/d")
    assert "can be restored" in away.run("restore", "--drill", "b.db")
    assert sql("SELECT views FROM videos") == [["99000"]] and [path.name for path in tmp_path.iterdir()] == ["b.db"]
    assert before


def test_last_row_of_a_deleted_table_is_not_searched(commands, cluster, sql, url):
    """The search would read all deleted rows. With millions of rows it takes longer than the deadline of a statement."""
    sql(f"ALTER DATABASE {url.split('/')[3].split('?')[0]} SET log_statement = 'all'")
    commands.run("restore", "b.db")
    after_deletion = cluster.log().rpartition("execute <unnamed>: DO $viewtally$ DECLARE t text")[2]
    assert "execute MOVE_PUT_VIDEOS: " in after_deletion and "execute MOVE_LAST_" not in after_deletion


def test_commands_read_the_old_data_during_a_restore_and_writes_wait(commands, cluster, sql, url):
    """The trigger stops the restore before its commit, until the test releases a lock."""
    add_views(commands, 99_000)
    sql("""CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1, 1); RETURN NULL; END $$;
           CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON store DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pause()""")
    holder = subprocess.Popen([postgres.programs() / "psql", url, "-At"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        holder.stdin.write("SELECT pg_advisory_lock(1, 1), 'held';\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "|held\n"
        with commands.start("restore", "b.db") as restore:
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = 1"
            wait.until(lambda: sql(waiting), "the commit of the restore")
            impatient = Commands(commands.directory, url, STORE_BUSY_TIMEOUT_MS=50)
            assert "database error: busy" in impatient.run("author", "add", "--name", "Bob", status=3)
            assert [author["name"] for author in impatient.json("author", "list")] == ["Ann"]
            assert sql("SELECT views FROM videos") == [["99000"]]
            holder.stdin.close()
            assert "restored from b.db" in restore.stdout.read()
    finally:
        holder.kill()
        holder.wait()
    assert sql("SELECT views FROM videos") == [["25000"]]
    commands.run("author", "add", "--name", "Bob")
