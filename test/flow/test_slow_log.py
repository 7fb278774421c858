"""Slow requests and slow statements in the log, and the Server-Timing field."""
import re
import signal
import time

import pytest

from lib import wait
from lib.metrics import scrape
from lib.pages import Browser

PASSWORD = "the wrong password"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def served(make_viewtally):
    """served(config) starts a server with an author and a key."""
    def make(config):
        instance = make_viewtally(config)
        instance.author = instance.add_author("Named in no log")
        instance.key = instance.create_key(instance.author)
        return instance.start()
    return make


def sign_in(instance, **headers):
    """Sends a wrong password, whose hash takes many milliseconds by design."""
    browser = Browser(instance.client())
    page = browser.get("/sign-in")
    return browser.send(page, "/sign-in", {"login": "ann@example.com", "password": PASSWORD}, follow=False, headers=headers)


def slow_lines(instance):
    """The slow requests in the log, as dictionaries."""
    return [dict(pair.split("=", 1) for pair in line.split(" slow request: ")[1].split()) for line in instance.log.splitlines()
            if " slow request: " in line]


def test_slow_request_is_logged_without_secrets(served):
    server = served({"log": {"slow_request_ms": 1}})
    assert sign_in(server, **{"X-Request-Id": "slow-1", "traceparent": TRACE}).status == 422
    line = wait.until(lambda: next((line for line in slow_lines(server) if line["request_id"] == "slow-1"), None), "the line of the request")
    times = {name: float(line.pop(name)) for name in list(line) if name.endswith("ms")}
    assert line == {"method": "POST", "route": "/sign-in", "status": "422", "client": "127.0.0.1", "request_id": "slow-1",
                    "trace_id": TRACE.split("-")[1]}
    assert times["ms"] >= times["wait_ms"] > 1 and times["sleep_ms"] == 0
    assert not re.search("ann@|ann%40|wrong", server.log)


def test_wait_of_a_long_poll_is_not_logged_as_slow(served):
    server = served({"log": {"slow_request_ms": 4900}})
    client = server.client(server.key)
    assert client.get("/events", {"after": "latest", "wait": 5}).status == 200
    server.configure({"log": {"slow_request_ms": 1}})
    server.signal(signal.SIGHUP)
    wait.until(lambda: "configuration reloaded, 1 value changed" in server.log, "the reload")
    assert slow_lines(server) == []
    sign_in(server)
    wait.until(lambda: slow_lines(server), "a slow request, as the threshold is lower now")


def test_threshold_of_zero_logs_no_request(served):
    server = served({"log": {"slow_request_ms": 0, "slow_query_ms": 0}})
    sign_in(server, **{"X-Request-Id": "slow-2"})
    server.stop()
    assert "slow" not in server.log


def hold_write_lock(server, ms):
    """Holds the lock of write transactions until a writer of the server has waited for `ms`."""
    with server.write_transaction():
        server.client(server.key).get("/account")       # causes a write of the last use of the key
        wait.until(lambda: scrape(server).get("viewtally_store_write_queue_length") >= 1, "a write to wait")
        start = time.monotonic()
        wait.until(lambda: time.monotonic() - start > ms / 1000, "the time")


def test_slow_statement_is_logged(served):
    server = served({"log": {"slow_query_ms": 20, "slow_request_ms": 0}})
    hold_write_lock(server, 60)
    lock = "SELECT pg_advisory_xact_lock" if server.is_on_server else "BEGIN"
    found = wait.until(lambda: re.findall(r" warn slow query: (\d+) ms: " + lock, server.log), "a slow statement")
    assert int(found[0]) >= 20


# -- Server-Timing -----------------------------------------------------------------------------------------------------

ASK = {"X-Viewtally-Timing": "1"}
VALUE = re.compile(r"total;dur=(\d+\.\d{3}), database;dur=(\d+\.\d{3}), wait;dur=\d+\.\d{3}, sleep;dur=(\d+\.\d{3}), cache;desc=(none|hit)")


def timing(response):
    return response.headers.get("Server-Timing")


def test_server_timing_is_off_by_default(served):
    server = served({})
    assert timing(server.client(server.key).get("/account", headers=ASK)) is None


def test_server_timing_is_sent_on_request_to_a_local_client(served):
    server = served({"server": {"timing": "on"}})
    client = server.client(server.key)
    assert timing(client.get("/account")) is None
    total, database, sleep, cache = VALUE.fullmatch(timing(client.get("/stats", headers=ASK))).groups()
    assert float(total) >= float(database) > 0 and float(sleep) == 0 and cache == "none"
    for _ in range(3):
        last = timing(client.get("/stats", headers=ASK))
    assert VALUE.fullmatch(last).group(4) == "hit"
    sleep = VALUE.fullmatch(timing(client.get("/events", {"after": "latest", "wait": 1}, headers=ASK))).group(3)
    assert float(sleep) > 900
    assert VALUE.fullmatch(timing(client.get("/nowhere", headers=ASK)))
    assert VALUE.fullmatch(timing(client.request("GET", "/sign-in", headers=ASK)))


@pytest.mark.parametrize("headers", [{"X-Viewtally-Timing": "0"}, {"X-Viewtally-Timing": ""}, {"X-Viewtally-Timing": "1, 1"},
                                     {**ASK, "X-Forwarded-For": "127.0.0.1"}, {**ASK, "X-Forwarded-For": ""}])
def test_server_timing_is_not_sent_through_a_proxy_or_if_the_client_does_not_request_it(served, headers):
    server = served({"server": {"timing": "on", "trusted_proxies": "127.0.0.1"}})
    assert timing(server.client(server.key).get("/account", headers=headers)) is None
