"""`viewtally key limit`: shows and resets the window of an API key in a real Redis."""
import re
import uuid

import pytest

from lib import wait

LIMIT = 5


class World:
    """A server with a Redis, and a key."""

    def __init__(self, make_viewtally, url, clock=None, limit=LIMIT, **redis):
        self.server = make_viewtally({"limits": {"requests_per_minute": limit}, "redis": {"url": url, **redis}}, clock)
        created = self.server.run("key", "create", "--author", self.server.add_author(), "--name", "test", "--json").json()
        self.key, self.key_id = created["key"], created["id"]

    def start(self):
        self.server.start()
        wait.until(lambda: "redis: up" in self.server.log, "Redis to be up")
        return self

    def statuses(self, count):
        with self.server.client(self.key) as client:
            return [client.get("/account").status for _ in range(count)]

    def limit(self, *options, status=0):
        return self.server.run("key", "limit", self.key_id, *options, status=status)

    def shown(self, *options):
        return self.limit("--json", *options).json()


@pytest.fixture
def world(make_viewtally, clock, redis):
    clock.set_monotonic(9_000_000)      # stands still, so that no call to Redis is late on a loaded machine
    return World(make_viewtally, redis.url, clock).start()


def test_command_shows_the_window_without_counting(world):
    assert world.shown() == {"id": world.key_id, "limit": LIMIT, "admitted": 0, "remaining": LIMIT, "next_slot_ms": None, "reset": False}
    assert world.statuses(2) == [200, 200]
    shown = world.shown()
    assert (shown["admitted"], shown["remaining"]) == (2, LIMIT - 2) and 0 < shown["next_slot_ms"] <= 60_000
    assert re.fullmatch(r"admitted in the last 60 s +2 of 5\nremaining +3\nnext slot is freed +in \d+\.\d s\n", world.limit().out)
    assert world.shown()["admitted"] == 2       # showing does not count


def test_reset_empties_a_full_window(world, clock, redis):
    assert world.statuses(LIMIT + 1) == [200] * LIMIT + [429]
    shown = world.shown("--reset")
    assert (shown["admitted"], shown["remaining"], shown["reset"]) == (LIMIT, 0, True)      # `reset` prints the window as it was before
    assert not redis.call("EXISTS", f"viewtally:{{limit}}:{world.key_id}")
    assert world.shown()["admitted"] == 0
    clock.advance(1000)                 # the server caches the rejection for a second
    assert world.statuses(1) == [200]


def test_reset_prints_that_the_window_is_empty(world):
    assert world.limit("--reset").out.endswith("remaining                   5\nThe window is now empty.\n")


def test_only_requests_of_the_last_minute_count(world, redis):
    def now_ms():
        seconds, micros = map(int, redis.call("TIME"))
        return seconds * 1000 + micros // 1000

    now = now_ms()
    times = [now - 61_000, now - 60_001, now - 10_000, now - 5_000, now]
    redis.call("SET", f"viewtally:{{limit}}:{world.key_id}", b"".join(t.to_bytes(6, "big") for t in times))
    shown, passed_ms = world.shown(), now_ms() - now
    assert (shown["admitted"], shown["remaining"]) == (3, 2) and 50_000 - passed_ms <= shown["next_slot_ms"] <= 50_000


def test_unknown_key_exits_with_1(world):
    done = world.server.run("key", "limit", str(uuid.uuid4()), status=1)
    assert "no key has this id" in done.err and done.out == ""


@pytest.mark.parametrize("arguments", [[], ["no-uuid"], ["6d1f0b6e-5a0c-4f0e-9c1d-0f6b1a2c3d4e", "--rest"]], ids=["missing", "malformed", "option"])
def test_wrong_usage_exits_with_2(world, arguments):
    assert world.server.run("key", "limit", *arguments, status=2).out == ""


def test_key_limit_needs_redis_to_show_the_rate_limit(make_viewtally):
    done = World(make_viewtally, "").limit(status=2)
    assert "in its own memory" in done.err and "[redis] url" in done.err


def test_key_limit_is_refused_without_a_rate_limit(make_viewtally, redis):
    assert "requests_per_minute is 0" in World(make_viewtally, redis.url, limit=0).limit(status=2).err


def test_unavailable_redis_exits_with_3(make_viewtally, redis):
    redis.stop()
    done = World(make_viewtally, redis.url).limit(status=3)
    assert "Redis is unavailable (Connection refused)" in done.err and "limiting per process" not in done.err


def test_invalid_redis_address_exits_with_2(make_viewtally, redis):
    world = World(make_viewtally, redis.url)
    world.server.configure({"redis": {"url": "redis://127.0.0.1:0"}})
    assert "[redis] url must have a port" in world.limit(status=2).err
