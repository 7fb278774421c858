"""`server_upgrade()` on a real PostgreSQL: creates the schema, can be repeated, and refuses what it cannot use with one clear message."""
import pathlib
import re
import threading

import pytest

from lib import fakepg
from lib.certificates import Authority
from lib.pgstore import StoreDriver
from lib.postgres import Postgres

SCHEMA = pathlib.Path(__file__).parents[2] / "schema" / "pg"
NEWEST = len(list(SCHEMA.glob("*.sql")))
TABLES = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


@pytest.fixture
def empty(cluster):
    return cluster.database("template0")


def checked(url):
    with StoreDriver(url) as driver:
        return driver.fields("check")


def refusal(url, command="migrate", password_file="", env=None):
    with StoreDriver(url, password_file, env) as driver:
        error, text = driver.run(command)
        assert error != "ok" and text and "\n" not in text
        return [error, text]


def test_migrate_creates_the_schema_once(cluster, empty):
    with StoreDriver(cluster.url(empty)) as driver:
        checked = driver.fields("check")
        assert (checked["version"], checked["pending"], checked["target"]) == ("0", str(NEWEST), str(NEWEST))
        assert cluster.sql(TABLES, empty) == [["0"]]
        assert driver.fields("migrate")["version"] == "0"
        assert cluster.sql("SELECT value FROM meta WHERE key = 'schema'", empty) == [[str(NEWEST)]]
        before = cluster.sql("SELECT id FROM store", empty)
        again = driver.fields("migrate")
        assert (again["version"], again["pending"], again["settings"]) == (str(NEWEST), "0", "")
        assert cluster.sql("SELECT id FROM store", empty) == before
        driver.ok("open write 1000")


def test_version_1_is_upgraded_and_keeps_its_data(cluster, empty):
    cluster.sql((SCHEMA / "001_initial.sql").read_text() + "INSERT INTO meta (key, value) VALUES ('schema', 1);"
                "INSERT INTO authors (uuid, created_at, name) VALUES (gen_random_uuid(), 1, 'Old');", empty)
    before = cluster.sql("SELECT id FROM store", empty)
    assert refusal(cluster.url(empty), "open write 0")[0] == "unsuitable version"
    with StoreDriver(cluster.url(empty)) as driver:
        checked = driver.fields("check")
        assert (checked["version"], checked["pending"]) == ("1", str(NEWEST - 1))
        assert driver.fields("migrate")["version"] == "1"
        driver.ok("open write 1000", "begin", "author Ann", "commit")
    assert cluster.sql("SELECT value FROM meta WHERE key = 'schema'", empty) == [[str(NEWEST)]]
    assert cluster.sql("SELECT value FROM meta WHERE key = 'compatible_since'", empty) == [["1"]]     # all later versions are additive
    assert cluster.sql("SELECT id FROM store", empty) == before
    assert cluster.sql("SELECT name FROM authors ORDER BY id", empty) == [["Old"], ["Ann"]]


def test_rows_of_every_table_can_be_updated_while_all_tables_are_published(cluster, empty):
    """A table without a primary key cannot, see `CREATE PUBLICATION`."""
    with StoreDriver(cluster.url(empty)) as driver:
        driver.ok("migrate")
    assert cluster.sql("SELECT relname FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
                       "AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)", empty) == []
    cluster.sql("CREATE PUBLICATION everything FOR ALL TABLES; UPDATE store SET id = id", empty)


def test_several_processes_migrate_at_the_same_time(cluster, empty):
    drivers = [StoreDriver(cluster.url(empty)) for _ in range(4)]
    for driver in drivers:
        driver.send("migrate")
    answers = [driver.answer() for driver in drivers]
    for driver in drivers:
        driver.stop()
    assert [error for error, _ in answers] == ["ok"] * 4
    assert sorted("version=0" in text for _, text in answers) == [False, False, False, True]


def test_migrate_waits_for_a_running_write_transaction(cluster, empty):
    with StoreDriver(cluster.url(empty)) as writer, StoreDriver(cluster.url(empty)) as migrating:
        writer.ok("migrate", "open write 1000", "begin")
        migrating.send("migrate")
        with pytest.raises(AssertionError):
            migrating.answer(0.5)
        writer.ok("commit")
        assert migrating.answer()[0] == "ok"


def test_migrate_sets_the_planner_settings_of_the_role(cluster, empty):
    cluster.sql("CREATE ROLE owner_1 LOGIN", "postgres")
    cluster.sql(f"ALTER DATABASE {empty} OWNER TO owner_1", "postgres")
    with StoreDriver(cluster.url(empty, "owner_1")) as driver:
        assert 'ALTER ROLE owner_1 IN DATABASE' in driver.fields("check")["settings"]
        driver.ok("migrate")
    assert cluster.sql("SHOW plan_cache_mode; SHOW enable_hashjoin", empty, "owner_1") == [["force_generic_plan"], ["off"]]
    other = cluster.database("template0")
    assert cluster.sql("SHOW plan_cache_mode", other, "owner_1") == [["auto"]]


