"""viewtally healthcheck against running servers, and against other programs on their port."""
import os
import signal
import socket
import threading
import time

import pytest

from lib import wait
from lib.client import connect
from lib.services import free_port


@pytest.fixture
def served(viewtally):
    """A server whose configuration names the ports that it was assigned."""
    with viewtally:
        viewtally.configure({"admin": {"listen": viewtally.admin_addresses[0]}, "server": {"listen": viewtally.address}})
        yield viewtally


def test_healthcheck_of_a_ready_server_exits_with_0(served):
    done = served.run("healthcheck")
    assert (done.out, done.err) == ("ready\n", "")
    assert served.run("healthcheck", "--strict").out == "ready\n"


def test_healthcheck_of_a_degraded_server_exits_with_0_or_if_strict_with_1(make_viewtally, redis):
    instance = make_viewtally({"redis": {"url": redis.url}})
    with instance:
        instance.configure({"admin": {"listen": instance.admin_addresses[0]}})
        wait.until(lambda: instance.run("healthcheck").out == "ready\n", "Redis to be available")
        redis.kill()
        wait.until(lambda: instance.run("healthcheck").out.startswith("degraded: Redis is unavailable ("), "the outage to be noticed")
        assert instance.run("healthcheck", "--strict", status=1).out.startswith("degraded: Redis is unavailable (")


def test_draining_server_is_not_ready(served):
    with connect(served.address) as sock:
        sock.sendall(b"GET /v1/account HTTP/1.1\r\nHost: x\r\n")
        wait.until(lambda: b"in_flight 1\n" in served.admin().get("/metrics").body, "the request to begin")
        served.signal(signal.SIGTERM)
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the drain")
        assert served.run("healthcheck", status=3).out == "not ready: shutting down\n"
    served.wait_stopped()


def test_healthcheck_exits_with_3_if_no_server_is_running(viewtally):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        viewtally.configure({"admin": {"listen": address}})
        refused = viewtally.run("healthcheck", status=3)
        assert refused.out == "" and f"{address}: cannot connect, so the server is not running or has another address" in refused.err
    viewtally.configure({"admin": {"listen": f"unix:{viewtally.directory}/none"}})
    assert "cannot connect" in viewtally.run("healthcheck", status=3).err
    viewtally.configure({"admin": {"listen": "127.0.0.1:0"}})
    assert "127.0.0.1:0: not an address that can be connected to" in viewtally.run("healthcheck", status=2).err


@pytest.mark.parametrize("listen", ["0.0.0.0:{port}", "[::]:{port}", "[::1]:{port}", "unix:{path}"])
def test_healthcheck_connects_to_every_kind_of_listen_address(viewtally, tmp_path, listen):
    if "[" in listen:
        with socket.socket(socket.AF_INET6) as sock:
            try:
                sock.bind(("::1", 0))
            except OSError:
                pytest.skip("no IPv6")
    viewtally.configure({"admin": {"listen": listen.format(port=free_port(), path=tmp_path / "s")}})
    with viewtally:
        assert viewtally.run("healthcheck").out == "ready\n"


def test_healthcheck_accepts_any_response_if_there_is_no_admin_listener(served):
    served.configure({"admin": {"listen": ""}})
    assert served.run("healthcheck").out.startswith("the server replies")
    served.configure({"server": {"listen": "127.0.0.1:0"}})
    served.run("healthcheck", status=2)


def test_healthcheck_times_out_after_three_seconds(served):
    os.kill(served.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        assert "no response within 3000 ms" in served.run("healthcheck", status=3, timeout=60).err
    finally:
        os.kill(served.pid, signal.SIGCONT)
    assert time.monotonic() - began > 2.5


@pytest.mark.parametrize("response, error", [
    (b"", "not a valid HTTP response"), (b"SSH-2.0-OpenSSH_9.2\r\n", "not a valid HTTP response"), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nread", "not a valid HTTP response"),
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "replied 404"), (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2 << 20), "not a valid HTTP response"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n", None), (b"HTTP/1.0 200 OK\r\n\r\nready\n", None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\x1b[2Jevil", None)], ids=map(str, range(8)))
def test_healthcheck_accepts_only_complete_http_responses_with_status_200(viewtally, response, error):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            sock = listener.accept()[0]
            with sock:
                sock.recv(4096)
                try:
                    sock.sendall(response)
                    sock.shutdown(socket.SHUT_WR)
                    sock.recv(1)
                except OSError:
                    pass
        thread = threading.Thread(target=serve)
        thread.start()
        viewtally.configure({"admin": {"listen": f"127.0.0.1:{listener.getsockname()[1]}"}})
        done = viewtally.run("healthcheck", status=3 if error else 0)
        thread.join()
    assert error in done.err if error else "\x1b" not in done.out and done.out.endswith("\n") and len(done.out) < 20
