"""What Redis may do to us while it holds the limit: no request fails or waits long, nothing is counted wrong, and it comes back.

A fake Redis shakes hands well and misbehaves afterwards; evictions and restarts are those of a real one.
"""
import os
import select
import socket
import struct
import threading
import time

import pytest

from lib import wait
from lib.client import connect
from lib.fakeredis import ADMITTED, REJECTED, FakeRedis, is_probe
from lib.services import RedisError, preload

LIMIT = 5
SLACK_S = 5           # a loaded machine
BACK_S = 6.0            # the longest back-off is 5 s


class World:
    def __init__(self, make_viewtally, url, limit=LIMIT, env=None):
        self.server = make_viewtally({"limits": {"requests_per_minute": limit}, "redis": {"url": url}})
        self.author = self.server.add_author()
        created = self.server.run("key", "create", "--author", self.author, "--name", "test", "--json").json()
        self.key, self.window = created["key"], f"viewtally:{{limit}}:{created['id']}"
        self.server.start(env)

    def words(self):
        return [line.partition(" redis: ")[2] for line in self.server.log.splitlines() if " redis: " in line]

    def wait_until(self, state):
        wait.until(lambda: self.words() and self.words()[-1].startswith(state), f"Redis to be {state}; the log says {self.words()}",
                   BACK_S + SLACK_S)

    def get(self, count=1):
        with self.server.client(self.key) as client:
            answers = [client.get("/account") for _ in range(count)]
        assert {a.status for a in answers} <= {200, 429}
        return [a.status for a in answers]


@pytest.fixture
def fake():
    with FakeRedis() as made:
        yield made


@pytest.fixture
def world(make_viewtally, fake):
    made = World(make_viewtally, fake.url)
    made.wait_until("up")
    return made


# --- answers that are none, once it was up ---


ANSWERS = {
    "hangs up": None, "silence": b"", "ok": b"+OK\r\n", "nil": b"$-1\r\n", "nil array": b"*-1\r\n", "empty array": b"*0\r\n",
    "too many": b"*3\r\n:1\r\n:2\r\n:3\r\n", "far too many": b"*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "text": b"*2\r\n$1\r\n1\r\n:1\r\n",
    "cut": b"*3\r\n:1\r\n:2\r\n", "garbage": b"?what\r\n", "nested": b"*1\r\n" * 200, "huge text": b"$99999999999999\r\nx",
    "huge array": b"*2147483647\r\n", "huge number": b"*2\r\n:99999999999999999999999\r\n:1\r\n", "http": b"HTTP/1.1 400 Bad\r\n\r\n",
    "LOADING": b"-LOADING Redis is loading the dataset in memory\r\n", "OOM": b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "MISCONF": b"-MISCONF Redis is configured to save RDB snapshots\r\n", "BUSY": b"-BUSY Redis is busy running a script.\r\n",
    "NOSCRIPT": b"-NOSCRIPT No matching script.\r\n", "NOAUTH": b"-NOAUTH Authentication required.\r\n",
    "NOPERM": b"-NOPERM this user has no permissions to run the 'evalsha' command\r\n", "READONLY": b"-READONLY You can't write against a read only replica.\r\n",
    "WRONGTYPE": b"-WRONGTYPE Operation against a key\r\n", "MOVED": b"-MOVED 3999 127.0.0.1:6381\r\n",
    "CLUSTERDOWN": b"-CLUSTERDOWN The cluster is down\r\n", "MASTERDOWN": b"-MASTERDOWN Link with MASTER is down\r\n",
}


@pytest.mark.parametrize("part", range(4))
def test_answers_that_are_none(world, fake, part):
    for name, data in list(ANSWERS.items())[part::4]:
        print(name)
        assert_harmless(world, fake, data)
        world.key = world.server.create_key(world.author)
    states = [words.split(",")[0] for words in world.words()]
    assert all(one != next_one for one, next_one in zip(states, states[1:])), states     # one line a change


