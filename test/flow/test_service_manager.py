"""The protocols of systemd: notifications (sd_notify), passed sockets (sd_listen_fds), and `viewtally reload`. Tests with the real
systemd are in test/systemd."""
import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import pwd
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from lib import old_schema, wait
from lib.client import Client
from lib.viewtally import ROOT

START = """import os, sys
os.environ["LISTEN_PID"] = str(os.getpid())
for to, source in enumerate(map(int, sys.argv[1].split(",")), 3):
    os.dup2(source, to)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager:
    """The receiving side of sd_notify()."""

    def __init__(self, address):
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)
        self.socket.settimeout(60)

    def receive(self):
        return self.socket.recv(4096).decode().split("\n")

    def receive_until(self, line):
        """Returns the notifications before the one that contains `line`."""
        seen = []
        while True:
            lines = self.receive()
            if line in lines:
                return seen
            seen.append(lines)

    def start(self, instance, **variables):
        """Starts the server. Returns the notifications before READY=1. Receives them during the start, because the queue of the socket is
        short, and the server drops a notification after waiting a second for room."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            seen = pool.submit(self.receive_until, "READY=1")
            instance.start(env={"NOTIFY_SOCKET": self.address, **variables})
            return seen.result()


@pytest.fixture(params=["path", "abstract"])
def manager(request, short_path):
    made = Manager(f"{short_path}/notify" if request.param == "path" else f"@viewtally-test-{os.getpid()}")
    yield made
    made.socket.close()


