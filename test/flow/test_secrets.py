"""The key file: creation, check, rotation while a server runs, and errors."""
import fcntl
import os
import re
import stat
import subprocess

import pytest

from lib import secrets
from lib.viewtally import Viewtally


def test_secrets_init_creates_a_key_file_but_never_replaces_it(viewtally):
    path = viewtally.directory / "k"
    done = viewtally.run("secrets", "init", str(path))
    assert f"key_file = {path}" in done.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert "already exists" in viewtally.run("secrets", "init", str(path), status=1).err
    assert path.read_bytes() == before and list(viewtally.directory.glob("k*")) == [path]
    assert "FILE is missing" in viewtally.run("secrets", "init", status=2).err
    viewtally.configure({"secrets": {"key_file": str(path)}})
    assert "already exists" in viewtally.run("secrets", "init", status=1).err
    other = viewtally.directory / "other"
    viewtally.configure({"secrets": {"key_file": str(other)}})
    assert "key_file =" not in viewtally.run("secrets", "init").out and other.exists()
    assert viewtally.run("secrets", "init", "/nowhere/at/all", status=3).err
    for words in ([], ["frobnicate"], ["init", "a", "b"], ["rotate", "x"], ["check", "x"]):
        assert viewtally.run("secrets", *words, status=2).err


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_commands_of_root_preserve_the_owner_of_the_key_file(viewtally):
    path = secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    os.chown(path, 12345, 23456)
    assert "1 account," in viewtally.run("secrets", "check").out
    viewtally.run("secrets", "rotate")
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (12345, 23456, 0o600)


@pytest.mark.sqlite_only("checks the owner of the database file")
@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_key_file_that_root_creates_belongs_to_the_owner_of_the_database(viewtally, tmp_path):
    """The service runs as that user and must be able to read the file in a directory of root."""
    viewtally.run("migrate")
    os.chown(viewtally.database, 12345, 23456)
    (tmp_path / "etc").mkdir()
    assert "owner unknown (12345)" in viewtally.run("secrets", "init", tmp_path / "etc/secrets.key").out
    status = (tmp_path / "etc/secrets.key").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o600)
    os.remove(viewtally.database)                       # before the first start, the file gets the owner of its directory
    os.chown(viewtally.directory, 12346, 23456)
    viewtally.run("secrets", "init", tmp_path / "etc/other.key")
    assert (tmp_path / "etc/other.key").stat().st_uid == 12346


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
@pytest.mark.parametrize("variables", [{"VIEWTALLY_STORE_URL": "postgresql://u@127.0.0.1/d"}, {}], ids=["database server", "missing database"])
def test_key_file_does_not_belong_to_the_owner_of_the_working_directory(viewtally, tmp_path, variables):
    """With sudo in a home directory, the user could read the key, and the server could not."""
    home, file = tmp_path / "home", tmp_path / "etc/secrets.key"
    home.mkdir()
    file.parent.mkdir()
    os.chown(home, 12345, 23456)
    os.chown(file.parent, 0, 23456)
    subprocess.run([viewtally.binary, "secrets", "init", file, "--config", "/dev/null"], cwd=home, env=viewtally.environment(variables),
                   capture_output=True, timeout=60, check=True)
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, 23456, 0o600)


def credential_of(viewtally, tmp_path):
    """Moves the key file to where systemd passes credentials. Returns the environment of the service."""
    path = secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    directory = tmp_path / "credentials"
    directory.mkdir()
    (directory / path.name).write_bytes(path.read_bytes())
    (directory / path.name).chmod(0o440)                # the mask of an ACL
    return path, {"CREDENTIALS_DIRECTORY": str(directory)}