def assert_harmless(world, fake, data):
    before = len(world.words())
    fake.reply = lambda words: data
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]
    # Integers, but not those that were asked for: counted by the process, and Redis stays. Else it is away, and may be up
    # again already, because it shakes hands as if nothing were wrong.
    if data is None or not data.startswith(b"*0"):
        assert any(words.startswith("unavailable") for words in world.words()[before:])
    fake.reply = lambda words: ADMITTED
    world.wait_until("up")
    world.key = world.server.create_key(world.author)
    assert world.get() == [200]         # resets the back-off


@pytest.mark.parametrize("extra", [ADMITTED * 50, b"+OK\r\n" * 50, b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n" * 3, b"-ERR gone mad\r\n"],
                         ids=["answers", "statuses", "messages", "error"])
def test_answers_to_what_was_never_asked(world, fake, extra):
    fake.reply = lambda words: ADMITTED + extra
    assert world.get(20)[:LIMIT] == [200] * LIMIT
    fake.reply = lambda words: ADMITTED
    fake.cut_all()
    world.wait_until("up")
    assert world.server.running


def test_negative_or_endless_waits_are_not_passed_on(world, fake):
    numbers = [-2, LIMIT, LIMIT + 1, 60_001, 2**31, 2**32 + 1, 2**53, 2**62, -2**63, 2**63 - 1]
    replies = [(number, 1000) for number in numbers] + [(1, number) for number in [-1, *numbers[3:]]]
    for reply in replies:
        fake.reply = lambda words, r=reply: b"*2\r\n:%d\r\n:%d\r\n" % r
        with world.server.client(world.key) as client:
            answer = client.get("/account")
        assert answer.status in (200, 429)
        assert 0 <= int(answer.headers["X-RateLimit-Remaining"]) <= LIMIT and 0 <= int(answer.headers["X-RateLimit-Reset"]) <= 60
        world.key = world.server.create_key(world.author)


# --- answers that come late, or to nobody ---


def test_slow_answers(world, fake):
    """None comes before the others are answered: one request finds out, the others do not wait."""
    gate = threading.Event()
    fake.reply = lambda words: gate.wait(60) and None or ADMITTED
    assert world.get(LIMIT + 3) == [200] * LIMIT + [429] * 3
    assert not gate.is_set()
    assert any("no reply in time" in words for words in world.words())
    gate.set()
    fake.reply = lambda words: ADMITTED
    world.wait_until("up")
    # What Redis says counts again, and not what this process had counted.
    wait.until(lambda: world.get() == [200], "an answer of Redis in time")


def test_an_answer_after_the_deadline_goes_to_nobody(world, fake):
    gate = threading.Event()

    def late(words):
        gate.wait(10)
        return REJECTED

    fake.reply = late
    assert world.get() == [200]         # by the process's own window
    fake.reply = lambda words: ADMITTED
    gate.set()                          # now Redis refuses what was answered long ago
    world.wait_until("up")
    assert world.get() == [200]


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_an_answer_after_the_client_has_left(world, fake, reset):
    asked, gate = threading.Event(), threading.Event()

    def late(words):
        asked.set()
        gate.wait(10)
        return ADMITTED

    fake.reply = late
    sock = connect(world.server.address)
    sock.sendall(f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.key}\r\n\r\n".encode())
    assert asked.wait(10)
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    fake.reply = lambda words: ADMITTED
    gate.set()
    world.wait_until("up")
    wait.until(lambda: world.get(LIMIT + 1) == [200] * (LIMIT + 1), "answers of Redis in time")


def test_a_connection_that_is_reset_with_calls_pending(world, fake):
    asked, gate = threading.Event(), threading.Event()

    def hold(words):
        asked.set()
        gate.wait(10)
        return None

    fake.reply = hold
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.extend(world.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert asked.wait(10)
    fake.cut_all()
    gate.set()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 4
    fake.reply = lambda words: ADMITTED
    world.wait_until("up")


# --- connecting again ---


def test_a_reconnect_storm_is_one_connection_with_growing_pauses(make_viewtally):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        world = World(make_viewtally, f"redis://127.0.0.1:{listener.getsockname()[1]}", 1000)
        came = []
        flood = threading.Thread(target=world.get, args=(300,))
        flood.start()
        for _ in range(6):              # each is hung up on, as by a Redis with too many clients
            connection, _ = listener.accept()
            came.append(time.monotonic())
            listener.settimeout(0)
            with pytest.raises(BlockingIOError):
                listener.accept()       # there is no second one
            listener.settimeout(10)
            connection.close()
        flood.join()
    pauses = [later - earlier for earlier, later in zip(came, came[1:])]
    # Half to whole of 100, 200, 400 ms …
    assert all(pause >= 0.9 * 0.05 * 2**n for n, pause in enumerate(pauses)), pauses
    assert [words.split(",")[0] for words in world.words()] == ["unavailable"]


def test_many_requests_share_one_connection(world, fake):
    threads = [threading.Thread(target=world.get, args=(20,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fake.accepted) == fake.most_open == 1


def test_refused_at_start_and_there_later(make_viewtally, redis):
    redis.stop()
    world = World(make_viewtally, redis.url)
    world.wait_until("unavailable")
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]
    redis.start()
    world.wait_until("up")


def test_a_name_that_does_not_exist(make_viewtally):
    world = World(make_viewtally, "redis://redis.invalid:6379")
    world.wait_until("unavailable")
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]


def slow_lookups(directory, ms):
    options = os.environ.get("ASAN_OPTIONS", "detect_leaks=1") + ":verify_asan_link_order=0"
    return {"LD_PRELOAD": preload("slowlookup", directory), "SLOWLOOKUP_MS": str(ms), "ASAN_OPTIONS": options}


def test_a_name_server_that_does_not_answer_holds_nobody_up(make_viewtally, tmp_path):
    world = World(make_viewtally, "redis://localhost:1", env=slow_lookups(tmp_path, 600_000))
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]
    world.wait_until("unavailable")
    assert world.get() == [429]
    world.server.kill()


def test_a_look_up_that_outlasts_an_attempt_serves_the_next_one(make_viewtally, redis, tmp_path):
    world = World(make_viewtally, f"redis://localhost:{redis.port}", env=slow_lookups(tmp_path, 1500))
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]
    world.wait_until("up")
    assert "no reply in time" in world.words()[0]


