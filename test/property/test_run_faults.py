"""Refresh runs with a full disk, a locked database, clock changes and Redis unavailable. The final state equals that of a run without
faults, and clients see no error."""
import random
import signal
import sqlite3

import pytest

from compare import Comparison
from lib import recent, wait
from lib.clock import FakeClock
from lib.lines import author, reading, uid, video
from lib.refreshing import SUCCEEDED, FAILED, ABANDONED, PARTIAL, Refreshing
from lib.spool import Spool
from lib.viewtally import sanitized
from model import Answers, Model, iso
from model.values import HOUR
from test_events_once import NOW, START, Feed, Poller, failures

VIDEOS, STEPS, STEP = 30, 50, 5 * 60 * 1000         # a file has some 4,000 readings: several transactions
PAUSE = 16 * 1000                                   # after which a run that failed is tried again, and more
LEASE = 31 * 1000
KIB = 1024


@pytest.fixture
def time(tmp_path):
    return FakeClock(tmp_path / "clock", NOW, monotonic_ms=10_000_000)


class Spooled:
    """An installation with the spool as its source, its model, and authors with data."""

    def __init__(self, make_viewtally, clock, directory, config=None):
        self.spool = Spool(directory / "spool")
        self.server = make_viewtally({"refresh": {"source": "spool", "spool_dir": self.spool.path}, **(config or {})}, clock)
        self.clock = clock
        self.feed = Feed(1)
        self.model = Model()
        first = self.feed.first_lines(VIDEOS)
        self.server.import_lines(first)
        assert self.model.import_lines(first, NOW) == []
        self.keys = {author_id: self.server.create_key(author_id) for author_id in self.feed.authors}
        self.runs = Refreshing(self.server)
        self.at = START

    def drop(self, name):
        lines = []
        for _ in range(STEPS):
            self.at += STEP
            for video_id, views in self.feed.views.items():
                self.feed.views[video_id] = int(views * self.feed.rng.choice([1, 1, 1.05])) + 1
                lines.append({"type": "reading", "platform": "youtube", "post_id": video_id, "observed_at": iso(self.at),
                              "views": self.feed.views[video_id]})
        assert self.model.import_lines(lines, self.clock.wall_ms) == []
        self.spool.drop(name, lines)

    def ask(self):
        """Checks that every request succeeds and that the days of each video sum to its views, so no step is partial. Returns the sum of all views."""
        total = 0
        for key in self.keys.values():
            with self.server.client(key) as client:
                answer = client.get("/videos?limit=100")
                assert answer.status == 200 and client.get("/events").status == 200
                total += sum(row["views"] for row in answer.json()["data"])
        assert_gains_add_up(self.runs)
        return total

    def check(self):
        for author_id, key in self.keys.items():
            with self.server.client(key) as client:
                Comparison(client, Answers(self.model, author_id, self.clock.wall_ms), random.Random(1)).all()
        assert self.runs.one("PRAGMA integrity_check") == "ok"
        recent.check(self.server.settings["store"]["path"])


def assert_gains_add_up(runs):
    assert runs.rows("SELECT id FROM videos v WHERE views <> baseline + ifnull((SELECT sum(gained) FROM daily WHERE video_id = v.id), 0)") == []


# --- full disk ---

def test_run_on_a_full_disk_fails_and_the_next_completes_it(make_viewtally, make_disk, time, tmp_path):
    """`viewtally refresh` with more and more room: it fails later each time and reports it; the file stays until it is applied completely."""
    disk = make_disk("16m")
    world = Spooled(make_viewtally, time, tmp_path, {"store": {"path": disk.path / "viewtally.db"}})
    world.server.configure({"refresh": {"source": "none"}})
    failed, seen = 0, [0]
    with world.server:
        world.server.configure({"refresh": {"source": "spool"}})
        world.drop("one.ndjson")
        for room in [0, 4, 100, 400, 800, 900, 1000, 1100, 1200, 1400, 1600, 2000]:
            time.advance(LEASE)
            disk.fill(room * KIB)
            refused = world.server.run("refresh", "--wait", "0", status=None)
            seen.append(world.ask())
            if refused.status == 0:
                disk.make_room()
                break
            failed += 1
            assert refused.status == 3, refused
            said = [line for line in refused.err.splitlines() if line.startswith("viewtally ")]
            assert len(said) == 1 and ("no room" in said[0] or "full" in said[0]), refused
            assert world.spool.waiting == ["one.ndjson"] and not world.spool.done
            disk.make_room()
        assert failed >= 3, "the disk was never full"
        assert seen == sorted(seen), seen
        time.advance(LEASE)
        world.server.run("refresh", "--wait", "0")
        assert world.spool.done == ["one.ndjson"] and not world.spool.waiting
        world.check()
    assert set(world.runs.outcomes) <= {SUCCEEDED, FAILED, ABANDONED}


