"""The script that holds the windows in Redis, against the definition: as the server loads it, but with a clock of the test's."""
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
        self.sha = redis.call("SCRIPT", "LOAD", source.replace(CLOCK, "local t = {tonumber(KEYS[3]), tonumber(KEYS[4])}"))
        self.redis = redis

    def take(self, now_ms, limit, keys):
        """(admitted, ms until the oldest leaves, remaining) of each."""
        answer = self.redis.call("EVALSHA", self.sha, 4, "w", "w:before", now_ms // 1000, now_ms % 1000 * 1000, limit, *keys)
        return [(n & 1 == 1, n >> 1 & 0xFFFF, n >> 17) for n in answer]


class Windows:
    """The definition: fewer than `limit` admitted in the last minute."""

    def __init__(self):
        self.instants = collections.defaultdict(list)

    def take(self, now_ms, limit, keys):
        return [self.take_one(now_ms, limit, self.instants[key]) for key in keys]

    def take_one(self, now_ms, limit, window):
        window[:] = [instant for instant in window if now_ms - instant < WINDOW_MS]
        admitted = len(window) < limit
        if admitted:
            window.append(now_ms)
        oldest = window[max(0, len(window) - limit)]
        return admitted, WINDOW_MS - (now_ms - oldest), max(0, limit - len(window))


@pytest.fixture
def script(make_viewtally, redis):
    return Script(make_viewtally, redis)


def steps(random_):
    """Mostly small ones, so that windows fill; now and then some that end exactly where something leaves."""
    return random_.choice([0, 1, 7, 400, 2_000, 9_999, 10_000, 20_000, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, 2 * WINDOW_MS, 10 * WINDOW_MS]
                          if random_.random() < 0.2 else [0, 1, 50, 300, 1_000])


@pytest.mark.parametrize("seed", range(6))
def test_it_answers_as_defined(script, seed):
    random_, model, now_ms, limit = random.Random(seed), Windows(), NOW_MS, 4
    for _ in range(1500):
        now_ms += steps(random_)
        if random_.random() < 0.01:
            limit = random_.randint(1, 8)
        keys = random_.sample(range(6), random_.randint(1, 6))
        assert script.take(now_ms, limit, keys) == model.take(now_ms, limit, keys)


@pytest.mark.parametrize("seed", range(6))
def test_a_clock_that_is_set_back_admits_never_too_many_and_blocks_nobody(script, seed):
    random_, limit, offset, true_ms = random.Random(seed), 4, 0, NOW_MS
    admitted = collections.defaultdict(list)
    for _ in range(1500):
        true_ms += steps(random_)
        if random_.random() < 0.02:
            offset -= random_.choice([1, 500, 20_000, WINDOW_MS, 90_000, 3_600_000])
        for key in random_.sample(range(6), random_.randint(1, 3)):
            recent = [instant for instant in admitted[key] if true_ms - instant < WINDOW_MS]
            (passed, reset_ms, _), = script.take(true_ms + offset, limit, [key])
            assert 0 <= reset_ms <= WINDOW_MS
            assert not (passed and len(recent) >= limit)
            if passed:
                admitted[key].append(true_ms)
    now_ms = true_ms + offset + WINDOW_MS
    assert all(passed for passed, _, _ in script.take(now_ms, limit, range(6)))


def test_what_came_last_before_a_change_of_hashes_counts_for_its_whole_minute(script):
    assert script.take(NOW_MS, 2, ["a"]) == [(True, WINDOW_MS, 1)]
    assert script.take(NOW_MS + WINDOW_MS - 1, 2, ["b"]) == script.take(NOW_MS + WINDOW_MS - 1, 2, ["c"]) == [(True, WINDOW_MS, 1)]
    script.take(NOW_MS + WINDOW_MS, 2, ["a"])                 # they change here: b and c stand in the older one
    assert script.redis.call("HEXISTS", "w:before", "b") and not script.redis.call("HEXISTS", "w", "b")
    script.take(NOW_MS + 2 * WINDOW_MS - 1, 2, ["a"])
    assert script.take(NOW_MS + 2 * WINDOW_MS - 2, 2, ["b"]) == [(True, 1, 0)]
    assert script.take(NOW_MS + 2 * WINDOW_MS - 1, 2, ["c"]) == [(True, WINDOW_MS, 1)]


def test_a_full_window_over_which_the_clock_was_set_back_is_over_after_a_minute(script):
    for _ in range(3):
        script.take(NOW_MS, 3, ["a"])
    assert script.take(NOW_MS - 3_600_000, 3, ["a"]) == [(False, WINDOW_MS, 0)]
    assert script.take(NOW_MS - 3_600_000 + WINDOW_MS - 1, 3, ["a"]) == [(False, 1, 0)]
    assert script.take(NOW_MS - 3_600_000 + WINDOW_MS, 3, ["a"]) == [(True, WINDOW_MS, 2)]