def test_stopping_while_a_name_is_looked_up(make_viewtally, tmp_path):
    world = World(make_viewtally, "redis://localhost:1", env=slow_lookups(tmp_path, 500))
    world.server.stop()


ERRORS = [b"-NOPERM this user has no permissions to run the 'hset' command\r\n", b"-WRONGTYPE Operation against a key\r\n",
          b"-MOVED 3999 127.0.0.1:6381\r\n", b"-OOM command not allowed\r\n"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error[1:].split()[0].decode())
def test_a_redis_that_fails_every_call_but_the_probe_is_tried_less_and_less(world, fake, error):
    fake.reply = lambda words: ADMITTED if is_probe(words) else error
    rounds = lambda: [at for words, at in zip(list(fake.commands), list(fake.times)) if words[0] == b"EVALSHA" and words[3].endswith(b"{limit}:probe")]
    wait.until(lambda: world.get() and len(rounds()) >= 6, "five further probes", 30)
    pauses = [later - earlier for earlier, later in zip(rounds()[1:], rounds()[2:])]
    # Half to whole of 100, 200, 400 ms …: a probe that succeeds does not reset the back-off.
    assert all(pause >= 0.9 * 0.05 * 2**n for n, pause in enumerate(pauses)), pauses
    assert [words.split(",")[0] for words in world.words()] == ["up", "unavailable", "up", "unavailable"]
    fake.reply = lambda words: ADMITTED
    wait.until(lambda: world.get() and world.words()[-1].startswith("up"), "a call to succeed", 30)


