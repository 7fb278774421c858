"""The access log and reloading by SIGHUP: content of lines, rotation without loss, no forged lines, no secrets."""
import json
import os
import re
import signal
import socket
import threading

import pytest

from lib import wait
from lib.client import connect
from lib.lines import author, reading, uid, video
from lib.metrics import scrape
from lib.spool import Spool

NOW = "2026-07-10T12:00:00.000Z"


@pytest.fixture
def logged(make_viewtally, clock, tmp_path):
    """A server with an access log; instance.path is its file."""
    instance = make_viewtally({"log": {"access": str(tmp_path / "access.log")}}, clock)
    instance.path = tmp_path / "access.log"
    instance.author = instance.add_author()
    created = instance.run("key", "create", "--author", instance.author, "--name", "test", "--json").json()
    instance.key, instance.key_id = created["key"], created["id"]
    with instance:
        yield instance


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wait_for_lines(path, count):
    """Waits until the file has `count` lines and returns them."""
    return wait.until(lambda: path.exists() and len(path.read_bytes().splitlines()) >= count and lines_of(path), f"{count} lines in {path}")


def reload(instance, message, times=1):
    """Sends SIGHUP and waits until the server has logged the result."""
    instance.signal(signal.SIGHUP)
    wait.until(lambda: instance.log.count(message) >= times, message)