def test_server_reads_the_key_file_from_a_credential(viewtally, tmp_path):
    path, environment = credential_of(viewtally, tmp_path)
    path.unlink()                                       # the service cannot read it
    assert "does not exist" in viewtally.run("serve", status=2, timeout=60).err
    viewtally.start(env=environment)
    viewtally.stop()
    assert "1 account," in viewtally.run("secrets", "check", env=environment).out
    for unused in ({"CREDENTIALS_DIRECTORY": ""}, {"CREDENTIALS_DIRECTORY": str(tmp_path)}):
        assert "does not exist" in viewtally.run("serve", status=2, timeout=60, env=unused).err


def test_keys_are_not_rotated_while_a_server_uses_a_credential(viewtally, tmp_path):
    """The server would continue to seal tokens with the key that the rotation removes."""
    path, environment = credential_of(viewtally, tmp_path)
    before = path.read_bytes()
    viewtally.start(env=environment)
    # If the sockets stay open, the next connection starts the server again.
    assert "systemctl stop 'viewtally*.socket' 'viewtally*.service'" in viewtally.run("secrets", "rotate", status=3).err
    assert path.read_bytes() == before
    viewtally.stop()
    viewtally.run("secrets", "rotate")
    assert path.read_bytes() != before
    assert "is not in the key file" in viewtally.run("serve", status=2, timeout=60, env=environment).err


