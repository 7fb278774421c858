"""viewtally doctor: it finds no problem in a sound installation, finds and explains each problem, and changes nothing."""
import hashlib
import json
import os
import subprocess
import time
import uuid

import pytest

from lib import secrets, wait
from lib.doctor import SECRET, diagnose, expect, use_link, with_author
from lib.services import Redis
from lib.viewtally import ROOT

MIB = 1 << 20


@pytest.fixture
def instance(make_viewtally):
    return with_author(make_viewtally({"server": {"base_url": "http://127.0.0.1:1/v1"}}))


def tree(directory):
    """Names and contents of all files, except those that a running server changes: its log, and -shm and -wal of SQLite."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()
            if path.is_file() and not path.name.endswith(("-shm", "-wal", ".log"))}


# --- the command ---


def test_sound_installation_has_no_errors_and_is_not_changed(instance, redis):
    backups = instance.directory / "backups"
    instance.configure({"redis": {"url": redis.url}, "backup": {"directory": backups}, "admin": {"listen": "127.0.0.1:0"}})
    backups.mkdir()
    with instance:
        instance.configure({"server": {"base_url": f"http://{instance.address}/v1"}})
        wait.until(lambda: list(backups.iterdir()), "the first backup")
        wait.until(lambda: diagnose(instance)["freshness.backup"][0][0] == "ok", "the state of the first backup")
        before, keys = tree(instance.directory), redis.call("DBSIZE")
        findings = diagnose(instance, "--full")
        assert tree(instance.directory) == before and redis.call("DBSIZE") == keys
    bad = {check: found for check, found in findings.items() if any(state in ("error", "warning") for state, _, _ in found)}
    bad.pop("clock.synchronized", None)         # depends on the machine
    bad.pop("disk.file_system", None)
    bad.pop("redis.latency", None)              # depends on the load of the machine
    assert bad == {}
    for check in ("configuration.mistakes", "database.open", "redis.connection", "redis.permissions", "clock.redis", "server.base_url",
                  "server.reachable", "libraries.versions"):
        expect(findings, check, "ok")
    for check in ("files.database", "disk.space", "database.integrity"):
        expect(findings, check, "skipped" if instance.is_on_server else "ok")


def test_text_has_a_line_for_each_finding(instance):
    done = instance.run("doctor")
    lines = done.out.splitlines()
    assert lines[-2] == "" and lines[-1].startswith("0 errors, ")
    assert all(line.split()[0] in ("ok", "skipped", "warning", "error") and "." in line.split()[1] for line in lines[:-2])
    assert all((". Fix: " in line) == (line.split()[0] in ("warning", "error")) for line in lines[:-2])
    instance.run("doctor", "--strict", status=1)        # base_url does not respond
    instance.lose_database()
    assert instance.run("doctor", status=1).out.splitlines()[-1].startswith("1 error, ")


def test_mistakes_in_the_configuration_are_reported(instance):
    instance.configure({"limits": {"headers": "maybe"}, "redis": {"url": f"redis://u:{SECRET}@h:x", "pasword": SECRET}})
    findings = diagnose(instance, status=1)
    messages = [message for _, message, _ in findings["configuration.mistakes"]]
    assert len(messages) == 3 and all(f"{instance.config_path}:" in message for message in messages)
    expect(findings, "database.open", "skipped", "needs a valid configuration")
    expect(findings, "libraries.versions", "ok")


def test_missing_configuration_file_is_a_warning(instance, tmp_path):
    expect(diagnose(instance), "configuration.source", "ok", str(instance.config_path))
    empty = tmp_path / "empty"
    empty.mkdir()
    for environment, state, message in (({}, "warning", "no configuration file is used"),
                                        ({"VIEWTALLY_STORE_PATH": str(instance.database)}, "ok", "the configuration is in the environment"),
                                        ({"VIEWTALLY_STORE_URL": "postgresql://viewtally@127.0.0.1:1/none"}, "ok", "the configuration is in the environment")):
        done = subprocess.run([instance.binary, "doctor", "--json"], cwd=empty, capture_output=True, check=False, timeout=60,
                              env=instance.environment({"VIEWTALLY_TEST_SYSTEM_CONFIG": str(empty / "none"), **environment}))
        found = [f for f in json.loads(done.stdout)["findings"] if (f["group"], f["check"]) == ("configuration", "source")]
        assert [(f["state"], message in f["message"]) for f in found] == [(state, True)], found
    assert not list(empty.iterdir())


# --- files and disk ---


def test_secrets_that_every_user_can_read_are_errors(instance, tmp_path):
    secret = tmp_path / "password"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    instance.configure({"redis": {"url": "redis://127.0.0.1:1", "password_file": secret}})
    instance.config_path.chmod(0o644)
    findings = diagnose(instance)
    expect(findings, "files.secret_files", "error", f"{secret} contains a secret")
    expect(findings, "files.config_file", "ok", "contains no secret")
    secret.chmod(0o600)
    expect(diagnose(instance), "files.secret_files", "ok")
    instance.configure({"redis": {"password_file": None, "password": SECRET}})
    expect(diagnose(instance), "files.config_file", "error", "every user can read it")
    instance.configure({"redis": {"password": None, "url": f"redis://u:{SECRET}@127.0.0.1:1"}})
    expect(diagnose(instance), "files.config_file", "error", "every user can read it")
    instance.config_path.chmod(0o640)
    expect(diagnose(instance), "files.config_file", "ok", "is private")


@pytest.mark.sqlite_only("the permissions of the database file")
@pytest.mark.parametrize("is_link", [False, True])
def test_wrong_permissions_of_the_database_are_found(instance, is_link):
    if is_link:
        use_link(instance)
    expect(diagnose(instance), "files.database", "ok")
    instance.database.chmod(0o644)
    expect(diagnose(instance), "files.database", "warning", "every user of this machine can read")
    instance.directory.chmod(0o777)
    expect(diagnose(instance), "files.directory", "error", "every user can replace files")
    instance.directory.chmod(0o755)
    if os.geteuid() == 0:
        for name in ("viewtally.db-lock", "viewtally.db-migrate", "viewtally.db-key-lock"):
            (instance.directory / name).touch()
            os.chown(instance.directory / name, 1234, 1234)
            expect(diagnose(instance), "files.companions", "error", f"{name} belongs to another user")
            os.chown(instance.directory / name, 0, 0)
    expect(diagnose(instance), "files.companions", "ok")


def test_unusable_key_file_and_spool_are_found(instance):
    key, spool = instance.directory / "secrets.key", instance.directory / "spool"
    instance.configure({"secrets": {"key_file": key}, "refresh": {"source": "spool", "spool_dir": spool}})
    findings = diagnose(instance)
    (state, message, fix), = findings["files.key_file"]
    assert state == "error" and "secrets.key does not exist" in message and fix.endswith("for a new service, run viewtally secrets init")
    (state, message, fix), = findings["files.spool"]
    assert state == "error" and "No such file" in message and fix == f"install -d -o viewtally -g viewtally -m 2770 {spool}"
    expect(findings, "platforms.tokens", "skipped", "needs a usable key file")
    instance.run("secrets", "init")
    spool.mkdir()
    findings = diagnose(instance)
    expect(findings, "files.key_file", "ok")
    expect(findings, "files.spool", "ok")
    key.chmod(0o644)
    expect(diagnose(instance), "files.key_file", "error")
    spool.rmdir()
    spool.write_text("")
    expect(diagnose(instance), "files.spool", "error", "is not a directory")


def test_access_log_that_the_server_cannot_write_is_found(instance):
    expect(diagnose(instance), "files.access_log", "skipped")
    log = instance.directory / "logs/access.log"
    instance.configure({"log": {"access": log}})
    (state, message, fix), = diagnose(instance)["files.access_log"]
    assert state == "error" and f"{log}, and does not start: No such file" in message and fix.endswith(f" -m 750 {log.parent}")
    assert str(log) in instance.run("serve", status=3).err
    log.parent.mkdir()
    expect(diagnose(instance), "files.access_log", "ok", str(log))
    log.mkdir()
    expect(diagnose(instance), "files.access_log", "error", "is a directory")


def test_missing_directory_of_the_database_is_found(instance):
    expect(diagnose(instance), "files.directory", "ok")
    instance.configure({"store": {"path": instance.directory / "none/viewtally.db"}})
    expect(diagnose(instance, status=1), "files.directory", "error", "none of the database cannot be used: No such file")


def test_unusable_backup_directory_is_found(instance, tmp_path):
    backups = tmp_path / "backups"
    expect(diagnose(instance), "files.backup_directory", "skipped", "is not set")
    instance.configure({"backup": {"directory": backups}})
    (state, message, fix), = diagnose(instance)["files.backup_directory"]
    assert state == "error" and "No such file" in message and f"install -d -o viewtally -g viewtally -m 750 {backups}," in fix
    backups.write_text("")
    expect(diagnose(instance), "files.backup_directory", "error", "is not a directory")
    backups.unlink()
    backups.mkdir()
    expect(diagnose(instance), "files.backup_directory", "ok", str(backups))


@pytest.mark.sqlite_only("the file system of the database file")
def test_backup_directory_on_the_file_system_of_the_database_is_reported(instance):
    instance.configure({"backup": {"directory": instance.directory}})
    expect(diagnose(instance), "files.backup_directory", "ok", "is on the file system of the database")


@pytest.mark.sqlite_only("the file system of the database file")
def test_file_system_without_free_inodes_is_found(make_disk, make_viewtally):
    disk = make_disk("16m,nr_inodes=300")
    instance = make_viewtally({"store": {"path": disk.path / "viewtally.db"}})
    instance.add_author()
    expect(diagnose(instance), "disk.files", "ok")
    for number in range(220):
        (disk.path / f"file{number}").touch()
    expect(diagnose(instance), "disk.files", "error", "more files can be created")


@pytest.mark.sqlite_only("the file system of the database file")
def test_full_disk_is_found(make_disk, make_viewtally):
    disk = make_disk("16m")
    instance = make_viewtally({"store": {"path": disk.path / "viewtally.db", "min_free_bytes": 4 * MIB}})
    instance.add_author()
    findings = diagnose(instance)
    expect(findings, "disk.space", "ok")
    expect(findings, "disk.file_system", "warning", "tmpfs")
    disk.fill(room=2 * MIB)
    (state, message, fix), = diagnose(instance)["disk.space"]
    assert state == "error" and "less than [store] min_free_bytes" in message and fix.endswith(f"(df -h {disk.path} shows its usage)")
    instance.configure({"store": {"min_free_bytes": 0}})
    disk.fill(room=4096)
    expect(diagnose(instance), "disk.space", "warning", "a migration or a restore needs")


# --- the database ---


@pytest.mark.sqlite_only("damages the database file; test/pg/test_doctor_on_server.py has the states of a database on a server")
def test_damaged_and_missing_databases_are_found(instance):
    data = bytearray(instance.database.read_bytes())
    data[3 * 4096:4 * 4096] = b"\xa5" * 4096
    instance.database.write_bytes(data)
    expect(diagnose(instance, status=1), "database.integrity", "error", "damaged")
    instance.database.write_bytes(b"no database" * 1000)
    findings = diagnose(instance, status=1)
    expect(findings, "database.open", "error")
    expect(findings, "database.integrity", "skipped")
    instance.database.unlink()
    expect(diagnose(instance, status=1), "database.open", "error", "does not exist")
    assert not instance.database.exists()


@pytest.mark.sqlite_only("files beside the database file")
@pytest.mark.parametrize("is_link", [False, True])
def test_large_wal_and_replaced_databases_are_found(instance, is_link):
    database = instance.database
    if is_link:
        use_link(instance)
    findings = diagnose(instance)
    expect(findings, "database.wal", "ok")
    expect(findings, "database.before_files", "ok")
    for ending in ("", "-wal"):
        (instance.directory / f"viewtally.db.before-1790000000{ending}").write_bytes(b"x" * MIB)
    with open(f"{database}-wal", "wb") as wal:
        wal.truncate(127 * MIB)
    findings = diagnose(instance)
    expect(findings, "database.wal", "warning", "127 MiB")
    expect(findings, "database.before_files", "warning", "restores have left 2 files of old databases, 2 MiB in all")


def test_missing_refresh_and_backup_are_found(instance):
    findings = diagnose(instance)
    expect(findings, "freshness.refresh", "skipped", "none")
    # With PostgreSQL, other programs may make the backups.
    expect(findings, "freshness.backup", "skipped" if instance.is_on_server else "warning", "")
    spool = instance.directory / "spool"
    spool.mkdir()
    instance.configure({"refresh": {"source": "spool", "spool_dir": spool}, "backup": {"directory": instance.directory}})
    findings = diagnose(instance, status=1)
    expect(findings, "freshness.refresh", "error", "no run of the refresh has completed yet")
    expect(findings, "freshness.backup", "error", "no scheduled backup yet")
    instance.run("refresh")
    expect(diagnose(instance), "freshness.refresh", "ok")


def test_old_refresh_is_reported_as_overdue(make_viewtally, clock, tmp_path):
    instance = make_viewtally({"refresh": {"source": "spool", "spool_dir": tmp_path}}, clock)
    clock.set_wall("2026-07-10T12:10:00Z")
    instance.add_author()
    instance.run("refresh")
    expect(diagnose(instance), "freshness.refresh", "ok")
    clock.set_wall("2026-07-10T14:10:00Z")
    expect(diagnose(instance), "freshness.refresh", "error", "overdue")


@pytest.mark.parametrize("jitter_s, last_minute", [(0, "12:55"), (600, "13:05")])
def test_refresh_is_not_overdue_while_it_may_still_start(make_viewtally, clock, tmp_path, jitter_s, last_minute):
    instance = make_viewtally({"refresh": {"source": "spool", "spool_dir": tmp_path, "jitter_s": jitter_s}}, clock)
    clock.set_wall("2026-07-10T12:10:00Z")
    instance.add_author()
    instance.run("refresh")
    hour, minute = last_minute.split(":")
    for at, is_overdue in (("12:55:00", False), (f"{last_minute}:59", False), (f"{hour}:{int(minute) + 1:02}:00", True)):
        clock.set_wall(f"2026-07-10T{at}Z")
        expect(diagnose(instance), "freshness.refresh", *(("error", "overdue") if is_overdue else ("ok",)))
        assert instance.run("status", "--json").json()["refresh"]["overdue"] == is_overdue, at
        assert ("OVERDUE" in instance.run("status").out) == is_overdue, at


def test_failed_refresh_is_found(instance, tmp_path):
    spool = tmp_path / "spool"
    spool.write_text("")                        # not a directory
    instance.configure({"refresh": {"source": "spool", "spool_dir": spool}})
    instance.run("refresh", status=3)
    expect(diagnose(instance), "freshness.refresh", "error", "the last run of the refresh failed: ")
    spool.unlink()
    instance.run("refresh")
    expect(diagnose(instance), "freshness.refresh", "ok")


def test_failed_and_old_backups_are_found(make_viewtally, clock, tmp_path):
    backups = tmp_path / "backups"
    instance = make_viewtally({"backup": {"directory": backups, "every": "1h"}}, clock)
    clock.set_wall("2026-07-10T12:10:00Z")
    instance.add_author()
    instance.run("backup", "now", status=3)
    expect(diagnose(instance), "freshness.backup", "error", "the last backup failed: ")
    backups.mkdir()
    instance.run("backup", "now")
    expect(diagnose(instance), "freshness.backup", "ok", "the last backup is 0 minutes old")
    clock.set_wall("2026-07-10T12:11:00Z")
    expect(diagnose(instance), "freshness.backup", "ok", "the last backup is 1 minute old")
    clock.set_wall("2026-07-10T14:10:01Z")
    expect(diagnose(instance), "freshness.backup", "error", "the last backup is 120 minutes old")


def test_tokens_that_the_key_file_cannot_decrypt_are_found(instance):
    path = secrets.with_keys(instance)
    expect(diagnose(instance), "platforms.tokens", "skipped", "no tokens are stored")
    secrets.connect(instance, instance.add_author())
    expect(diagnose(instance), "platforms.tokens", "ok", "the key file has the keys for the tokens of 1 account (--full")
    expect(diagnose(instance, "--full"), "platforms.tokens", "ok", "the tokens of 1 account can be decrypted")
    key = secrets.key_ids(path)[0]
    path.write_text(f"{key} {'00' * 32}\n")
    expect(diagnose(instance, "--full"), "platforms.tokens", "error", "cannot decrypt the tokens")
    path.write_text(f"deadbeef {'00' * 32}\n")
    expect(diagnose(instance), "platforms.tokens", "error", "is not in the key file")
    instance.configure({"secrets": {"key_file": None}})
    expect(diagnose(instance), "platforms.tokens", "error", "[secrets] key_file is not set")


def test_accounts_that_need_attention_are_found(instance):
    secrets.with_keys(instance)
    number = secrets.connect(instance, instance.add_author())
    secrets.connect(instance, instance.add_author(), account="open-2")
    expect(diagnose(instance), "platforms.accounts", "ok", "no account needs attention")
    secrets.rows(instance, "UPDATE platform_credentials SET state = 1 WHERE id = ?", number)
    expect(diagnose(instance), "platforms.accounts", "warning", "1 account of tiktok must be reconnected")
    secrets.rows(instance, "UPDATE platform_credentials SET state = 1")
    expect(diagnose(instance), "platforms.accounts", "warning", "2 accounts of tiktok must be reconnected")
    secrets.rows(instance, "INSERT INTO platform_limits (api, name, value, until) VALUES (0, 'breaker', 1, 99999999999999)")
    expect(diagnose(instance), "platforms.accounts", "warning", "calls to tiktok are suspended")


@pytest.mark.sqlite_only("damages a page of the database file")
def test_unreadable_accounts_are_errors_of_the_database(instance):
    secrets.with_keys(instance)
    secrets.connect(instance, instance.add_author())
    instance.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = [row[0] for row in instance.sql("SELECT rootpage FROM sqlite_master WHERE tbl_name = 'platform_credentials' AND rootpage > 0")]
    with open(instance.database, "r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 100)
    findings = diagnose(instance)
    for check, message in (("platforms.tokens", "database error"), ("platforms.accounts", "cannot be read")):
        [(state, text, fix)] = findings[check]
        assert state == "error" and message in text and fix.startswith("see the findings about the database"), findings[check]


def add_webhook(instance, n=1, state=0, failures=0, position=1, next_attempt_at=None):
    [(author,)] = secrets.rows(instance, "SELECT id FROM authors LIMIT 1")
    secrets.rows(instance, """INSERT INTO webhook_endpoints (uuid, author_id, url, types, secret, created_at, state, state_at, position, failures,
        next_attempt_at) VALUES (?, ?, 'https://example.com/', 0, ?, 1, ?, 1, ?, ?, ?)""",
                 uuid.UUID(int=n), author, b"\0", state, position, failures, next_attempt_at)


def test_webhooks_without_a_key_file_are_found(instance):
    for check in ("secrets", "endpoints", "delivery"):
        expect(diagnose(instance), f"webhooks.{check}", "skipped", "there are no webhooks")
    add_webhook(instance)
    expect(diagnose(instance, status=1), "webhooks.secrets", "error", "the events of 1 webhook cannot be signed without [secrets] key_file")
    secrets.with_keys(instance)
    expect(diagnose(instance), "webhooks.secrets", "ok")


def test_failing_webhooks_are_found(instance):
    secrets.with_keys(instance)
    add_webhook(instance, failures=4)
    expect(diagnose(instance), "webhooks.endpoints", "ok", "no webhook fails")
    add_webhook(instance, 2, failures=5)
    add_webhook(instance, 3, state=1, failures=5)        # paused by the author
    expect(diagnose(instance), "webhooks.endpoints", "warning", "1 webhook has failed for more than two hours")
    add_webhook(instance, 4, state=2)
    add_webhook(instance, 5, state=2)
    expect(diagnose(instance), "webhooks.endpoints", "warning", "2 webhooks are paused")
    expect(diagnose(instance), "webhooks.endpoints", "warning", "1 webhook has failed for more than two hours")


def test_undelivered_events_are_reported_if_no_process_delivers_webhooks(make_viewtally, clock):
    instance = make_viewtally(clock=clock)
    instance.add_author()
    secrets.with_keys(instance)
    now = clock.wall_ms
    secrets.rows(instance, "UPDATE authors SET last_event_id = ?", now)
    add_webhook(instance)
    expect(diagnose(instance), "webhooks.delivery", "ok")
    clock.advance(120_001)
    expect(diagnose(instance, status=1), "webhooks.delivery", "error", "the events of 1 webhook wait, but no process delivers them")
    lease = ("INSERT INTO leases (name, fence, holder, taken_at, expires_at) VALUES ('webhooks', 1, 'x', ?, ?) "
             "ON CONFLICT (name) DO UPDATE SET taken_at = excluded.taken_at, expires_at = excluded.expires_at")
    secrets.rows(instance, lease, clock.wall_ms, clock.wall_ms + 20_000)
    expect(diagnose(instance), "webhooks.delivery", "ok")
    secrets.rows(instance, lease, clock.wall_ms, clock.wall_ms - 1)
    expect(diagnose(instance, status=1), "webhooks.delivery", "error", "no process delivers")
    for next_attempt_at, state, position in ((clock.wall_ms + 1000, 0, 1), (None, 1, 1), (None, 0, clock.wall_ms)):
        secrets.rows(instance, "UPDATE webhook_endpoints SET next_attempt_at = ?, state = ?, position = ?", next_attempt_at, state, position)
        expect(diagnose(instance), "webhooks.delivery", "ok")
    instance.configure({"webhooks": {"enabled": "off"}})
    expect(diagnose(instance), "webhooks.delivery", "warning", "the delivery of webhooks is off")


def test_sensitive_networks_that_webhooks_can_reach_are_found(instance):
    for networks, state, message in (("", "ok", "public addresses only"), ("10.1.0.0/16", "ok", "10.1.0.0/16"), ("10.0.0.0/8, ::1", "warning", "to ::1"),
                                     ("127.0.0.0/8", "warning", "to 127.0.0.1"), ("169.254.0.0/16", "warning", "to 169.254.169.254")):
        instance.configure({"webhooks": {"allowed_networks": networks}})
        expect(diagnose(instance), "webhooks.networks", state, message)


def test_incomplete_platform_credentials_are_found(instance):
    expect(diagnose(instance), "platforms.credentials", "skipped", "no platform")
    instance.configure({"tiktok": {"client_id": "abc"}})
    expect(diagnose(instance), "platforms.credentials", "error", "client_id but no client_secret")
    instance.configure({"tiktok": {"client_secret": SECRET}})
    expect(diagnose(instance), "platforms.credentials", "error", "without [secrets] key_file")
    instance.configure({"secrets": {"key_file": instance.directory / "secrets.key"}})
    instance.run("secrets", "init")
    expect(diagnose(instance), "platforms.credentials", "ok")


# --- Redis ---


def test_redis_is_checked_with_the_permissions_of_its_user_and_not_changed(instance, redis):
    acl = next(line for line in (ROOT / "docs/operating.md").read_text().splitlines() if line.startswith("user viewtally on "))
    words = [f">{SECRET}" if word.startswith(">") else word for word in acl.split()[1:]]
    redis.call("ACL", "SETUSER", *words)
    instance.configure({"redis": {"url": f"redis://viewtally:{SECRET}@127.0.0.1:{redis.port}/1"}})
    findings = diagnose(instance)
    for check in ("connection", "permissions", "writable"):
        expect(findings, f"redis.{check}", "ok")
    assert "a command takes " in findings["redis.latency"][0][1]       # the state depends on the load of the machine
    expect(findings, "redis.version", "skipped", "may not run INFO")
    assert redis.call("DBSIZE") == 0 and "used_memory_scripts_eval:0" in redis.call("INFO", "memory")
    redis.call("ACL", "SETUSER", "viewtally", "-mget", "-script|load", "+info")
    findings = diagnose(instance)
    expect(findings, "redis.permissions", "error", "lacks permissions: +script|load +mget")
    expect(findings, "redis.version", "ok", "Redis ")
    redis.call("ACL", "SETUSER", "viewtally", f"<{SECRET}", ">other")
    findings = diagnose(instance)
    expect(findings, "redis.connection", "error", "AUTH failed: WRONGPASS")
    assert not findings["redis.connection"][0][1].endswith(".")        # unlike the message of Redis
    expect(findings, "redis.latency", "skipped", "not connected")


def test_redis_that_rejects_writes_or_evicts_is_found(instance, redis):
    instance.configure({"redis": {"url": redis.url}})
    redis.call("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
    expect(diagnose(instance), "redis.eviction", "warning", "allkeys-lru")
    redis.call("CONFIG", "SET", "maxmemory", "1000", "maxmemory-policy", "noeviction")
    findings = diagnose(instance)
    expect(findings, "redis.eviction", "ok")
    expect(findings, "redis.writable", "error", "OOM")
    redis.call("CONFIG", "SET", "maxmemory", "0")
    redis.call("REPLICAOF", "127.0.0.1", "1")
    expect(diagnose(instance), "redis.writable", "error", "READONLY")
    redis.stop()
    expect(diagnose(instance), "redis.connection", "error", "Connection refused")


def test_wrong_password_or_database_of_redis_is_found(instance, tmp_path):
    with Redis(tmp_path / "redis", "--databases", "4") as redis:
        instance.configure({"redis": {"url": f"redis://127.0.0.1:{redis.port}/9"}})
        expect(diagnose(instance), "redis.connection", "error", "SELECT failed")
        redis.call("CONFIG", "SET", "requirepass", SECRET)
        instance.configure({"redis": {"url": f"redis://127.0.0.1:{redis.port}/0"}})
        expect(diagnose(instance), "redis.connection", "error", "NOAUTH")


# --- nginx and base_url ---


def test_nginx_file_is_checked(instance, tmp_path):
    path = tmp_path / "nginx.conf"
    path.write_text((ROOT / "packaging/nginx/viewtally.conf").read_text())
    instance.configure({"server": {"listen": "127.0.0.1:8080"}})
    findings = diagnose(instance, "--nginx", path)
    for check in ("proxy", "keepalive", "timeout", "fields", "access_log", "error_log"):
        expect(findings, f"nginx.{check}", "ok")
    path.write_text("server { listen 80; location / { proxy_pass http://127.0.0.1:8080; } }")
    findings = diagnose(instance, "--nginx", path)
    expect(findings, "nginx.keepalive", "warning")
    expect(findings, "nginx.fields", "error")
    expect(findings, "nginx.access_log", "error", "combined")
    path.write_text("server { listen 80; location / {")
    expect(diagnose(instance, "--nginx", path), "nginx.proxy", "warning", "nginx.conf:1: a closing } is missing")
    path.write_text("http { include conf.d/*.conf; }")
    (state, message, fix), = diagnose(instance, "--nginx", path)["nginx.proxy"]
    assert state == "warning" and "it includes files, which are not read" in message and "the output of nginx -T" in fix
    path.write_text(f"# configuration file {path}:\nhttp {{ include conf.d/*.conf; }}")
    expect(diagnose(instance, "--nginx", path), "nginx.proxy", "warning", "nginx has no proxy_pass")


def test_output_of_nginx_is_checked(instance, tmp_path, make_nginx):
    """The output of a real `nginx -T` is parsed."""
    nginx = make_nginx("pid @DIR@/nginx.pid;\nevents {}\nhttp {\n access_log off;\n include @DIR@/*.inc;\n"
                       " server { listen 127.0.0.1:@PORT@; location / { return 204; } }\n}\n")
    include = nginx.directory / "proxy.inc"
    include.write_text("upstream viewtally { server 127.0.0.1:8080; keepalive 8; keepalive_timeout 80s; }\n"
                       "server { listen 127.0.0.1:18081; location / { proxy_pass http://viewtally; } }\n")
    nginx.arguments()
    printed = nginx.print_configuration()
    path = tmp_path / "printed.txt"
    path.write_text(printed)
    findings = diagnose(instance, "--nginx", path)
    expect(findings, "nginx.keepalive", "error", f"({include}:1)")


def test_doctor_runs_the_installed_nginx_to_read_its_configuration(make_viewtally, clock, tmp_path):
    """Without --nginx, the output of `nginx -T` is checked."""
    program = tmp_path / "nginx"
    instance = make_viewtally({"server": {"listen": "127.0.0.1:8080"}}, clock)

    def run(script):
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        return instance.run("doctor", "--json", env={"VIEWTALLY_TEST_NGINX": str(program)}, status=None).json()["findings"]

    def found(script, check):
        return [(f["state"], f["message"]) for f in run(script) if (f["group"], f["check"]) == ("nginx", check)]

    config = "server { listen 80; location / { proxy_pass http://127.0.0.1:8080; } }"
    (state, message), = found(f'[ "$*" = -T ] && echo "{config}"', "keepalive")
    assert state == "warning", message
    (state, message), = found("echo 'nginx: [emerg] no luck' >&2; echo more >&2; exit 1", "proxy")
    assert state == "warning" and "-T failed (status 1): nginx: [emerg] no luck" in message and "more" not in message
    (state, message), = found("kill -9 $$", "proxy")
    assert state == "warning" and "-T failed (status 137)" in message
    (state, message), = found("head -c 20000000 /dev/zero | tr '\\0' x", "proxy")
    assert state == "warning"
    program.unlink()
    for absent in ("", str(program)):
        findings = instance.run("doctor", "--json", env={"VIEWTALLY_TEST_NGINX": absent}, status=None).json()["findings"]
        (state, message), = [(f["state"], f["message"]) for f in findings if (f["group"], f["check"]) == ("nginx", "proxy")]
        assert (state, "not installed" in message) == (("skipped", True) if not absent else ("warning", False)), message


@pytest.mark.parametrize("script, message", [("sleep 200 & wait", "-T failed (status 137)"), ("sleep 200 &", "")])
def test_background_process_of_nginx_does_not_block_doctor(make_viewtally, clock, tmp_path, script, message):
    """The background process inherits the pipes of the output and keeps them open."""
    program = tmp_path / "nginx"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    instance = make_viewtally({"server": {"listen": "127.0.0.1:8080"}}, clock)
    start = time.monotonic()
    environment = {"VIEWTALLY_TEST_NGINX": str(program), "VIEWTALLY_TEST_CHILD_TIMEOUT_MS": "500"}
    findings = instance.run("doctor", "--json", env=environment, status=None).json()["findings"]
    assert time.monotonic() - start < 150
    assert any(message in found["message"] for found in findings if found["group"] == "nginx")


def test_wrong_base_url_is_found(instance):
    with instance:
        expect(diagnose(instance), "server.reachable", "warning", "does not respond")
        instance.configure({"server": {"base_url": f"http://{instance.address}/v1"}})
        findings = diagnose(instance)
        expect(findings, "server.reachable", "ok")
        expect(findings, "server.base_url", "ok")
        instance.configure({"server": {"base_url": f"http://{instance.address}/elsewhere/v1"}})
        expect(diagnose(instance), "server.reachable", "error", "served by something else")
    instance.configure({"server": {"base_url": "http://stats.example.invalid/v1"}})
    findings = diagnose(instance)
    expect(findings, "server.base_url", "warning", "without encryption")
    (state, message, fix), = findings["server.reachable"]
    assert state == "error" and "cannot be used" in message and fix.endswith("curl -v http://stats.example.invalid/v1/openapi.json")
    instance.configure({"server": {"base_url": None}})
    expect(diagnose(instance), "server.base_url", "warning", "default")


def test_exposed_admin_listener_and_missing_trusted_proxies_are_found(instance):
    findings = diagnose(instance)
    expect(findings, "server.admin", "ok")
    expect(findings, "server.trusted_proxies", "ok")
    instance.configure({"server": {"trusted_proxies": "127.0.0.1, ::/0"}})
    expect(diagnose(instance), "server.trusted_proxies", "error", "contains ::/0, so every client can choose the address")
    instance.configure({"server": {"trusted_proxies": None}})
    instance.configure({"admin": {"listen": "0.0.0.0:9187"}, "server": {"base_url": "https://stats.example.invalid/v1"}})
    findings = diagnose(instance)
    expect(findings, "server.admin", "warning", "0.0.0.0:9187 is reachable")
    expect(findings, "server.trusted_proxies", "error", "all clients share one address")
    instance.configure({"admin": {"listen": ""}, "server": {"trusted_proxies": "unix"}})
    findings = diagnose(instance)
    expect(findings, "server.admin", "warning", "no admin listener")
    expect(findings, "server.trusted_proxies", "ok")
