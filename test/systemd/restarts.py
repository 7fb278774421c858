#!/usr/bin/python3
"""Restarts and upgrades under load with real systemd, nginx and Redis: no request may fail. `make test-systemd` runs it.

Usage: restarts.py [--suite bookworm|trixie]… [--restarts N] [--only WORD]
"""
import argparse
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from documented import check_documented_install       # noqa: E402
from installed import Installed, Load       # noqa: E402
from machine import Failed, Machine, wait_in        # noqa: E402
from units import check_units               # noqa: E402

UNIX_SOCKET = """[Socket]
ListenStream=
ListenStream=/run/viewtally/viewtally.sock
SocketUser=viewtally
SocketGroup=www-data
SocketMode=0660
"""
ACCESS_LOG = "/var/log/nginx/access.log"


def wait_for_requests(machine, count=500):
    """Waits until nginx has served `count` more requests, so that each restart meets established connections."""
    before = int(machine.run(f"wc -l <{ACCESS_LOG}").stdout)
    wait_in(machine, f"test $(wc -l <{ACCESS_LOG}) -ge {before + count}", f"{count} requests")


def upgrade(installed, number):
    """Installs another version of the binary with the same length, as a package would: by renaming a new file over it."""
    old, new = ("0.2.0", "0.2.1") if number % 2 == 0 else ("0.2.1", "0.2.0")
    installed.machine.run(f"sed 's/{old}/{new}/g' /usr/bin/viewtally >/usr/bin/viewtally.new && chmod 755 /usr/bin/viewtally.new && "
                          "mv /usr/bin/viewtally.new /usr/bin/viewtally && systemctl restart viewtally@1 && systemctl restart viewtally@2")


def change_number(installed, number):
    """Changes from one process to two, as docs/systemd.md describes, or back if `number` is odd."""
    there = "systemctl enable --now viewtally@2 && systemctl disable --now viewtally.service && systemctl enable --now viewtally@1"
    back = "systemctl disable --now viewtally@1 && systemctl enable --now viewtally.service && systemctl disable --now viewtally@2"
    installed.machine.run(f"({there if number % 2 == 0 else back}) 2>&1")


def use_unix_socket(installed):
    installed.machine.run("systemctl stop viewtally.service viewtally.socket", check=False)
    installed.machine.write("/etc/systemd/system/viewtally.socket.d/unix.conf", UNIX_SOCKET)
    installed.machine.run("sed -i 's|server 127.0.0.1:8080;|server unix:/run/viewtally/viewtally.sock;|' /etc/nginx/conf.d/viewtally.conf && "
                          "systemctl daemon-reload && systemctl reload nginx")


def command(text):
    return lambda installed, number: installed.machine.run(text.format(number % 2 + 1))


TWO = ("viewtally@1", "viewtally@2")
SCENARIOS = [
    ("one process", ("viewtally",), None, command("systemctl restart viewtally")),
    ("two processes, one after the other", TWO, None, command("systemctl restart viewtally@{}")),
    ("restart viewtally@1 && restart viewtally@2", TWO, None, command("systemctl restart viewtally@1 && systemctl restart viewtally@2")),
    ("restart 'viewtally@*'", TWO, None, command("systemctl restart 'viewtally@*'")),
    ("rolling upgrade", TWO, None, upgrade),
    ("from one process to two and back", ("viewtally",), None, change_number),
    ("one process on a Unix socket", ("viewtally",), use_unix_socket, command("systemctl restart viewtally")),
]


def run_scenario(installed, restarts, name, services, prepare, act):
    if prepare:
        prepare(installed)
    installed.enable(*services)
    with Load(installed.machine, installed.key, installed.app) as load:
        wait_for_requests(installed.machine)
        for number in range(restarts):
            try:
                act(installed, number)
            except Failed:
                print(installed.journal())
                raise
            wait_for_requests(installed.machine)
    failed = sum(load.failed.values())
    print(f"  {name}: {restarts} restarts, {load.describe()}", flush=True)
    if failed or not all(load.succeeded.values()):
        print(load.output, installed.journal(), sep="\n")
    return failed == 0 and all(load.succeeded.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", action="append")
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    ok = True
    for suite in options.suite or ["bookworm", "trixie"]:
        if options.only in "documents":
            with tempfile.TemporaryDirectory() as directory, Machine(suite, pathlib.Path(directory) / "console.log") as machine:
                ok = check_documented_install(machine) and ok
        with tempfile.TemporaryDirectory() as directory, Machine(suite, pathlib.Path(directory) / "console.log") as machine:
            print(f"{suite}: systemd {machine.run('systemctl --version').stdout.split()[1]}", flush=True)
            installed = Installed(machine)
            if options.only in "units":
                ok = check_units(installed) and ok
            for scenario in SCENARIOS:
                if options.only in scenario[0]:
                    ok = run_scenario(installed, options.restarts, *scenario) and ok
    print("all passed" if ok else "FAILED")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
