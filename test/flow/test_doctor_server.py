"""viewtally doctor: what the user of the server may do with files, and whether the units of systemd run."""
import grp
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

from lib.doctor import SECRET, diagnose, expect, with_author


@pytest.fixture
def instance(make_viewtally):
    return with_author(make_viewtally({"server": {"base_url": "http://127.0.0.1:1/v1"}}))


@pytest.fixture
def open_directory():
    """A directory that other users can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path = pathlib.Path(directory)
        path.chmod(0o755)
        yield path


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")


@needs_root
@pytest.mark.sqlite_only("the server is assumed to run as the owner of the database file")
@pytest.mark.parametrize("owner, group, mode, state", [
    (1234, 1234, 0o750, "ok"), (1234, 0, 0o550, "error"), (0, 1234, 0o770, "ok"), (0, 1234, 0o755, "error"),
    (0, 0, 0o755, "error"), (0, 0, 0o777, "ok"), (1234, 1234, 0o070, "error"),
])
def test_backup_directory_that_the_server_cannot_write_is_found(instance, open_directory, owner, group, mode, state):
    """Root can write anywhere, but the server runs as the owner of the database."""
    backups = open_directory / "backups"
    backups.mkdir()
    instance.configure({"backup": {"directory": backups}})
    os.chown(instance.database, 1234, 1234)
    os.chown(backups, owner, group)
    backups.chmod(mode)
    expect(diagnose(instance), "files.backup_directory", state, "the server cannot write" if state == "error" else "can be written")


@needs_root
@pytest.mark.sqlite_only("the server is assumed to run as the owner of the database file")
@pytest.mark.parametrize("owner, group, mode, state", [
    (1234, 0, 0o600, "ok"), (0, 1234, 0o640, "ok"), (0, 0, 0o600, "error"), (0, 1234, 0o600, "error"), (0, 0, 0o640, "error"),
])
def test_files_that_the_server_cannot_read_are_found(instance, open_directory, owner, group, mode, state):
    """Root can read every file, but the server runs as the owner of the database."""
    secret = open_directory / "password"
    secret.write_text(SECRET)
    instance.configure({"redis": {"url": "redis://127.0.0.1:1", "password_file": secret}})
    os.chown(instance.database, 1234, 1234)
    os.chown(secret, owner, group)
    secret.chmod(mode)
    message = f"the server, which runs as 1234, cannot read {secret}: Permission denied" if state == "error" else "private and readable"
    expect(diagnose(instance), "files.secret_files", state, message)
    secret.chmod(0o640)
    os.chown(secret, 0, 1234)
    open_directory.chmod(0o700)
    expect(diagnose(instance), "files.secret_files", "error", f"cannot read {secret}")
    config = open_directory / "config.ini"
    config.write_text(instance.config_path.read_text())
    os.chown(config, owner, group)
    config.chmod(mode)
    open_directory.chmod(0o755)
    instance.config_path = config
    expect(diagnose(instance), "files.config_file", state, "cannot read" if state == "error" else "contains no secret")


# --- units of systemd ---


class Units:
    """An installation with a fake systemctl that prints the units in `shown`."""

    def __init__(self, instance, program):
        self.instance, self.program = instance, program
        self.shown, self.credential = [], ""

    def add(self, name="viewtally.service", state="active", config=None, **properties):
        known = {"Id": name, "LoadState": "loaded", "ActiveState": state, "UnitFileState": "enabled",
                 "ExecStart": "{ path=/usr/bin/viewtally ; argv[]=/usr/bin/viewtally serve --config "
                              f"{config or self.instance.config_path} ; ignore_errors=no ; pid=0 }}", **properties}
        self.shown.append("".join(f"{key}={value}\n" for key, value in known.items()))

    def diagnose(self):
        self.program.write_text("#!/bin/sh\nif [ $1 = show ]; then cat <<'END'\n" + "\n".join(self.shown) + "END\n"
                                f"else echo '[Service]'; [ $2 != viewtally.service ] || echo 'LoadCredential={self.credential}'; fi\n")
        self.program.chmod(0o755)
        self.shown = []
        return diagnose(self.instance, env={"VIEWTALLY_TEST_SYSTEMCTL": str(self.program)})


@pytest.fixture
def units(make_viewtally, tmp_path):
    made = make_viewtally({"server": {"base_url": "http://127.0.0.1:1/v1"}, "admin": {"listen": "127.0.0.1:1"}}, seams=True)
    made.add_author()
    return Units(made, tmp_path / "systemctl")


def test_unit_that_should_run_but_does_not_is_an_error(units):
    units.add(state="failed")
    findings = units.diagnose()
    (state, message, fix), = findings["server.units"]
    assert (state, message) == ("error", "viewtally.service is enabled, but does not run (failed)")
    assert "journalctl -u viewtally.service -n 20" in fix and "systemctl restart viewtally.service" in fix
    expect(findings, "server.ready", "skipped")
    units.add("viewtally@1.service", "activating", SubState="auto-restart")
    units.add("viewtally@2.service")
    findings = units.diagnose()
    expect(findings, "server.units", "error", "viewtally@1.service is enabled, but does not run (activating)")
    units.add("viewtally@1.service", "activating", SubState="start")
    units.add("viewtally@2.service")
    expect(units.diagnose(), "server.units", "ok", "2 enabled units run")
    units.add(UnitFileState="disabled")
    expect(units.diagnose(), "server.units", "warning", "no unit is enabled")
    units.add(state="failed", config="/etc/other.ini")
    expect(units.diagnose(), "server.units", "skipped", "no unit that runs a server with this configuration")


def test_server_that_runs_but_does_not_respond_is_an_error(units):
    units.add("viewtally@2.service")
    (state, message, fix), = units.diagnose()["server.ready"]
    assert state == "error" and message.startswith("viewtally@2.service runs, but does not respond: 127.0.0.1:1: cannot connect")
    assert "journalctl -u viewtally@2.service" in fix
    expect(units.diagnose(), "server.ready", "warning", "no server responds: 127.0.0.1:1: cannot connect")
    units.instance.configure({"admin": {"listen": "127.0.0.1:0"}})
    with units.instance as server:
        address = server.admin_addresses[0]
        units.add("viewtally@2.service", Environment=f"A=1 VIEWTALLY_ADMIN_LISTEN={address}")
        expect(units.diagnose(), "server.ready", "ok", f"the server at {address} responds: ready")
    expect(units.diagnose(), "server.ready", "skipped", "its port is 0")


def diagnose_as_nobody(instance, directory, variables):
    nobody = pwd.getpwnam("nobody")
    program = shutil.copy(instance.binary, directory)           # nobody may not reach the build directory if it is below /root
    environment = instance.environment(variables | {"VIEWTALLY_TEST_SYSTEM_CONFIG": str(directory / "none")})
    done = subprocess.run([program, "doctor", "--json"], cwd=directory, env=environment, user=nobody.pw_uid, group=nobody.pw_gid,
                          extra_groups=[], capture_output=True, check=False, timeout=60)
    return {f["check"]: f for f in json.loads(done.stdout)["findings"]}


@needs_root
def test_fix_names_the_user_who_runs_the_command(instance, open_directory):
    key = open_directory / "secrets.key"
    instance.run("secrets", "init", str(key))
    backups = open_directory / "backups"                        # not of this user, because there is no database of this user
    found = diagnose_as_nobody(instance, open_directory, {"VIEWTALLY_SECRETS_KEY_FILE": str(key), "VIEWTALLY_BACKUP_DIRECTORY": str(backups)})
    assert found["key_file"]["state"] == "error" and found["key_file"]["fix"].startswith(f"chown nobody {key} && "), found
    assert found["backup_directory"]["fix"].startswith(f"install -d -o viewtally -g viewtally -m 750 {backups}, "), found


@needs_root
@pytest.mark.sqlite_only("the server is assumed to run as the owner of the database file")
@pytest.mark.parametrize("mode", [0o755, 0o700], ids=["readable directory", "private directory"])
def test_user_who_does_not_own_the_database_is_not_advised_to_take_files_from_the_server(instance, open_directory, mode):
    """With `chown nobody secrets.key`, the server would not start any more."""
    data = open_directory / "data"
    data.mkdir(mode)
    key, database, log = data / "secrets.key", data / "viewtally.db", data / "access.log"
    instance.run("secrets", "init", str(key))
    database.touch(0o640)
    log.touch(0o640)
    found = diagnose_as_nobody(instance, open_directory, {"VIEWTALLY_STORE_PATH": str(database), "VIEWTALLY_SECRETS_KEY_FILE": str(key),
                                                          "VIEWTALLY_BACKUP_DIRECTORY": str(data), "VIEWTALLY_LOG_ACCESS": str(log)})
    for check in ("key_file", "backup_directory", "directory", "access_log"):
        assert (found[check]["state"], found[check]["fix"]) == ("error", "run this command as root or as the user of the server"), found[check]


@needs_root
@pytest.mark.sqlite_only("the server is assumed to run as the owner of the database file")
def test_fixes_change_neither_the_group_of_the_spool_nor_the_directory_of_the_access_log(instance, open_directory):
    """The group may be that of the programs that write to the spool, and the directory may be /var/log."""
    spool, log = open_directory / "spool", open_directory / "access.log"
    spool.mkdir()
    instance.configure({"refresh": {"source": "spool", "spool_dir": spool}, "log": {"access": log}})
    os.chown(instance.database, 1234, 1234)
    findings = diagnose(instance)
    (state, _, fix), = findings["files.spool"]
    assert state == "error" and fix == f"chown 1234 {spool} && chmod u+rwx {spool}, or name another directory if this one belongs to the system"
    (state, _, fix), = findings["files.access_log"]
    assert state == "error" and fix == f"install -o 1234 -g 1234 -m 640 /dev/null {log}"
    subprocess.run(["sh", "-ec", fix], check=True)
    expect(diagnose(instance), "files.access_log", "ok")


@needs_root
@pytest.mark.sqlite_only("the server is assumed to run as the owner of the database file")
def test_missing_database_is_assumed_to_belong_to_the_owner_of_its_directory(instance, open_directory):
    spool, data = open_directory / "spool", open_directory / "data"
    data.mkdir()
    os.chown(data, 1234, 1234)
    instance.configure({"store": {"path": data / "viewtally.db"}, "refresh": {"source": "spool", "spool_dir": spool}})
    (state, _, fix), = diagnose(instance, status=1)["files.spool"]
    assert state == "error" and fix == f"install -d -o 1234 -g 1234 -m 2770 {spool}"
    relative = instance.environment({"VIEWTALLY_STORE_PATH": "viewtally.db"})       # the owner of the working directory is not asked
    done = subprocess.run([instance.binary, "doctor", "--json", "--config", instance.config_path], cwd=data, env=relative, capture_output=True,
                          check=False, timeout=60)
    found = {f["check"]: f for f in json.loads(done.stdout)["findings"]}
    assert found["spool"]["fix"] == f"install -d -o viewtally -g viewtally -m 2770 {spool}"


@pytest.mark.sqlite_only("the permissions of the database file")
def test_database_is_checked_for_the_user_of_the_unit(units):
    units.add(User="nobody")
    expect(units.diagnose(), "files.database", "error", "user nobody cannot read and write the database")


@needs_root
def test_files_are_checked_for_the_user_of_the_unit(units, open_directory):
    """doctor checks as the owner of the database only if no unit names a user."""
    secret, key = open_directory / "password", open_directory / "secrets.key"
    secret.write_text(SECRET)
    units.instance.configure({"redis": {"url": "redis://127.0.0.1:1", "password_file": secret}, "secrets": {"key_file": key}})
    units.instance.run("secrets", "init")
    secret.chmod(0o600)
    nobody = pwd.getpwnam("nobody")
    units.add(User="nobody", SupplementaryGroups="daemon")
    findings = units.diagnose()
    expect(findings, "files.secret_files", "error", f"the server, which runs as nobody, cannot read {secret}")
    expect(findings, "files.key_file", "error", "does not belong to nobody")
    os.chown(secret, 0, grp.getgrnam("daemon").gr_gid)
    secret.chmod(0o640)
    units.credential = f"secrets.key:{key}"
    units.add(User="nobody", SupplementaryGroups="daemon", LoadCredential="[unprintable]")
    findings = units.diagnose()
    expect(findings, "files.secret_files", "ok")
    expect(findings, "files.key_file", "ok", "systemd passes it to the server")
    units.add(User="nobody", LoadCredential="[unprintable]")
    units.add("viewtally@2.service", User="nobody", LoadCredential="[unprintable]")
    expect(units.diagnose(), "files.key_file", "error", "does not belong to nobody")
    units.add(User="nobody")
    expect(units.diagnose(), "files.secret_files", "error", "cannot read")
    os.chown(secret, nobody.pw_uid, 0)
    os.chown(key, nobody.pw_uid, 0)
    units.add(User="nobody")
    findings = units.diagnose()
    expect(findings, "files.secret_files", "ok")
    expect(findings, "files.key_file", "ok", "private and readable")
