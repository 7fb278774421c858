"""Refresh runs with a full disk, a locked database, clock changes, or without Redis. The final state equals that of runs without
faults, and no request fails."""
import random
import signal

import pytest

from property.compare import Comparison
from lib import packed_days, wait
from lib.clock import FakeClock
from lib.lines import author, reading, uid, video
from lib.refreshing import SUCCEEDED, FAILED, ABANDONED, PARTIAL, Refreshing
from lib.spool import Spool
from lib.viewtally import sanitized
from model import Model, Responses, iso
from model.values import HOUR
from test_events_once import NOW, START, Feed, Poller, failures
from test_kills import check_file

VIDEOS, STEPS, STEP = 30, 50, 5 * 60 * 1000         # a file has about 4,000 readings, which take several transactions
RETRY_PAUSE = 16 * 1000                             # longer than the pause before a failed run is retried
LEASE = 31 * 1000
KIB = 1024


@pytest.fixture
def time(tmp_path):
    return FakeClock(tmp_path / "clock", NOW, monotonic_ms=10_000_000)


class Spooled:
    """An installation whose source is the spool, together with its authors and the model of its data."""

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

    def check_requests(self):
        """Checks that requests succeed and that the gains of each video sum to its views, so that no step is partly applied. Returns the sum of all views."""
        total = 0
        for key in self.keys.values():
            with self.server.client(key) as client:
                answer = client.get("/videos?limit=100")
                assert answer.status == 200 and client.get("/events").status == 200
                total += sum(row["views"] for row in answer.json()["data"])
        assert_gains_add_up(self.runs)
        return total

    def compare_with_model(self):
        for author_id, key in self.keys.items():
            with self.server.client(key) as client:
                Comparison(client, Responses(self.model, author_id, self.clock.wall_ms), random.Random(1)).all()
        check_file(self.server.as_file())


def assert_gains_add_up(runs):
    for id, gained, days in runs.rows("SELECT id, views - baseline, days FROM videos"):
        assert sum(row[1] for row in packed_days.unpack(days)) == gained, f"video {id}"


# --- full disk ---

@pytest.mark.sqlite_only("fills the disk of the database file; test/pg/test_full_disk.py fills that of PostgreSQL")
def test_run_on_a_full_disk_fails_and_the_next_completes_it(make_viewtally, make_disk, time, tmp_path):
    """`viewtally refresh` runs with more and more free space: each failed run reports the full disk and loses nothing that
    earlier runs applied. The file stays in the spool until it is applied completely."""
    disk = make_disk("16m")
    spooled = Spooled(make_viewtally, time, tmp_path, {"store": {"path": disk.path / "viewtally.db"}})
    spooled.server.configure({"refresh": {"source": "none"}})
    failed, seen = 0, [0]
    with spooled.server:
        spooled.server.configure({"refresh": {"source": "spool"}})
        spooled.drop("one.ndjson")
        for room in [0, 4, 100, 400, 800, 900, 1000, 1100, 1200, 1400, 1600, 2000]:
            time.advance(LEASE)
            disk.fill(room * KIB)
            result = spooled.server.run("refresh", "--wait", "0", status=None)
            seen.append(spooled.check_requests())
            if result.status == 0:
                disk.make_room()
                break
            failed += 1
            assert result.status == 3, result
            output = [line for line in result.err.splitlines() if line.startswith("viewtally ")]
            assert len(output) == 1 and ("no room" in output[0] or "no space left" in output[0]), result
            assert spooled.spool.waiting == ["one.ndjson"] and not spooled.spool.done
            disk.make_room()
        assert failed >= 3, "the disk was never full"
        assert seen == sorted(seen), seen
        time.advance(LEASE)
        spooled.server.run("refresh", "--wait", "0")
        assert spooled.spool.done == ["one.ndjson"] and not spooled.spool.waiting
        spooled.compare_with_model()
    assert set(spooled.runs.outcomes) <= {SUCCEEDED, FAILED, ABANDONED}


