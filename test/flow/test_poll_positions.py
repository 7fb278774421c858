"""Poll positions of API keys: stored in Redis, shown by `key list`, and without effect on any response."""
import concurrent.futures
import re
import signal
import subprocess

import pytest

from lib import wait
from lib.lines import author, reading, uid, video
from lib.metrics import scrape
from lib.relay import Relay
from lib.services import RedisError

POSTED = "2026-07-01T08:00:00Z"
NOW_MS = 1783684800000          # the fake clock's 2026-07-10T12:00:00Z
DAYS_90 = 90 * 86400


class World:
    """Ada with a key and one video that has six events: five milestones (1,000 to 250,000 views) and viral."""

    def __init__(self, make_viewtally, clock, url, **more):
        self.clock = clock
        clock.set_monotonic(9_000_000)      # stands still, so that no call to Redis is late on a loaded machine
        self.instance = make_viewtally({"limits": {"requests_per_minute": 1000}, "redis": {"url": url}, **more}, clock)
        self.instance.import_lines([author("Ada"), video("a", "Ada", POSTED), reading("a", "2026-07-09T00:00:00Z", 999),
                                    reading("a", "2026-07-09T01:00:00Z", 300_000)])
        self.key = self.instance.create_key(uid("Ada"), "app")
        self.instance.start()
        wait.until(lambda: "redis: up" in self.instance.log, "Redis to be up")

    def get(self, query, **options):
        with self.instance.client(self.key) as client:
            response = client.get(f"/events?{query}", **options)
        assert response.status == 200, response
        return response.json()

    def listed(self, **options):
        return self.instance.run("key", "list", "--author", uid("Ada"), "--json", **options).json()

    def list_output(self):
        return self.instance.run("key", "list", "--author", uid("Ada")).out

    def ids(self):
        return [int(event["id"][4:]) for event in self.get("limit=100")["data"]]


@pytest.fixture
def world(make_viewtally, clock, redis):
    return World(make_viewtally, clock, redis.url)


def position_key(redis):
    keys = [key for key in redis.call("KEYS", "viewtally:{limit}:poll:*") if not key.endswith("probe")]
    return keys[0] if keys else None


def position(redis):
    key = position_key(redis)
    words = redis.call("HGETALL", key) if key else []
    return {name: int(value) if value.isdigit() else value for name, value in zip(words[::2], words[1::2])}


def wait_for(redis, world=None, **fields):
    """Waits until the stored position has these fields. With `world`, further requests carry the updates to Redis;
    without it, the timer sends them."""
    def send():
        if world:
            with world.instance.client(world.key) as client:
                client.get("/account")

    def shows():
        send()
        return fields.items() <= position(redis).items()
    wait.until(shows, f"the position to have {fields}; it is {position(redis)}")
    send()      # its reply follows the reply to the update, so no call is in flight when the test advances the clock


# --- recording ---


def test_poll_records_position_time_and_count(world, redis):
    ids = world.ids()
    wait_for(redis, world, after=0, sent=ids[-1], at=NOW_MS, polls=1)
    assert DAYS_90 - 60 < redis.call("TTL", position_key(redis)) <= DAYS_90
    assert position_key(redis) == f"viewtally:{{limit}}:poll:{world.listed()[0]['id']}"
    world.clock.advance(5000)
    world.get(f"after=evt_{ids[1]}&limit=2")
    wait_for(redis, world, after=ids[1], sent=ids[-1], at=NOW_MS + 5000, polls=2)


@pytest.mark.parametrize("query, position, sent", [
    ("limit=2", 0, 1),
    ("after=evt_{1}", 1, 5),
    ("after=evt_{5}", 5, 0),
    ("after=evt_{1}&limit=2", 1, 3),
    ("after=latest", 5, 0),
    ("order=desc&limit=2", 5, 5),
    ("order=desc&before=evt_{3}&limit=2", None, 2),
    ("after=evt_{0}&type=video.went_viral", 0, "viral"),
    ("after=evt_{0}&occurred_after=2026-07-10T00:00:00Z", 5, 0),       # no matching event: the position is the newest event
    ("after=evt_9223372036854775807", 2**53 - 1, 0),
], ids=str)
def test_each_form_of_poll_records_its_position(world, redis, query, position, sent):
    ids = world.ids()
    viral = int(world.get("type=video.went_viral")["data"][0]["id"][4:])
    wait_for(redis, world, polls=2)
    redis.call("DEL", position_key(redis))
    assert len(ids) == 6
    world.get(re.sub(r"\{(\d)\}", lambda match: str(ids[int(match[1])]), query))
    position = ids[position] if position in range(1, 6) else 0 if position is None else ids[0] if "{0}" in query and position == 0 else position
    sent = viral if sent == "viral" else ids[sent] if sent else 0
    wait_for(redis, world, after=position, sent=sent, polls=1)


