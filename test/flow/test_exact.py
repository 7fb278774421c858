"""The rate limit is exact across processes, to the millisecond: two servers and a real Redis on one fake clock.

Time advances only when a test moves the clock, so the expected number of admitted requests is exact, and no call to Redis times
out, however loaded the machine is.
"""
import collections
import concurrent.futures
import random

import pytest

from lib.clock import FakeClock
from lib.services import Redis, with_clock
from lib import wait

LIMIT = 60
WINDOW_MS = 60_000
HOUR_MS = 3_600_000
CLIENTS = 6


class World:
    def __init__(self, make_viewtally, clock, redis):
        self.clock = clock
        self.redis = redis
        config = {"limits": {"requests_per_minute": LIMIT}, "redis": {"url": self.redis.url}}
        self.servers = [make_viewtally(config, self.clock)]
        self.key = self.servers[0].create_key(self.servers[0].add_author())
        config["store"] = self.servers[0].settings["store"]
        self.servers.append(make_viewtally(config, self.clock))
        self.clients = []
        for server in self.servers:
            server.start()
        self.wait_until_up()
        self.pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)

    def wait_until_up(self):
        for server in self.servers:
            wait.until(lambda s=server: " redis: up\n" in last_redis_line(s), "Redis to be up")

    def wait_until_back(self):
        """Sends requests until both servers use Redis again. The requests make a server notice a loss that it has not
        noticed yet; after repeated failures, only a successful call is reported as up."""
        wait.until(lambda: [self.send_one(n) for n in (0, 1)] and not any(" unavailable" in last_redis_line(s) for s in self.servers), "Redis to be back")

    def flood(self, count, servers=None):
        """Sends `count` requests at one instant, distributed over the servers, several in parallel. Returns how many were admitted."""
        servers = servers or self.servers
        shares = [count // CLIENTS + (n < count % CLIENTS) for n in range(CLIENTS)]
        responses = [a for part in self.pool.map(send, [(servers[n % len(servers)], self.key, share) for n, share in enumerate(shares)])
                   for a in part]
        assert {a.status for a in responses} <= {200, 429} and len(responses) == count
        return sum(a.status == 200 for a in responses)

    def send_one(self, server):
        return send((self.servers[server], self.key, 1))[0]

    def close(self):
        self.pool.shutdown()


def last_redis_line(server):
    return next((line + "\n" for line in reversed(server.log.splitlines()) if " redis: " in line), "")


def send(job):
    server, key, count = job
    with server.client(key) as client:
        return [client.get("/account") for _ in range(count)]


@pytest.fixture
def world(make_viewtally, tmp_path):
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    clock = FakeClock(tmp_path / "shared-clock", "2026-07-10T12:00:00Z", 5_000_000)
    with with_clock(Redis(tmp_path / "redis"), clock) as redis:
        made = World(make_viewtally, clock, redis)
        yield made
        made.close()


class Model:
    """An exact sliding window: the model of the rate limit."""

    def __init__(self):
        self.admitted = collections.deque()

    def acquire(self, now, count):
        self.admitted = collections.deque(t for t in self.admitted if now - t < WINDOW_MS)
        fits = min(count, LIMIT - len(self.admitted))
        self.admitted.extend([now] * fits)
        return fits


def assert_no_window_above(instants):
    """Asserts that no 60 s contain more admitted requests than the limit. `instants` are the times of the requests."""
    instants = sorted(instants)
    assert all(later - earlier >= WINDOW_MS for earlier, later in zip(instants, instants[LIMIT:]))


def test_random_flood_never_exceeds_the_limit_in_any_window(world):
    seed = random.randrange(2**32)
    print("seed", seed)
    rng, model, instants = random.Random(seed), Model(), []
    for step in range(60):
        world.clock.advance(rng.choice([0, 1, 7, 400, 999, 1000, 5000, 20_000, 59_999, 60_000]))
        now, count = world.clock.monotonic_ms, rng.choice([1, 3, 10, 30, 70])
        # If one server gets all requests of a step, it must also count the requests that the other server admitted
        # before.
        servers = rng.choice([world.servers, world.servers[:1], world.servers[1:]])
        admitted = world.flood(count, servers)
        assert admitted == model.acquire(now, count), f"seed {seed}, step {step}"
        instants += [now] * admitted
    assert_no_window_above(instants)
    assert len(instants) > 3 * LIMIT


def test_retry_after_is_the_time_until_the_next_admission_rounded_up_to_seconds(world):
    assert world.flood(1) == 1
    world.clock.advance(12_345)
    assert world.flood(100) == LIMIT - 1
    for server in (0, 1):
        rejected = world.send_one(server)
        assert (rejected.status, rejected.headers["Retry-After"]) == (429, "48")      # 47,655 ms
    world.clock.advance(WINDOW_MS - 12_345 - 1000)
    assert [world.send_one(server).headers["Retry-After"] for server in (0, 1)] == ["1", "1"]
    world.clock.advance(999)
    assert [world.send_one(server).status for server in (0, 1)] == [429, 429]
    world.clock.advance(1)
    assert [world.send_one(server).status for server in (0, 1)] == [200, 429]
    assert world.send_one(1).headers["Retry-After"] == "13"


def test_server_restarted_after_kill_9_shares_the_current_window(world):
    assert world.flood(50) == 50
    world.servers[0].kill()
    world.servers[0].start()
    world.wait_until_up()
    assert world.flood(50) == 10
    world.servers[1].kill()
    world.servers[1].start()
    world.wait_until_up()
    assert world.flood(50) == 0
    world.clock.advance(WINDOW_MS)
    assert world.flood(100) == LIMIT


def test_restarted_empty_redis_starts_a_new_window(world):
    assert world.flood(70) == LIMIT
    world.redis.kill()
    world.redis.start()
    world.wait_until_back()
    # Both servers reject requests until the time that Redis returned before its restart. After it, they share a new
    # window.
    world.clock.advance(WINDOW_MS)
    assert world.flood(100) == LIMIT


def test_each_process_limits_on_its_own_when_redis_fails_mid_flood(world):
    assert [world.flood(20, world.servers[:1]), world.flood(20, world.servers[1:])] == [20, 20]
    world.redis.kill()
    admitted = [world.flood(80, [server]) for server in world.servers]
    # Each process has counted its own 20 requests.
    assert admitted == [LIMIT - 20, LIMIT - 20]
    world.clock.advance(WINDOW_MS - 1)
    assert [world.flood(10, [server]) for server in world.servers] == [0, 0]
    world.redis.start()
    world.wait_until_back()
    world.clock.advance(WINDOW_MS)
    assert world.flood(150) == LIMIT


def test_redis_clock_set_back_an_hour_blocks_no_key_for_an_hour(world):
    assert world.flood(70) == LIMIT
    assert [world.send_one(server).status for server in (0, 1)] == [429, 429]
    world.clock.set_wall(world.clock.wall_ms - HOUR_MS)
    assert world.flood(10) == 0
    # Until the time that Redis returned, the servers reject requests without asking Redis. After it, Redis treats its
    # newest request as if it were made now, so one more window must pass.
    world.clock.advance(WINDOW_MS)
    assert world.flood(10) == 0
    world.clock.advance(WINDOW_MS - 1)
    assert world.flood(10) == 0
    world.clock.advance(1)
    assert world.flood(100) == LIMIT


def test_redis_clock_set_back_frees_no_slot_early(world):
    assert world.flood(40) == 40
    world.clock.advance(10_000)
    world.clock.set_wall(world.clock.wall_ms - HOUR_MS)
    assert world.flood(40) == 20
    world.clock.advance(WINDOW_MS - 1)
    assert world.flood(10) == 0
    world.clock.advance(1)
    assert world.flood(100) == LIMIT


def test_redis_clock_set_forward_an_hour_starts_a_new_window(world):
    assert world.flood(30) == 30
    world.clock.set_wall(world.clock.wall_ms + HOUR_MS)
    assert world.flood(100) == LIMIT        # to Redis, the earlier requests are an hour old
    world.clock.advance(WINDOW_MS - 1)
    assert world.flood(10) == 0
    world.clock.advance(1)
    assert world.flood(100) == LIMIT


def test_each_key_has_its_own_window(world):
    other = world.servers[0].create_key(world.servers[0].add_author())
    assert world.flood(70) == LIMIT
    world.key = other
    assert world.flood(70) == LIMIT


def test_lowered_limit_applies_to_the_current_window(world, make_viewtally):
    assert world.flood(30) == 30
    world.clock.advance(1000)
    assert world.flood(20) == 20
    world.clock.advance(1000)
    lower = make_viewtally({**world.servers[1].settings, "limits": {"requests_per_minute": 20}}, world.clock)
    lower.start()
    wait.until(lambda: " up" in last_redis_line(lower), "Redis to be up")
    rejected = send((lower, world.key, 1))[0]
    assert (rejected.status, rejected.headers["X-RateLimit-Remaining"], rejected.headers["Retry-After"]) == (429, "0", "59")
