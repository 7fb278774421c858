"""Files created by commands of root are usable by the service's user."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from lib import wait
from lib.client import Client
from lib.lines import author, reading, uid, video
from lib.viewtally import Viewtally, binary

SERVICE = 65534
POSTED, READ = "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can run commands for another user")


@pytest.fixture
def installation():
    """An installation whose directory and spool belong to another user; pytest's own directories are closed to that user."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="viewtally-owner-"))
    try:
        shutil.copy(binary(seams=True), directory / "viewtally")
        made = Viewtally(directory, {"refresh": {"source": "spool", "spool_dir": directory / "spool", "minute": "0"}})
        made.binary = str(directory / "viewtally")
        os.chown(directory, SERVICE, SERVICE)
        directory.chmod(0o750)
        os.chown(made.config_path, SERVICE, SERVICE)
        yield made
    finally:
        shutil.rmtree(directory)


def foreign_files(instance):
    """Returns the files below the directory whose owner is not the user of the service, except the files that the test has created."""
    own = {"viewtally", "config.ini"}
    found = []
    for path in instance.directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):        # a command that is ending has deleted the file
            if path.name not in own and path.suffix not in (".log", ".backup") and (path.stat().st_uid, path.stat().st_gid) != (SERVICE, SERVICE):
                found.append(str(path))
    return found


@contextlib.contextmanager
def serving_as_the_service(instance):
    process = subprocess.Popen([instance.binary, "serve", "--config", str(instance.config_path)], user=SERVICE, group=SERVICE, extra_groups=[],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=instance.directory,
                               env=instance.environment())
    try:
        line = process.stdout.readline().decode()
        assert line.startswith(("listening on", "admin listening on")), process.stderr.read().decode()
        addresses = [line, process.stdout.readline().decode()]
        yield next(text.split()[-1] for text in addresses if text.startswith("listening on"))
    finally:
        process.terminate()
        out, err = process.communicate()
    assert process.returncode == 0, (out, err)


def run_as_the_service(instance, *arguments, stdin=b""):
    return subprocess.run([instance.binary, *arguments, "--config", str(instance.config_path)], user=SERVICE, group=SERVICE, extra_groups=[],
                          input=stdin, capture_output=True, cwd=instance.directory, env=instance.environment(), check=False)


def assert_the_service_reads_and_writes(instance, key):
    with serving_as_the_service(instance) as address:
        with Client(address, key) as client:
            assert client.get("/account").status == 200
        assert run_as_the_service(instance, "author", "set-plan", uid("A"), "inactive").returncode == 0
        with Client(address, key) as client:
            assert client.get("/account").status == 403
        assert run_as_the_service(instance, "author", "set-plan", uid("A"), "active").returncode == 0
        done = run_as_the_service(instance, "import", "-", stdin=b"")
        assert done.returncode == 0, done


@pytest.mark.sqlite_only("the owner of the database file")
def test_files_created_by_root_commands_belong_to_the_service(installation):
    installation.run("migrate")
    assert foreign_files(installation) == []
    installation.import_lines([author("A"), video("V", "A", POSTED), reading("V", READ, 500)])
    assert (installation.directory / "viewtally.db-import").exists() and (installation.directory / "viewtally.db-lock").exists()
    assert foreign_files(installation) == []
    assert_the_service_reads_and_writes(installation, installation.create_key(uid("A")))


@pytest.mark.sqlite_only("the owner of the database file")
def test_lock_file_of_another_user_is_reported_with_the_command_that_corrects_it(installation):
    installation.run("migrate")
    lock = installation.directory / "viewtally.db-lock"
    os.chown(lock, 0, 0)
    lock.chmod(0o600)
    done = run_as_the_service(installation, "author", "list")
    assert done.returncode == 3 and f"(as root, run chown --reference={installation.database} {lock})" in done.stderr.decode()
    installation.database.chmod(0o666)
    os.chown(installation.database, 0, 0)
    assert "(run the command as the database's owner, or as root)" in run_as_the_service(installation, "author", "list").stderr.decode()


