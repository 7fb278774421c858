"""Limit batches: all requests of one loop iteration share one call to Redis, and each request gets its own verdict.

A server that is stopped while requests arrive handles all of them in its next loop iteration.
"""
import contextlib
import http.client
import signal
import socket
import struct
import threading

import pytest

from lib import wait
from lib.client import Response
from lib.fakeredis import ADMITTED, FakeRedis, limit_keys, verdict
from lib.processes import is_stopped


KEYS_EACH = 100      # an author has at most 100 live keys
LAST = b"*2\r\n" + verdict(0, 60000)     # admits the request, as the last one of the window


class World:
    def __init__(self, make_viewtally, clock, url, limit, keys=1):
        self.server = make_viewtally({"limits": {"requests_per_minute": limit}, "redis": {"url": url}}, clock)
        authors = [self.server.add_author() for _ in range(0, keys, KEYS_EACH)]
        self.author = authors[0]
        self.keys = [self.server.create_key(authors[n // KEYS_EACH]) for n in range(keys)]
        self.server.start()
        wait.until(lambda: "redis: up" in self.server.log, "Redis to be up")
        self.connections = []

    def send(self, keys, path="/v1/account"):
        """Sends a request for each of `keys`, each on its own connection, all in one loop iteration of the server."""
        self.close()
        host, _, port = self.server.address.rpartition(":")
        self.connections = [http.client.HTTPConnection(host, int(port), timeout=30) for _ in keys]
        for connection in self.connections:     # so that the server has accepted the connection and watches it
            connection.request("GET", "/v1/nothing")
            assert self.read(connection).status == 404
        self.server.signal(signal.SIGSTOP)
        try:
            wait.until(lambda: is_stopped(self.server.pid), "the server to be stopped")
            for connection, key in zip(self.connections, keys):
                connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        finally:
            self.server.signal(signal.SIGCONT)

    @staticmethod
    def read(connection):
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())

    def responses(self):
        return [self.read(connection) for connection in self.connections]

    def close(self):
        for connection in self.connections:
            connection.close()


@pytest.fixture
def make_world(make_viewtally, clock):
    """make_world(url, limit) returns a World. Its monotonic clock stands still unless `timed` is set, so that no call
    to Redis is late on a loaded machine."""
    clock.set_monotonic(9_000_000)
    with contextlib.ExitStack() as stack:
        def make(*args, timed=False, **options):
            made = World(make_viewtally, None if timed else clock, *args, **options)
            stack.callback(made.close)
            return made
        yield make


@pytest.fixture
def fake():
    with FakeRedis() as made:
        yield made


def calls(fake):
    """The number of requests in each call of the limit script."""
    return [len(limit_keys(words)) for words in fake.commands if limit_keys(words)]


def remaining(response):
    return int(response.headers["X-RateLimit-Remaining"])


def evalsha_calls(redis):
    line = next(line for line in redis.call("INFO", "commandstats").splitlines() if line.startswith("cmdstat_evalsha:"))
    return int(line.partition("calls=")[2].partition(",")[0])


def test_many_requests_of_one_key_share_one_call(make_world, redis):
    world = make_world(redis.url, limit=20)
    redis.call("CONFIG", "RESETSTAT")       # discards the probes
    world.send(world.keys * 30)
    responses = world.responses()
    assert sorted(r.status for r in responses) == [200] * 20 + [429] * 10
    assert sorted(remaining(r) for r in responses if r.status == 200) == list(range(20))     # counted one after another
    assert evalsha_calls(redis) == 1


def test_requests_that_exceed_one_call_are_sent_in_further_calls(make_world, redis):
    world = make_world(redis.url, limit=2, keys=150)
    redis.call("CONFIG", "RESETSTAT")
    world.send(world.keys)
    assert [(r.status, remaining(r)) for r in world.responses()] == [(200, 1)] * 150
    assert evalsha_calls(redis) == 3


def test_each_request_of_a_call_is_decided_separately(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=5)
    listed = world.server.run("key", "list", "--author", world.author, "--json").json()
    number = {entry["id"]: world.keys.index(next(key for key in world.keys if key.endswith(entry["prefix"][-4:]))) for entry in listed}
    fake.reply = lambda words: b"*10\r\n" + b"".join(verdict(number[name.decode()[-36:]], 1000) for name in limit_keys(words))
    world.send(world.keys)
    responses = world.responses()
    assert calls(fake) == [5]
    assert [remaining(r) for r in responses] == [0, 1, 2, 3, 4]


def test_poll_positions_share_one_call(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=5)
    for _ in range(2):      # the second round sends the positions of the first one
        world.send(world.keys, "/v1/events")
        assert [r.status for r in world.responses()] == [200] * 5
    # The poll positions follow the limit call in the same write. The fake Redis may read them after the clients have
    # their responses.
    updates = wait.until(lambda: [words for words in fake.commands if words[0] == b"EVALSHA" and b":poll:" in words[3]
                                  and words[2] == b"5"], "the poll positions to be sent")
    assert len(set(updates[0][3:8])) == 5
    assert calls(fake) == [5, 5]


def reset(connection):
    """Resets the connection, so that the server notices at once that the client has disconnected."""
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.sock.close()


def test_client_that_disconnects_does_not_affect_other_requests_of_its_batch(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=3)
    with world.server.admin() as admin:
        def disconnect(words):
            reset(world.connections.pop(1))
            wait.until(lambda: open_connections(admin) == 2, "the server to close the connection")
            fake.reply = lambda words: ADMITTED
            return b"*6\r\n" + verdict(7, 1000) * 3

        fake.reply = disconnect
        world.send(world.keys)
        assert [r.status for r in world.responses()] == [200, 200]
    assert calls(fake) == [3]
    with world.server.client(world.keys[1]) as client:
        assert client.get("/account").status == 200


def test_request_of_a_disconnected_client_counts_in_the_process_window(make_world, fake):
    def disconnect(words):
        reset(world.connections.pop(1))
        return b"*6\r\n" + verdict(0, 60000) * 3

    world = make_world(fake.url, limit=1, keys=3)
    fake.reply = disconnect
    world.send(world.keys)
    assert [r.status for r in world.responses()] == [200, 200]
    fake.reply = lambda words: None
    for key in world.keys:
        with world.server.client(key) as client:
            assert client.get("/account").status == 429


def open_connections(admin):
    lines = admin.get("/metrics").body.decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("viewtally_http_connections "))


def test_process_decides_a_batch_whose_reply_is_late(make_world, fake):
    gate = threading.Event()
    world = make_world(fake.url, limit=1, keys=8, timed=True)
    fake.reply = lambda words: gate.wait(60) and LAST
    world.send(world.keys)
    assert [(r.status, remaining(r)) for r in world.responses()] == [(200, 0)] * 8
    assert calls(fake) == [8] and "no reply in time" in world.server.log
    gate.set()          # now Redis replies to requests that were answered long ago
    wait.until(lambda: world.server.log.rstrip().endswith("redis: up"), "Redis to be up")
    with world.server.client(world.keys[0]) as client:
        assert client.get("/account").status == 200


@pytest.mark.parametrize("reply", [b"*4\r\n" + verdict(1, 1000) * 2, b"*8\r\n" + verdict(1, 1000) * 4,
                                   b"*6\r\n" + verdict(-2, -1) * 3, b"-ERR gone mad\r\n"], ids=["fewer", "more", "nonsense", "error"])
def test_invalid_reply_is_ignored_for_the_whole_batch(make_world, fake, reply):
    world = make_world(fake.url, limit=2, keys=3)
    fake.reply = lambda words: reply
    world.send(world.keys)
    assert [(r.status, remaining(r)) for r in world.responses()] == [(200, 1)] * 3     # decided by the process
    assert calls(fake) == [3]