@pytest.mark.sqlite_only("fills the disk of the database file; test/pg/test_full_disk.py fills that of PostgreSQL")
def test_server_recovers_from_a_full_disk(make_viewtally, make_disk, time, tmp_path):
    disk = make_disk("16m")
    spooled = Spooled(make_viewtally, time, tmp_path, {"store": {"path": disk.path / "viewtally.db"}})
    with spooled.server:
        wait.until(lambda: spooled.runs.outcomes == [SUCCEEDED], "the run at the start")
        disk.fill(300 * KIB)
        spooled.drop("one.ndjson")
        message = "refresh: retrying in"
        wait.until(lambda: message in spooled.server.log, "the run to fail")
        for _ in range(5):
            spooled.check_requests()
        assert spooled.server.log.count(message) == 1, spooled.server.log
        assert len(spooled.server.log.splitlines()) < 15, spooled.server.log
        assert spooled.spool.waiting == ["one.ndjson"]
        time.advance(2 * RETRY_PAUSE)               # the retry fails too, because the disk is still full
        wait.until(lambda: spooled.server.log.count(message) == 2, "the second run to fail")
        disk.make_room()
        time.advance(4 * RETRY_PAUSE)
        wait.until(lambda: spooled.spool.done == ["one.ndjson"], "the file to be applied")
        spooled.compare_with_model()


# --- a locked database ---

def test_run_is_repeated_if_the_write_lock_is_held_too_long(make_viewtally, time, tmp_path):
    spooled = Spooled(make_viewtally, time, tmp_path, {"store": {"busy_timeout_ms": 300}})
    with spooled.server:
        wait.until(lambda: spooled.runs.outcomes == [SUCCEEDED], "the run at the start")
        with spooled.server.write_transaction():
            spooled.drop("one.ndjson")
            wait.until(lambda: "refresh: retrying in" in spooled.server.log, "the run to fail")
            spooled.check_requests()
            assert spooled.spool.waiting == ["one.ndjson"]
        time.advance(RETRY_PAUSE)
        wait.until(lambda: spooled.spool.done == ["one.ndjson"], "the file to be applied")
        spooled.compare_with_model()


def test_run_waits_for_the_write_lock_of_another_process(make_viewtally, time, tmp_path):
    spooled = Spooled(make_viewtally, time, tmp_path, {"store": {"busy_timeout_ms": 60000}})
    with spooled.server:
        wait.until(lambda: spooled.runs.outcomes == [SUCCEEDED], "the run at the start")
        with spooled.server.write_transaction():
            spooled.drop("one.ndjson")
            for _ in range(20):
                spooled.check_requests()
            time.advance(10_000)
        wait.until(lambda: spooled.spool.done == ["one.ndjson"], "the file to be applied")
        wait.until(lambda: spooled.runs.outcomes == [SUCCEEDED, SUCCEEDED], "the run to end")
        spooled.compare_with_model()
        assert "retrying" not in spooled.server.log


# --- Redis ---

def test_run_needs_no_redis(make_viewtally, time, tmp_path):
    spooled = Spooled(make_viewtally, time, tmp_path, {"redis": {"url": f"unix:{tmp_path}/no-server"}, "limits": {"requests_per_minute": 600}})
    with spooled.server:
        spooled.drop("one.ndjson")
        wait.until(lambda: spooled.spool.done == ["one.ndjson"], "the file to be applied")
        spooled.compare_with_model()


# --- the clock ---

