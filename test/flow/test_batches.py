"""What is asked of the limit in one turn of the loop is one call of Redis, and each asker gets its own answer.

A server that is stopped while requests come finds all of them in its next turn.
"""
import contextlib
import http.client
import pathlib
import signal
import socket
import struct
import threading

import pytest

from lib import wait
from lib.client import Response
from lib.fakeredis import ADMITTED, FakeRedis, asked, verdict


KEYS_EACH = 100      # an author has no more than 100 live keys


class World:
    def __init__(self, make_viewtally, url, limit, keys=1):
        self.server = make_viewtally({"limits": {"requests_per_minute": limit}, "redis": {"url": url}})
        authors = [self.server.add_author() for _ in range(0, keys, KEYS_EACH)]
        self.keys = [self.server.create_key(authors[n // KEYS_EACH]) for n in range(keys)]
        self.server.start()
        wait.until(lambda: "redis: up" in self.server.log, "Redis to be up")
        self.connections = []

    def ask(self, keys, path="/v1/account"):
        """Sends a request on a connection of its own for each of `keys`, all of them in one turn of the server's loop."""
        self.close()
        host, _, port = self.server.address.rpartition(":")
        self.connections = [http.client.HTTPConnection(host, int(port), timeout=30) for _ in keys]
        for connection in self.connections:     # it is accepted and served: from now on the server watches it
            connection.request("GET", "/v1/nothing")
            assert self.read(connection).status == 404
        self.server.signal(signal.SIGSTOP)
        try:
            wait.until(self.is_stopped, "the server to stand still")
            for connection, key in zip(self.connections, keys):
                connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        finally:
            self.server.signal(signal.SIGCONT)

    def is_stopped(self):
        """Each of its threads: the signal comes to one after the other."""
        tasks = pathlib.Path(f"/proc/{self.server.pid}/task")
        return all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.iterdir())

    @staticmethod
    def read(connection):
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())

    def answers(self):
        return [self.read(connection) for connection in self.connections]

    def close(self):
        for connection in self.connections:
            connection.close()


@pytest.fixture
def make_world(make_viewtally):
    with contextlib.ExitStack() as stack:
        def make(*args, **options):
            made = World(make_viewtally, *args, **options)
            stack.callback(made.close)
            return made
        yield make


@pytest.fixture
def fake():
    with FakeRedis() as made:
        yield made


def calls(fake):
    """How many keys each call of the limit's script had."""
    return [len(asked(words)) for words in fake.commands if asked(words)]


def remaining(answer):
    return int(answer.headers["X-RateLimit-Remaining"])


def test_one_key_many_times_in_one_turn(make_world, redis):
    """As calls one behind the other: a call asks for a key once."""
    world = make_world(redis.url, limit=20)
    redis.call("CONFIG", "RESETSTAT")       # without the calls by which the connection was tried
    world.ask(world.keys * 30)
    answers = world.answers()
    assert sorted(a.status for a in answers) == [200] * 20 + [429] * 10
    assert sorted(remaining(a) for a in answers if a.status == 200) == list(range(20))     # counted one after another
    assert "cmdstat_evalsha:calls=30," in redis.call("INFO", "commandstats")


def test_more_keys_than_one_call_takes(make_world, redis):
    world = make_world(redis.url, limit=2, keys=150)
    redis.call("CONFIG", "RESETSTAT")
    world.ask(world.keys)
    answers = world.answers()
    assert [(a.status, remaining(a)) for a in answers] == [(200, 1)] * 150
    assert "cmdstat_evalsha:calls=3," in redis.call("INFO", "commandstats")


def test_each_gets_its_own_answer(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=5)
    fake.reply = lambda words: b"*5\r\n" + b"".join(verdict(1, int(key), 1000) for key in asked(words))
    world.ask(world.keys)
    answers = world.answers()
    assert calls(fake) == [5]
    numbers = [int(key) for words in fake.commands for key in asked(words)]
    # The order within a turn is the kernel's; each key's row is what was put into its answer.
    assert [remaining(a) for a in answers] == sorted(numbers)


def test_where_keys_stand_in_the_events_is_one_call_too(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=5)
    for _ in range(2):      # what was noted of the first round rides with the second
        world.ask(world.keys, "/v1/events")
        assert [a.status for a in world.answers()] == [200] * 5
    # They are sent behind the call of the limit: when the clients have their answers, Redis may not have read them yet.
    notes = wait.until(lambda: [words for words in fake.commands if words[0] == b"EVALSHA" and b":cursor:" in words[3]],
                       "where the keys stand to be sent")
    assert len(set(notes[0][3:8])) == 5 and notes[0][2] == b"5"
    assert calls(fake) == [5, 5]


def reset(connection):
    """The client has left, and does not only send nothing more."""
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.sock.close()


def test_a_client_that_leaves_while_its_batch_is_under_way(make_world, fake):
    world = make_world(fake.url, limit=1000, keys=3)
    with world.server.admin() as admin:
        def leave(words):
            reset(world.connections.pop(1))
            wait.until(lambda: open_connections(admin) == 2, "the server to see that it has left")
            fake.reply = lambda words: ADMITTED
            return b"*3\r\n" + verdict(1, 7, 1000) * 3

        fake.reply = leave
        world.ask(world.keys)
        assert [a.status for a in world.answers()] == [200, 200]
    assert calls(fake) == [3]
    with world.server.client(world.keys[1]) as client:
        assert client.get("/account").status == 200


def in_time(world):
    return "no answer in time" not in world.server.log


def test_what_redis_counted_for_a_client_that_left_is_known_when_the_process_takes_over(make_world, fake):
    def leave(words):
        reset(world.connections.pop(1))
        return b"*3\r\n" + verdict(1, 0, 60000) * 3

    for _ in range(10):     # on a busy machine an answer may be late
        world = make_world(fake.url, limit=1, keys=3)
        fake.reply = leave
        world.ask(world.keys)
        assert [a.status for a in world.answers()] == [200, 200]
        if in_time(world):
            break
    assert in_time(world)
    fake.reply = lambda words: None
    for key in world.keys:
        with world.server.client(key) as client:
            assert client.get("/account").status == 429


def open_connections(admin):
    lines = admin.get("/metrics").body.decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("viewtally_http_connections "))


def test_a_late_batch_is_decided_by_the_process(make_world, fake):
    gate = threading.Event()
    world = make_world(fake.url, limit=1, keys=8)
    fake.reply = lambda words: gate.wait(10) and ADMITTED
    world.ask(world.keys)
    assert [(a.status, remaining(a)) for a in world.answers()] == [(200, 0)] * 8
    assert calls(fake) == [8] and "no answer in time" in world.server.log
    gate.set()          # now Redis admits what was answered long ago
    wait.until(lambda: world.server.log.rstrip().endswith("redis: up"), "Redis to be up")
    with world.server.client(world.keys[0]) as client:
        assert client.get("/account").status == 200


@pytest.mark.parametrize("answer", [b"*2\r\n" + verdict(1, 1, 1000) * 2, b"*4\r\n" + verdict(1, 1, 1000) * 4,
                                    b"*3\r\n:-1\r\n:-1\r\n:-1\r\n", b"-ERR gone mad\r\n"], ids=["fewer", "more", "nonsense", "error"])
def test_an_answer_that_is_none_is_none_for_all(make_world, fake, answer):
    world = make_world(fake.url, limit=2, keys=3)
    fake.reply = lambda words: answer
    world.ask(world.keys)
    assert [(a.status, remaining(a)) for a in world.answers()] == [(200, 1)] * 3     # by the process
    assert calls(fake) == [3]
