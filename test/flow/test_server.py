"""The server process: listen addresses, output, log, signals, draining.

A test detects that the server is draining by its log, or from outside: after SIGINT the server refuses new connections.
"""
import contextlib
import errno
import json
import os
import pathlib
import re
import select
import signal
import socket
import stat
import subprocess
import urllib.parse

import pytest

from lib import oauth, wait
from lib.client import connect, receive_all
from lib.lines import author, reading, uid, video
from lib.metrics import scrape
from lib.refreshing import Refreshing

START_MS = 9_000_000
DRAIN_MS = 20_000               # below every other deadline
WAIT_MS = 300_000               # above every deadline of a test
DAYS = {"start_date": "2026-06-01", "end_date": "2026-07-01"}
OWN_ID = re.compile(r"[0-9a-f]{16}")
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child"]      # runs a command as process 1


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


def status_at(address, key, path="/account"):
    with connect(address) as sock:
        sock.sendall(f"GET /v1{path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode())
        return int(receive_all(sock).split()[1])


def fails(instance, status, *words):
    """`serve` exits with this status, prints the reason in one line, and has not announced a listener."""
    finished = instance.run("serve", *([] if instance.is_on_server else ["--create"]), status=status, timeout=60)
    assert finished.out == "" and all(word in finished.err for word in words), finished
    assert len([line for line in finished.err.splitlines() if not re.match(r"\d{4}-.* info ", line)]) == 1, finished
    return finished


@pytest.fixture
def owned(make_viewtally, clock):
    """owned(config) returns an installation with an author and a key, not started."""
    clock.set_monotonic(START_MS)

    def make(config=None):
        instance = make_viewtally(config, clock)
        instance.key = instance.create_key(instance.add_author())
        return instance

    return make


# --- listening ---


def test_server_listens_on_several_addresses(owned, short_path):
    path = short_path + "/api.sock"
    listen = ["127.0.0.1:0", "127.0.0.1:0", "unix:" + path] + (["[::1]:0"] if has_ipv6() else [])
    instance = owned({"server": {"listen": ", ".join(listen)}}).start()
    assert len(instance.addresses) == len(set(instance.addresses)) == len(listen)
    for address, wanted in zip(instance.addresses, listen):
        assert address.rpartition(":")[0] == wanted.rpartition(":")[0] and not address.endswith(":0")
        assert status_at(address, instance.key) == 200
    mode = os.lstat(path).st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
    instance.stop()
    assert not os.path.exists(path)


def test_server_prints_one_line_per_listener(owned, short_path):
    instance = owned({"server": {"listen": f"127.0.0.1:0,unix:{short_path}/s"}, "log": {"level": "debug"}})
    process = instance.command("serve")
    lines = [process.stdout.readline() for _ in range(3)]
    assert re.fullmatch(rb"listening on 127\.0\.0\.1:[1-9]\d*\n", lines[0])
    assert lines[1] == f"listening on unix:{short_path}/s\n".encode()
    assert re.fullmatch(rb"admin listening on 127\.0\.0\.1:[1-9]\d*\n", lines[2])
    address = lines[0].split()[2].decode()
    assert [status_at(address, instance.key, path) for path in ("/account", "/nowhere")] == [200, 404]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (b"", 0) and b"stopped" in err


def test_socket_of_a_dead_server_is_replaced_but_not_of_a_running_one(owned, make_viewtally, clock, short_path):
    address = f"unix:{short_path}/s"
    first = owned({"server": {"listen": address}}).start()
    second = make_viewtally({"server": {"listen": f"127.0.0.1:0,{address}"}}, clock)
    fails(second, 3, address, "in use")
    assert status_at(address, first.key) == 200     # the failure of the other server had no effect
    first.kill()
    assert os.path.exists(short_path + "/s")
    first.start()
    assert status_at(address, first.key) == 200


def test_port_in_use_is_reported(owned, make_viewtally, clock, short_path):
    first = owned().start()
    second = make_viewtally({"server": {"listen": f"unix:{short_path}/s,{first.address}"}}, clock)
    fails(second, 3, first.address, "in use")
    assert os.listdir(short_path) == []
    assert status_at(first.address, first.key) == 200


@pytest.mark.parametrize("listen", ["", "8080", "localhost:8080", "127.0.0.1", "127.0.0.1:65536", "::1:80", "[::1]", "unix:",
                                    "127.0.0.1:0, nonsense"])
def test_invalid_addresses_are_rejected(make_viewtally, clock, listen):
    instance = make_viewtally(clock=clock)
    instance.configure({"server": {"listen": listen}})
    fails(instance, 2, "config.ini:", "[server] listen must be", "addresses such as" if listen else "at least one")


@pytest.mark.parametrize("path", ["/nonexistent/viewtally.db", "gone/viewtally.db"])
def test_missing_database_directory_is_reported(make_viewtally, clock, path):
    fails(make_viewtally({"store": {"path": path}}, clock), 3, os.path.dirname(path), "No such file")


# --- base_url, direct_url ---


def test_server_serves_both_base_paths_and_no_other(owned):
    instance = owned({"server": {"base_url": "https://stats.example.com/author/api/v1",
                                 "direct_url": "http://127.0.0.1:8080/direct/v1"}}).start()
    with instance.client(instance.key, base="") as client:
        for path in ("/author/api/v1/account", "/direct/v1/account"):
            assert client.get(path).status == 200
        for path in ("/v1/account", "/account", "/api/v1/account", "/direct/v1account",
                     "/direct//v1/account", "/author/api/v1/direct/v1/account", "/AUTHOR/api/v1/account", "/direct/account", "/"):
            answer = client.get(path)
            assert (answer.status, answer.error_code) == (404, "not_found"), path


# --- X-Request-Id ---


@pytest.fixture
def send_request_id(owned):
    """send_request_id(lines) sends a request with these header lines and returns (status, X-Request-Id, error.request_id)."""
    instance = owned().start()

    def exchange(lines, target="/v1/account", keyed=True):
        head = f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode()
        if keyed:
            head += f"Authorization: Bearer {instance.key}\r\n".encode()
        head, _, body = instance.exchange(head + lines + b"\r\n").partition(b"\r\n\r\n")
        ids = re.findall(rb"(?im)^x-request-id: ?(.*?)\r?$", head)
        assert len(ids) == 1, head
        status = int(head.split()[1])
        return status, ids[0].decode(), json.loads(body)["error"]["request_id"] if status >= 400 else None

    return exchange


ERRORS = {404: dict(target="/nowhere"), 401: dict(keyed=False), 400: dict(target="/v1/videos?limit=0")}


@pytest.mark.parametrize("name", [b"a", b"7f3c9a60-0000-4000-8000-00000000abcd", b"A.b_c-9", b"x" * 128])
def test_well_formed_request_id_is_reused(send_request_id, name):
    line = b"x-request-ID: " + name + b"\r\n"
    assert send_request_id(line) == (200, name.decode(), None)
    for status, request in ERRORS.items():
        assert send_request_id(line, **request) == (status, name.decode(), name.decode())
    assert send_request_id(line + b"Content-Length: x\r\n")[0] == 400


@pytest.mark.parametrize("lines", [b"", b"X-Request-Id:\r\n", b"X-Request-Id: a b\r\n", b"X-Request-Id: " + b"x" * 129 + b"\r\n",
                                   b'X-Request-Id: "a"\r\n', b"X-Request-Id: a/b\r\n", b"X-Request-Id: \xc3\xa9\r\n",
                                   b"X-Request-Id: a\r\nX-Request-Id: a\r\n", b"X-Request-Id: \xff\r\n"])
def test_invalid_request_ids_are_replaced(send_request_id, lines):
    status, first, _ = send_request_id(lines)
    assert status == 200 and OWN_ID.fullmatch(first)
    seen = {first}
    for status, request in ERRORS.items():
        got, head, body = send_request_id(lines, **request)
        assert got == status and head == body and OWN_ID.fullmatch(head)
        seen.add(head)
    status, head, body = send_request_id(lines + b"Content-Length: x\r\n")
    assert status == 400 and head == body and OWN_ID.fullmatch(head)
    assert len(seen | {head}) == 5


# --- draining ---


class Draining:
    """A server on a Unix socket, whose buffers have a fixed size, so that a response to a client that stops reading is
    blocked."""

    def __init__(self, make_viewtally, clock, directory):
        clock.set_monotonic(START_MS)
        self.clock = clock
        self.instance = make_viewtally({"server": {"listen": f"unix:{directory}/s, 127.0.0.1:0", "drain_ms": DRAIN_MS}}, clock)
        names = [f"v{number}" for number in range(400)]
        self.instance.import_lines([author("Ada")] + [video(name, "Ada", "2026-06-01T00:00:00Z") for name in names] +
                                   [reading(name, "2026-06-01T12:00:00Z", 100) for name in names])
        self.key = self.instance.create_key(uid("Ada"))
        self.instance.start()
        with self.instance.client(self.key) as client:
            self.body = client.get("/stats", DAYS).body
        self.sockets = []
        assert len(self.body) > 800_000

    def send(self, text, address=None):
        self.sockets.append(connect(address or self.instance.address))
        self.sockets[-1].sendall(text.encode())
        return self.sockets[-1]

    def slow_reader(self):
        """A client that has read only the first byte of a long response."""
        sock = self.send(f"GET /v1/stats?start_date={DAYS['start_date']}&end_date={DAYS['end_date']} HTTP/1.0\r\nHost: a\r\n"
                         f"Authorization: Bearer {self.key}\r\n\r\n")
        assert sock.recv(1) == b"H"
        return sock

    def half_sent(self):
        """A client that has sent the first part of a request, which the server has read."""
        sock = self.send("GET /v1/account HTTP/1.1\r\n", self.instance.addresses[1])
        for _ in range(3):
            assert status_at(self.instance.addresses[1], self.key) == 200
        return sock

    def finish(self, sock):
        sock.sendall(f"Host: a\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode())
        answer = receive_all(sock)
        sock.close()                # otherwise the server lingers, because its clock does not advance
        return answer

    def refuses(self):
        for address in self.instance.addresses:
            try:
                connect(address).close()
                return False
            except (ConnectionRefusedError, FileNotFoundError):
                pass
        return True

    def begin(self, number=signal.SIGINT):
        self.instance.signal(number)
        if number == signal.SIGINT:
            wait.until(self.refuses, "the server to refuse connections")
        else:
            wait.until(lambda: self.status_of_new_connection()[1] == "close", "the server to drain")
        assert self.instance.running

    def status_of_new_connection(self):
        with self.instance.client(self.key) as client:
            response = client.get("/account")
            return response.status, response.headers.get("Connection")

    def close(self):
        for sock in self.sockets:
            sock.close()


@pytest.fixture
def draining(make_viewtally, clock, short_path):
    made = Draining(make_viewtally, clock, short_path)
    yield made
    made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_complete_before_exit(draining, number):
    slow, half, idle = draining.slow_reader(), draining.half_sent(), draining.instance.client(draining.key)
    assert idle.get("/account").status == 200
    draining.begin(number)
    if number == signal.SIGINT:
        assert idle._connection.sock.recv(1) == b""     # closed at once, because it is idle
    draining.clock.advance(DRAIN_MS - 1)
    if number == signal.SIGTERM:                        # listeners close after 3/4 of drain_ms
        wait.until(draining.refuses, "the server to refuse connections")
        assert idle._connection.sock.recv(1) == b""
    answer = draining.finish(half)
    assert answer.startswith(b"HTTP/1.1 200 ") and b"\r\nConnection: close\r\n" in answer
    assert draining.instance.running
    head, _, body = receive_all(slow).partition(b"\r\n\r\n")
    assert head.startswith(b"TTP/1.") and b" 200 " in head and body == draining.body
    draining.instance.wait_stopped()
    idle.close()


def test_idle_connections_serve_one_more_request_after_sigterm(draining):
    """nginx may send a POST on an idle connection while the server closes the connection, and must not send the POST
    again."""
    idle = [draining.instance.client(draining.key) for _ in range(3)]
    for client in idle:
        assert client.get("/account").headers.get("Connection") is None
    draining.begin(signal.SIGTERM)
    for client in idle:
        assert draining.status_of_new_connection() == (200, "close")    # new connections are accepted while old ones are open
        response = client.get("/account")
        assert (response.status, response.headers["Connection"]) == (200, "close")
        client.close()
    draining.instance.wait_stopped()        # the clock did not advance: nothing is left to wait for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_are_cut_off_after_drain_ms(draining, number):
    slow, half = draining.slow_reader(), draining.half_sent()
    draining.begin(number)
    draining.clock.advance(DRAIN_MS)
    draining.instance.wait_stopped()
    assert receive_all(half) == b""
    assert len(receive_all(slow)) < len(draining.body)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_cuts_requests_off_at_once(draining, number):
    slow, half = draining.slow_reader(), draining.half_sent()
    draining.begin(number)
    draining.instance.signal(number)
    draining.instance.wait_stopped()
    assert receive_all(half) == b""
    assert len(receive_all(slow)) < len(draining.body)
    assert "aborting the requests in flight" in draining.instance.log


def test_signal_after_the_last_request_is_answered_in_the_log(owned):
    """The refresh waits for a write of another process, so the server cannot stop, although all connections are closed."""
    instance = owned({"refresh": {"source": "simulated"}, "store": {"busy_timeout_ms": WAIT_MS}, "webhooks": {"enabled": "off"}})
    with instance.write_transaction():
        instance.start()
        wait.until(lambda: scrape(instance).get("viewtally_refresh_running") == 1, "the run to begin")
        instance.signal(signal.SIGINT)
        wait.until(lambda: refuses_connections(instance.address), "the listener to close")
        instance.signal(signal.SIGINT)
        wait.until(lambda: "signal 2: waiting until the refresh, the backup and the webhooks have stopped" in instance.log, "the message", 15)
    instance.wait_stopped()


# --- max_connections ---


def test_clients_above_max_connections_replace_idle_ones(owned, clock):
    """A waiting client gets the slot of a connection that has been idle for a second, although idle_timeout_ms is
    longer."""
    instance = owned({"server": {"max_connections": 3}, "admin": {"listen": "127.0.0.1:0"}}).start()
    request = f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {instance.key}\r\n\r\n".encode()

    def served(sock):
        sock.sendall(request)
        return sock.recv(65536).startswith(b"HTTP/1.1 200 ")

    inside = [connect(instance.address) for _ in range(3)]
    assert all(served(sock) for sock in inside)
    waiting = [connect(instance.address) for _ in range(3)]
    for sock in waiting:
        sock.sendall(request)
    for _ in range(2):
        assert all(served(sock) for sock in inside * 3)
        assert select.select(waiting, [], [], 0)[0] == []
        inside.pop(0).close()
        inside.append(waiting.pop(0))               # in the order of connecting
        assert inside[-1].recv(65536).startswith(b"HTTP/1.1 200 ")
    clock.advance(1000)
    assert waiting[0].recv(65536).startswith(b"HTTP/1.1 200 ")
    assert inside[0].recv(1) == b""                 # the connection that was idle longest
    assert served(inside[1]) and served(inside[2])
    metrics = scrape(instance)
    assert metrics.get("viewtally_http_connections_evicted_total", state="idle") == 1
    assert metrics.get("viewtally_http_connections_evicted_total", state="unused") == 0
    for sock in [*inside, *waiting]:
        sock.close()


# --- signals ---


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGPIPE])
def test_sighup_and_sigpipe_do_not_stop_the_server(owned, number):
    instance = owned().start()
    with instance.client(instance.key) as client:
        for _ in range(3):
            assert client.get("/account").status == 200
            instance.signal(number)
        assert client.get("/account").status == 200 and client.opened == 1
    instance.stop()