def test_clock_changes_of_an_hour_lose_and_repeat_no_run_gain_or_event(make_viewtally, time, tmp_path):
    """The clock changes during and between runs of two servers: each hour is refreshed once, and no gain or event is lost."""
    rng, hours = random.Random(3), 3 if sanitized() else 8
    servers = [make_viewtally({"refresh": {"source": "simulated", "minute": 0}}, time)]
    servers.append(make_viewtally({"refresh": {"source": "simulated", "minute": 0}, "store": servers[0].settings["store"]}, time))
    servers[0].import_lines([author("Ada")] + [video(f"v{n}", "Ada", iso(NOW - HOUR * (3 + n % 300)), ("youtube", "tiktok")) for n in range(1500)] +
                            [reading(f"v{n}", iso(NOW - 2 * HOUR), int(10 ** (3 + n % 3) * (1 - n / 3000))) for n in range(1500)])  # close to milestones
    runs, key = Refreshing(servers[0]), servers[0].create_key(uid("Ada"))
    slots = lambda: sorted(started // HOUR for _, outcome, started in runs.runs if outcome in (SUCCEEDED, PARTIAL))  # noqa: E731
    with servers[0], servers[1]:
        pollers = [Poller(server, key, number) for number, server in enumerate(servers)]
        try:
            for hour in range(hours):
                now = NOW + hour * HOUR
                wait.until(lambda: set_clock(time, now + rng.choice([-HOUR, -HOUR, 0, HOUR // 2]), runs) and slots()[-1:] >= [now // HOUR],
                           "the hour's run", pause_most=0.02)
        finally:
            for poller in pollers:
                poller.ending.set()
            # The deadline of a long poll depends on this clock.
            wait.until(lambda: set_clock(time, now, runs) and not any(poller.is_alive() for poller in pollers), "the pollers to end",
                       seconds=wait.DEFAULT_SECONDS * 3)
    assert not failures(pollers), failures(pollers)
    assert slots() == [NOW // HOUR + hour for hour in range(hours)] or slots() == [NOW // HOUR - 1 + hour for hour in range(hours + 1)]
    assert set(runs.outcomes) <= {SUCCEEDED, PARTIAL, ABANDONED}
    events = [id for id, in runs.rows("SELECT id FROM events ORDER BY id")]
    assert len(events) > 100
    for poller in pollers:
        assert [int(event["id"][4:]) for event in poller.events] == events
    assert_gains_add_up(runs)


def set_clock(clock, when, runs):
    clock.set_wall(when)
    if runs.holder_pid is None:     # otherwise the lease could not be renewed in time on a busy machine
        clock.set_monotonic(clock.monotonic_ms + 1000)      # a server that found the lease held retries after some seconds
    return True


def test_run_that_overruns_its_hour_is_followed_by_one_run(make_viewtally, time, tmp_path):
    """The server is suspended for three hours during its run, as when the machine sleeps."""
    server = make_viewtally({"refresh": {"source": "simulated"}}, time)
    server.import_lines([author(f"A{a}") for a in range(20)] + [video(f"v{a}-{n}", f"A{a}", iso(NOW - HOUR), ("youtube", "tiktok"))
                                                               for a in range(20) for n in range(200)])
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        time.advance(3 * HOUR)
        server.signal(signal.SIGCONT)
        runs.wait_for_runs(2)
    assert runs.outcomes == [SUCCEEDED, SUCCEEDED]
    assert_gains_add_up(runs)


def test_gains_around_midnight_belong_to_their_dates(make_viewtally, time, tmp_path):
    """Readings at the last millisecond of a day and at the first of the next day count for their own day, and the run of 00:00 starts."""
    midnight = NOW - NOW % (24 * HOUR) + 24 * HOUR
    time.set_wall(midnight - 1)
    server = make_viewtally({"refresh": {"source": "simulated", "minute": 0}}, time)
    server.import_lines([author("Ada"), video("v", "Ada", iso(midnight - HOUR))])
    runs = Refreshing(server)
    with server:
        runs.wait_for_runs(1)
        before = runs.views()
        # The second run needs a video without a reading: within one millisecond, the simulated views of the first video
        # do not grow.
        server.import_lines([video("w", "Ada", iso(midnight - HOUR))])
        time.set_wall(midnight)
        assert runs.wait_for_runs(2) == (0, SUCCEEDED, midnight)
    assert 0 < before < runs.views()
    gains = [gain for days, in runs.rows("SELECT days FROM videos") for gain in packed_days.unpack(days)]
    day = midnight // (24 * HOUR)
    assert [sum(gained for gained_on, gained in gains if gained_on == each) for each in (day - 1, day)] == [before, runs.views() - before]