def test_server_and_second_rotation_name_the_rotation_that_is_running(viewtally, tmp_path):
    path, environment = credential_of(viewtally, tmp_path)
    before = path.read_bytes()
    with open(f"{viewtally.database}-key-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = viewtally.run("serve", status=3, timeout=60, env=environment).err
        assert "the keys are being rotated: start the server again when `viewtally secrets rotate` has finished" in refused
        refused = viewtally.run("secrets", "rotate", status=3).err
        assert "the keys are being rotated by another process" in refused and "systemctl" not in refused
    assert path.read_bytes() == before
    viewtally.run("secrets", "rotate")


def test_no_key_file_is_needed_without_accounts_and_webhooks(viewtally):
    viewtally.run("migrate")
    for done in (viewtally.run("secrets", "check").out, viewtally.run("secrets", "rotate", status=2).err):
        assert "[secrets] key_file is not set" in done and "viewtally secrets init FILE, and set [secrets] key_file = FILE" in done
    assert "KEY" not in viewtally.run("secrets", "check").out
    assert viewtally.run("secrets", "check", "--json").json() == {"keys": [], "accounts": 0, "webhooks": 0}
    with viewtally:
        assert viewtally.admin().get("/readyz").status == 200


def test_no_file_contains_a_plain_token(viewtally):
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    for path in viewtally.directory.iterdir():
        assert b"SECRET" not in path.read_bytes(), path


@pytest.mark.parametrize("spoil, reason", [
    (lambda path: path.unlink(), "does not exist"),
    (lambda path: path.chmod(0o644), "chmod 600"),
    (lambda path: path.write_text("nonsense\n"), "line 1"),
    (lambda path: path.write_text("deadbeef " + "00" * 32 + "\n"), "is not in the key file"),
    (lambda path: path.write_text(secrets.key_ids(path)[0] + " " + "00" * 32 + "\n"), "cannot decrypt the tokens"),
])
def test_server_and_refresh_do_not_start_if_tokens_cannot_be_decrypted(viewtally, spoil, reason):
    path = secrets.with_keys(viewtally)
    viewtally.configure({"refresh": {"source": "simulated"}})
    secrets.connect(viewtally, viewtally.add_author())
    viewtally.run("refresh")
    spoil(path)
    for words in (["serve"], ["refresh"]):
        error = viewtally.run(*words, status=2, timeout=60).err
        assert reason in error and str(path) in error, error
    assert reason in viewtally.run("secrets", "check", status=1 if "cannot decrypt" in reason else 2).err


@pytest.mark.sqlite_only("damages a page of the database file")
def test_unreadable_table_of_accounts_is_an_error_of_the_database(viewtally):
    secrets.with_keys(viewtally)
    viewtally.configure({"refresh": {"source": "simulated"}})
    secrets.connect(viewtally, viewtally.add_author(), account="Q" * 200)
    data = viewtally.database.read_bytes()
    at = next(at for at in range(0, len(data), 4096) if data[at] == 13 and b"Q" * 200 in data[at:at + 4096])
    with open(viewtally.database, "r+b") as file:
        file.seek(at)
        file.write(b"\xff" * 100)
    for words in (["serve"], ["refresh"], ["secrets", "check"]):
        assert "database error" in viewtally.run(*words, status=3, timeout=60).err


def test_commands_fail_if_the_key_file_of_stored_tokens_is_not_configured(viewtally):
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    viewtally.configure({"secrets": {"key_file": ""}, "refresh": {"source": "simulated"}})
    for words in (["serve"], ["refresh"], ["secrets", "check"]):
        assert "key_file is not set: set it to the key file that sealed them" in viewtally.run(*words, status=2, timeout=60).err


def test_keys_can_be_rotated_while_the_server_runs(viewtally):
    path = secrets.with_keys(viewtally)
    author = viewtally.add_author()
    numbers = [secrets.connect(viewtally, author, account=f"open-{i}") for i in range(3)]
    viewtally.run("app", "add", "--name", "Planner", "--redirect-uri", "https://planner.example/back",
                  "--webhook-url", "https://planner.example/hook")
    old, = secrets.key_ids(path)
    old_key_file = path.read_bytes()
    with viewtally:
        done = viewtally.run("secrets", "rotate")
        new, = secrets.key_ids(path)
        assert new != old and f"new key is {new}" in done.out and f"Resealed: {len(numbers)} accounts and 1 webhook." in done.out
        heading, *lines, last = viewtally.run("secrets", "check").out.splitlines()
        assert heading.split() == ["KEY", "USE"] and [line.split(None, 1) for line in lines] == [[new, "encrypts and decrypts"]]
        assert last == f"{len(numbers)} accounts and 1 webhook, all can be decrypted"
        assert viewtally.run("secrets", "check", "--json").json() == {"keys": [{"id": new, "encrypts": True}], "accounts": len(numbers), "webhooks": 1}
        # The server that was running during the rotation is still ready.
        assert viewtally.admin().get("/readyz").status == 200
    # A command that runs after the rotation encrypts with the new key.
    secrets.connect(viewtally, author, account="open-later")
    ids = {row[0][:4].hex() for row in secrets.rows(viewtally, "SELECT access_sealed FROM platform_credentials")}
    assert ids == {new}
    # The old key file decrypts none of the tokens, and the check reports that.
    path.write_bytes(old_key_file)
    assert "is not in the key file" in viewtally.run("secrets", "check", status=2).err


def test_rotate_stops_at_a_damaged_row_and_loses_nothing(viewtally):
    path = secrets.with_keys(viewtally)
    author = viewtally.add_author()
    secrets.connect(viewtally, author, account="a")
    bad = secrets.connect(viewtally, author, account="b")
    before = path.read_text()
    viewtally.sql("UPDATE platform_credentials SET refresh_sealed = access_sealed WHERE id = ?", bad)
    assert "cannot decrypt the tokens of account b" in viewtally.run("secrets", "rotate", status=1).err
    ids = secrets.key_ids(path)
    assert len(ids) == 2 and ids[1] in before       # the old key remains while a row uses it
    assert "cannot decrypt the tokens" in viewtally.run("secrets", "check", status=1).err
    viewtally.run("platform", "remove", str(bad))
    viewtally.run("secrets", "rotate")
    assert len(secrets.key_ids(path)) == 1
    assert "1 account," in viewtally.run("secrets", "check").out


def add_app_with_webhook(viewtally):
    """Returns the client id of the app."""
    viewtally.run("migrate")
    added = viewtally.run("app", "add", "--name", "A", "--redirect-uri", "https://a.example/", "--webhook-url", "https://a.example/hook")
    return re.search(r"app_\w+", added.out)[0]


def test_rotate_names_the_webhook_whose_secret_is_damaged(viewtally):
    secrets.with_keys(viewtally)
    client_id = add_app_with_webhook(viewtally)
    viewtally.sql("UPDATE apps SET webhook_secret = substr(webhook_secret, 1, length(webhook_secret) - 1)")
    assert f"cannot decrypt the secret of the app {client_id} with" in viewtally.run("secrets", "rotate", status=1).err


def test_check_blames_the_key_only_for_a_row_that_names_a_key(viewtally):
    path = secrets.with_keys(viewtally)
    client_id = add_app_with_webhook(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    key_id, = secrets.key_ids(path)
    right = path.read_bytes()
    path.write_text(f"{key_id} {'00' * 32}\n")
    token, secret, _ = viewtally.run("secrets", "check", status=1).err.splitlines()
    assert "account open-1: " in token and f"the secret of the app {client_id}: " in secret
    for line in (token, secret):
        assert f"key {key_id} in {path} is not the key that sealed" in line and line.endswith("or the row is damaged")
    path.write_bytes(right)
    viewtally.sql("UPDATE platform_credentials SET access_sealed = substr(access_sealed, 1, 10)")
    viewtally.sql("UPDATE apps SET webhook_secret = substr(webhook_secret, 1, 10)")
    token, secret, _ = viewtally.run("secrets", "check", status=1).err.splitlines()
    assert token.endswith("account open-1: the row is damaged") and secret.endswith(f"the secret of the app {client_id}: the row is damaged")


@pytest.mark.sqlite_only("damages the database file")
@pytest.mark.parametrize("table", ["platform_credentials", "webhook_endpoints"])
def test_rotate_does_not_advise_to_remove_an_account_if_the_database_is_damaged(viewtally, table):
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    (page, size), = viewtally.sql("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?", table)
    with open(viewtally.database, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    refused = viewtally.run("secrets", "rotate", status=3).err
    assert "database disk image is malformed" in refused and "platform remove" not in refused
    assert "the row is damaged" not in viewtally.run("secrets", "check", status=None).err


def test_check_lists_the_rows_that_cannot_be_decrypted(viewtally):
    path = secrets.with_keys(viewtally)
    author = viewtally.add_author()
    for number in range(23):
        secrets.connect(viewtally, author, account=f"open-{number}")
    viewtally.run("app", "add", "--name", "A", "--redirect-uri", "https://a.example/", "--webhook-url", "https://a.example/hook")
    viewtally.sql("UPDATE platform_credentials SET refresh_sealed = access_sealed WHERE account_id IN ('open-3', 'open-7')")
    viewtally.sql("UPDATE apps SET webhook_secret = substr(webhook_secret, 1, length(webhook_secret) - 1)")
    *failures, last = viewtally.run("secrets", "check", status=1).err.splitlines()
    assert [word in line for word, line in zip(("account open-3:", "account open-7:", "the secret of the app app_"), failures, strict=True)] == [True] * 3
    assert last.endswith(": accounts and webhooks that cannot be decrypted: 3 of 24")
    path.write_text("deadbeef " + "00" * 32 + "\n")
    *failures, last = viewtally.run("secrets", "check", status=2).err.splitlines()
    assert len(failures) == 20 and last.endswith("cannot be decrypted: 24 of 24; only the first are listed")


@pytest.mark.sqlite_only("serves a backup")
def test_tokens_in_a_backup_cannot_be_decrypted_without_the_key(viewtally, tmp_path):
    secrets.with_keys(viewtally)
    secrets.connect(viewtally, viewtally.add_author())
    copy = tmp_path / "copy.db"
    viewtally.run("backup", str(copy))
    assert b"SECRET" not in copy.read_bytes()
    other = Viewtally(tmp_path / "other")
    copy.rename(other.directory / "viewtally.db")
    assert "is not set" in other.run("serve", status=2, timeout=60).err
