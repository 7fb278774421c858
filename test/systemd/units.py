"""Checks the units: sandbox, visible failures, watchdog, unlimited restarts, Unix sockets, credentials."""
import re

from bans import check_bans
from installed import CONFIG, PROBE
from machine import Failed, wait_in

MAX_EXPOSURE = 1.5


def fails(machine, command, *words):
    """Asserts that the command fails, and that its output or the journal contains the words."""
    try:
        machine.run(command)
    except Failed as failed:
        text = failed.text + machine.run("journalctl --no-pager -o cat -u 'viewtally*' | tail -n 30").stdout
        for word in words:
            assert word in text, text
        return
    raise AssertionError(f"{command} succeeded")


def pid_of(machine, unit="viewtally"):
    return machine.run(f"systemctl show -P MainPID {unit}").stdout.strip()


def property_of(machine, name, unit="viewtally"):
    return machine.run(f"systemctl show -P {name} {unit}").stdout.strip()


def serves(installed):
    wait_in(installed.machine, f"python3 -c '{PROBE}' {installed.key}", "viewtally to serve")


def check_sandbox(installed):
    for unit in ("viewtally.service", "viewtally@1.service"):
        text = installed.machine.run(f"systemd-analyze security --no-pager {unit}").stdout
        exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", text)[1])
        print(f"  {unit}: exposure level {exposure}")
        assert exposure <= MAX_EXPOSURE, text
        warnings = installed.machine.run(f"systemd-analyze verify {unit} 2>&1", check=False).stdout
        assert "viewtally" not in "".join(line for line in warnings.splitlines() if "Unknown" in line or "rror" in line), warnings


def check_thread_priority(installed):
    """The sandbox lets the thread that delivers webhooks lower its priority."""
    machine = installed.machine
    nice = f"sed 's/.*) //' /proc/{pid_of(machine)}/task/*/stat | awk '{{ print $17 }}' | sort -un | tr '\\n' ' '"
    assert machine.run(nice).stdout.split() == ["0", "5"]


def check_reload(installed):
    """A reload is applied when `systemctl reload` returns; a mistake makes it fail and changes nothing."""
    machine = installed.machine
    pid = pid_of(machine)
    installed.configure(CONFIG.replace("requests_per_minute = 0", "requests_per_minute = 5"))
    machine.run("systemctl reload viewtally")
    assert "value changed" in machine.run("journalctl --no-pager -o cat -u viewtally | tail -n 5").stdout
    installed.configure(CONFIG.replace("requests_per_minute = 0", "requests_per_minute = many"))
    fails(machine, "systemctl reload viewtally", "requests_per_minute")
    assert property_of(machine, "ActiveState") == "active" and pid_of(machine) == pid
    serves(installed)
    installed.configure(CONFIG)
    machine.run("systemctl reload viewtally")


def check_mistake_at_start(installed):
    """`systemctl restart` fails visibly, and the service starts by itself when the mistake is corrected, however long that takes."""
    machine = installed.machine
    installed.configure(CONFIG + "[log]\nlevel = loud\n")
    fails(machine, "systemctl restart viewtally", "level")
    wait_in(machine, "test $(systemctl show -P NRestarts viewtally) -ge 8", "more restarts than the default start limit allows")
    installed.configure(CONFIG)
    wait_in(machine, "systemctl is-active viewtally", "the service to start by itself")
    serves(installed)
    assert property_of(machine, "ActiveState", "viewtally.socket") == "active"


def check_watchdog(installed):
    machine = installed.machine
    machine.write("/run/systemd/system/viewtally.service.d/watchdog.conf", "[Service]\nWatchdogSec=2\n")
    machine.run("systemctl daemon-reload && systemctl restart viewtally")
    serves(installed)
    pid = pid_of(machine)
    start_us = int(property_of(machine, "WatchdogTimestampMonotonic"))
    wait_in(machine, f"test $(systemctl show -P WatchdogTimestampMonotonic viewtally) -ge {start_us + 5_000_000}", "five seconds of keep-alive messages")
    assert pid_of(machine) == pid, "the watchdog has ended a process that works"
    machine.run(f"kill -STOP {pid}")
    wait_in(machine, f"test $(systemctl show -P MainPID viewtally) != {pid} && systemctl is-active viewtally", "the watchdog to restart the service")
    serves(installed)
    machine.run("rm -r /run/systemd/system/viewtally.service.d && systemctl daemon-reload && systemctl restart viewtally")


