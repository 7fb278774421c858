"""The exact rate limit: the server against a model of the sliding window, on a fake monotonic clock."""
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
    """The model: a request is admitted if fewer than `limit` requests were admitted in the last 60,000 ms."""

    def __init__(self, limit):
        self.limit = limit
        self.admitted = collections.deque()

    def acquire(self, now_ms):
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
        # Idle connections stay open, because no test advances the clock by an hour or more at once.
        self.instance = make_viewtally({"limits": {"requests_per_minute": limit, **limits}, "server": {"idle_timeout_ms": 3_600_000}}, clock)
        self.author = self.instance.add_author()
        self.key = self.instance.create_key(self.author)
        self.instance.start()
        self.client = self.instance.client(self.key)

    def statuses(self, count, path="/account", **options):
        return [self.client.get(path, **options).status for _ in range(count)]

    def remaining(self):
        """Sends a request with the key. Returns how many more would be admitted now."""
        response = self.client.get("/account")
        assert response.status == 200
        return int(response.headers["X-RateLimit-Remaining"])


@pytest.fixture
def world(make_viewtally, clock):
    made = World(make_viewtally, clock)
    yield made
    made.client.close()


def assert_headers(response, window, now_ms):
    remaining, reset = window.limit - len(window.admitted), window.reset_s(now_ms)
    shown = {name: response.headers.get_all(name) for name in HEADERS}
    assert shown == {"RateLimit": [f'"key";r={remaining};t={reset}'], "RateLimit-Policy": [f'"key";q={window.limit};w=60'],
                     "X-RateLimit-Limit": [str(window.limit)], "X-RateLimit-Remaining": [str(remaining)],
                     "X-RateLimit-Reset": [str(reset)]}


# --- the window ---


def test_burst_of_60_is_admitted_and_the_61st_rejected(world):
    assert world.statuses(61) == [200] * 60 + [429]
    rejected = world.client.get("/account")
    assert rejected.error_code == "rate_limited" and rejected.headers["Retry-After"] == "60"
    assert "60" in rejected.json()["error"]["message"]