def test_server_survives_a_closed_log_pipe(owned):
    """Standard error is a pipe without a reader: each line causes SIGPIPE."""
    instance = owned({"log": {"level": "debug"}})
    process = instance.command("serve")
    address = process.stdout.readline().split()[2].decode()
    process.stderr.close()
    process.stdout.close()
    assert [status_at(address, instance.key) for _ in range(3)] == [200] * 3
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def process_state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_server_resumes_after_sigstop_and_sigcont(owned, clock):
    """After a pause of a minute, open connections still work and requests sent during the pause are served."""
    instance = owned().start()
    clients = [instance.client(instance.key) for _ in range(3)]
    assert [client.get("/account").status for client in clients] == [200] * 3
    instance.signal(signal.SIGSTOP)
    wait.until(lambda: process_state(instance.pid) == "T", "the server to stand still")
    asking, new = clients[0]._connection, connect(instance.address)
    asking.request("GET", "/v1/account", headers={"Authorization": "Bearer " + instance.key})
    new.sendall(f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {instance.key}\r\n\r\n".encode())
    clock.advance(60_000)
    assert select.select([asking.sock, new], [], [], 0)[0] == []
    instance.signal(signal.SIGCONT)
    answer = asking.getresponse()
    assert (answer.status, bool(answer.read())) == (200, True)
    assert new.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert [client.get("/account").status for client in clients] == [200] * 3
    assert [client.opened for client in clients] == [1] * 3
    for client in clients + [new]:
        client.close()


@pytest.fixture
def process_1():
    """process_1(instance) starts `serve`, or another command, as process 1 of a PID namespace, as in a container. Returns its PID outside of
    the namespace, and the Popen object of a process that exits with the same status."""
    with contextlib.ExitStack() as stack:

        def start(instance, command="serve", stderr=None):
            parent = stack.enter_context(subprocess.Popen(
                [*NAMESPACE, instance.binary, command, "--config", str(instance.config_path)], stdout=subprocess.PIPE, stderr=stderr,
                env=instance.environment()))
            stack.callback(parent.kill)
            children = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            return int(wait.until(children.read_text, "the start of the process")), parent

        yield start


def open_if_read(pipe):
    """Opens a named pipe for writing and returns the descriptor, or returns None if no process has opened it for reading."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        assert error.errno == errno.ENXIO
        return None


def has_namespaces():
    return subprocess.run([*NAMESPACE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not has_namespaces(), reason="needs the permission to create PID namespaces")


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_ends_process_1_while_it_starts(owned, process_1, tmp_path, number):
    """The server starts until it reads a secret from a pipe."""
    os.mkfifo(tmp_path / "secret")
    instance = owned()
    instance.configure({"redis": {"password_file": tmp_path / "secret"}})
    pid, parent = process_1(instance)
    with open(wait.until(lambda: open_if_read(tmp_path / "secret"), "the server to open the pipe"), "wb"):
        os.kill(pid, number)
        assert parent.wait(timeout=60) == 128 + number


@needs_namespaces
def test_process_1_completes_its_work_after_sigterm(owned, process_1):
    pid, parent = process_1(owned())
    assert parent.stdout.readline().startswith(b"listening on ")
    os.kill(pid, signal.SIGTERM)
    assert parent.wait(timeout=60) == 0


def refuses_connections(address):
    try:
        connect(address).close()
    except ConnectionRefusedError:
        return True
    return False


WAITING = {"server": {"drain_ms": WAIT_MS}, "store": {"busy_timeout_ms": WAIT_MS}, "webhooks": {"enabled": "off"}}


@contextlib.contextmanager
def held_close(instance, pid):
    """Within the block, the server, which is stopping, cannot close the database: the second signal aborts a request whose write waits for
    another process, and the database is closed only after this write."""
    body = urllib.parse.urlencode({"token": instance.key, "client_id": oauth.add_app(instance)["client_id"]})
    with instance.write_transaction(), connect(instance.address) as sock:
        sock.sendall(f"POST /v1/oauth/revoke HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait.until(lambda: scrape(instance).get("viewtally_store_write_queue_length") > 0, "the write to wait")
        os.kill(pid, signal.SIGTERM)
        wait.until(lambda: instance.admin().get("/readyz").status == 503, "the server to drain")
        os.kill(pid, signal.SIGTERM)
        wait.until(lambda: refuses_connections(instance.admin_addresses[0]), "the listeners to close")
        yield


def test_sighup_does_not_end_the_server_while_it_closes_the_database(owned):
    """Log rotation sends SIGHUP at any time."""
    instance = owned(WAITING).start()
    with held_close(instance, instance.pid):
        instance.signal(signal.SIGHUP)
    instance.wait_stopped()


@needs_namespaces
def test_signal_ends_process_1_while_it_closes_the_database(owned, process_1):
    instance = owned(WAITING)
    pid, parent = process_1(instance)
    instance.addresses, instance.admin_addresses = ([parent.stdout.readline().split()[-1].decode()] for _ in range(2))
    with held_close(instance, pid):
        os.kill(pid, signal.SIGTERM)
        assert parent.wait(timeout=60) == 128 + signal.SIGTERM


@needs_namespaces
def test_repeated_signal_ends_process_1_during_a_refresh(owned, process_1, clock):
    """The run waits for another writer, so the first signal cannot stop it."""
    instance = owned({"refresh": {"source": "simulated"}, "store": {"busy_timeout_ms": WAIT_MS}})
    Refreshing(instance).hold_back(clock)
    pid, parent = process_1(instance, "refresh", subprocess.PIPE)

    def is_ended_by_signal():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        return parent.poll() is not None

    with parent.stderr:
        assert b"waiting up to" in parent.stderr.readline()
        with instance.write_transaction():
            with pytest.raises(wait.TimedOut):      # the command tries to begin the run every 200 ms
                wait.until(lambda: parent.poll() is not None, "no end before the signal", 1)
            wait.until(is_ended_by_signal, "the process to end")
            assert parent.returncode == 128 + signal.SIGTERM


# --- the log ---

DIRT = [b"\r", b"\n", b"\x1b[31m", b"\x00", b"\x7f", b"\x08", b"\t", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85", b"\xc2\x9b31m",
        b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf0\x9f\x98", b'"', b"\\", b"\r\n2026-01-01T00:00:00.000Z error forged",
        b'\n{"level":"error","message":"forged"}', b"%0d%0aforged", b"%s%n"]
TEMPLATES = [b"GET /v1/a@?b HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /v1/account?x=@ HTTP/1.1\r\nHost: a\r\n\r\n",
          b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1@\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a@\r\n\r\n",
          b"GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: a@\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4@\r\n\r\n",
          b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: @\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: @\r\n\r\n",
          b"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer @\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n@: b\r\n\r\n",
          b"GET http://@/v1/account HTTP/1.1\r\nHost: a\r\n\r\n"]


def control_in(text):
    """The first character that could move the cursor of a terminal or end a line."""
    return re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", text)


@pytest.mark.parametrize("style", ["json", "text"])
def test_request_bytes_are_escaped_in_the_log(owned, style):
    instance = owned({"log": {"level": "debug", "format": style}, "server": {"trusted_proxies": "127.0.0.1"}}).start()
    for template in TEMPLATES:
        for dirt in DIRT:
            instance.exchange(template.replace(b"@", dirt), half_close=True)
    with instance.client(instance.key) as client:
        assert client.get("/account", headers={"X-Request-Id": "the-last-one"}).status == 200
    instance.stop()
    raw = instance._log_path.read_bytes()
    assert raw.endswith(b"\n")
    lines = raw[:-1].decode("utf-8").split("\n")    # valid UTF-8
    assert len(lines) > len(TEMPLATES) * len(DIRT) and "the-last-one" in raw.decode()
    for line in lines:
        assert not control_in(line), ascii(line)
        if style == "text":
            assert not re.search(r'(?<!\\)(\\\\)*"', line), line
        if style == "json":
            entry = json.loads(line)
            assert list(entry) == ["time", "level", "message"] and entry["level"] in ("debug", "info"), line
            moment = entry["time"]
        else:
            moment, level, _ = line.split(" ", 2)
            assert level in ("debug", "info"), line
        assert moment == "2026-07-10T12:00:00.000Z", line
    shown = [line for line in lines if "/v1/account?x=" in line]
    assert any("%0d%0aforged" in line for line in shown) and any("%s%n" in line for line in shown)
    assert not any(re.search("x=[^ %]", line) for line in shown)     # an invalid target may contain a secret
