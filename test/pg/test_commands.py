"""The commands on a real PostgreSQL ([store] url), from the first `migrate` on."""
import json
import os
import re
import subprocess

import pytest

from lib import lines, secrets, wait
from lib.pgstore import StoreDriver
from lib.relay import Relay

COMMAND_SECONDS = 120
POSTED, READ = "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"


class Commands:
    def __init__(self, directory, url, **settings):
        self.directory = directory
        self.env = {**os.environ, "PGPASSFILE": "/nonexistent", "VIEWTALLY_STORE_URL": url,
                    **{f"VIEWTALLY_{name}": str(value) for name, value in settings.items()}}

    def run(self, *words, status=0, stdin=""):
        """Returns standard output and standard error, one after the other."""
        done = subprocess.run([os.environ["VIEWTALLY_SEAMS_BIN"], *words], cwd=self.directory, env=self.env, input=stdin, capture_output=True,
                              text=True, check=False, timeout=COMMAND_SECONDS)
        assert status is None or done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *words):
        """Starts a command without waiting for its end. Its output includes standard error."""
        return subprocess.Popen([os.environ["VIEWTALLY_SEAMS_BIN"], *words], cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def commands(tmp_path, url):
    made = Commands(tmp_path, url, REFRESH_SOURCE="simulated")
    made.run("migrate")
    return made


def world(views):
    return "\n".join(json.dumps(line) for line in (
        lines.author("Ann"), lines.book("Tides", "Ann"), lines.video("Wave", "Ann", POSTED, book_id=lines.uid("Tides")),
        lines.reading("Wave", READ, views))) + "\n"


def findings(commands, status=1):
    return {f"{f['group']}.{f['check']}": f for f in json.loads(commands.run("doctor", "--json", status=status))["findings"]}


def history(videos, hours):
    """The lines of an author, and readings of all videos at each hour."""
    names = [f"Wave {number}" for number in range(videos)]
    entities = [lines.author("Ann"), *(lines.video(name, "Ann", POSTED) for name in names)]
    readings = [lines.reading(name, f"2026-07-02T{hour:02}:00:00Z", 100 * hour + number)
                for hour in range(hours) for number, name in enumerate(names)]
    return "".join(json.dumps(line) + "\n" for line in entities), "".join(json.dumps(line) + "\n" for line in readings)


def test_import_reads_videos_and_posts_together(cluster, commands, url):
    """In one transaction, each video is read, changed and read again."""
    database = re.search(r"/(test_\d+)", url)[1]
    entities, readings = history(videos=40, hours=5)
    commands.run("import", "-", stdin=entities)
    cluster.sql(f"ALTER DATABASE {database} SET log_statement = 'all'", "postgres")
    before = len(cluster.log())
    commands.run("import", "-", stdin=readings)
    logged = cluster.log()[before:]
    assert cluster.sql("SELECT sum(views), sum(views - baseline) FROM videos", database) == [[str(40 * 400 + 780)] * 2]
    assert logged.count(" FROM unnest($1::bigint[], $2::text[])") == 1 and logged.count(" WHERE v.id = ANY") == 5
    assert "execute VIDEO_BY_ROW" not in logged and "execute POST_OWNER" not in logged
    assert logged.count("execute vt_save_counts") == 6      # a first reading is saved before the other videos are compared


@pytest.mark.parametrize("ahead", ["1 hour", "-1 hour"])
def test_leases_use_the_clock_of_the_server(cluster, commands, url, ahead):
    """The machines of the processes may have other clocks. Here, the clock of the server differs from that of the commands."""
    database = re.search(r"/(test_\d+)", url)[1]
    hold = "UPDATE refresh_lease SET holder = 'another', expires_at = (extract(epoch FROM public.clock_timestamp()) * 1000)::bigint + {}"
    commands.run("import", "-", stdin=world(1_000))
    cluster.sql("CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
                f"$$SELECT pg_catalog.clock_timestamp() + interval '{ahead}'$$", database)
    cluster.sql(f"ALTER DATABASE {database} SET search_path = public, pg_catalog", "postgres")
    cluster.sql(hold.format(20_000), database)
    with commands.start("refresh") as refresh:
        assert "another refresh is running (another): waiting" in refresh.stdout.readline()
        assert commands.json("status")["refresh"]["running"] == "another"
        assert "a refresh is running" in commands.run("author", "erase", lines.uid("Ann"), status=3)
        cluster.sql(hold.format(-1), database)
        assert "refresh: succeeded" in refresh.stdout.read()
    assert cluster.sql("SELECT holder FROM refresh_lease", database) == [[""]]
    acquired_at = "SELECT abs(taken_at - extract(epoch FROM public.clock_timestamp()) * 1000) < 60000 FROM refresh_lease"
    assert cluster.sql(acquired_at, database) == [["t"]]


def test_import_stores_views_and_creates_events_with_distinct_ids(cluster, commands, url):
    commands.run("import", "-", stdin=world(25_000))
    commands.run("import", "-", stdin=world(25_000))       # nothing changes
    [author] = commands.json("author", "list")
    assert (author["name"], author["books_count"], author["videos_count"]) == ("Ann", 1, 1)
    database = re.search(r"/(test_\d+)", url)[1]
    assert cluster.sql("SELECT views FROM videos", database) == [["25000"]]
    assert cluster.sql("SELECT count(DISTINCT id) = count(*), count(*) > 0 FROM events", database) == [["t", "t"]]


def test_dry_run_reports_what_the_import_then_does(cluster, commands, url, tmp_path):
    database = re.search(r"/(test_\d+)", url)[1]
    commands.run("import", "-", stdin=world(1_000))
    text = world(25_000).replace("Tides", "High tides", 1) + "bad\n"
    dry = commands.run("import", "--dry-run", "-", stdin=text, status=1)
    assert cluster.sql("SELECT views, (SELECT count(*) FROM events) FROM videos", database) == [["1000", "1"]]
    assert dry.startswith("Dry run: nothing was changed.") and not list(tmp_path.iterdir())
    wet = commands.run("import", "-", stdin=text, status=1)
    assert re.findall(r"\d+", dry) == re.findall(r"\d+", wet) and "1 changed" in wet
    assert cluster.sql("SELECT views, (SELECT count(*) > 1 FROM events) FROM videos", database) == [["25000", "t"]]


def test_dry_run_does_not_wait_for_a_writer(cluster, commands, url):
    commands.run("import", "-", stdin=world(1_000))
    with StoreDriver(url) as writer:
        writer.ok("open write 5000", "begin")
        commands.run("import", "--dry-run", "-", stdin=world(2_000))


def test_statement_that_an_operator_cancels_is_reported(cluster, commands, url):
    author = commands.json("author", "add", "--name", "Bob")["id"]
    waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%pg_advisory_xact_lock%'"
    with StoreDriver(url) as writer:
        writer.ok("open write 5000", "begin")
        command = commands.start("key", "create", "--author", author, "--name", "laptop")
        wait.until(lambda: cluster.sql(f"SELECT pid {waiting}"), "the command to wait for the writer")
        cluster.sql(f"SELECT pg_cancel_backend(pid) {waiting}")
        output, _ = command.communicate(timeout=COMMAND_SECONDS)
    assert command.returncode == 3 and "nothing was changed: database error: internal error" in output


def test_keys_are_created_listed_revoked_and_audited(commands):
    author = commands.json("author", "add", "--name", "Bob")["id"]
    key = commands.json("key", "create", "--author", author, "--name", "laptop")
    [listed] = commands.json("key", "list", "--author", author)
    assert (listed["id"], listed["revoked_at"]) == (key["id"], None)
    commands.run("key", "revoke", key["id"])
    [listed] = commands.json("key", "list", "--author", author)
    assert listed["revoked_at"]
    assert {"key.created", "key.revoked"} <= {entry["action"] for entry in commands.json("audit")}


def test_refresh_is_recorded(commands):
    commands.run("import", "-", stdin=world(1000))
    commands.run("refresh")
    status = commands.json("status")
    assert status["refresh"]["last_finished_at"] and status["database"]["bytes"] is None
    assert status["database"]["path"].startswith("postgresql://")


@pytest.mark.parametrize("words", [["backup", "prune", "--before-files"], ["serve", "--create"]], ids=" ".join)
def test_commands_that_need_a_database_file_are_rejected_with_the_reason(commands, tmp_path, words):
    text = commands.run(*words, status=2)
    assert "[store] url" in text and "database file" in text and text.count("\n") == 1
    assert ("delete the files viewtally.before-*.db of restores" in text) == ("prune" in words)
    assert not list(tmp_path.iterdir())


def test_commands_before_migrate_say_what_to_run(tmp_path, url):
    for words in (["status"], ["author", "list"], ["import", "-"], ["refresh"]):
        assert "run `viewtally migrate`" in Commands(tmp_path, url, REFRESH_SOURCE="simulated").run(*words, status=3)


def test_doctor_checks_postgresql_instead_of_database_files(commands, tmp_path):
    found = findings(commands)
    assert found["database.open"]["state"] == found["database.server_settings"]["state"] == "ok"
    for check in ("files.database", "files.companions", "disk.space", "database.integrity", "database.wal", "freshness.backup"):
        assert found[check]["state"] == "skipped", check
    away = Commands(tmp_path, "postgresql://u@127.0.0.1:1/d")
    assert findings(away)["database.open"]["state"] == "error"


@pytest.mark.parametrize("value", ["postgresql://u:s3cret@h/d", "postgresql://u@h/d?password=s3cret", "postgres://u:s3cret@h:0/d", "s3cret@h"])
def test_no_message_shows_a_password_in_the_url(tmp_path, value):
    text = Commands(tmp_path, value).run("check-config", status=2)
    assert "VIEWTALLY_STORE_URL" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("value, lacks", [("postgresql://127.0.0.1/d", "names no user"), ("postgresql://u@127.0.0.1", "names no database")])
def test_url_without_user_or_database_is_rejected(tmp_path, value, lacks):
    text = Commands(tmp_path, value).run("check-config", status=2)
    assert lacks in text and "postgresql://user@host" in text


def test_missing_password_file_is_reported_as_a_configuration_error(tmp_path):
    text = Commands(tmp_path, "postgresql://u@127.0.0.1/d", STORE_PASSWORD_FILE=tmp_path / "none").run("check-config", status=2)
    assert f"[store] password_file {tmp_path}/none: No such file or directory" in text


def test_doctor_checks_the_password_file(tmp_path, url):
    file = tmp_path / "password"
    file.write_text("secret\n")
    file.chmod(0o644)
    commands = Commands(tmp_path, url, STORE_PASSWORD_FILE=file)
    found = findings(commands)["files.secret_files"]
    assert found["state"] == "error" and found["fix"] == f"chmod o-rwx {file}"
    file.chmod(0o600)
    assert findings(commands)["files.secret_files"]["state"] == "ok"


def test_doctor_reports_an_unusable_database_once(tmp_path, url):
    found = findings(Commands(tmp_path, url))
    assert "viewtally migrate" in found["database.open"]["fix"] and found["database.server_settings"]["state"] == "skipped"
    text = found["database.open"]
    assert text["state"] == "error"


def test_error_for_an_unreachable_postgresql_says_what_to_check(tmp_path):
    text = Commands(tmp_path, "postgresql://u@127.0.0.1:1/d").run("status", status=3)
    assert "Connection refused" in text and "check the host and the port in the URL, and that PostgreSQL is running" in text


def test_interrupted_import_says_to_import_again(cluster, commands, url):
    database = re.search(r"/(test_\d+)", url)[1]
    entities, readings = history(videos=2, hours=2)
    cluster.sql("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';"
                "CREATE TRIGGER lose_connection BEFORE UPDATE OF views ON videos EXECUTE FUNCTION fail()", database)
    text = commands.run("import", "-", stdin=entities + readings, status=3)
    assert "the import stopped: database error: input/output error; import the same files again to complete it" in text


def test_rotation_fails_while_another_process_seals_with_the_old_key(cluster, commands, tmp_path, url):
    """The trigger restores the old sealed token after each write. The old key must stay in the file, and the command must not report success."""
    database, path = re.search(r"/(test_\d+)", url)[1], tmp_path / "secrets.key"
    commands.run("secrets", "init", str(path))
    commands.env["VIEWTALLY_SECRETS_KEY_FILE"] = str(path)
    old, = secrets.key_ids(path)
    author = commands.json("author", "add", "--name", "Ann")["id"]
    commands.run("platform", "connect", "--author", author, "--platform", "tiktok", "--account", "a", stdin=json.dumps(secrets.GRANT))
    cluster.sql("CREATE FUNCTION other_process() RETURNS trigger LANGUAGE plpgsql AS "
                "'BEGIN NEW.access_sealed = OLD.access_sealed; RETURN NEW; END';"
                "CREATE TRIGGER other_process BEFORE UPDATE ON platform_credentials FOR EACH ROW EXECUTE FUNCTION other_process()", database)
    for _ in range(2):                                      # the second run completes the first one before it adds another key
        text = commands.run("secrets", "rotate", status=3)
        assert "still sealed with an old key" in text and "Run this command again" in text and "was removed" not in text
        new, last = secrets.key_ids(path)
        assert last == old
    cluster.sql("DROP TRIGGER other_process ON platform_credentials", database)
    commands.run("secrets", "rotate")
    assert not {old, new} & set(secrets.key_ids(path)) and "all can be decrypted" in commands.run("secrets", "check")


def test_nothing_is_removed_during_an_import(commands, url):
    commands.run("import", "-", stdin=world(1_000))
    removals = (["video", "remove", lines.uid("Wave")], ["book", "remove", lines.uid("Tides"), "--with-videos"], ["author", "erase", lines.uid("Ann")])
    with StoreDriver(url) as importer:
        importer.ok("open write 0", "share")        # the import lock
        for words in removals:
            assert "nothing was changed: an import is running; repeat the command when it has ended" in commands.run(*words, status=3)
    assert commands.json("author", "list")[0]["videos_count"] == 1
    for words in removals:
        commands.run(*words)
    assert commands.json("author", "list") == []


def test_error_names_the_directory_for_temporary_files(commands, tmp_path):
    commands.env["VIEWTALLY_STORE_PATH"] = str(tmp_path / "none" / "x.db")
    text = commands.run("import", "-", stdin=world(1), status=3)
    assert f"cannot use temporary files in {tmp_path}/none, the directory of [store] path" in text


def test_serve_on_an_empty_database_reports_nothing_but_the_missing_schema(tmp_path, url):
    text = Commands(tmp_path, url).run("serve", status=3)
    assert "run `viewtally migrate`" in text and text.count("\n") == 1


def test_backup_is_a_database_file_that_any_machine_can_serve(commands, tmp_path, url):
    commands.run("import", "-", stdin=world(25_000))
    with StoreDriver(url) as writer:
        writer.ok("open write 5000", "begin")               # a backup does not wait for writers, and they do not wait for it
        assert "copy.db: complete and verified" in commands.run("backup", "copy.db")
        writer.ok("author Bob", "commit")
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"] and (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copied = Commands(tmp_path, "", STORE_PATH=tmp_path / "copy.db")
    assert [author["name"] for author in copied.json("author", "list")] == ["Ann"]
    assert "0 difference" in copied.run("events", "verify") and len(commands.json("author", "list")) == 2
    commands.run("backup", "copy.db")                       # replaces the file
    commands.run("move", "--verify", "--from", url, "--to", "copy.db")


def test_backup_is_written_to_standard_output(commands, tmp_path):
    done = subprocess.run([os.environ["VIEWTALLY_SEAMS_BIN"], "backup", "-"], cwd=tmp_path, env=commands.env, capture_output=True, check=True)
    assert done.stdout.startswith(b"SQLite format 3\0") and not list(tmp_path.iterdir())


def test_failed_backup_leaves_no_file(tmp_path, url):
    Commands(tmp_path, url).run("backup", "copy.db", status=3)
    assert not list(tmp_path.iterdir())


def test_backup_now_list_and_verify_work_with_postgresql(tmp_path, url):
    (tmp_path / "backups").mkdir()
    commands = Commands(tmp_path, url, BACKUP_DIRECTORY=tmp_path / "backups")
    commands.run("migrate")
    commands.run("import", "-", stdin=world(25_000))
    commands.run("backup", "now")
    [name] = [path.name for path in (tmp_path / "backups").iterdir()]
    assert name in commands.run("backup", "list") and "every page is intact" in commands.run("backup", "verify")
    assert commands.json("status")["backup"]["last_file"] == name


def test_password_is_read_from_a_file(cluster, tmp_path):
    name = cluster.database("template0")
    file = tmp_path / "password"
    url = cluster.tcp_url(name, "secured")
    file.write_text("wrong guess\n")
    secured = Commands(tmp_path, url, STORE_PASSWORD_FILE=file)
    text = secured.run("migrate", status=3)
    assert "password authentication failed" in text and "wrong guess" not in text
    file.write_text("open sesame\n")
    secured.run("migrate")
    assert secured.json("author", "list") == []


SERVICE_RIGHTS = """CREATE ROLE service LOGIN; GRANT USAGE ON SCHEMA public TO service;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO service; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO service"""


def test_documented_rights_suffice_to_import_create_keys_refresh_and_erase(cluster, tmp_path):
    name = cluster.database("template0")
    service = Commands(tmp_path, cluster.url(name, "service"), REFRESH_SOURCE="simulated")
    Commands(tmp_path, cluster.url(name)).run("migrate")
    cluster.sql(SERVICE_RIGHTS, name)
    service.run("import", "-", stdin=world(25_000))
    service.run("key", "create", "--author", lines.uid("Ann"), "--name", "laptop")
    service.run("refresh")
    assert findings(service, status=0)["database.server_settings"]["state"] == "warning"
    service.run("author", "erase", lines.uid("Ann"))
    assert service.json("author", "list") == []


def output_after_lost_commit(cluster, directory, table, *words):
    """Runs a command whose connection is lost during the commit of its row in `table`, and cannot be opened again within 25 s.
    Returns its output."""
    database = cluster.database("template0")
    Commands(directory, cluster.url(database)).run("migrate")
    cluster.sql(f"""CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;
                    CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
                    EXECUTE FUNCTION delay()""", database=database)
    (directory / "password").write_text("open sesame\n")
    sleeping = f"FROM pg_stat_activity WHERE datname = '{database}' AND wait_event = 'PgSleep'"
    with Relay(f"127.0.0.1:{cluster.port}") as relay:
        url = cluster.tcp_url(database, user="secured").replace(f":{cluster.port}/", f":{relay.port}/")
        command = Commands(directory, url, STORE_PASSWORD_FILE=directory / "password").start(*words)
        wait.until(lambda: cluster.sql(f"SELECT pid {sleeping}"), "the commit to begin")
        # If this machine vanished, PostgreSQL would end the transaction within half a minute and so release the lock of all writers.
        wait.until(lambda: [1 for seconds in cluster.keepalive_seconds() if 0 < seconds <= 10], "the keepalive timer to be set")
    try:
        output, _ = command.communicate(timeout=COMMAND_SECONDS)
    finally:
        cluster.sql(f"SELECT pg_terminate_backend(pid) {sleeping}")
    assert command.returncode == 3, output
    assert "it is unknown whether the change was made" in output and "nothing was changed" not in output
    return output


def test_author_import_reports_an_unknown_outcome_and_keeps_the_invitation_links(cluster, tmp_path):
    (tmp_path / "authors.csv").write_text("name\nAnn\n")
    output = output_after_lost_commit(cluster, tmp_path, "authors", "author", "import", "authors.csv", "--links", "links.csv")
    assert "links.csv contains the links, which are valid if the change was made" in output
    assert (tmp_path / "links.csv").read_text().startswith("id,name,login,")


def test_demo_reports_an_unknown_outcome_and_keeps_the_key_file(cluster, tmp_path):
    (tmp_path / "demo.ndjson").write_text(world(25_000))
    output = output_after_lost_commit(cluster, tmp_path, "api_keys", "demo", "demo.ndjson", "--key-file", "demo.key")
    assert "demo.key contains the key, which is valid if the change was made" in output
    assert (tmp_path / "demo.key").read_text().strip() in output
