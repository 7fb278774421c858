"""The rate limit, exactly: a model of the sliding window against the server on a fake monotonic clock."""
import collections
import random
import re
import threading
import uuid

import pytest

from lib import wait
from lib.client import connect

WINDOW_MS = 60_000
START_MS = 5_000_000
HEADERS = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


class Window:
    """Admitted iff fewer than `limit` requests were admitted in the last 60,000 ms."""

    def __init__(self, limit):
        self.limit = limit
        self.admitted = collections.deque()

    def take(self, now_ms):
        while self.admitted and self.admitted[0] <= now_ms - WINDOW_MS:
            self.admitted.popleft()
        if len(self.admitted) == self.limit:
            return False
        self.admitted.append(now_ms)
        return True

    def reset_s(self, now_ms):
        return -(-(self.admitted[0] + WINDOW_MS - now_ms) // 1000)


class World:
    def __init__(self, make_viewtally, clock, limit=60, **limits):
        clock.set_monotonic(START_MS)
        self.clock = clock
        self.instance = make_viewtally({"limits": {"requests_per_minute": limit, **limits}}, clock)
        self.author = self.instance.add_author()
        self.key = self.instance.create_key(self.author)
        self.instance.start()
        self.client = self.instance.client(self.key)

    def statuses(self, count, path="/account", **options):
        return [self.client.get(path, **options).status for _ in range(count)]

    def left(self):
        """How many requests the key has left; asking takes one."""
        answer = self.client.get("/account")
        assert answer.status == 200
        return int(answer.headers["X-RateLimit-Remaining"])


@pytest.fixture
def world(make_viewtally, clock):
    made = World(make_viewtally, clock)
    yield made
    made.client.close()


def assert_headers(answer, window, now_ms):
    left, reset = window.limit - len(window.admitted), window.reset_s(now_ms)
    shown = {name: answer.headers.get_all(name) for name in HEADERS}
    assert shown == {"RateLimit": [f'"key";r={left};t={reset}'], "RateLimit-Policy": [f'"key";q={window.limit};w=60'],
                     "X-RateLimit-Limit": [str(window.limit)], "X-RateLimit-Remaining": [str(left)],
                     "X-RateLimit-Reset": [str(reset)]}


# --- the window ---


def test_60_pass_at_once_and_the_61st_does_not(world):
    assert world.statuses(61) == [200] * 60 + [429]
    refused = world.client.get("/account")
    assert refused.error_code == "rate_limited" and refused.headers["Retry-After"] == "60"
    assert "60" in refused.json()["error"]["message"]


@pytest.mark.parametrize("gap_ms", [1, 500, 999, 1000, 1001, 59_999])
def test_retry_after_is_exact(world, gap_ms):
    """One request, 59 others `gap_ms` later: the window has a place again exactly 60,000 ms after the first."""
    assert world.statuses(1) == [200]
    world.clock.set_monotonic(START_MS + gap_ms)
    assert world.statuses(60) == [200] * 59 + [429]
    refused = world.client.get("/account")
    wait_s = int(refused.headers["Retry-After"])
    assert wait_s == max(1, -(-(WINDOW_MS - gap_ms) // 1000))
    world.clock.set_monotonic(START_MS + WINDOW_MS - 1)
    refused = world.client.get("/account")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    # What waits for Retry-After is admitted, and so is what comes in the very millisecond.
    world.clock.set_monotonic(START_MS + WINDOW_MS)
    assert world.statuses(2) == [200, 429]
    assert gap_ms + wait_s * 1000 >= WINDOW_MS


def test_rejected_requests_are_not_counted(world):
    world.statuses(60)
    for second in range(0, 60, 5):
        world.clock.set_monotonic(START_MS + second * 1000)
        assert set(world.statuses(20)) == {429}
    world.clock.set_monotonic(START_MS + WINDOW_MS)
    assert world.statuses(61) == [200] * 60 + [429]


@pytest.mark.parametrize("limit", [1, 2, 5, 60, 250])
def test_any_schedule_against_the_model(make_viewtally, clock, limit):
    """Bursts and pauses of random length; the verdict and every header of every answer."""
    world = World(make_viewtally, clock, limit)
    rng = random.Random(f"schedule {limit}")
    window, now = Window(limit), START_MS
    seen = collections.Counter()
    for _ in range(1200):
        if rng.random() < 0.5:
            now += rng.choice([1, 1, 7, 400, 999, 1000, 1001, 60_000 // limit, rng.randrange(3000)])
        elif rng.random() < 0.02:
            now += rng.choice([59_999, 60_000, 60_001, 3_600_000])
        world.clock.set_monotonic(now)
        answer = world.client.get("/account")
        admitted = window.take(now)
        assert answer.status == (200 if admitted else 429), now
        assert_headers(answer, window, now)
        assert answer.headers["Retry-After"] == (None if admitted else str(window.reset_s(now)))
        seen[admitted] += 1
    assert min(seen.values()) > 20, seen
    assert world.client.opened == 1
    world.client.close()


def test_the_wall_clock_does_not_matter(world):
    for step in (0, 3_600_000, -3_600_000, 86_400_000, -86_400_000 * 400):
        world.clock.set_wall(world.clock.wall_ms + step)
        assert world.statuses(12) == [200] * 12
    assert world.statuses(1) == [429]
    world.clock.set_wall(world.clock.wall_ms + 10 * WINDOW_MS)
    assert world.statuses(1) == [429]


def test_keys_have_windows_of_their_own(world):
    same_author = world.instance.create_key(world.author, "second")
    other = world.instance.create_key(world.instance.add_author("Other"))
    world.statuses(61)
    for key in (same_author, other):
        assert world.client.get("/account", key=key).headers["X-RateLimit-Remaining"] == "59"
    assert world.statuses(60, key=other) == [200] * 59 + [429]
    assert world.client.get("/account", key=same_author).status == 200


# --- what counts ---


def test_what_counts(world):
    etag = world.client.get("/books").headers["ETag"]
    left = world.left()
    counted = [
        (200, "GET", "/v1/videos", {}),
        (304, "GET", "/v1/books", {"If-None-Match": etag}),
        (400, "GET", "/v1/videos?limit=0", {}),
        (404, "GET", f"/v1/videos/{uuid.uuid4()}", {}),
        (404, "GET", "/v1/videos/no-uuid", {}),
        (200, "HEAD", "/v1/events", {}),
        (200, "GET", "/v1/stats", {"X-Request-Id": "again"}),
    ]
    for status, method, target, headers in counted:
        answer = world.client.request(method, target, headers=headers)
        left -= 1
        assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (status, str(left)), target
    world.instance.run("author", "set-plan", world.author, "inactive")
    answer = world.client.get("/account")
    assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (403, str(left - 1))


def test_what_does_not_count(world):
    revoked = world.instance.run("key", "create", "--author", world.author, "--name", "x", "--json").json()
    world.instance.run("key", "revoke", revoked["id"])
    left = world.left()
    bearer = "Authorization: Bearer " + world.key
    free = [
        (404, "GET", "/v1/nowhere", {}),
        (404, "GET", "/nowhere", {}),
        (405, "POST", "/v1/account", {}),
        (405, "OPTIONS", "/v1/account", {}),
        (401, "GET", "/v1/account", {"Authorization": "Bearer " + revoked["key"]}),
        (401, "GET", "/v1/account", {"Authorization": "Bearer " + world.key[:-1]}),
        (401, "GET", "/v1/account", {"Authorization": "Basic " + world.key}),
        (200, "GET", "/v1/openapi.json", {}),
    ]
    for status, method, target, headers in free:
        answer = world.client.request(method, target, headers=headers)
        assert answer.status == status, target
        assert not any(name in answer.headers for name in HEADERS), target
    answer = world.client.request("POST", "/v1/oauth/token", body="grant_type=authorization_code&client_id=x",
                                  headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 401 and answer.json()["error"] == "invalid_client"
    # Two keys, and what is no request: refused before anybody is charged for it.
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\n{bearer}\r\nConnection: close\r\n\r\n".encode())
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\nContent-Length: x\r\n\r\n".encode())
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\n".encode(), half_close=True)
    assert world.left() == left - 1


# --- switches ---


def test_headers_off(make_viewtally, clock):
    world = World(make_viewtally, clock, 2, headers="off")
    for status in (200, 200, 429):
        answer = world.client.get("/account")
        assert answer.status == status and not any(name in answer.headers for name in HEADERS)
        assert answer.headers["Retry-After"] == ("60" if status == 429 else None)
    world.client.close()


def test_limit_0_is_no_limit(make_viewtally, clock):
    world = World(make_viewtally, clock, 0)
    assert set(world.statuses(300)) == {200}
    assert not any(name in world.client.get("/account").headers for name in HEADERS)
    world.client.close()


# --- floods ---


def pipelined(instance, key, count, target="/v1/account"):
    """Statuses of `count` requests in one go on one connection."""
    request = f"GET {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
    data = (request + "\r\n").encode() * (count - 1) + (request + "Connection: close\r\n\r\n").encode()
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", instance.exchange(data))]


def test_pipelined_flood(world):
    assert pipelined(world.instance, world.key, 500) == [200] * 60 + [429] * 440


def in_parallel(count, work):
    """work(i) in `count` threads that begin together; the results."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(i):
        barrier.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_floods_over_many_connections_against_the_model(world):
    """The clock stands while 16 connections flood at once: each time exactly the free places are given out."""
    window, rng = Window(60), random.Random("floods")
    now = START_MS
    for _ in range(12):
        each = rng.randrange(1, 12)
        statuses = sum(in_parallel(16, lambda i: pipelined(world.instance, world.key, each)), [])
        expected = sum(window.take(now) for _ in range(16 * each))
        assert (statuses.count(200), statuses.count(429)) == (expected, 16 * each - expected), now
        now += rng.choice([999, 20_000, 30_000, 59_999, 60_000])
        world.clock.set_monotonic(now)


class Flooder:
    """Requests one after the other on a connection of its own while the clock runs; when each was sent and answered."""

    def __init__(self, world, stop):
        self.socket = connect(world.instance.address)
        self.request = f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.key}\r\n\r\n".encode()
        self.clock, self.stop = world.clock, stop
        self.answers = 0
        self.admitted = []

    def run(self):
        pending = b""
        with self.socket:
            while not self.stop.is_set():
                sent = self.clock.monotonic_ms
                self.socket.sendall(self.request)
                while not (match := re.match(rb"HTTP/1\.1 (\d+) .*?Content-Length: (\d+)\r\n.*?\r\n\r\n", pending, re.S)) \
                        or len(pending) < match.end() + int(match.group(2)):
                    pending += self.socket.recv(65536)
                pending = pending[match.end() + int(match.group(2)):]
                self.answers += 1
                if match.group(1) == b"200":
                    self.admitted.append((sent, self.clock.monotonic_ms))
        return self.admitted


def test_never_more_than_60_in_any_window_seen_from_outside(world):
    """Time runs fast under a flood. An admitted request lies somewhere between its sending and its answer, so those that
    lie wholly within 60 s are a lower bound of what was admitted there."""
    stop = threading.Event()
    flooders = [Flooder(world, stop) for _ in range(8)]

    def work(i):
        if i < 8:
            return flooders[i].run()
        for turn in range(1, 201):
            wait.until(lambda: sum(flooder.answers for flooder in flooders) >= 8 * turn, "the flood")
            world.clock.advance(1000)
        stop.set()
        return []

    admitted = sorted(sum(in_parallel(9, work), []))
    assert len(admitted) >= 3 * 60, len(admitted)       # 200 s: the window was filled several times over
    for begin, _ in admitted:
        assert sum(begin <= sent and answered < begin + WINDOW_MS for sent, answered in admitted) <= 60