def test_server_recovers_from_a_full_disk(make_viewtally, make_disk, time, tmp_path):
    disk = make_disk("16m")
    world = Spooled(make_viewtally, time, tmp_path, {"store": {"path": disk.path / "viewtally.db"}})
    with world.server:
        wait.until(lambda: world.runs.outcomes == [SUCCEEDED], "the run at the start")
        disk.fill(300 * KIB)
        world.drop("one.ndjson")
        told = "refresh: tried again in"
        wait.until(lambda: told in world.server.log, "the run to fail")
        for _ in range(5):
            world.ask()
        assert world.server.log.count(told) == 1, world.server.log
        assert len(world.server.log.splitlines()) < 15, world.server.log
        assert world.spool.waiting == ["one.ndjson"]
        time.advance(2 * PAUSE)                     # and again: still full
        wait.until(lambda: world.server.log.count(told) == 2, "the second run to fail")
        disk.make_room()
        time.advance(4 * PAUSE)
        wait.until(lambda: world.spool.done == ["one.ndjson"], "the file to be taken")
        world.check()


# --- a locked database ---

def test_run_waits_for_the_write_lock_of_another_process(make_viewtally, time, tmp_path):
    world = Spooled(make_viewtally, time, tmp_path, {"store": {"busy_timeout_ms": 300}})
    with world.server:
        wait.until(lambda: world.runs.outcomes == [SUCCEEDED], "the run at the start")
        lock = sqlite3.connect(world.runs.path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        world.drop("one.ndjson")
        wait.until(lambda: "refresh: tried again in" in world.server.log, "the run to give up")
        world.ask()
        assert world.spool.waiting == ["one.ndjson"]
        lock.execute("ROLLBACK")
        time.advance(PAUSE)
        wait.until(lambda: world.spool.done == ["one.ndjson"], "the file to be taken")
        world.check()


def test_run_fails_if_the_write_lock_is_held_too_long(make_viewtally, time, tmp_path):
    world = Spooled(make_viewtally, time, tmp_path, {"store": {"busy_timeout_ms": 60000}})
    with world.server:
        wait.until(lambda: world.runs.outcomes == [SUCCEEDED], "the run at the start")
        lock = sqlite3.connect(world.runs.path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        world.drop("one.ndjson")
        for _ in range(20):
            world.ask()
        time.advance(10_000)
        lock.execute("ROLLBACK")
        wait.until(lambda: world.spool.done == ["one.ndjson"], "the file to be taken")
        wait.until(lambda: world.runs.outcomes == [SUCCEEDED, SUCCEEDED], "the run to end")
        world.check()
        assert "tried again" not in world.server.log


# --- Redis ---

def test_run_needs_no_redis(make_viewtally, time, tmp_path):
    world = Spooled(make_viewtally, time, tmp_path, {"redis": {"url": f"unix:{tmp_path}/nobody"}, "limits": {"requests_per_minute": 600}})
    with world.server:
        world.drop("one.ndjson")
        wait.until(lambda: world.spool.done == ["one.ndjson"], "the file to be taken")
        world.check()


# --- the clock ---

def test_clock_changes_of_an_hour_lose_and_repeat_nothing(make_viewtally, time, tmp_path):
    """The clock changes during and between runs of two servers: each hour is refreshed once; no gain and no event is lost."""
    rng, hours = random.Random(3), 3 if sanitized() else 8
    servers = [make_viewtally({"refresh": {"source": "simulated", "minute": 0}}, time)]
    servers.append(make_viewtally({"refresh": {"source": "simulated", "minute": 0}, "store": servers[0].settings["store"]}, time))
    servers[0].import_lines([author("Ada")] + [video(f"v{n}", "Ada", iso(NOW - HOUR * (3 + n % 300)), ("youtube", "tiktok")) for n in range(1500)] +
                            [reading(f"v{n}", iso(NOW - 2 * HOUR), int(10 ** (3 + n % 3) * (1 - n / 3000))) for n in range(1500)])  # milestones are near
    runs, key = Refreshing(servers[0]), servers[0].create_key(uid("Ada"))
    slots = lambda: sorted(started // HOUR for _, outcome, started in runs.runs if outcome in (SUCCEEDED, PARTIAL))  # noqa: E731
    with servers[0], servers[1]:
        pollers = [Poller(server, key, number) for number, server in enumerate(servers)]
        try:
            for hour in range(hours):
                now = NOW + hour * HOUR
                wait.until(lambda: set_clock(time, now + rng.choice([-HOUR, -HOUR, 0, HOUR // 2])) and slots()[-1:] >= [now // HOUR],
                           "the hour's run", pause_most=0.02)
        finally:
            for poller in pollers:
                poller.ending.set()
            # A waiting poll ends by this clock.
            wait.until(lambda: set_clock(time, now) and not any(poller.is_alive() for poller in pollers), "the pollers to end",
                       seconds=wait.DEFAULT_SECONDS * 3)
    assert not failures(pollers), failures(pollers)
    assert slots() == [NOW // HOUR + hour for hour in range(hours)] or slots() == [NOW // HOUR - 1 + hour for hour in range(hours + 1)]
    assert set(runs.outcomes) <= {SUCCEEDED, PARTIAL, ABANDONED}
    events = [id for id, in runs.rows("SELECT id FROM events ORDER BY id")]
    assert len(events) > 100
    for poller in pollers:
        assert [int(event["id"][4:]) for event in poller.events] == events
    assert_gains_add_up(runs)


def set_clock(clock, when):
    clock.set_wall(when)
    clock.set_monotonic(clock.monotonic_ms + 1000)      # who found the other one at work asks again after some seconds
    return True


def test_run_that_overruns_its_hour_is_followed_by_one_run(make_viewtally, time, tmp_path):
    """The run is suspended for three hours, as on a machine that slept."""
    server = make_viewtally({"refresh": {"source": "simulated"}}, time)
    server.import_lines([author(f"A{a}") for a in range(20)] + [video(f"v{a}-{n}", f"A{a}", iso(NOW - HOUR), ("youtube", "tiktok"))
                                                               for a in range(20) for n in range(200)])
    runs = Refreshing(server)
    with server:
        runs.freeze(server)
        time.advance(3 * HOUR)
        server.signal(signal.SIGCONT)
        runs.wait_for_runs(2)
    assert runs.outcomes == [SUCCEEDED, SUCCEEDED]
    assert_gains_add_up(runs)


def test_gains_around_midnight_belong_to_their_dates(make_viewtally, time, tmp_path):
    """Readings at the last millisecond of a day and the first of the next belong to their own day; the run of 00:00 takes place."""
    midnight = NOW - NOW % (24 * HOUR) + 24 * HOUR
    time.set_wall(midnight - 1)
    server = make_viewtally({"refresh": {"source": "simulated", "minute": 0}}, time)
    server.import_lines([author("Ada"), video("v", "Ada", iso(midnight - HOUR))])
    runs = Refreshing(server)
    with server:
        runs.wait_for_runs(1)
        before = runs.views()
        time.set_wall(midnight)
        assert runs.wait_for_runs(2) == (0, SUCCEEDED, midnight)
    assert 0 < before < runs.views()
    assert runs.rows("SELECT day, gained FROM daily ORDER BY day") == [(midnight // (24 * HOUR) - 1, before),
                                                                       (midnight // (24 * HOUR), runs.views() - before)]
