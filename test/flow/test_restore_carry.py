"""A restore preserves revocations made after the backup, or prints what is valid again if the replaced database is unreadable."""
import contextlib
import hashlib
import os
import re
import sqlite3
import uuid

import pytest

from lib import oauth, secrets
from lib.lines import author, uid

PASSWORD_A, PASSWORD_B = "$argon2id$one", "$argon2id$two"


def sql(instance, statement, *values):
    return instance.sql(statement, *values)


def row_of(instance, name):
    return sql(instance, "SELECT id FROM authors WHERE name = ?", name)[0][0]


def key_id(instance, key):
    return sql(instance, "SELECT uuid FROM api_keys WHERE hash = ?", hashlib.sha256(key.encode()).digest())[0][0].hex()


def uuid_text(hexadecimal):
    return "-".join((hexadecimal[:8], hexadecimal[8:12], hexadecimal[12:16], hexadecimal[16:20], hexadecimal[20:]))


def error_of(instance, key):
    with instance.client(key) as client:
        answer = client.get("/account")
        return answer.status if answer.status == 200 else (answer.status, answer.json()["error"]["code"])


def connect_account(instance, name, account, version=1, api=0, token=b"sealed"):
    sql(instance, "INSERT INTO platform_credentials (author_id, api, account_id, access_sealed, obtained_at, version) VALUES (?, ?, ?, ?, 1, ?)",
        row_of(instance, name), api, account, token, version)


@pytest.fixture
def world(viewtally):
    """Authors Ann and Bob with keys, an app, sign-in names and platform accounts, and the backup `then.db` of that
    state."""
    viewtally.import_lines([author("Ann"), author("Bob")])
    viewtally.valid, viewtally.leaked, viewtally.bobs = (viewtally.create_key(uid(name)) for name in ("Ann", "Ann", "Bob"))
    viewtally.app, viewtally.bad_app = oauth.add_app(viewtally, confidential=True), oauth.add_app(viewtally, name="Bad")
    for name, login, password in (("Ann", "ann", PASSWORD_A), ("Bob", "bob", PASSWORD_A)):
        sql(viewtally, "INSERT INTO logins (author_id, name, password, password_set_at) VALUES (?, ?, ?, 1)", row_of(viewtally, name), login, password)
    for account in ("stays", "goes"):
        connect_account(viewtally, "Ann", account)
    viewtally.run("backup", "then.db")
    return viewtally


def revoke_all(world):
    """Revokes something of every kind after the backup. Returns a key that was created and revoked since."""
    world.run("key", "revoke", uuid_text(key_id(world, world.leaked)))
    late = world.create_key(uid("Ann"), "late")
    world.run("key", "revoke", uuid_text(key_id(world, late)))
    world.run("author", "set-plan", uid("Bob"), "inactive")
    world.secret = world.run("app", "rotate-secret", world.app["client_id"]).out.strip()
    world.run("app", "remove", world.bad_app["client_id"])
    # Ann and Bob swap their sign-in names, and the password of Bob changes.
    sql(world, "UPDATE logins SET name = 'between' WHERE name = 'ann'")
    sql(world, "UPDATE logins SET name = 'ann', password = ?, password_set_at = 2 WHERE name = 'bob'", PASSWORD_B)
    sql(world, "UPDATE logins SET name = 'bob' WHERE name = 'between'")
    sql(world, "DELETE FROM platform_credentials WHERE account_id = 'goes'")
    sql(world, "UPDATE platform_credentials SET access_sealed = ?, version = 2, state = 1 WHERE account_id = 'stays'", b"newer")
    sql(world, "INSERT INTO platform_limits (api, name, value, until) VALUES (3, 'units', 9000, 5)")
    return late


def revocations(world):
    """Returns the revocations, which a restore must not change."""
    return {
        "revoked": sorted(sql(world, "SELECT hash, revoked_at FROM api_keys WHERE revoked_at IS NOT NULL")),
        "ended": sql(world, "SELECT uuid FROM authors WHERE plan_active = 0"),
        "removed": sql(world, "SELECT client_id, removed_at FROM apps WHERE removed_at IS NOT NULL"),
        "secrets": sql(world, "SELECT client_id, secret_hash FROM apps ORDER BY client_id"),
        "logins": sql(world, "SELECT a.uuid, l.name, l.password, l.password_set_at FROM logins l JOIN authors a ON a.id = l.author_id ORDER BY l.name"),
        "accounts": sql(world, "SELECT account_id, access_sealed, version, state FROM platform_credentials"),
        "quotas": sql(world, "SELECT * FROM platform_limits"),
    }