def start_with_sockets(instance, sockets, names=None, extra=None):
    """Starts the server with passed sockets. Returns the process; instance.addresses is not set."""
    instance.ensure_database()
    # The descriptor numbers must be above those that START assigns, and must be free: pytest has files open, too.
    high = [fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD, 50) for sock in sockets]
    environment = instance.environment({"LISTEN_FDS": str(len(sockets)), **({"LISTEN_FDNAMES": names} if names else {}), **(extra or {})})
    process = subprocess.Popen([sys.executable, "-c", START, ",".join(map(str, high)), instance.binary, "serve", "--config", str(instance.config_path)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, pass_fds=high, text=True)
    for fd in high:
        os.close(fd)
    return process


def listening(address=("127.0.0.1", 0), family=socket.AF_INET):
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.bind(address)
    sock.listen()
    return sock


def address_of(sock):
    name = sock.getsockname()
    return f"unix:{name}" if isinstance(name, str) else f"{name[0]}:{name[1]}"


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out, err


# --- notifications ---


def test_start_reload_and_stop_are_notified(make_viewtally, manager):
    instance = make_viewtally()
    # With test seams, a start that takes more than 20 ms prolongs its timeout.
    assert all(lines[0].startswith("EXTEND_TIMEOUT_USEC=") for lines in manager.start(instance))
    assert Client(instance.address).get("/account").status == 401      # the server serves before it reports READY
    instance.signal(signal.SIGHUP)
    reloading = manager.receive()
    assert reloading[0] == "RELOADING=1"
    assert 0 < int(reloading[1].removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000
    assert manager.receive_until("READY=1") == []
    instance.configure({"limits": {"requests_per_minute": "many"}})
    instance.signal(signal.SIGHUP)
    assert manager.receive()[0] == "RELOADING=1"
    assert manager.receive() == ["READY=1", "STATUS=Serving requests; the new configuration was rejected"]
    instance.signal(signal.SIGTERM)
    assert manager.receive()[0] == "STOPPING=1"
    instance.wait_stopped()


def test_sighup_during_the_stop_only_reopens_the_access_log(make_viewtally, manager, tmp_path):
    """READY=1 after STOPPING=1 would report that the server serves. Log rotation renames the file at any time."""
    access = tmp_path / "access.log"
    instance = make_viewtally({"log": {"access": str(access)}, "server": {"drain_ms": 60_000}})
    manager.start(instance)
    host, port = instance.address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"GET /v1/account HTTP/1.1\r\n")
        for _ in range(3):
            assert Client(instance.address).get("/account").status == 401       # the server has read the first part of the request
        instance.signal(signal.SIGTERM)
        assert manager.receive()[0] == "STOPPING=1"
        access.rename(tmp_path / "rotated.log")
        instance.configure({"limits": {"requests_per_minute": 1}})
        assert "rejected the new configuration" in instance.run("reload", str(instance.pid), status=2).err
        assert "SIGHUP: the server is stopping, so the configuration is not reloaded" in instance.log
        client.sendall(b"Host: a\r\n\r\n")
        assert b" 401 " in client.recv(4096)
    instance.wait_stopped()
    manager.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.receive()
    assert "/v1/account" in access.read_text() and "configuration reloaded" not in instance.log


@pytest.mark.sqlite_only("migrates an old database file")
def test_server_extends_its_start_timeout_while_another_process_migrates(make_viewtally, short_path):
    manager = Manager(f"{short_path}/notify")
    instance = make_viewtally()
    old_schema.create(instance.database, old_schema.NEWEST - 1)
    with open(f"{instance.database}-migrate", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        server = instance.background("serve", env={"NOTIFY_SOCKET": manager.address})
        wait.until(lambda: "waiting for another process" in server.output.read_text(), "the server to wait")
        manager.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                manager.receive()
        manager.socket.settimeout(15)
        assert manager.receive()[0].startswith("EXTEND_TIMEOUT_USEC=")
    manager.socket.settimeout(60)
    assert all(lines[0].startswith("EXTEND_TIMEOUT_USEC=") for lines in manager.receive_until("READY=1"))
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0
    manager.socket.close()


@pytest.mark.sqlite_only("migrates an old database file")
def test_sighup_does_not_end_a_server_that_waits_for_a_migration(make_viewtally):
    """Log rotation sends SIGHUP at any time."""
    instance = make_viewtally()
    old_schema.create(instance.database, old_schema.NEWEST - 1)
    with open(f"{instance.database}-migrate", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        server = instance.background("serve")
        wait.until(lambda: "waiting for another process" in server.output.read_text(), "the server to wait")
        server.send_signal(signal.SIGHUP)
    wait.until(lambda: server.poll() is not None or "\nlistening on " in f"\n{server.output.read_text()}", "the server to start")
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0


def test_event_loop_notifies_the_watchdog(make_viewtally, short_path):
    manager = Manager(f"{short_path}/notify")
    instance = make_viewtally()
    instance.start(env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"})
    for _ in range(3):
        manager.receive_until("WATCHDOG=1")
    instance.signal(signal.SIGSTOP)                 # like a loop that hangs
    manager.socket.setblocking(False)
    while True:
        try:
            manager.receive()
        except BlockingIOError:
            break
    instance.signal(signal.SIGCONT)
    manager.socket.settimeout(60)
    manager.receive_until("WATCHDOG=1")
    instance.stop()


def test_watchdog_of_another_process_is_ignored(make_viewtally, short_path):
    manager = Manager(f"{short_path}/notify")
    instance = make_viewtally()
    manager.start(instance, WATCHDOG_USEC="20000", WATCHDOG_PID="1")
    for _ in range(5):
        assert Client(instance.address).get("/account").status == 401
    instance.signal(signal.SIGTERM)
    assert manager.receive()[0] == "STOPPING=1"
    instance.wait_stopped()


@pytest.mark.parametrize("address", ["vsock:2:1234", "relative/path", "/" + "x" * 200, "@"])
def test_invalid_notify_socket_is_reported_and_ignored(make_viewtally, address):
    instance = make_viewtally()
    instance.start(env={"NOTIFY_SOCKET": address})
    wait.until(lambda: f"NOTIFY_SOCKET={address} is not the address of a Unix socket" in instance.log, "the log line")
    instance.stop()


def test_missing_service_manager_does_not_prevent_the_start(make_viewtally, short_path):
    instance = make_viewtally()
    instance.start(env={"NOTIFY_SOCKET": f"{short_path}/gone"})
    wait.until(lambda: "cannot notify the service manager" in instance.log, "the log line")
    instance.stop()


# --- passed sockets ---


def test_passed_sockets_replace_listen(make_viewtally, short_path):
    instance = make_viewtally({"server": {"listen": "127.0.0.1:1"}, "admin": {"listen": ""}})       # only root can bind port 1; no admin listener
    public, local, admin = listening(), listening(f"{short_path}/s", socket.AF_UNIX), listening()
    process = start_with_sockets(instance, [public, admin, local], "viewtally.socket:admin:viewtally.socket")
    assert [process.stdout.readline() for _ in range(3)] == [f"listening on {address_of(public)}\n", f"listening on {address_of(local)}\n",
                                                             f"admin listening on {address_of(admin)}\n"]
    for sock in (public, local):
        assert Client(address_of(sock)).get("/account").status == 401
    wait.until(lambda: Client(address_of(admin), base="").get("/readyz").body == b"ready\n", "the server to be ready")
    stop(process)
    assert pathlib.Path(f"{short_path}/s").is_socket()      # the service manager still listens on it


def test_connections_wait_in_a_passed_socket_for_the_next_process(make_viewtally):
    instance = make_viewtally()
    sock = listening()
    key = instance.create_key(instance.add_author())
    first = start_with_sockets(instance, [sock])
    assert first.stdout.readline().startswith("listening on ")
    assert Client(address_of(sock), key).get("/account").status == 200
    stop(first)
    with socket.create_connection(sock.getsockname()) as waiting:
        waiting.sendall(f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode())
        second = start_with_sockets(instance, [sock])
        assert waiting.recv(12) == b"HTTP/1.1 200"
    stop(second)


def test_sockets_of_another_process_are_ignored(make_viewtally):
    instance = make_viewtally()
    instance.start(env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert Client(instance.address).get("/account").status == 401
    instance.stop()


@pytest.mark.parametrize("names, extra, message", [
    ("only-one", {}, "fewer names than the 2 sockets"),
    (None, {"LISTEN_FDS": "30"}, "is not open"),
    (None, {"LISTEN_FDS": "1000"}, "LISTEN_FDS=1000 must be a number"),
    (None, {"LISTEN_FDS": "-1"}, "LISTEN_FDS=-1 must be a number"),
    (None, {"LISTEN_FDS": ""}, "LISTEN_FDS= must be a number"),
])
def test_malformed_passed_sockets_are_rejected(make_viewtally, names, extra, message):
    process = start_with_sockets(make_viewtally(), [listening(), listening()], names, extra)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 2 and message in err, err


def test_passed_socket_of_another_kind_is_rejected(make_viewtally):
    for sock in (socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()):
        process = start_with_sockets(make_viewtally(), [sock])
        err = process.communicate(timeout=60)[1]
        assert process.returncode == 2 and "the socket unit needs ListenStream= and Accept=no" in err, err


# --- reload ---


def test_reload_waits_until_the_configuration_is_applied(make_viewtally):
    instance = make_viewtally()
    instance.start()
    instance.configure({"limits": {"requests_per_minute": "7"}})
    assert f"process {instance.pid} has reloaded its configuration" in instance.run("reload", instance.pid).out
    wait.until(lambda: "1 value changed" in instance.log, "the log line")
    assert instance.run("reload", env={"MAINPID": str(instance.pid)}).status == 0


def test_reload_command_prints_changed_settings_that_need_a_restart(make_viewtally):
    instance = make_viewtally({"server": {"drain_ms": "1000"}, "redis": {"key_prefix": "a:"}})
    instance.start()
    instance.configure({"limits": {"requests_per_minute": "7"}, "server": {"max_connections": "99"}, "redis": {"key_prefix": "b:"}})
    for _ in range(2):                      # the second reload names them again
        assert instance.run("reload", instance.pid).out.splitlines() == [
            f"process {instance.pid} has reloaded its configuration",
            "a restart is needed for: [server] max_connections, [redis] key_prefix"]
    instance.stop()
    instance.start()
    assert "restart" not in instance.run("reload", instance.pid).out


def test_reload_fails_if_the_server_rejects_the_configuration(make_viewtally):
    """The command reads a valid configuration, the server an invalid one."""
    instance = make_viewtally({"log": {"access": "access.log"}})
    instance.start()
    other = make_viewtally()
    instance.configure({"limits": {"requests_per_minute": "many"}})
    assert "rejected the new configuration" in other.run("reload", instance.pid, status=2).err
    assert "must be" in instance.run("reload", instance.pid, status=2).err


def test_reload_command_rejects_a_process_that_is_not_a_viewtally_server(make_viewtally):
    instance = make_viewtally()
    handles_sighup = "trap 'exit 9' HUP; echo ready; read line"      # like an interactive shell
    for script, name in ((handles_sighup, "sh"), ("echo ready; read line", "serve")):
        with subprocess.Popen(["sh", "-c", script, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"ready\n"
            assert "is not a viewtally server" in instance.run("reload", other.pid, status=3).err
            other.stdin.close()
            assert other.wait(timeout=60) not in (9, -signal.SIGHUP)
    for text in ("0", "many", "99999999999"):
        assert "is not a process id" in instance.run("reload", text, status=2).err
    assert "PID is missing" in instance.run("reload", status=2, env={"MAINPID": ""}).err


def test_reload_reports_a_server_that_does_not_respond(make_viewtally, short_path):
    instance = make_viewtally()
    instance.start()
    busy = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    busy.bind(f"\0viewtally-reload-{instance.pid}")
    assert "already being reloaded" in instance.run("reload", instance.pid, status=3).err
    busy.close()
    instance.signal(signal.SIGSTOP)
    assert "has not reloaded its configuration within 10 s" in instance.run("reload", instance.pid, status=3).err
    instance.signal(signal.SIGCONT)


# --- Unix sockets ---


@pytest.mark.parametrize("mode", ["0660", "0600", "666"])
def test_socket_mode_is_set(make_viewtally, short_path, mode):
    instance = make_viewtally({"server": {"listen": f"unix:{short_path}/s", "socket_mode": mode}})
    with instance:
        assert stat.S_IMODE(os.stat(f"{short_path}/s").st_mode) == int(mode, 8)
    assert not os.path.exists(f"{short_path}/s")


@pytest.mark.skipif(os.getuid() != 0, reason="only root may choose any group")
def test_socket_group_is_set(make_viewtally, short_path):
    instance = make_viewtally({"server": {"listen": f"unix:{short_path}/s", "socket_group": "www-data"}})
    with instance:
        status = os.stat(f"{short_path}/s")
        assert status.st_gid == pwd.getpwnam("www-data").pw_gid and stat.S_IMODE(status.st_mode) == 0o660


@pytest.mark.sqlite_only("creates the database with serve --create")
def test_wrong_socket_mode_or_group_is_rejected(viewtally):
    for value in ("0999", "1777", "66", "rw-rw----", "", "06600"):
        viewtally.configure({"server": {"socket_mode": value}})
        assert "socket_mode" in viewtally.run("check-config", status=2).err
    viewtally.configure({"server": {"socket_mode": None, "socket_group": "no-such-group"}})
    for command in (["check-config"], ["check-config", "--quiet"], ["serve", "--create"]):
        assert "there is no group no-such-group" in viewtally.run(*command, status=2).err


# --- unit files ---


def test_units_for_one_and_several_processes_differ_only_in_the_process_number():
    one, several = ((ROOT / f"packaging/systemd/viewtally{suffix}.service").read_text().split("\n[Unit]\n")[1] for suffix in ("", "@"))
    several = several.replace("Environment=VIEWTALLY_ADMIN_LISTEN=127.0.0.%i:9187\n", "").replace("viewtally %i:", "viewtally:")
    assert one == several