def test_only_successful_event_requests_count(world, redis):
    with world.instance.client(world.key) as client:
        assert client.get("/account").status == 200
        assert client.get("/events?limit=0").status == 400
        assert client.request("HEAD", "/v1/events").status == 200
    wait_for(redis, polls=1, sent=0)


def test_long_poll_counts_once(world, redis):
    head = world.ids()[-1]
    wait_for(redis, world, polls=1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        poll = pool.submit(world.get, f"after=evt_{head}&wait=1")
        wait_for(redis, world, polls=2)     # counted while it is waiting
        assert not poll.done()
        world.clock.set_monotonic(world.clock.monotonic_ms + 1000)
        assert poll.result()["data"] == []
    wait_for(redis, world, polls=2, after=head)


def test_poll_position_updates_are_sent_together_with_the_limit_call(make_viewtally, clock, redis):
    with Relay(f"127.0.0.1:{redis.port}") as relay:
        world = World(make_viewtally, clock, f"redis://{relay.address}")
        start = len(relay.requests)
        for _ in range(20):
            world.get("after=evt_0")
        writes = relay.requests[start:]
        wait_for(redis, world, polls=20)
    scripts = {write.count(b"EVALSHA") for write in writes[1:]}
    # Each write has the limit call and the update of the previous poll. On a loaded machine the timer may have fired, too.
    assert len(writes) <= 22 and scripts <= {1, 2} and sum(write.count(b"EVALSHA") == 2 for write in writes) >= 17


def test_late_update_does_not_move_the_position_back(world, redis):
    ids = world.ids()
    wait_for(redis, world, polls=1)
    redis.call("HSET", position_key(redis), "at", NOW_MS + 3599_999, "after", ids[4])
    world.get(f"after=evt_{ids[2]}")
    wait_for(redis, world, polls=2, after=ids[4], at=NOW_MS + 3599_999)


def test_position_that_was_stored_while_the_clock_was_ahead_is_replaced(world, redis):
    ids = world.ids()
    wait_for(redis, world, polls=1)
    redis.call("HSET", position_key(redis), "at", NOW_MS + 3600_000, "after", ids[4])
    world.get(f"after=evt_{ids[2]}")
    wait_for(redis, world, polls=2, after=ids[2], at=NOW_MS)


@pytest.mark.parametrize("spoil", [("SET", "x"), ("HSET", "polls", "many", "after", "-", "at", "")], ids=["other type", "not numbers"])
def test_invalid_position_is_replaced(world, redis, spoil):
    head = world.ids()[-1]
    wait_for(redis, world, polls=1)
    key = position_key(redis)
    redis.call(spoil[0], key, *spoil[1:])
    assert (world.listed()[0]["last_poll_at"], world.listed()[0]["polls"]) == (None, 0)

    def is_replaced():
        world.get(f"after=evt_{head}")
        return hash_at(redis, key).get("after") == str(head)

    wait.until(is_replaced, "the position to be valid again")
    # Nothing but a late reply, as on a busy machine, may make Redis unavailable.
    assert not [line for line in world.instance.log.splitlines() if "redis: unavailable" in line and "no reply in time" not in line]


@pytest.mark.parametrize("sent", ["-", "9"])       # text and numbers compare differently
def test_position_that_is_not_a_number_is_replaced(world, redis, sent):
    ids = world.ids()
    wait_for(redis, world, polls=1)
    redis.call("HSET", position_key(redis), "after", "-", "sent", sent)
    world.get(f"order=desc&before=evt_{ids[3]}&limit=1")        # a poll without a position
    wait_for(redis, polls=2, after=0, sent=ids[2])


def hash_at(redis, key):
    try:
        words = redis.call("HGETALL", key)
    except RedisError:
        return {}
    return dict(zip(words[::2], words[1::2]))


def test_no_response_depends_on_the_position(world, redis):
    before = world.get("after=evt_0")
    redis.call("FLUSHALL")
    assert world.get("after=evt_0") == before
    redis.stop()
    assert [world.get("after=evt_0") for _ in range(3)] == [before] * 3


# --- reading ---


def test_key_list_shows_last_poll_and_lag(world, redis):
    assert "never" in world.list_output()
    ids = world.ids()
    wait_for(redis, world, polls=1)
    assert "2026-07-10 12:00:00    6 " in world.list_output()
    world.get(f"after=evt_{ids[3]}")
    wait_for(redis, world, polls=2)
    assert "    2  live" in world.list_output()
    entry = world.listed()[0]
    assert (entry["last_poll_at"], entry["polls"], entry["lag"]) == ("2026-07-10T12:00:00.000Z", 2, 2)
    world.get("after=latest")
    wait_for(redis, world, polls=3)
    assert "    0  live" in world.list_output()


@pytest.mark.sqlite_only("inserts into the database file")
def test_lag_above_1000_is_shown_as_more_than_1000(world, redis):
    videos = [f"v{n}" for n in range(40)]
    world.instance.import_lines([line for name in videos for line in (
        video(name, "Ada", POSTED), reading(name, "2026-07-09T02:00:00Z", 900), reading(name, "2026-07-09T03:00:00Z", 10**15))])
    world.get("limit=1")
    wait_for(redis, world, polls=1)
    keys = [world.instance.create_key(uid("Ada"), f"k{n}") for n in range(3)]
    # So many keys that the positions are loaded in several calls.
    subprocess.run(["/usr/bin/python3", "-c", PLANT, world.instance.settings["store"]["path"]], check=True)
    listed = world.listed()
    assert len(listed) == 124 and listed[0]["lag"] == 1001 and keys
    assert all(entry["lag"] is None and entry["polls"] == 0 for entry in listed[1:])
    assert ">1000" in world.list_output()


PLANT = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
author = db.execute("SELECT id FROM authors").fetchone()[0]
for n in range(120):
    db.execute("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) VALUES (?, ?, ?, 'x', 'abcd', ?)",
               (os.urandom(16), author, os.urandom(32), 1783684800001 + n))
db.commit()
"""


@pytest.mark.parametrize("how", ["stopped", "paused"])
def test_key_list_works_while_redis_is_unavailable(world, redis, how):
    world.ids()
    redis.stop() if how == "stopped" else redis.signal(signal.SIGSTOP)
    assert "Redis unavailable" in world.list_output()           # a paused Redis never replies, and the command must not hang
    entry = world.listed()[0]
    assert entry["last_poll_at"] is entry["lag"] is entry["polls"] is None
    if how == "paused":
        redis.signal(signal.SIGCONT)


def test_key_list_shows_no_lag_if_redis_is_not_configured(viewtally):
    viewtally.import_lines([author("Ada")])
    viewtally.create_key(uid("Ada"))
    out = viewtally.run("key", "list", "--author", uid("Ada")).out
    assert "LAG" not in out and "Redis" not in out


def test_key_list_reports_the_redis_error_and_still_lists_keys(viewtally):
    viewtally.import_lines([author("Ada")])
    viewtally.create_key(uid("Ada"))
    viewtally.configure({"redis": {"url": "rediss://127.0.0.1", "ca_file": "/nonexistent"}})
    done = viewtally.run("key", "list", "--author", uid("Ada"))
    assert "Redis unavailable" in done.out and "[redis] ca_file /nonexistent" in done.err


def test_metrics_count_lag(make_viewtally, clock, redis):
    world = World(make_viewtally, clock, redis.url)
    ids = world.ids()                           # a lag of 6
    for query in ("limit=2", f"after=evt_{ids[0]}&limit=2", f"after=evt_{ids[4]}", "after=latest", "order=desc",
                  "limit=2&occurred_after=2026-01-01T00:00:00Z",
                  f"limit=2&type=video.milestone_reached&after=evt_{ids[0]}", "type=video.went_viral"):
        world.get(query)    # lags 6, 5, 1, 0, one without a position, 6 again, 4 (without the excluded event), 1
    metrics = scrape(world.instance)
    buckets = {le: metrics.get("viewtally_poll_lag_events_bucket", le=le) for le in ("0", "1", "2", "5", "10", "+Inf")}
    assert buckets == {"0": 1, "1": 3, "2": 3, "5": 5, "10": 8, "+Inf": 8}
    assert metrics.get("viewtally_poll_lag_events_sum") == 29
    assert metrics.get("viewtally_poll_positions_recorded_total") >= 6 and metrics.get("viewtally_poll_positions_dropped_total") == 0


# --- a poll at the newest event reads no events ---


@pytest.mark.sqlite_only("counts the pages that are read from the database file")
def test_poll_at_or_after_the_newest_event_reads_no_events(viewtally):
    viewtally.import_lines([author("Ada"), video("a", "Ada", POSTED), reading("a", "2026-07-09T00:00:00Z", 999),
                            reading("a", "2026-07-09T01:00:00Z", 300_000)])
    key = viewtally.create_key(uid("Ada"))
    viewtally.start()
    with viewtally.client(key) as client:
        head = int(client.get("/events?after=latest").json()["next_cursor"][4:])
    viewtally.stop()
    spoil_events(viewtally.settings["store"]["path"])
    viewtally.start()
    with viewtally.client(key) as client:
        for after in (f"evt_{head}", f"evt_{head + 1}", "latest"):
            assert client.get("/events", {"after": after}).status == 200
        assert client.get("/events", {"after": f"evt_{head - 1}"}).status == 503


def spoil_events(path):
    """Overwrites the first page of the table of events, so that reading it fails."""
    script = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(" \
             "\"SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'events'\").fetchone())"
    done = subprocess.run(["/usr/bin/python3", "-c", script, path], check=True, capture_output=True, text=True)
    page, size = map(int, done.stdout.split())
    with open(path, "r+b") as database:
        database.seek((page - 1) * size)
        database.write(b"\xff" * size)
