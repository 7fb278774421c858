#!/usr/bin/python3
"""Builds the Debian package in bare systems, and installs, upgrades and removes it with real systemd. `make test-deb`
runs it.

Usage: packages.py [--suite bookworm|trixie]… [--package FILE] [--only WORD] [--arm64]

For each suite: builds the package, then installs, upgrades, downgrades, removes and purges it, each check in a fresh
machine.
--package tests that file instead of building one. --arm64 cross-builds on bookworm and runs the program under qemu.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "systemd"), str(HERE.parent)]
from builder import Builder                 # noqa: E402
from installed import Load              # noqa: E402
from machine import ROOT, Machine, build_root   # noqa: E402
from smoke import run_under_qemu            # noqa: E402

PACKAGES = ROOT / "build/deb-test"          # machines see it below /source
NEWER = "99.0.0-1"
AUTHOR = "00000000-0000-0000-0000-000000000001"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0"
PORT, SECOND_PORT = 8080, 8081
URL = f"http://127.0.0.1:{PORT}/v1/account"
STATUS = ("/usr/bin/python3 -c 'import sys, urllib.request as r, urllib.error as e\n"
          "try: print(r.urlopen(r.Request(sys.argv[1], headers={\"Authorization\": \"Bearer \" + sys.argv[2]}), timeout=30).status)\n"
          f"except e.HTTPError as error: print(error.code)' {URL} ")


def with_version(package, version, target, edit=lambda root: None):
    """Writes the same package with another version to `target`. edit(root) may change its files."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["dpkg-deb", "-R", str(package), directory], check=True)
        control = pathlib.Path(directory, "DEBIAN/control")
        text, count = re.subn(r"(?m)^Version: .*$", f"Version: {version}", control.read_text(encoding="utf-8"))
        assert count == 1
        control.write_text(text, encoding="utf-8")
        edit(pathlib.Path(directory))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", directory, str(target)], check=True, stdout=subprocess.DEVNULL)


class System:
    """A machine with the package, installed as docs/install.md describes."""

    def __init__(self, machine, packages):
        self.machine = machine
        self.packages = packages        # {"old": path, "new": path, "socket": path}, as the machine sees them
        self.key = None

    def run(self, command, check=True):
        done = self.machine.run(command, check=check)
        return done.stdout + done.stderr

    def apt(self, arguments):
        return self.run(f"{APT} {arguments} 2>&1")

    def install(self, which="old"):
        return self.apt(f"install --no-install-recommends --allow-downgrades {self.packages[which]}")

    def add_author(self):
        self.run(f"viewtally author add --name Ada --id {AUTHOR}")
        self.key = self.run(f"viewtally key create --author {AUTHOR} --name test").strip()

    def status(self):
        return self.run(STATUS + (self.key or "none")).strip()

    def main_pid(self, unit="viewtally.service"):
        return self.run(f"systemctl show -P MainPID {unit}").strip()

    def is_active(self, unit="viewtally.service"):
        return self.run(f"systemctl is-active {unit}", check=False).strip() == "active"

    def modes(self, *paths):
        return self.run(f"stat -c '%a %U %G' {' '.join(paths)}").splitlines()


def check(is_true, what):
    if not is_true:
        raise AssertionError(what)


# -- installing, upgrading, removing -----------------------------------------------------------------------------------


def check_install(system):
    output = system.install()
    check("Created" in output or "migrat" in output.lower(), f"migrate printed nothing:\n{output}")
    check(system.is_active() and system.is_active("viewtally.socket"), system.run("journalctl --no-pager -n 30 -u 'viewtally*'"))
    check(system.status() == "401", "no response")
    system.add_author()
    check(system.status() == "200", "a new key is rejected")
    check(system.modes("/etc/viewtally", "/etc/viewtally/config.ini", "/var/lib/viewtally", "/var/lib/viewtally/viewtally.db",
                       "/var/log/viewtally", "/run/viewtally") ==
          ["750 root viewtally", "640 root viewtally", "750 viewtally viewtally", "640 viewtally viewtally", "750 viewtally viewtally",
           "755 viewtally viewtally"], system.run("ls -la /etc/viewtally /var/lib/viewtally"))
    check("ready" in system.run("viewtally healthcheck"), "healthcheck")
    check("viewtally" in system.run("zcat /usr/share/man/man1/viewtally.1.gz | head -n 3"), "no man page")
    words = system.run("bash -c '. /usr/share/bash-completion/completions/viewtally; COMP_WORDS=(viewtally key cre) COMP_CWORD=2; "
                       "_viewtally; echo ${COMPREPLY[@]}'")
    check(words.strip() == "create", f"completion: {words}")
    check(system.run("systemctl is-enabled viewtally.service viewtally.socket").split() == ["enabled", "enabled"], "not enabled")