# --- replies without an end ---

PIECE = b"x" * 65536
ENDLESS_BYTES = 200 << 20
SENT_MOST = 24 << 20            # the kernel's buffers on both sides, and 1 MiB


def bulk():
    yield b"$%d\r\n" % ENDLESS_BYTES
    while True:
        yield PIECE


def text():
    yield b"+"
    while True:
        yield PIECE


def large_items():
    yield b"*1000\r\n"
    while True:
        yield b"$%d\r\n%s\r\n" % (len(PIECE), PIECE)


def nested():
    while True:
        yield b"*1000\r\n" + b"*900\r\n" + b":1\r\n" * 900


@pytest.mark.parametrize("shape", [bulk, text, large_items, nested])
def test_a_reply_without_an_end_is_cut_off(world, fake, shape):
    sent = []

    def endless():
        for piece in shape():
            sent.append(len(piece))
            if sum(sent[-4000:]) > ENDLESS_BYTES:
                return
            yield piece

    fake.reply = lambda words: endless()
    assert world.get(LIMIT + 1) == [200] * LIMIT + [429]
    wait.until(lambda: any("protocol error" in words or "unavailable" in words for words in world.words()), "Redis to be given up")
    fake.reply = lambda words: ADMITTED
    world.wait_until("up")
    assert sum(sent) < SENT_MOST, sum(sent)


# --- the deadline, to the millisecond ---


def test_a_call_is_given_up_after_50_ms_and_not_earlier(make_viewtally, fake, clock):
    """One that was sent a millisecond later is still waited for."""
    clock.set_monotonic(9_000_000)
    server = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": {"url": fake.url}, "admin": {"listen": "127.0.0.1:0"}}, clock)
    key = server.create_key(server.add_author())
    server.start()
    wait.until(lambda: "redis: up" in server.log, "Redis to be up")
    released = threading.Event()
    calls = []

    def hold(words):
        calls.append(words)
        released.wait(30)
        return ADMITTED

    def ask():
        sock = connect(server.address)
        sock.sendall(f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
        return sock

    def is_answered(sock):
        for _ in range(3):              # the loop has turned, and done whatever was due
            assert server.admin().get("/livez").status == 200
        return bool(select.select([sock], [], [], 0)[0])

    fake.reply = hold
    first = ask()
    wait.until(lambda: calls, "the first call to reach Redis")
    clock.advance(1)
    second = ask()
    assert not is_answered(second)
    clock.advance(48)
    assert not is_answered(first)
    clock.advance(1)
    assert first.recv(4096).startswith(b"HTTP/1.1 200 ") and not is_answered(second)
    clock.advance(1)
    assert second.recv(4096).startswith(b"HTTP/1.1 200 ")
    released.set()
    first.close()
    second.close()


# --- a real Redis that loses what it held ---


def test_eviction_in_mid_window(make_viewtally, redis):
    world = World(make_viewtally, redis.url, 60)
    world.wait_until("up")
    assert world.get(30) == [200] * 30
    redis.call("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
    used = int(redis.call("INFO", "memory").split("used_memory:")[1].split("\r")[0])
    redis.call("CONFIG", "SET", "maxmemory", used + 2_000_000)
    for n in range(3000):
        try:
            redis.call("SET", f"filler:{n}", "x" * 20_000)
        except RedisError:
            pass
        if not redis.call("EXISTS", world.window):
            break
    assert not redis.call("EXISTS", world.window)
    with world.server.client(world.key) as client:
        answers = [client.get("/account") for _ in range(70)]
    assert [a.status for a in answers].count(200) >= 60 - 30      # it may be evicted again
    assert all(0 <= int(a.headers["X-RateLimit-Remaining"]) < 60 for a in answers)
    assert all(1 <= int(a.headers["Retry-After"]) <= 60 for a in answers if a.status == 429)