def test_migrate_uses_the_schema_of_the_search_path(cluster, empty):
    cluster.sql("CREATE TABLE public.orders (id bigint); CREATE SCHEMA tally", empty)
    with StoreDriver(cluster.url(empty, options="-csearch_path%3Dtally")) as driver:
        driver.ok("migrate", "open write 1000", "begin", "author Ann", "commit")
    assert cluster.sql("SELECT name FROM tally.authors", empty) == [["Ann"]]
    assert cluster.sql(TABLES, empty) == [["1"]]


# -- what is refused -----------------------------------------------------------------------------------------------------------


def test_database_of_another_application_is_refused(cluster, empty):
    cluster.sql("CREATE TABLE orders (id bigint)", empty)
    for command in ("migrate", "check", "open write 0"):
        error, text = refusal(cluster.url(empty), command)
        assert error == "corrupt" and "contains tables of another application" in text, text
    assert cluster.sql(TABLES, empty) == [["1"]]


def test_tables_of_another_application_with_our_names_are_refused(cluster, empty):
    cluster.sql("CREATE TABLE meta (name text); CREATE TABLE store (address text)", empty)
    error, text = refusal(cluster.url(empty))
    assert error == "corrupt" and "contains tables of another application" in text, text


def test_error_for_an_empty_database_names_the_command(cluster, empty):
    assert refusal(cluster.url(empty), "open write 0") == ["unsuitable version", f"database {empty} is empty: run `viewtally migrate`"]


def test_newer_schema_is_refused_unless_it_is_compatible(cluster, empty):
    with StoreDriver(cluster.url(empty)) as driver:
        driver.ok("migrate")
    cluster.sql("UPDATE meta SET value = 99 WHERE key IN ('schema', 'compatible_since')", empty)
    for command in ("migrate", "check", "open write 0"):
        error, text = refusal(cluster.url(empty), command)
        assert error == "unsuitable version" and "schema version 99 of a newer release" in text and "install the newer release" in text, text
    cluster.sql(f"UPDATE meta SET value = {NEWEST} WHERE key = 'compatible_since'", empty)
    with StoreDriver(cluster.url(empty)) as driver:
        assert driver.fields("migrate")["newer"] == "1"
        driver.ok("open write 0")
    assert cluster.sql("SELECT value FROM meta WHERE key = 'schema'", empty) == [["99"]]


def test_role_without_the_right_to_create_tables_is_refused(cluster, empty):
    cluster.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", empty)
    error, text = refusal(cluster.url(empty, "weak"))
    assert error == "read-only" and "GRANT CREATE ON SCHEMA public TO weak" in text, text


def test_role_without_rights_on_the_tables_is_refused(cluster, empty):
    with StoreDriver(cluster.url(empty)) as driver:
        driver.ok("migrate")
    error, text = refusal(cluster.url(empty, "weak"), "open write 0")
    assert error == "read-only" and "the role weak has no privileges on the tables" in text, text
    cluster.sql(re.search(r"the tables, run: (.*)", text)[1], empty)
    with StoreDriver(cluster.url(empty, "weak")) as driver:
        driver.ok("open write 0")


def test_statements_of_messages_quote_names(cluster, empty):
    cluster.sql('CREATE SCHEMA "My schema"; CREATE ROLE "tally-web@example" LOGIN; GRANT USAGE ON SCHEMA "My schema" TO "tally-web@example"', empty)
    parameters = {"options": "-csearch_path%3D%22My%5C%20schema%22"}
    restricted = cluster.url(empty, "tally-web%40example", **parameters)
    error, text = refusal(restricted)
    assert error == "read-only" and text.endswith('run GRANT CREATE ON SCHEMA "My schema" TO "tally-web@example"'), text
    with StoreDriver(cluster.url(empty, **parameters)) as driver:
        driver.ok("migrate")
    _, text = refusal(restricted, "open write 0")
    cluster.sql(re.search(r"the tables, run: (.*)", text)[1], empty)
    with StoreDriver(restricted) as driver:
        driver.ok("open write 0", "begin", "author Ann", "commit")


def test_role_that_may_only_read_is_refused_for_writing(cluster, empty):
    """Commands that only read work. The message for writing contains the statement that grants the rights."""
    with StoreDriver(cluster.url(empty)) as driver:
        driver.ok("migrate")
    cluster.sql("GRANT USAGE ON SCHEMA public TO weak; GRANT SELECT ON ALL TABLES IN SCHEMA public TO weak", empty)
    with StoreDriver(cluster.url(empty, "weak")) as driver:
        driver.ok("open read 0")
    error, text = refusal(cluster.url(empty, "weak"), "open write 0")
    assert error == "read-only" and "the role weak may read the tables, but not change them. As the owner of the schema and the tables, run: GRANT USAGE" in text, text
    cluster.sql(re.search(r"the tables, run: (.*)", text)[1], empty)
    with StoreDriver(cluster.url(empty, "weak")) as driver:
        driver.ok("open write 0", "begin", "author Ann", "commit")