def check_upgrade_and_downgrade(system):
    system.install()
    system.add_author()
    app = json.loads(system.run("viewtally app add --name Planner --redirect-uri https://planner.example/connected --json"))["client_id"]
    system.run("printf '\\n[limits]\\nrequests_per_minute = 0\\n' >>/etc/viewtally/config.ini && systemctl restart viewtally")
    for which in ("new", "old"):
        before = system.main_pid()
        with Load(system.machine, system.key, app, PORT) as load:
            system.install(which)
            check(system.main_pid() != before and system.is_active(), f"{which}: not restarted")
        check(not any(load.failed.values()) and all(load.succeeded.values()), f"{which}: requests were lost:\n{load.output}")
        print(f"   {which}: {load.describe()}")
        check(system.status() == "200", f"{which}: the key is rejected")
        check("requests_per_minute = 0" in system.run("cat /etc/viewtally/config.ini"), "the configuration was replaced")
        check(system.modes("/etc/viewtally/config.ini") == ["640 root viewtally"], "the mode of the configuration has changed")


def check_upgrade_of_instances(system):
    system.install()
    system.add_author()
    system.run("systemctl disable --now viewtally.service && systemctl enable --now viewtally@1 viewtally@2")
    before = [system.main_pid(f"viewtally@{n}") for n in (1, 2)]
    system.install("new")
    after = [system.main_pid(f"viewtally@{n}") for n in (1, 2)]
    check(all(system.is_active(f"viewtally@{n}") for n in (1, 2)) and not set(before) & set(after), f"{before} {after}")
    check(not system.is_active(), "the disabled viewtally.service was started")
    check(system.status() == "200", "no response")
    system.apt("remove viewtally")
    check(not any(system.is_active(f"viewtally@{n}") for n in (1, 2)), "instances run after the package was removed")
    system.apt("purge viewtally")
    check(not system.run("ls /etc/systemd/system/*.wants | grep viewtally", check=False).strip(), "links of the instances are left")


def change_socket(root):
    unit, = root.glob("**/systemd/system/viewtally.socket")
    text = unit.read_text(encoding="utf-8")
    old = f"ListenStream=127.0.0.1:{PORT}\n"
    assert old in text
    unit.write_text(text.replace(old, f"{old}ListenStream=127.0.0.1:{SECOND_PORT}\n"), encoding="utf-8")


def check_changed_socket_is_reported(system):
    """An upgrade leaves the open socket unchanged, and prints the command that opens it with the settings of the new
    unit."""
    system.install()
    system.add_author()
    check("new settings" not in system.install("new"), "an unchanged socket is reported")
    output = system.install("socket")
    command = re.search(r"has new settings.*\n  (systemctl stop .*)", output)
    check(command and system.status() == "200", output)
    ports = f"ss -Hltn 'sport >= :{PORT} and sport <= :{SECOND_PORT}' | awk '{{ print $4 }}' | sort"
    check(system.run(ports).split() == [f"127.0.0.1:{PORT}"], "the open socket was replaced")
    system.run(command[1])
    check(system.run(ports).split() == [f"127.0.0.1:{PORT}", f"127.0.0.1:{SECOND_PORT}"], system.run("ss -ltn"))
    check(system.is_active() and system.status() == "200", f"no response after {command[1]}")
    system.run("test ! -e /run/viewtally.socket.old")


def check_remove_and_reinstall(system):
    system.install()
    system.add_author()
    system.apt("remove viewtally")
    check("viewtally" not in system.run("ls -l /proc/[0-9]*/exe 2>/dev/null", check=False), "the service runs after the package was removed")
    check("8080" not in system.run("cat /proc/net/tcp | grep -i ':1F90 .* 0A ' && echo 8080", check=False), "the socket is open")
    system.run("test -e /var/lib/viewtally/viewtally.db && test -e /etc/viewtally/config.ini")
    system.install()
    check(system.status() == "200", "the key is rejected after reinstalling")


def check_reinstall_starts_enabled_instances(system):
    """A request after the installation reaches the instances, and does not start viewtally.service, which is disabled."""
    system.install()
    system.add_author()
    system.run("systemctl disable --now viewtally.service && systemctl enable viewtally.socket && "
               "systemctl enable --now viewtally@2.socket && systemctl enable --now viewtally@1 viewtally@2")
    system.apt("remove viewtally")
    system.install()
    check(all(system.is_active(unit) for unit in ("viewtally@1", "viewtally@2", "viewtally.socket", "viewtally@2.socket")),
          system.run("systemctl --no-pager list-units --all 'viewtally*'; journalctl --no-pager -n 40 -u 'viewtally*'"))
    check(system.status() == "200", "no response")
    check(not system.is_active(), "the disabled viewtally.service was started")
    check("127.0.0.1:8080" in system.run("ss -Hltnp 'sport = :8080'") and "systemd" in system.run("ss -Hltnp 'sport = :8080'"),
          "the instances do not use viewtally.socket")
    system.run("systemctl stop viewtally@1")
    system.install("new")
    check(not system.is_active("viewtally@1"), "the upgrade started a stopped instance")
    check(system.status() == "200" and system.is_active("viewtally@2"), "no response after the upgrade")
    system.run("test ! -e /run/viewtally.was-absent")


