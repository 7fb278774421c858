"""viewtally healthcheck against real servers, and against things that are none."""
import os
import signal
import socket
import threading
import time

import pytest

from lib import wait
from lib.client import connect


@pytest.fixture
def served(viewtally):
    """The configuration names the port that the server got, as an operator's would."""
    with viewtally:
        viewtally.configure({"admin": {"listen": viewtally.admin_addresses[0]}, "server": {"listen": viewtally.address}})
        yield viewtally


def test_ready(served):
    done = served.run("healthcheck")
    assert (done.out, done.err) == ("ready\n", "")
    assert served.run("healthcheck", "--strict").out == "ready\n"


def test_degraded_is_done_or_done_in_part(make_viewtally, redis):
    instance = make_viewtally({"redis": {"url": redis.url}})
    with instance:
        instance.configure({"admin": {"listen": instance.admin_addresses[0]}})
        wait.until(lambda: instance.run("healthcheck").out == "ready\n", "Redis to be up")
        redis.kill()
        wait.until(lambda: instance.run("healthcheck").out == "degraded: Redis is unavailable\n", "the loss to be noticed")
        assert instance.run("healthcheck", "--strict", status=1).out == "degraded: Redis is unavailable\n"


def test_draining_is_not_ready(served):
    with connect(served.address) as sock:
        sock.sendall(b"GET /v1/account HTTP/1.1\r\nHost: x\r\n")
        wait.until(lambda: b"in_flight 1\n" in served.admin().get("/metrics").body, "the request to begin")
        served.signal(signal.SIGTERM)
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the drain")
        assert served.run("healthcheck", status=3).out == "not ready: shutting down\n"
    served.wait_stopped()


def test_nobody_is_there(viewtally):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        viewtally.configure({"admin": {"listen": address}})
        refused = viewtally.run("healthcheck", status=3)
        assert refused.out == "" and f"{address}: Connection refused" in refused.err
    viewtally.configure({"admin": {"listen": f"unix:{viewtally.directory}/none"}})
    assert "No such file" in viewtally.run("healthcheck", status=3).err
    viewtally.configure({"admin": {"listen": "127.0.0.1:0"}})
    assert "does not say where the server is" in viewtally.run("healthcheck", status=2).err


@pytest.mark.parametrize("listen", ["0.0.0.0:{port}", "[::]:{port}", "[::1]:{port}", "unix:{path}"])
def test_every_kind_of_address(viewtally, tmp_path, listen):
    host = "::1" if "[" in listen else "127.0.0.1"
    with socket.socket(socket.AF_INET6 if "[" in listen else socket.AF_INET) as sock:
        try:
            sock.bind((host, 0))
        except OSError:
            pytest.skip("no IPv6")
        port = sock.getsockname()[1]
    path = tmp_path / "s"
    viewtally.configure({"admin": {"listen": listen.format(port=port, path=path)}})
    with viewtally:
        assert viewtally.run("healthcheck").out == "ready\n"


def test_without_an_admin_listener_any_answer_will_do(served):
    served.configure({"admin": {"listen": ""}})
    assert served.run("healthcheck").out.startswith("the server replies")
    served.configure({"server": {"listen": "127.0.0.1:0"}})
    served.run("healthcheck", status=2)


def test_it_does_not_wait_for_a_server_that_hangs(served):
    os.kill(served.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        assert "no answer in time" in served.run("healthcheck", status=3, timeout=60).err
    finally:
        os.kill(served.pid, signal.SIGCONT)
    assert time.monotonic() - began > 2.5           # not before its three seconds


@pytest.mark.parametrize("answer, said", [
    (b"", "Protocol error"), (b"SSH-2.0-OpenSSH_9.2\r\n", "Protocol error"), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nread", "Protocol error"),
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answered 404"), (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2 << 20), "Protocol error"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n", None), (b"HTTP/1.0 200 OK\r\n\r\nready\n", None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\x1b[2Jevil", None)], ids=map(str, range(8)))
def test_what_others_may_answer(viewtally, answer, said):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            sock = listener.accept()[0]
            with sock:
                sock.recv(4096)
                try:
                    sock.sendall(answer)
                    sock.shutdown(socket.SHUT_WR)
                    sock.recv(1)
                except OSError:
                    pass
        thread = threading.Thread(target=serve)
        thread.start()
        viewtally.configure({"admin": {"listen": f"127.0.0.1:{listener.getsockname()[1]}"}})
        done = viewtally.run("healthcheck", status=3 if said else 0)
        thread.join()
    assert said in done.err if said else "\x1b" not in done.out and done.out.endswith("\n") and len(done.out) < 20
