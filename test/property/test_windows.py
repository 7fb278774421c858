"""Compares the Lua script of the limiter, as loaded by the server, with a model on a controlled clock."""
import collections
import random

import pytest

from lib import wait
from lib.fakeredis import FakeRedis

WINDOW_MS = 60_000
NOW_MS = 1_790_000_000_000
CLOCK = "local t = call('TIME')"


class Script:
    def __init__(self, make_viewtally, redis):
        with FakeRedis() as fake:
            server = make_viewtally({"redis": {"url": fake.url}}).start()
            wait.until(lambda: "redis: up" in server.log, "Redis to be up")
            server.stop()
            sources = [words[2].decode() for words in fake.commands if words[:2] == [b"SCRIPT", b"LOAD"]]
        source = next(text for text in sources if "'TIME'" in text)
        assert CLOCK in source
        self.sha = redis.call("SCRIPT", "LOAD", source.replace(CLOCK, "local t = {tonumber(ARGV[2]), tonumber(ARGV[3])}"))
        self.redis = redis

    def acquire(self, now_ms, limit, keys):
        """Returns (admitted, ms until the oldest request expires, remaining) for each key."""
        reply = self.redis.call("EVALSHA", self.sha, len(keys), *(f"w:{key}" for key in keys), limit, now_ms // 1000, now_ms % 1000 * 1000)
        return [(remaining >= 0, reset_ms, max(0, remaining)) for remaining, reset_ms in zip(reply[::2], reply[1::2])]


class Model:
    """The specification: a request is admitted if fewer than `limit` requests were admitted in the last minute."""

    def __init__(self):
        self.times = collections.defaultdict(list)

    def acquire(self, now_ms, limit, keys):
        return [self.acquire_one(now_ms, limit, self.times[key]) for key in keys]

    def acquire_one(self, now_ms, limit, window):
        window[:] = [time for time in window if now_ms - time < WINDOW_MS]
        admitted = len(window) < limit
        if admitted:
            window.append(now_ms)
        oldest = window[max(0, len(window) - limit)]
        return admitted, WINDOW_MS - (now_ms - oldest), max(0, limit - len(window))


@pytest.fixture
def script(make_viewtally, redis):
    return Script(make_viewtally, redis)


def random_interval(rng):
    """Returns a random interval: mostly short, so that windows fill, sometimes one that ends exactly when a request expires."""
    return rng.choice([0, 1, 7, 400, 2_000, 9_999, 10_000, 20_000, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, 2 * WINDOW_MS, 10 * WINDOW_MS]
                      if rng.random() < 0.2 else [0, 1, 50, 300, 1_000])


@pytest.mark.parametrize("seed", range(6))
def test_limiter_script_gives_the_same_results_as_the_model(script, seed):
    """A call may contain the same key several times."""
    rng, model, now_ms, limit = random.Random(seed), Model(), NOW_MS, 4
    for _ in range(1500):
        now_ms += random_interval(rng)
        if rng.random() < 0.01:
            limit = rng.randint(1, 8)
        keys = rng.choices(range(6), k=rng.randint(1, 8))
        assert script.acquire(now_ms, limit, keys) == model.acquire(now_ms, limit, keys)


@pytest.mark.parametrize("seed", range(6))
def test_clock_moved_back_never_admits_too_many_and_blocks_no_longer_than_a_minute(script, seed):
    rng, limit, offset, true_ms = random.Random(seed), 4, 0, NOW_MS
    admitted = collections.defaultdict(list)
    for _ in range(1500):
        true_ms += random_interval(rng)
        if rng.random() < 0.02:
            offset -= rng.choice([1, 500, 20_000, WINDOW_MS, 90_000, 3_600_000])
        for key in rng.sample(range(6), rng.randint(1, 3)):
            recent = [time for time in admitted[key] if true_ms - time < WINDOW_MS]
            (is_admitted, reset_ms, _), = script.acquire(true_ms + offset, limit, [key])
            assert 0 <= reset_ms <= WINDOW_MS
            assert not (is_admitted and len(recent) >= limit)
            if is_admitted:
                admitted[key].append(true_ms)
    now_ms = true_ms + offset + WINDOW_MS
    assert all(is_admitted for is_admitted, _, _ in script.acquire(now_ms, limit, range(6)))


def test_full_window_expires_a_minute_after_the_clock_moved_back(script):
    for _ in range(3):
        script.acquire(NOW_MS, 3, ["a"])
    assert script.acquire(NOW_MS - 3_600_000, 3, ["a"]) == [(False, WINDOW_MS, 0)]
    assert script.acquire(NOW_MS - 3_600_000 + WINDOW_MS - 1, 3, ["a"]) == [(False, 1, 0)]
    assert script.acquire(NOW_MS - 3_600_000 + WINDOW_MS, 3, ["a"]) == [(True, WINDOW_MS, 2)]


def test_window_expires_in_redis_after_61_seconds(script):
    script.acquire(NOW_MS, 3, ["a"])
    assert WINDOW_MS < script.redis.call("PTTL", "w:a") <= WINDOW_MS + 1000


@pytest.mark.parametrize("garbage", [("SET", "w:a", "no times"), ("LPUSH", "w:a", "x")], ids=["length", "type"])
def test_invalid_window_in_redis_is_replaced(script, garbage):
    script.redis.call(*garbage)
    assert script.acquire(NOW_MS, 3, ["a"]) == [(True, WINDOW_MS, 2)]
    assert script.acquire(NOW_MS, 3, ["a"]) == [(True, WINDOW_MS, 1)]