@pytest.mark.parametrize("gap_ms", [1, 500, 999, 1000, 1001, 59_999])
def test_retry_after_is_exact(world, gap_ms):
    """One request, and 59 others `gap_ms` later: a slot is freed exactly 60,000 ms after the first one."""
    assert world.statuses(1) == [200]
    world.clock.set_monotonic(START_MS + gap_ms)
    assert world.statuses(60) == [200] * 59 + [429]
    rejected = world.client.get("/account")
    wait_s = int(rejected.headers["Retry-After"])
    assert wait_s == max(1, -(-(WINDOW_MS - gap_ms) // 1000))
    world.clock.set_monotonic(START_MS + WINDOW_MS - 1)
    rejected = world.client.get("/account")
    assert (rejected.status, rejected.headers["Retry-After"]) == (429, "1")
    # A request is admitted in the millisecond in which the slot is freed. Retry-After does not end earlier.
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
def test_random_schedules_equal_the_model(make_viewtally, clock, limit):
    """Bursts and pauses of random length; compares the verdict and all headers of each response."""
    world = World(make_viewtally, clock, limit)
    rng = random.Random(f"schedule {limit}")
    window, now = Window(limit), START_MS
    seen = collections.Counter()
    for _ in range(1200):
        if rng.random() < 0.5:
            now += rng.choice([1, 1, 7, 400, 999, 1000, 1001, 60_000 // limit, rng.randrange(3000)])
        elif rng.random() < 0.02:
            now += rng.choice([59_999, 60_000, 60_001, 3_000_000])
        world.clock.set_monotonic(now)
        response = world.client.get("/account")
        admitted = window.acquire(now)
        assert response.status == (200 if admitted else 429), now
        assert_headers(response, window, now)
        assert response.headers["Retry-After"] == (None if admitted else str(window.reset_s(now)))
        seen[admitted] += 1
    assert min(seen.values()) > 20, seen
    assert world.client.opened == 1
    world.client.close()


def test_setting_the_wall_clock_does_not_affect_the_limit(world):
    for step in (0, 3_600_000, -3_600_000, 86_400_000, -86_400_000 * 400):
        world.clock.set_wall(world.clock.wall_ms + step)
        assert world.statuses(12) == [200] * 12
    assert world.statuses(1) == [429]
    world.clock.set_wall(world.clock.wall_ms + 10 * WINDOW_MS)
    assert world.statuses(1) == [429]


def test_each_key_has_its_own_window(world):
    same_author = world.instance.create_key(world.author, "second")
    other = world.instance.create_key(world.instance.add_author("Other"))
    world.statuses(61)
    for key in (same_author, other):
        assert world.client.get("/account", key=key).headers["X-RateLimit-Remaining"] == "59"
    assert world.statuses(60, key=other) == [200] * 59 + [429]
    assert world.client.get("/account", key=same_author).status == 200


# --- which requests count ---


def test_requests_with_a_live_key_use_up_the_limit(world):
    etag = world.client.get("/books").headers["ETag"]
    remaining = world.remaining()
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
        response = world.client.request(method, target, headers=headers)
        remaining -= 1
        assert (response.status, response.headers["X-RateLimit-Remaining"]) == (status, str(remaining)), target
    world.instance.run("author", "set-plan", world.author, "inactive")
    response = world.client.get("/account")
    assert (response.status, response.headers["X-RateLimit-Remaining"]) == (403, str(remaining - 1))


def test_requests_without_a_live_key_do_not_count(world):
    revoked = world.instance.run("key", "create", "--author", world.author, "--name", "x", "--json").json()
    world.instance.run("key", "revoke", revoked["id"])
    remaining = world.remaining()
    bearer = "Authorization: Bearer " + world.key
    not_counted = [
        (404, "GET", "/v1/nowhere", {}),
        (404, "GET", "/nowhere", {}),
        (405, "POST", "/v1/account", {}),
        (405, "OPTIONS", "/v1/account", {}),
        (401, "GET", "/v1/account", {"Authorization": "Bearer " + revoked["key"]}),
        (401, "GET", "/v1/account", {"Authorization": "Bearer " + world.key[:-1]}),
        (401, "GET", "/v1/account", {"Authorization": "Basic " + world.key}),
        (200, "GET", "/v1/openapi.json", {}),
    ]
    for status, method, target, headers in not_counted:
        response = world.client.request(method, target, headers=headers)
        assert response.status == status, target
        assert not any(name in response.headers for name in HEADERS), target
    response = world.client.request("POST", "/v1/oauth/token", body="grant_type=authorization_code&client_id=x",
                                  headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert response.status == 401 and response.json()["error"] == "invalid_client"
    # A request with two Authorization fields and a malformed request are rejected before the limiter.
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\n{bearer}\r\nConnection: close\r\n\r\n".encode())
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\nContent-Length: x\r\n\r\n".encode())
    world.instance.exchange(f"GET /v1/account HTTP/1.1\r\nHost: a\r\n{bearer}\r\n".encode(), half_close=True)
    assert world.remaining() == remaining - 1


# --- settings ---


def test_rate_limit_headers_can_be_turned_off(make_viewtally, clock):
    world = World(make_viewtally, clock, 2, headers="off")
    for status in (200, 200, 429):
        response = world.client.get("/account")
        assert response.status == status and not any(name in response.headers for name in HEADERS)
        assert response.headers["Retry-After"] == ("60" if status == 429 else None)
    world.client.close()


def test_limit_0_means_unlimited(make_viewtally, clock):
    world = World(make_viewtally, clock, 0)
    assert set(world.statuses(300)) == {200}
    assert not any(name in world.client.get("/account").headers for name in HEADERS)
    world.client.close()


# --- floods ---


def pipelined(instance, key, count, target="/v1/account"):
    """Sends `count` requests at once on one connection. Returns their statuses."""
    request = f"GET {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
    data = (request + "\r\n").encode() * (count - 1) + (request + "Connection: close\r\n\r\n").encode()
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", instance.exchange(data))]


def test_pipelined_flood_gets_60_responses(world):
    assert pipelined(world.instance, world.key, 500) == [200] * 60 + [429] * 440


def in_parallel(count, work):
    """Runs work(i) in `count` threads that start together. Returns the results."""
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


def test_parallel_floods_equal_the_model(world):
    """16 connections flood while the clock stands still. Each flood uses exactly the free slots."""
    window, rng = Window(60), random.Random("floods")
    now = START_MS
    for _ in range(12):
        each = rng.randrange(1, 12)
        statuses = sum(in_parallel(16, lambda i: pipelined(world.instance, world.key, each)), [])
        expected = sum(window.acquire(now) for _ in range(16 * each))
        assert (statuses.count(200), statuses.count(429)) == (expected, 16 * each - expected), now
        now += rng.choice([999, 20_000, 30_000, 59_999, 60_000])
        world.clock.set_monotonic(now)


class Flooder:
    """Sends requests on its own connection while the clock runs, and records when each was sent and answered."""

    def __init__(self, world, stop):
        self.address = world.instance.address
        self.socket = connect(self.address)
        self.request = f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.key}\r\n\r\n".encode()
        self.clock, self.stop = world.clock, stop
        self.responses = 0
        self.admitted = []

    def run(self):
        while not self.stop.is_set():
            sent = self.clock.monotonic_ms
            status = self.get()
            self.responses += status is not None
            if status == b"200":
                self.admitted.append((sent, self.clock.monotonic_ms))
        self.socket.close()
        return self.admitted

    def get(self):
        """Returns the status of one request. Returns None after reconnecting if the server has closed the connection, which it does if
        this thread was not scheduled while the clock of the test advanced by the idle timeout."""
        data = b""
        try:
            self.socket.sendall(self.request)
            while not (match := re.match(rb"HTTP/1\.1 (\d+) .*?Content-Length: (\d+)\r\n.*?\r\n\r\n", data, re.S)) \
                    or len(data) < match.end() + int(match.group(2)):
                received = self.socket.recv(65536)
                if not received:
                    raise ConnectionResetError
                data += received
        except (BrokenPipeError, ConnectionResetError):
            self.socket.close()
            self.socket = connect(self.address)
            return None
        return match.group(1)


def test_at_most_60_requests_are_admitted_in_any_60_seconds(world):
    """The clock runs fast during a flood. A request was admitted between its sending and its response, so the requests that
    lie completely within 60 s are a lower bound of those admitted in these 60 s."""
    stop = threading.Event()
    flooders = [Flooder(world, stop) for _ in range(8)]

    def work(i):
        if i < 8:
            return flooders[i].run()
        for second in range(1, 201):
            wait.until(lambda: sum(flooder.responses for flooder in flooders) >= 8 * second, "the flood")
            world.clock.advance(1000)
        stop.set()
        return []

    admitted = sorted(sum(in_parallel(9, work), []))
    assert len(admitted) >= 3 * 60, len(admitted)       # in 200 s the window was filled several times
    for begin, _ in admitted:
        assert sum(begin <= sent and answered < begin + WINDOW_MS for sent, answered in admitted) <= 60