def test_revocations_survive_a_restore(world):
    late = revoke_all(world)
    before = revocations(world)
    printed = world.run("restore", "then.db").out
    assert revocations(world) == before
    for line in ("1 key revoked", "1 revoked key that is missing from the backup", "1 plan ended", "1 app removed", "1 app secret rotated",
                 "2 sign-in names or passwords changed", "1 platform account disconnected", "1 platform account with newer tokens or state",
                 "1 used quota or other limit of a platform", "4 entries of the audit log"):
        assert f"carried over: {line}\n" in printed
    assert "valid now" not in printed
    assert {path.name for path in world.directory.glob("viewtally.db-*")} <= {"viewtally.db-import", "viewtally.db-lock"}
    sql(world, "DELETE FROM platform_credentials")          # not sealed with a real key
    world.start()
    assert error_of(world, world.valid) == 200
    assert error_of(world, world.leaked) == error_of(world, late) == (401, "api_key_revoked")
    assert error_of(world, world.bobs) == (403, "plan_inactive")


def test_unrevoked_rows_stay_valid(world):
    world.create_key(uid("Bob"), "live and newer")
    connect_account(world, "Bob", "newer")
    printed = world.run("restore", "then.db").out
    assert re.findall("carried over: (.*)", printed) == ["1 entry of the audit log"] and "valid now" not in printed
    assert sql(world, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") == [(3,)]
    assert sql(world, "SELECT account_id FROM platform_credentials ORDER BY 1") == [("goes",), ("stays",)]
    assert revocations(world)["ended"] == revocations(world)["removed"] == []


def test_second_restore_of_the_same_backup_revives_nothing(world):
    revoke_all(world)
    before = revocations(world)
    for _ in range(3):
        assert "valid now" not in world.run("restore", "then.db").out
        assert revocations(world) == before


def test_undoing_a_restore_keeps_later_revocations(world):
    world.run("restore", "then.db")
    world.run("key", "revoke", uuid_text(key_id(world, world.valid)))
    assert "1 key revoked" in world.run("restore", world.replaced_database()).out
    assert len(revocations(world)["revoked"]) == 1


@pytest.mark.parametrize("version", [1, 7])
def test_tokens_of_an_account_that_was_connected_again_are_carried_over(world, version):
    """Connecting the account again after disconnecting it begins with version 1. The tokens of the backup are revoked."""
    sql(world, "UPDATE platform_credentials SET version = ? WHERE account_id = 'stays'", version)
    world.run("backup", "connected.db")
    sql(world, "DELETE FROM platform_credentials WHERE account_id = 'stays'")
    sql(world, "INSERT INTO platform_credentials (author_id, api, account_id, access_sealed, obtained_at) VALUES (?, 0, 'stays', ?, 2)",
        row_of(world, "Ann"), b"newer")
    printed = world.run("restore", "connected.db").out
    assert sql(world, "SELECT access_sealed, version FROM platform_credentials WHERE account_id = 'stays'") == [(b"newer", 1)]
    assert "carried over: 1 platform account with newer tokens or state\n" in printed


def test_sign_in_name_of_an_erased_author_stays_with_its_new_owner(world):
    world.run("author", "erase", uid("Bob"))
    world.run("author", "set-login", uid("Ann"), "bob")
    before = revocations(world)["logins"]
    printed = world.run("restore", "then.db").out
    assert revocations(world)["logins"] == before and [name for _, name, *_ in before] == ["bob"]
    assert "carried over: 1 sign-in name or password changed\n" in printed and "carried over: 1 author erased again\n" in printed


def test_sessions_links_and_codes_of_the_backup_are_dropped(world):
    ann = row_of(world, "Ann")
    sql(world, "INSERT INTO sessions (hash, author_id, created_at, seen_at, expires_at) VALUES (?, ?, 1, 1, 9000000000000000)", b"s" * 32, ann)
    sql(world, "INSERT INTO invitations (hash, author_id, created_at, expires_at) VALUES (?, ?, 1, 9000000000000000)", b"i" * 32, ann)
    sql(world, "INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at) VALUES (?, 1, ?, 'x', 'y', 1)", b"c" * 32, ann)
    sql(world, "INSERT INTO platform_links (state_hash, session_hash, author_id, api, created_at) VALUES (?, ?, ?, 0, 1)", b"l" * 32, b"s" * 32, ann)
    world.run("backup", "open.db")
    world.run("restore", "open.db")
    for table in ("sessions", "invitations", "oauth_codes", "platform_links"):
        assert sql(world, f"SELECT count(*) FROM {table}") == [(0,)], table


@pytest.mark.sqlite_only("replaces a database file with an older schema")
def test_replaced_database_may_have_an_older_schema(world):
    revoke_all(world)
    sql(world, "PRAGMA user_version = 3")
    world.run("restore", "then.db")
    assert len(revocations(world)["revoked"]) == 2 and len(revocations(world)["ended"]) == 1
    assert revocations(world)["removed"] == []


@pytest.mark.sqlite_only("renames the database file; test/pg/test_restore_on_server.py kills a restore to a server")
def test_restore_repeated_after_a_kill_preserves_revocations(world):
    revoke_all(world)
    before, step = revocations(world), 1
    while world.database.exists():
        world.run("restore", "then.db", status=-9, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
        step += 1
    printed = world.run("restore", "then.db").out
    assert revocations(world) == before and "1 key revoked" in printed and "valid now" not in printed


# --- the replaced database cannot be read ---


def assert_lists_what_is_valid(world, printed):
    assert "Some revocations after the backup could not be carried over" in printed
    for key in (world.valid, world.leaked, world.bobs):
        assert f"  key      {uuid_text(key_id(world, key))}  ...{key[-4:]}  of author " in printed
    for name in ("Ann", "Bob"):
        assert f"  plan     of author {uid(name)}  {name}\n" in printed
    for app in (world.app, world.bad_app):
        assert f"  app      {app['client_id']}  " in printed
    assert "  account  1  tiktok  stays\n" in printed and "  account  2  tiktok  goes\n" in printed


@pytest.mark.sqlite_only("damages the database file")
def test_restore_lists_revived_credentials_if_the_old_database_is_damaged(world):
    revoke_all(world)
    world.database.write_bytes(b"not a database " * 1000)
    printed = world.run("restore", "--force", "then.db").out
    assert_lists_what_is_valid(world, printed)


def test_restore_prints_json(world):
    revoke_all(world)
    done = world.run("restore", "then.db", "--json").json()
    assert done["database"] == world.run("status", "--json").json()["database"]["path"] and done["restored_from"] == "then.db"
    assert os.path.basename(done["replaced_database"]) == world.replaced_database().name
    assert done["revocations"]["complete"] and done["revocations"]["reason"] is None and done["revocations"]["valid"] == []
    carried = done["revocations"]["carried_over"]
    assert (carried["keys_revoked"], carried["plans_ended"], carried["logins_changed"]) == (1, 1, 2) and all(type(n) is int for n in carried.values())


@pytest.mark.sqlite_only("damages the database file; test/pg/test_restore_on_server.py has the same for a damaged table")
def test_forced_restore_prints_json(world):
    world.database.write_bytes(b"not a database " * 1000)
    forced = world.run("restore", "--force", "then.db", "--json")
    assert "--force: skipped: SQLite's own check" in forced.err
    revocations_left = forced.json()["revocations"]
    assert not revocations_left["complete"] and "cannot be opened" in revocations_left["reason"]
    valid = {kind: [entry for entry in revocations_left["valid"] if entry["type"] == kind] for kind in ("key", "plan", "app", "account")}
    assert {entry["id"] for entry in valid["key"]} == {uuid_text(key_id(world, key)) for key in (world.valid, world.leaked, world.bobs)}
    assert {entry["suffix"] for entry in valid["key"]} == {key[-4:] for key in (world.valid, world.leaked, world.bobs)}
    assert {(entry["author_id"], entry["author_name"]) for entry in valid["plan"]} == {(uid("Ann"), "Ann"), (uid("Bob"), "Bob")}
    assert {entry["client_id"] for entry in valid["app"]} == {app["client_id"] for app in (world.app, world.bad_app)}
    assert [(entry["id"], entry["api"], entry["account_id"]) for entry in valid["account"]] == [(1, "tiktok", "stays"), (2, "tiktok", "goes")]


@pytest.mark.sqlite_only("deletes the database file")
def test_restore_lists_revived_credentials_if_the_old_database_is_missing(world):
    world.database.unlink()
    assert_lists_what_is_valid(world, world.run("restore", "then.db").out)


def test_restore_lists_revived_credentials_if_the_old_database_is_unrelated(world):
    world.begin_new_database()
    printed = world.run("restore", "then.db").out
    assert "does not descend from this backup" in printed
    assert_lists_what_is_valid(world, printed)
    assert len(revocations(world)["accounts"]) == 2


@pytest.mark.sqlite_only("damages the database file")
def test_readable_tables_of_a_damaged_database_are_carried_over(world):
    """The page of one table is unreadable: the restore rule of that table fails, the other rules apply, and the list is printed."""
    revoke_all(world)
    (page, size), = sql(world, "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'platform_limits'")
    with open(world.database, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    printed = world.run("restore", "then.db").out
    assert "carried over: 1 key revoked\n" in printed and "it is damaged" in printed and "valid now" in printed
    assert uuid_text(key_id(world, world.leaked)) not in printed.split("valid now")[1]


def test_printed_list_has_no_control_characters(viewtally):
    viewtally.import_lines([author("Eve\u001b[2J")])
    viewtally.create_key(uid("Eve\u001b[2J"), "name\u001b[2J")
    viewtally.run("backup", "then.db")
    viewtally.begin_new_database()
    assert "\u001b" not in viewtally.run("restore", "then.db").out


@pytest.mark.sqlite_only("damages the database file")
def test_invalid_values_do_not_prevent_the_restore(world):
    """A damaged database may contain invalid values. Then the restore prints the list of what is valid."""
    with contextlib.closing(sqlite3.connect(world.database)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, revoked_at) VALUES (x'01', ?, x'02', 'short', '', 1, 2)",
                         (row_of(world, "Ann"),))
        database.commit()
    printed = world.run("restore", "then.db").out
    assert "could not be carried over" in printed
    assert_lists_what_is_valid(world, printed)


def test_restore_fails_if_the_disk_has_no_room_for_the_revocations(make_viewtally, make_disk):
    """It must not replace the database without them: the leaked key would be valid again."""
    disk = make_disk("100m")
    world = make_viewtally({"store": {"path": str(disk.path / "viewtally.db")}})
    world.import_lines([author("Ann")])
    leaked = world.create_key(uid("Ann"))
    world.run("backup", "then.db")
    world.run("key", "revoke", uuid_text(key_id(world, leaked)))
    sql(world, "WITH RECURSIVE n (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM n WHERE n < 8100) INSERT INTO audit (author_id, id, at, action, actor, details) "
        "SELECT 1, n, n, 'key.created', 'operator', hex(randomblob(300)) FROM n")
    disk.fill(room=4 << 20)
    refused = world.run("restore", "then.db", status=3)
    assert "no space left on the disk" in refused.err
    assert sql(world, "SELECT revoked_at IS NOT NULL FROM api_keys") == [(1,)]
    assert not list(disk.path.glob("viewtally.db.before-*")) and not list(disk.path.glob("viewtally.db-restore*"))


# --- descent ---


def accounts(world):
    return sorted(row[0] for row in sql(world, "SELECT account_id FROM platform_credentials"))


def disconnect(world, account):
    sql(world, "DELETE FROM platform_credentials WHERE account_id = ?", account)


def test_restored_database_descends_from_its_backup(world):
    """A restore records the descent even if it could carry nothing over. So the second restore knows that the missing
    account was disconnected."""
    world.begin_new_database()
    world.run("restore", "then.db")
    disconnect(world, "goes")
    assert "valid now" not in world.run("restore", "then.db").out
    assert accounts(world) == ["stays"]


def test_restored_database_descends_from_the_replaced_one(world):
    world.run("restore", "then.db")
    world.run("backup", "second.db")
    disconnect(world, "goes")
    world.run("restore", "then.db")
    assert accounts(world) == ["stays"]
    disconnect(world, "stays")
    assert "valid now" not in world.run("restore", "second.db").out
    assert accounts(world) == []


def test_account_unknown_to_the_replaced_database_is_restored(world):
    """A wrong, older backup was restored first: accounts connected after it are missing, but were not disconnected."""
    connect_account(world, "Bob", "later")
    world.run("backup", "newer.db")
    world.run("restore", "then.db")
    assert accounts(world) == ["goes", "stays"]
    world.run("restore", "newer.db")
    assert accounts(world) == ["goes", "later", "stays"]


@pytest.mark.parametrize("removed", [False, True])
def test_password_of_a_newer_backup_is_not_set_back(world, removed):
    """An older backup was first restored over a new database. A password that was removed since then stays so."""
    sql(world, "UPDATE logins SET password = ?, password_set_at = 2 WHERE name = 'ann'", PASSWORD_B)
    world.run("backup", "newer.db")
    world.begin_new_database()
    world.run("restore", "then.db")
    if removed:
        sql(world, "UPDATE logins SET password = NULL WHERE name = 'ann'")
    world.run("restore", "newer.db")
    assert sql(world, "SELECT password FROM logins WHERE name = 'ann'") == [(None if removed else PASSWORD_B,)]


def test_newer_password_is_carried_over_even_if_the_clock_was_set_back(world):
    """The clock was ahead when the password of the backup was set."""
    sql(world, "UPDATE logins SET password_set_at = 9 WHERE name = 'ann'")
    world.run("backup", "ahead.db")
    sql(world, "UPDATE logins SET password = ?, password_set_at = 5 WHERE name = 'ann'", PASSWORD_B)
    world.run("restore", "ahead.db")
    assert sql(world, "SELECT password FROM logins WHERE name = 'ann'") == [(PASSWORD_B,)]


def test_tokens_of_a_newer_backup_are_not_set_back(world):
    """An older backup was first restored over a new database. The account was connected again between the backups."""
    sql(world, "UPDATE platform_credentials SET version = 7 WHERE account_id = 'stays'")
    world.run("backup", "older.db")
    sql(world, "UPDATE platform_credentials SET version = 1, obtained_at = 2, access_sealed = ? WHERE account_id = 'stays'", b"newer")
    world.run("backup", "newer.db")
    world.begin_new_database()
    world.run("restore", "older.db")
    world.run("restore", "newer.db")
    assert sql(world, "SELECT access_sealed, version FROM platform_credentials WHERE account_id = 'stays'") == [(b"newer", 1)]


def test_tokens_are_carried_over_even_if_the_clock_was_set_back(world):
    sql(world, "UPDATE platform_credentials SET obtained_at = 9 WHERE account_id = 'stays'")
    world.run("backup", "ahead.db")
    sql(world, "UPDATE platform_credentials SET version = 2, obtained_at = 5, access_sealed = ? WHERE account_id = 'stays'", b"newer")
    world.run("restore", "ahead.db")
    assert sql(world, "SELECT access_sealed, version FROM platform_credentials WHERE account_id = 'stays'") == [(b"newer", 2)]


def test_resealed_tokens_are_carried_over(viewtally):
    """A key rotation removes the key that decrypts the tokens of the backup, and the server refuses to start without it."""
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    viewtally.run("backup", "then.db")
    viewtally.run("secrets", "rotate")
    for _ in range(2):              # the second restore replaces a database with another id
        assert "1 platform account with newer tokens or state" in viewtally.run("restore", "then.db").out
        assert "1 account," in viewtally.run("secrets", "check").out


@pytest.mark.parametrize("state", [0, 1])
def test_tokens_of_a_newer_backup_are_not_replaced_by_tokens_from_before_the_rotation(viewtally, state):
    """An older backup was first restored over a new database, and served with its key file. Its tokens may have been rejected."""
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    viewtally.run("app", "add", "--name", "A", "--redirect-uri", "https://a.example/", "--webhook-url", "https://a.example/hook")
    viewtally.run("backup", "older.db")
    viewtally.run("secrets", "rotate")
    viewtally.run("backup", "newer.db")
    viewtally.begin_new_database()
    viewtally.run("restore", "older.db")
    viewtally.sql("UPDATE platform_credentials SET state = ?", state)
    assert ("platform account" in viewtally.run("restore", "newer.db").out) == (state == 1)
    assert "1 account and 1 webhook," in viewtally.run("secrets", "check").out
    assert viewtally.sql("SELECT state FROM platform_credentials") == [(state,)]


@pytest.mark.parametrize("then, now, expected", [((100, 7, 8), (200, 0, 0), (200, 0, 0)), ((200, 7, 8), (100, 5, 6), (200, 5, 6)), (None, (100, 5, 6), (100, 5, 6)),
                                             ((100, 7, 8), None, (100,))], ids=["later", "earlier", "new", "unknown"])
def test_restore_never_lowers_the_expiry_floor(world, then, now, expected):
    """The second and the third value describe a clock that is ahead. After a restore they have the values of the
    replaced database, or are absent."""
    put_floor(world, then)
    world.run("backup", "clock.db")
    sql(world, "DELETE FROM meta WHERE key LIKE 'expiry%'")
    put_floor(world, now)
    world.run("restore", "clock.db")
    found = dict(sql(world, "SELECT key, value FROM meta WHERE key LIKE 'expiry%'"))
    assert found == dict(zip(FLOOR_KEYS, expected))


FLOOR_KEYS = ("expiry_floor", "expiry_ahead_wall", "expiry_ahead_for")


def put_floor(world, values):
    for key, value in zip(FLOOR_KEYS, values or ()):
        sql(world, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)


# --- webhooks ---

def add_endpoint(world, name, url, position=0):
    sql(world, "INSERT INTO webhook_endpoints (uuid, author_id, url, types, secret, created_at, state_at, position) VALUES (?, ?, ?, 0, ?, 1, 1, ?)",
        uuid.uuid4(), row_of(world, name), url, b"sealed", position)


def endpoints(world):
    return sql(world, "SELECT url, secret, old_secret, state, position, attempts FROM webhook_endpoints ORDER BY url")


def test_restore_keeps_the_newer_state_of_webhooks(world):
    """A restore must not send events to a deleted endpoint, sign with a leaked secret, or send delivered events again."""
    for url in ("https://deleted.example", "https://paused.example", "https://same.example"):
        add_endpoint(world, "Ann", url)
    sql(world, "INSERT INTO webhook_requests SELECT id, 5, 1 FROM webhook_endpoints")
    sql(world, "INSERT INTO webhook_attempts SELECT id, 1, 5, 1, 1, 200, NULL, 0 FROM webhook_endpoints")
    sql(world, "UPDATE apps SET webhook_url = 'https://then.example', webhook_secret = ?", b"\1")
    world.run("backup", "hooks.db")
    sql(world, "DELETE FROM webhook_requests")
    sql(world, "DELETE FROM webhook_attempts")
    sql(world, "DELETE FROM webhook_endpoints WHERE url LIKE '%deleted%'")
    sql(world, "UPDATE webhook_endpoints SET state = 1, secret = ?, old_secret = ?, position = 9, attempts = 4 WHERE url LIKE '%paused%'", b"\2", b"\3")
    sql(world, "UPDATE apps SET webhook_url = 'https://now.example', webhook_secret = ? WHERE client_id = ?", b"\4", world.app["client_id"])
    before = endpoints(world)
    printed = world.run("restore", "hooks.db").out
    assert endpoints(world) == before == [("https://paused.example", b"\2", b"\3", 1, 9, 4), ("https://same.example", b"sealed", None, 0, 0, 0)]
    assert sql(world, "SELECT count(*) FROM webhook_requests") == [(0,)]
    assert sql(world, "SELECT count(*) FROM webhook_attempts") == [(2,)]
    assert sql(world, "SELECT webhook_url, webhook_secret FROM apps WHERE client_id = ?", world.app["client_id"]) == [("https://now.example", b"\4")]
    for line in ("1 webhook deleted", "1 webhook with a changed secret, state or position", "1 app with a newer webhook"):
        assert f"carried over: {line}\n" in printed


def test_restore_of_a_newer_backup_does_not_set_webhooks_back(world):
    """An older backup was first restored over a new database. If the number of attempts decreased, the next
    attempt would have the number of a stored one, and no result could be stored any more."""
    add_endpoint(world, "Ann", "https://a.example")
    world.run("backup", "older.db")
    sql(world, "UPDATE webhook_endpoints SET position = 9, attempts = 4")
    sql(world, "INSERT INTO webhook_attempts SELECT id, 4, 9, 1, 1, 200, NULL, 0 FROM webhook_endpoints")
    world.run("backup", "newer.db")
    world.begin_new_database()
    world.run("restore", "older.db")
    sql(world, "UPDATE webhook_endpoints SET position = 5, attempts = 2, state = 1")
    printed = world.run("restore", "newer.db").out
    assert endpoints(world) == [("https://a.example", b"sealed", None, 1, 9, 4)] and sql(world, "SELECT number FROM webhook_attempts") == [(4,)]
    assert "carried over: 1 webhook with a changed secret, state or position\n" in printed


def test_secrets_of_a_newer_backup_are_not_replaced_by_secrets_from_before_a_key_rotation(world):
    """They are sealed with a removed key. The state of the endpoint is carried over nevertheless."""
    add_endpoint(world, "Ann", "https://a.example")
    sql(world, "UPDATE apps SET webhook_url = 'https://a.example', webhook_secret = ?", b"sealed")
    world.run("backup", "older.db")
    sql(world, "UPDATE webhook_endpoints SET secret = ?", b"resealed")
    sql(world, "UPDATE apps SET webhook_secret = ?", b"resealed")
    sql(world, "INSERT INTO meta (key, value) VALUES ('key_rotations', 1)")
    world.run("backup", "newer.db")
    world.begin_new_database()
    world.run("restore", "older.db")
    sql(world, "UPDATE webhook_endpoints SET position = 5, attempts = 2, state = 1")
    world.run("restore", "newer.db")
    assert endpoints(world) == [("https://a.example", b"resealed", None, 1, 5, 2)]
    assert sql(world, "SELECT DISTINCT webhook_url, webhook_secret FROM apps") == [("https://a.example", b"resealed")]


def test_webhook_endpoint_unknown_to_the_replaced_database_is_restored(world):
    add_endpoint(world, "Ann", "https://known.example")
    world.run("backup", "known.db")
    add_endpoint(world, "Ann", "https://newer.example")
    world.run("backup", "newer.db")
    world.run("restore", "known.db")
    world.run("restore", "newer.db")
    assert [url for url, *_ in endpoints(world)] == ["https://known.example", "https://newer.example"]


# --- completeness ---

# What a restore does with each table; see src/store/carry.h for the reasons. Add a new table in both places.
CARRIED = {"api_keys", "authors", "apps", "logins", "platform_credentials", "platform_limits", "meta", "webhook_endpoints", "audit", "erased_authors"}
DROPPED = {"sessions", "devices", "invitations", "oauth_codes", "platform_links", "refresh_lease", "leases", "webhook_requests"}
OF_THE_BACKUP = {"books", "videos", "post_keys", "daily", "author_daily", "events", "refresh_runs", "refresh_counts", "spool_files", "spool_errors", "app_redirects",
                 "platform_posts", "backup_state", "webhook_attempts"}


def test_every_table_has_a_restore_rule(viewtally):
    viewtally.run("migrate")
    # The table `store` exists only on a server, the table `daily` only in a database file.
    assert viewtally.tables() ^ (CARRIED | DROPPED | OF_THE_BACKUP) <= {"store", "daily"}
    viewtally.start()
    of_the_backup = {"compatible_since", "days_filled_to", "schema"}     # they describe the schema and the videos of the backup
    assert {key for key, in sql(viewtally, "SELECT key FROM meta")} <= of_the_backup | {
        "last_event_id", "store_id", "expiry_floor", "expiry_ahead_wall", "expiry_ahead_for"}
