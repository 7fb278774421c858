"""viewtally doctor with [store] url: it finds and explains each wrong set-up of PostgreSQL."""
import re

import pytest

from lib import fakepg
from test_commands import Commands, findings

GRANT = "GRANT USAGE ON SCHEMA public TO weak; GRANT {} ON ALL TABLES IN SCHEMA public TO weak"


@pytest.fixture
def commands(tmp_path, url):
    made = Commands(tmp_path, url)
    made.run("migrate")
    return made


def expect_unusable(commands, message, fix):
    found = findings(commands)
    unusable = found["database.open"]
    assert unusable["state"] == "error" and message in unusable["message"] and fix in unusable["fix"], unusable
    assert found["database.server_settings"]["state"] == "skipped"


def test_empty_database_is_found(tmp_path, url):
    expect_unusable(Commands(tmp_path, url), "is empty", "viewtally migrate")


def test_tables_of_another_application_are_found(tmp_path, url, sql):
    sql("CREATE TABLE orders (id bigint)")
    expect_unusable(Commands(tmp_path, url), "contains tables of another application", "")


def test_incomplete_copy_is_found(commands, sql):
    sql("INSERT INTO meta (key, value) VALUES ('moving', 1)")
    expect_unusable(commands, "is an incomplete copy", "repeat an interrupted viewtally move")


def test_newer_schema_is_found_unless_it_is_compatible(commands, sql):
    sql("UPDATE meta SET value = 99 WHERE key IN ('schema', 'compatible_since')")
    expect_unusable(commands, "schema version 99 of a newer release", "")
    sql("UPDATE meta SET value = 1 WHERE key = 'compatible_since'")
    assert findings(commands, status=0)["database.open"]["state"] == "ok"


def test_older_schema_is_found(commands, sql):
    sql("UPDATE meta SET value = 1 WHERE key = 'schema'")
    expect_unusable(commands, "schema version 1", "viewtally migrate")


def test_role_without_rights_is_found(commands, tmp_path, url):
    expect_unusable(Commands(tmp_path, url.replace("tester@", "weak@")), "the role weak has no privileges on the tables", "grant the role its rights")


def test_role_that_may_only_read_is_found(commands, tmp_path, url, sql):
    sql(GRANT.format("SELECT"))
    found = findings(Commands(tmp_path, url.replace("tester@", "weak@")))
    assert found["database.open"]["state"] == "ok"
    settings = found["database.server_settings"]
    assert settings["state"] == "error" and "may read the tables, but not change them" in settings["message"], settings
    assert "grant the role its rights" in settings["fix"], settings


def test_asynchronous_commits_are_found(cluster, commands, url):
    database = re.search(r"/(test_\d+)", url)[1]
    assert findings(commands, status=0)["database.server_settings"]["state"] == "ok"
    cluster.sql(f"ALTER DATABASE {database} SET synchronous_commit = off", "postgres")
    found = findings(commands, status=None)["database.server_settings"]
    assert found["state"] in ("warning", "error") and "synchronous_commit" in found["message"] and found["fix"], found


def test_missing_settings_of_the_role_are_found(commands, tmp_path, url, sql):
    sql(GRANT.format("ALL"))
    found = findings(Commands(tmp_path, url.replace("tester@", "weak@")), status=None)["database.server_settings"]
    assert found["state"] == "warning" and "weak" in found["message"] + found["fix"], found


def test_unreachable_server_and_wrong_password_are_found(cluster, commands, tmp_path):
    expect_unusable(Commands(tmp_path, "postgresql://u@127.0.0.1:1/d"), "Connection refused", "")
    (tmp_path / "password").write_text("wrong guess\n")
    (tmp_path / "password").chmod(0o600)
    secured = Commands(tmp_path, cluster.tcp_url("template", "secured"), STORE_PASSWORD_FILE=tmp_path / "password")
    expect_unusable(secured, "password authentication failed", "")


def test_standby_is_found(tmp_path):
    with fakepg.FakePostgres() as server:
        server.parameters["in_hot_standby"] = "on"
        expect_unusable(Commands(tmp_path, server.url), "is not the primary", "")