def test_failed_migration_leaves_nothing(cluster, empty):
    cluster.sql("CREATE TYPE events AS ENUM ('a')", empty)      # has the name of the row type of a table
    error, text = refusal(cluster.url(empty))
    assert "migration 1 initial failed (nothing was changed): " in text and "events" in text, (error, text)
    assert cluster.sql(TABLES, empty) == [["0"]]


def test_database_with_another_encoding_is_refused(cluster):
    cluster.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0", "postgres")
    error, text = refusal(cluster.url("latin"))
    assert error == "invalid" and "does not have the encoding UTF8" in text, text


def test_asynchronous_commits_are_reported(cluster, empty):
    assert checked(cluster.url(empty))["volatile"] == "0"
    cluster.sql(f"ALTER DATABASE {empty} SET synchronous_commit = off", "postgres")
    assert checked(cluster.url(empty))["volatile"] == "1"


@pytest.mark.parametrize("url", ["postgresql://me:sesame@host/db", "http://sesame@host/", "postgresql://host/db?sslmode=sesame&passwort=sesame"])
def test_error_for_a_wrong_url_does_not_quote_it(url):
    error, text = refusal(url)
    assert error == "invalid" and text.startswith("[store] url: ") and "sesame" not in text, text


def test_password_is_read_from_a_file(cluster, empty, tmp_path):
    url, file = cluster.tcp_url(empty, "secured"), tmp_path / "password"
    file.write_text("open sesame\n")
    with StoreDriver(url, file) as driver:
        driver.ok("migrate", "open write 1000")
    file.write_text("wrong sesame\n")
    _, text = refusal(url, password_file=file)
    assert "password authentication failed" in text and "check the user, the database and the password file" in text and "sesame" not in text, text
    _, text = refusal(url)
    assert "requires a password, but none is configured" in text, text
    file.write_text("")
    assert refusal(url, password_file=file) == ["invalid", f"[store] password_file {file}: the first line is empty"]
    assert refusal(url, password_file=tmp_path) == ["input/output error", f"[store] password_file {tmp_path}: Is a directory"]
    _, text = refusal(url, password_file=tmp_path / "none")
    assert text.endswith("none: No such file or directory"), text


def test_errors_name_the_unreachable_server_the_unknown_host_or_the_missing_database(cluster):
    error, text = refusal("postgresql://me@127.0.0.1:1/db")
    assert error == "input/output error" and "127.0.0.1" in text and "Connection refused" in text, text
    _, text = refusal("postgresql://me@unknown.invalid/db")
    assert "cannot resolve unknown.invalid" in text, text
    _, text = refusal(cluster.url("no_such_database"))
    assert 'database "no_such_database" does not exist' in text, text


def test_next_host_of_the_url_is_tried_if_one_cannot_be_used(cluster, empty):
    with StoreDriver(f"postgresql://secured@127.0.0.1:1,127.0.0.1:{cluster.port}/{empty}", env={"PGPASSWORD": "open sesame"}) as driver:
        driver.ok("migrate")


def test_standby_is_refused():
    with fakepg.FakePostgres() as server:
        server.parameters["in_hot_standby"] = "on"
        error, text = refusal(server.url)
        assert error == "read-only" and "is not the primary" in text and "name all servers of the cluster in the URL" in text, text


@pytest.mark.parametrize("how", ["another backend", "another session", "used backend"])
def test_pooler_in_transaction_mode_is_refused(how):
    pids = iter(range(1, 100))
    with fakepg.FakePostgres() as server:
        if how == "another backend":
            server.backend_pid = lambda: next(pids)
        elif how == "another session":
            executed = []
            server.answer = lambda name, _: executed.append(name) or (
                fakepg.error("26000", 'prepared statement "vt_identity" does not exist') if len(executed) > 1 else None)
        else:                   # an earlier command has prepared the statement on this backend, and the pooler has not deleted it
            server.answer = lambda *_: fakepg.error("42P05", 'prepared statement "vt_identity" already exists')
        _, text = refusal(server.url)
        assert "through a connection pooler in transaction mode; use session mode" in text, text


def test_silent_server_is_reported_after_the_connect_timeout():
    with fakepg.FakePostgres() as server:
        server.authenticate = lambda *_: threading.Event().wait(60)
        error, text = refusal(server.url + "&connect_timeout=1")
        assert error == "input/output error" and "no reply within 1000 ms" in text, text


def test_certificate_of_another_host_is_refused(tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server", "DNS:localhost")
    with Postgres(tcp=True, schema="") as cluster:
        cluster.install(certificate, "server.crt")
        cluster.install(key, "server.key")
        cluster.configure("ssl = on")
        cluster.stop()
        cluster.start()
        cluster.sql("CREATE ROLE secured LOGIN SUPERUSER PASSWORD 'open sesame'")
        trusted = {"sslmode": "verify-full", "sslrootcert": authority.ca}
        env = {"PGPASSWORD": "open sesame"}
        _, text = refusal(cluster.tcp_url("template", "secured", host="127.0.0.1", **trusted), env=env)
        assert "does not match host name" in text and "that the certificate names the host" in text, text
        with StoreDriver(cluster.tcp_url("template", "secured", host="localhost", **trusted), env=env) as driver:
            driver.ok("migrate", "open write 1000")