@pytest.mark.sqlite_only("the owner of the database file")
def test_wal_of_a_running_command_belongs_to_the_service(installation):
    """SQLite gives its own files the owner of the database if the superuser creates them."""
    installation.import_lines([author("A")])
    importing = installation.command("import", "-")
    try:
        log = installation.directory / "viewtally.db-wal"
        # SQLite changes the owner right after it has created the file.
        wait.until(lambda: log.exists() and foreign_files(installation) == [], "the log to belong to the service")
    finally:
        importing.communicate()
    assert importing.returncode == 0


@pytest.mark.sqlite_only("the owner of the database file")
def test_restored_database_keeps_owner_group_and_permissions(installation):
    installation.import_lines([author("A"), video("V", "A", POSTED), reading("V", READ, 500)])
    key = installation.create_key(uid("A"))
    installation.run("backup", "one.backup")
    os.chown(installation.database, SERVICE, 12345)
    installation.database.chmod(0o660)
    printed = installation.run("restore", "one.backup").out
    status = installation.database.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (SERVICE, 12345, 0o660)
    assert f"({SERVICE}), group" in printed and "(12345), mode 0660" in printed
    os.chown(installation.database, SERVICE, SERVICE)
    aside, = installation.directory.glob("viewtally.db.before-*")
    os.chown(aside, SERVICE, SERVICE)
    assert foreign_files(installation) == []
    assert_the_service_reads_and_writes(installation, key)


@pytest.mark.sqlite_only("the owner of the database file")
def test_database_restored_into_an_empty_directory_gets_the_owner_of_the_directory(installation):
    installation.import_lines([author("A")])
    key = installation.create_key(uid("A"))
    installation.run("backup", "one.backup")
    for path in installation.directory.glob("viewtally.db*"):
        path.unlink()
    printed = installation.run("restore", "one.backup").out
    status = installation.database.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (SERVICE, SERVICE, 0o640)
    assert f"({SERVICE}), group" in printed and "mode 0640" in printed
    assert foreign_files(installation) == []
    assert_the_service_reads_and_writes(installation, key)


def test_files_that_a_refresh_by_root_leaves_in_the_spool_belong_to_the_service(installation):
    installation.import_lines([author("A"), video("V", "A", POSTED)])
    spool = installation.directory / "spool"
    spool.mkdir()
    os.chown(spool, SERVICE, SERVICE)
    waiting = spool / "one.ndjson"
    waiting.write_bytes(b'{"type":"nonsense"}\n')
    os.chown(waiting, SERVICE, SERVICE)
    installation.run("refresh", status=1)
    assert (spool / "bad" / "one.ndjson").exists() and (spool / "bad" / "one.ndjson.errors").exists() and (spool / "done").is_dir()
    assert foreign_files(installation) == []
    with serving_as_the_service(installation):
        second = spool / "two.tmp"
        second.write_bytes(b"{}\n")
        os.chown(second, SERVICE, SERVICE)
        second.rename(spool / "two.ndjson")
        wait.until((spool / "bad" / "two.ndjson.errors").exists, "the service to move a file")


@pytest.mark.sqlite_only("the owner of the database file")
def test_root_command_does_not_follow_planted_links(installation):
    """The service can write its directory. A root command must not change the owner of the target of a link in it."""
    installation.import_lines([author("A")])
    installation.run("backup", "one.backup")
    secret = installation.directory / "secret.backup"
    secret.write_bytes(b"of root")
    for name in ("viewtally.db-restore", "viewtally.db-restore-new"):
        os.link(secret, installation.directory / name)
    installation.run("restore", "one.backup")
    assert secret.read_bytes() == b"of root" and secret.stat().st_uid == 0
    (installation.directory / "viewtally.db-import").unlink()
    (installation.directory / "viewtally.db-import").symlink_to(secret)
    assert "cannot acquire the import lock" in installation.run("import", "-", status=3).err
    assert secret.stat().st_uid == 0


def test_root_command_creates_no_database_through_a_planted_link(installation):
    installation.database.unlink(missing_ok=True)
    installation.database.symlink_to(installation.directory / "elsewhere.db")
    refused = installation.run("migrate", status=3).err
    assert "it is a symbolic link to a file that does not exist; name that file in [store] path, or delete the link" in refused
    assert not (installation.directory / "elsewhere.db").exists()