def check_status(installed):
    assert property_of(installed.machine, "StatusText") == "Serving requests"


def check_kill(installed):
    machine = installed.machine
    machine.run(f"kill -KILL {pid_of(machine)}")
    serves(installed)       # the connection waits in the socket


def check_credential(installed):
    machine = installed.machine
    out = installed.viewtally("secrets init /etc/viewtally/secrets.key")
    assert "owner viewtally" in out, out
    installed.configure(CONFIG + "[secrets]\nkey_file = /etc/viewtally/secrets.key\n")
    machine.run("systemctl restart viewtally && chown root:root /etc/viewtally/secrets.key")
    fails(machine, "systemctl restart viewtally", "/etc/viewtally/secrets.key")
    machine.write("/run/systemd/system/viewtally.service.d/credential.conf", "[Service]\nLoadCredential=secrets.key:/etc/viewtally/secrets.key\n")
    machine.run("systemctl daemon-reload && systemctl restart viewtally")
    serves(installed)
    try:
        installed.viewtally("secrets rotate")
        raise AssertionError("keys were rotated while the service has a copy")
    except Failed as failed:
        assert "LoadCredential" in failed.text, failed.text
    machine.run("systemctl stop viewtally.socket viewtally.service")
    installed.viewtally("secrets rotate")
    machine.run("rm -r /run/systemd/system/viewtally.service.d && systemctl daemon-reload")
    installed.configure(CONFIG)
    machine.run("systemctl start viewtally")


def check_own_unix_socket(installed):
    """Without the socket unit, the server itself creates the Unix socket of [server] listen, for a group that nginx is
    in."""
    machine = installed.machine
    machine.run("systemctl stop viewtally.socket viewtally.service && systemctl mask --runtime viewtally.socket")
    installed.configure(CONFIG.replace("[server]", "[server]\nlisten = unix:/run/viewtally/own.sock\nsocket_group = www-data"))
    machine.write("/run/systemd/system/viewtally.service.d/group.conf", "[Service]\nSupplementaryGroups=www-data\nPrivateUsers=no\nSystemCallFilter=@chown\n")
    machine.run("systemctl daemon-reload && systemctl start viewtally")
    assert machine.run("stat -c '%U %G %a' /run/viewtally/own.sock").stdout.split() == ["viewtally", "www-data", "660"]
    machine.run("sed -i.bak 's|server 127.0.0.1:8080;|server unix:/run/viewtally/own.sock;|' /etc/nginx/conf.d/viewtally.conf && systemctl reload nginx")
    serves(installed)
    machine.run("mv /etc/nginx/conf.d/viewtally.conf.bak /etc/nginx/conf.d/viewtally.conf && systemctl reload nginx && systemctl stop viewtally && "
                "rm -r /run/systemd/system/viewtally.service.d && systemctl unmask --runtime viewtally.socket && systemctl daemon-reload")
    installed.configure(CONFIG)


def check_units(installed):
    """Returns True if all checks passed."""
    installed.enable("viewtally")
    ok = True
    for check in (check_sandbox, check_thread_priority, check_status, check_reload, check_kill, check_mistake_at_start, check_watchdog, check_credential, check_own_unix_socket,
                  check_bans):
        try:
            check(installed)
            print(f"  {check.__name__.removeprefix('check_').replace('_', ' ')}: passed", flush=True)
        except (AssertionError, Failed) as error:
            print(f"  {check.__name__}: FAILED: {error}\n{installed.journal()}", flush=True)
            ok = False
    return ok