def test_each_request_has_one_log_line(logged):
    client = logged.client(logged.key)
    missing = "/videos/00000000-0000-4000-8000-000000000000"
    ids = []
    for method, target in (("GET", "/v1/account"), ("HEAD", "/v1/account"), ("GET", "/v1" + missing), ("GET", "/nowhere?a=1"), ("POST", "/v1/books")):
        ids.append(client.request(method, target, headers={"X-Request-Id": f"id-{len(ids)}"}))
    length = int(ids[0].headers["Content-Length"])
    assert b" 431 " in logged.exchange(b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: early\r\nX: " + b"x" * 20000 + b"\r\n\r\n")
    lines = wait_for_lines(logged.path, 6)
    assert list(lines[0]) == ["time", "request_id", "trace_id", "parent_id", "method", "route", "status", "bytes", "ms", "key_id", "author_id", "client", "limiter", "complete"]
    assert all(0 <= line.pop("ms") < 60_000 for line in lines)
    known = {"time": NOW, "key_id": logged.key_id, "author_id": logged.author, "client": "127.0.0.1", "limiter": "off", "complete": True,
             "trace_id": None, "parent_id": None}
    unknown = {**known, "key_id": None, "author_id": None, "limiter": None}
    assert lines[0] == {**known, "request_id": "id-0", "method": "GET", "route": "/v1/account", "status": 200, "bytes": length}
    assert lines[1] == {**known, "request_id": "id-1", "method": "HEAD", "route": "/v1/account", "status": 200, "bytes": 0}
    assert lines[2] == {**known, "request_id": "id-2", "method": "GET", "route": "/v1/videos/{id}", "status": 404, "bytes": len(ids[2].body)}
    assert lines[3] == {**unknown, "request_id": "id-3", "method": "GET", "route": None, "status": 404, "bytes": len(ids[3].body)}
    assert lines[4] == {**unknown, "request_id": "id-4", "method": "POST", "route": "/v1/books", "status": 405, "bytes": len(ids[4].body)}
    assert {**lines[5], "bytes": 0, "request_id": ""} == {**unknown, "request_id": "", "method": "GET", "route": None, "status": 431, "bytes": 0}
    assert len(lines) == 6 and scrape(logged).get("viewtally_access_log_lines_total") == 6
    assert logged.path.stat().st_mode & 0o777 == 0o640


TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_trace_of_a_valid_traceparent_is_logged(logged):
    client = logged.client(logged.key)
    valid = f"00-{TRACE}-{PARENT}-01"
    for value in (valid, f"00-{TRACE.upper()}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", "nonsense", valid + "-x", ""):
        client.get("/account", headers={"traceparent": value})
    request = "GET /v1/account HTTP/1.1\r\nHost: x\r\n" + f"traceparent: {valid}\r\n" * 2 + f"Authorization: Bearer {logged.key}\r\n\r\n"
    assert b" 200 " in logged.exchange(request.encode() + b"GET /nowhere HTTP/1.1\r\nHost: x\r\nTraceParent: " + valid.encode()
                                       + b"\r\nConnection: close\r\n\r\n")
    lines = wait_for_lines(logged.path, 8)
    known, unknown = (TRACE, PARENT), (None, None)
    assert [(line["trace_id"], line["parent_id"]) for line in lines] == [known, *[unknown] * 6, known]


def test_forwarded_client_address_is_logged_only_from_a_trusted_proxy(logged):
    client = logged.client(logged.key)
    client.get("/account", headers={"X-Forwarded-For": "203.0.113.7"})
    assert wait_for_lines(logged.path, 1)[0]["client"] == "127.0.0.1"
    logged.stop()
    logged.configure({"server": {"trusted_proxies": "127.0.0.1"}})
    logged.start()
    logged.client(logged.key).get("/account", headers={"X-Forwarded-For": "198.51.100.9, 203.0.113.7"})
    assert wait_for_lines(logged.path, 2)[1]["client"] == "203.0.113.7"


def test_disconnected_client_is_logged_as_incomplete(logged):
    with connect(logged.address) as sock:
        sock.sendall(b"GET /v1/events?after=evt_0&wait=50 HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\nAuthorization: Bearer "
                     + logged.key.encode() + b"\r\n\r\n")
        wait.until(lambda: scrape(logged).get("viewtally_http_requests_in_flight") == 1, "the request to wait")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    line = wait_for_lines(logged.path, 1)[0]
    assert (line["request_id"], line["status"], line["bytes"], line["complete"]) == ("gone", None, 0, False)


def test_server_writes_all_access_log_lines_before_it_exits(logged):
    client = logged.client(logged.key)
    for _ in range(50):
        client.get("/account")
    logged.stop()
    assert len(lines_of(logged.path)) == 50


def test_rotation_under_load_loses_nothing(logged):
    """Four clients send requests while the file is renamed and SIGHUP is sent repeatedly, as by logrotate."""
    sent, ending = [0] * 4, threading.Event()

    def send_requests(number):
        with logged.client(logged.key) as client:
            while not ending.is_set():
                assert client.get("/account", headers={"X-Request-Id": f"{number}-{sent[number]}"}).status == 200
                sent[number] += 1

    threads = [threading.Thread(target=send_requests, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    old = []
    for rotation in range(1, 6):
        goal = sum(sent) + 150
        wait.until(lambda: sum(sent) >= goal and logged.path.exists() and logged.path.stat().st_size, "some requests")   # noqa: B023
        old.append(logged.path.with_name(f"access.log.{rotation}"))
        logged.path.rename(old[-1])
        reload(logged, "configuration reloaded", rotation)
    ending.set()
    for thread in threads:
        thread.join()
    logged.stop()
    files = [lines_of(path) for path in [*old, logged.path]]
    assert all(files[:-1]), "a rotated file has no lines"
    found = [line["request_id"] for lines in files for line in lines]
    assert sorted(found) == sorted(f"{number}-{i}" for number in range(4) for i in range(sent[number]))


@pytest.mark.parametrize("style", ["text", "json"])
def test_requests_cannot_forge_lines_or_leak_secrets(make_viewtally, clock, tmp_path, style):
    path = tmp_path / "access.log"
    instance = make_viewtally({"log": {"access": str(path), "level": "debug", "format": style}, "server": {"trusted_proxies": "127.0.0.1"}}, clock)
    key = instance.create_key(instance.add_author("Eve\r\n\x1b[31m"))
    hostile = b'"}\\\x1b[2J\xc2\x9b1m\xff\xfe\xe2\x80\xa8'
    heads = [b"GET /v1/%s?x=%s HTTP/1.1" % (hostile, hostile), b"GET /v1/account?key=" + key.encode() + b" HTTP/1.1", b"GET /v1/" + key.encode() + b" HTTP/1.1",
             b"HOSTILE\x1b /v1/account HTTP/1.1", b"GET /v1/account HTTP/1.1"]
    fields = [b"X-Request-Id: " + hostile, b"X-Request-Id: a\rb", b"X-Forwarded-For: " + hostile, b"X-Forwarded-For: 1.2.3.4\x1b, " + key.encode(),
              b"X-Request-Id: " + key.encode(), b"User-Agent: " + hostile + key.encode(), b"Cookie: a=" + key.encode(), b"Origin: " + key.encode(),
              b"Host: " + key.encode()]
    with instance:
        count = 0
        for head in heads:
            for field in fields:
                host = b"" if field.startswith(b"Host") else b"Host: x\r\n"
                instance.exchange(head + b"\r\n" + host + field + b"\r\nAuthorization: Bearer " + key.encode() + b"\r\nConnection: close\r\n\r\n")
                count += 1
        instance.client(key).request("POST", "/v1/oauth/token", body=b"code=" + key.encode() + hostile)
        wait_for_lines(path, count + 1)
        metrics = scrape(instance).text
    secret = key[len("service_live_"):]
    for text in (path.read_bytes(), instance.log.encode("utf-8", "surrogateescape"), metrics.encode()):
        assert secret.encode() not in text
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f\xff]|\xc2[\x80-\x9f]", text)
        text.decode("utf-8")
    assert len(lines_of(path)) == count + 1


def test_full_pipe_drops_lines_without_blocking(make_viewtally, clock, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        instance = make_viewtally({"log": {"access": str(path)}}, clock)
        key = instance.create_key(instance.add_author())
        with instance:
            long_id = {"X-Request-Id": "x" * 128}
            client = instance.client(key)

            def dropped():
                for _ in range(300):
                    assert client.get("/account", headers=long_id).status == 200
                return scrape(instance).get("viewtally_access_log_lines_dropped_total")

            wait.until(dropped, "lines to be dropped", 300)
            wait.until(lambda: "cannot write the access log" in instance.log, "the warning")
            metrics = scrape(instance)
            before = metrics.get("viewtally_access_log_lines_total")
            data = b""

            def drained():
                nonlocal data
                try:
                    data += os.read(reader, 1 << 20)
                except BlockingIOError:
                    pass
                return data.count(b"\n") >= before

            wait.until(drained, "the pipe to be drained")
            wait.until(lambda: "the access log can be written again" in instance.log, "the message")
            assert all(json.loads(line)["request_id"] == "x" * 128 for line in data.splitlines())
    finally:
        os.close(reader)


def test_access_log_can_go_to_standard_error_or_be_turned_off(make_viewtally, clock):
    instance = make_viewtally({"log": {"access": "-"}}, clock)
    key = instance.create_key(instance.add_author())
    with instance:
        instance.client(key).get("/account", headers={"X-Request-Id": "there"})
        wait.until(lambda: '"request_id":"there"' in instance.log, "the line")
    instance.configure({"log": {"access": ""}})
    with instance:
        instance.client(key).get("/account", headers={"X-Request-Id": "there"})
    assert '"request_id"' not in instance.log


@pytest.mark.sqlite_only("creates the database with serve --create")
def test_serve_exits_with_3_if_it_cannot_open_the_access_log(make_viewtally, clock, tmp_path):
    instance = make_viewtally({"log": {"access": str(tmp_path / "none" / "access.log")}}, clock)
    result = instance.run("serve", "--create", status=3)
    assert f"[log] access: {tmp_path}/none/access.log: No such file or directory" in result.err and "listening" not in result.out


# -- SIGHUP ---------------------------------------------------------------------------------------------------------------


def test_reload_applies_new_values(logged):
    client = logged.client(logged.key)
    origin = {"Origin": "https://app.example.com"}
    first = client.get("/account", headers=origin)
    assert "RateLimit" not in first.headers and "Access-Control-Allow-Origin" not in first.headers
    other = logged.path.with_name("other.log")
    logged.configure({"limits": {"requests_per_minute": "3"}, "server": {"cors_origins": "https://app.example.com"}, "log": {"access": str(other), "format": "json"}})
    reload(logged, "configuration reloaded, 4 values changed")
    assert json.loads(logged.log.splitlines()[-1])["level"] == "info"
    answers = [client.get("/account", headers=origin) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["X-RateLimit-Limit"] == "3" and answers[0].headers["Access-Control-Allow-Origin"] == origin["Origin"]
    assert len(wait_for_lines(other, 4)) == 4 and len(lines_of(logged.path)) == 1
    logged.configure({"limits": {"requests_per_minute": "6", "headers": "off"}, "server": {"cors_origins": ""}, "log": {"level": "warn", "access": ""}})
    reload(logged, "", 1)
    answers = []
    wait.until(lambda: answers.append(client.get("/account", headers=origin)) or "RateLimit" not in answers[-1].headers, "the new configuration")
    statuses = [answer.status for answer in answers] + [client.get("/account").status for _ in range(4)]
    assert statuses.count(200) == 3, "three of the six requests per minute were used before"
    assert "Access-Control-Allow-Origin" not in answers[-1].headers


def test_reload_applies_the_refresh_minute_and_the_viral_rules(viewtally, clock, tmp_path):
    spool = Spool(tmp_path / "spool")
    viewtally.configure({"refresh": {"source": "spool", "spool_dir": spool.path}})
    viewtally.import_lines([author("Ada"), video("a", "Ada", "2026-07-01T08:00:00Z"), reading("a", "2026-07-02T00:00:00Z", 10)])
    key = viewtally.create_key(uid("Ada"))
    with viewtally, viewtally.client(key) as client:
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_runs_total") == 1, "the run at the start")
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_next_timestamp_seconds") == 1783684800 + 55 * 60, "the next run")
        viewtally.configure({"refresh": {"minute": "20"}, "viral": {"min_views": "500"}})
        reload(viewtally, "configuration reloaded, 2 values changed")
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_next_timestamp_seconds") == 1783684800 + 20 * 60, "the new minute")
        spool.drop("one.ndjson", [reading("a", "2026-07-09T00:00:00Z", 600)])
        wait.until(lambda: client.get(f"/videos/{uid('a')}").json()["data"]["viral"]["is_viral"], "the new rule")


def test_reload_logs_each_changed_setting_that_needs_a_restart(logged):
    logged.configure({"server": {"max_connections": "77", "base_url": "http://elsewhere/v1"}, "redis": {"password": "hushhush"}})
    reload(logged, "configuration reloaded, 0 values changed")
    for key in ("[server] max_connections", "[server] base_url", "[redis] password"):
        assert logged.log.count(f"{key} takes effect after a restart") == 1
    assert "hushhush" not in logged.log
    assert logged.client(logged.key).get("/account").status == 200


@pytest.mark.parametrize("text, message", [("[limits]\nrequests_per_minute = many\n", ":2: [limits] requests_per_minute must be a whole number"),
                                        ("[nonsense]\na = 1\n", "unknown section [nonsense]"), ("limits\n", "must be [section]"),
                                        ("[log]\naccess = /nowhere/at/all\nlevel = debug\n", "[log] access: /nowhere/at/all: No such file"), (None, "cannot read the file")])
def test_reload_ignores_an_invalid_configuration(logged, text, message):
    client = logged.client(logged.key)
    client.get("/account")
    wait_for_lines(logged.path, 1)
    logged.path.rename(logged.path.with_name("old"))
    if text is None:
        logged.config_path.unlink()
    else:
        logged.config_path.write_text(text)
    reload(logged, "cannot reload the configuration, the current one stays in use: ")
    assert message in logged.log
    assert "RateLimit" not in client.get("/account").headers
    assert len(wait_for_lines(logged.path, 1)) == 1, "the log is reopened although the configuration is invalid"
    assert "debug" not in logged.log


def test_api_connections_do_not_use_up_the_descriptors_of_the_admin_listener(make_viewtally, clock, tmp_path):
    clock.set_monotonic(1_000_000)      # stands still, so no connection becomes idle long enough to be evicted
    instance = make_viewtally({"server": {"max_connections": "10000"}}, clock)
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -n 256\nexec {instance.binary} "$@"\n')
    limited.chmod(0o755)
    instance.binary = str(limited)
    instance.start()
    connections = []
    try:
        for _ in range(300):
            connections.append(connect(instance.address))
        wait.until(lambda: scrape(instance).get("viewtally_http_listeners_paused") == 1, "the listener to be paused at its maximum of connections")
        metrics = scrape(instance)
        assert metrics.get("viewtally_http_connections") == 192 and metrics.get("process_max_fds") == 256
        assert instance.admin().get("/readyz").body == b"ready\n"
    finally:
        for sock in connections:
            sock.close()
    instance.stop()