def check_purge_keeps_data(system):
    system.install()
    system.add_author()
    system.run("echo secret >/etc/viewtally/secrets.key")
    output = system.apt("purge viewtally")
    check("kept the database and the backups in /var/lib/viewtally" in output, output)
    check("kept your files in /etc/viewtally" in output, output)
    system.run("test -e /var/lib/viewtally/viewtally.db && test -e /etc/viewtally/secrets.key")
    system.run("test ! -e /etc/viewtally/config.ini && test ! -e /var/log/viewtally && test ! -e /etc/logrotate.d/viewtally")
    system.install()
    check(system.status() == "200", "the kept database is not used")


def check_purge_deletes_data(system):
    system.install()
    system.run("echo 'viewtally viewtally/purge-data boolean true' | debconf-set-selections")
    output = system.apt("purge viewtally")
    check("deleted /var/lib/viewtally" in output, output)
    system.run("test ! -e /var/lib/viewtally && test ! -e /etc/viewtally")
    check("viewtally/" not in system.run("debconf-show viewtally", check=False), "debconf still has the answer")
    system.install()
    check(system.status() == "401", "no new database after reinstalling")


def check_bad_configuration_is_reported(system):
    system.run("mkdir -p /etc/viewtally && printf '[store]\\npath = /nowhere/viewtally.db\\n' >/etc/viewtally/config.ini")
    output = system.apt(f"install --no-install-recommends -o DPkg::Options::=--force-confold {system.packages['old']}")
    check("the database could not be created" in output and "/nowhere" in output and "does not start" in output, output)
    system.run("sed -i s:/nowhere:/var/lib/viewtally: /etc/viewtally/config.ini && runuser -u viewtally -- viewtally migrate "
               "--config /etc/viewtally/config.ini && systemctl restart viewtally")
    check(system.status() == "401", "no response after following the message")


CHECKS = [check_install, check_upgrade_and_downgrade, check_upgrade_of_instances, check_changed_socket_is_reported,
          check_remove_and_reinstall, check_reinstall_starts_enabled_instances, check_purge_keeps_data, check_purge_deletes_data,
          check_bad_configuration_is_reported]


def check_without_systemd(suite, packages):
    """Installs the package in a system that is not booted, such as a container image that is being built."""
    script = f"{APT} install --no-install-recommends {packages['old']} && viewtally status && {APT} purge viewtally"
    done = subprocess.run(["systemd-nspawn", "--quiet", f"--directory={build_root(suite)}", "--volatile=overlay", "--private-network",
                           "--register=no", "--keep-unit", f"--bind-ro={ROOT}:/source", "--as-pid2", "--pipe", "sh", "-ec", script],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode == 0, done.stdout)


# -- all ---------------------------------------------------------------------------------------------------------------


def prepare(package, suite):
    """Writes three versions of the package below /source, where the machines see them. Returns {name: path in the
    machines}."""
    directory = PACKAGES / suite
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    shutil.copy(package, directory / "old.deb")
    with_version(package, NEWER, directory / "new.deb")
    with_version(package, "99.0.1-1", directory / "socket.deb", change_socket)
    return {path.stem: f"/source/{path.relative_to(ROOT)}" for path in directory.iterdir()}


def check_debian_release(suite, package, only):
    packages = prepare(package, suite)
    failures = 0
    for each in CHECKS:
        name = each.__name__.removeprefix("check_").replace("_", " ")
        if only not in name:
            continue
        print(f"== {suite}: {name}", flush=True)
        with tempfile.TemporaryDirectory() as directory, Machine(suite, pathlib.Path(directory, "log")) as machine:
            try:
                each(System(machine, packages))
            except Exception as error:      # the other checks still run
                print(f"FAILED: {error}")
                failures += 1
    if only in "without systemd":
        print(f"== {suite}: without systemd", flush=True)
        check_without_systemd(suite, packages)
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", action="append", choices=("bookworm", "trixie"))
    parser.add_argument("--package", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--arm64", action="store_true")
    arguments = parser.parse_args()
    failures = 0
    for suite in arguments.suite or ["bookworm", "trixie"]:
        package = arguments.package
        if not package:
            builder = Builder(suite)
            builder.copy_tree()
            print(f"== {suite}: make deb", flush=True)
            package = builder.build()
            if arguments.arm64 and suite == "bookworm":
                print("== bookworm: make deb DEB_ARCH=arm64", flush=True)
                run_under_qemu(builder, builder.build("arm64"))
        failures += check_debian_release(suite, package, arguments.only)
    print("all passed" if not failures else f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
