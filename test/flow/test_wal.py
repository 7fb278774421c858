"""The write-ahead log of a refreshing server stays short under reads, and a read that prevents this is reported."""
import contextlib
import os
import sqlite3

import pytest

from lib import wait
from lib.clock import FakeClock
from lib.lines import author, uid, video
from lib.metrics import scrape
from lib.refreshing import Refreshing

POSTED = "2026-07-09T08:00:00Z"
HOUR = 3600 * 1000
AUTHORS, VIDEOS = 25, 200
HOURS = 6
PAGE = 4096
# Builds with test seams start checkpoint jobs at 500 pages and check this every 100 ms. A release server starts them at
# 4,000 pages.
START, ALARM = 500 * PAGE, 4000 * PAGE


@pytest.fixture
def server(make_viewtally, tmp_path):
    clock = FakeClock(tmp_path / "clock", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)
    made = make_viewtally({"refresh": {"source": "simulated"}}, clock)
    made.import_lines([author(f"A{a}") for a in range(AUTHORS)] +
                      [video(f"v{a}-{v}", f"A{a}", POSTED, ("youtube", "tiktok", "instagram")) for a in range(AUTHORS) for v in range(VIDEOS)])
    made.key = made.create_key(uid("A0"))
    return made


def log_bytes(server):
    with contextlib.suppress(FileNotFoundError):
        return os.stat(server.settings["store"]["path"] + "-wal").st_size
    return 0


def metric(server, name):
    return scrape(server).get(name)


def run_hours(server, hours, watch):
    """Performs one run after another with constant requests. Returns the number of accepted readings."""
    runs, wanted = Refreshing(server), 1        # the one at the start
    with server.client(server.key) as client:
        def look():
            assert client.get("/videos?limit=50").status == 200
            watch()
            return len(runs.runs) >= wanted and None not in runs.outcomes
        wait.until(look, "the run at the start")
        for _ in range(hours):
            wanted = len(runs.runs) + 1
            server.clock.advance(HOUR)
            wait.until(look, "the hour's run", seconds=60, pause_most=0.002)
    return runs.one("SELECT sum(value) FROM refresh_counts WHERE name = 'accepted'")


def test_wal_stays_short_during_runs(server, tmp_path):
    """With checkpoint jobs the log file is smaller than what a few runs write."""
    largest = []
    with server:
        accepted = run_hours(server, HOURS, lambda: largest.append(log_bytes(server)))
        assert accepted >= HOURS * AUTHORS * VIDEOS * 3
        made = metric(server, "viewtally_store_checkpoint_duration_seconds_count")
        assert made > 0 and metric(server, "viewtally_store_checkpoints_failed_total") == 0
        assert metric(server, "viewtally_store_checkpoint_blocked") == 0
    assert 0 < max(largest) < made * START + ALARM, (max(largest), made)
    assert max(largest) < 16e6


def test_long_read_that_makes_the_wal_grow_is_reported(server):
    warning = "and keeps growing: a long read"
    with server:
        run_hours(server, 1, lambda: None)
        with contextlib.closing(sqlite3.connect(server.settings["store"]["path"], isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM videos").fetchone()
            wait.until(lambda: run_hours(server, 1, lambda: None) and metric(server, "viewtally_store_checkpoint_blocked") == 1, "the alarm", seconds=60)
            assert server.log.count(warning) == 1, server.log
            with server.admin() as admin:
                assert b"the write-ahead log keeps growing (a long-running reader blocks the checkpoint, or the checkpoint fails)" in admin.get("/readyz").body

        def short_again():
            server.clock.advance(1000)              # retries back off to once a minute
            return metric(server, "viewtally_store_checkpoint_blocked") == 0
        wait.until(short_again, "the log to be short again", seconds=60)
        assert "the write-ahead log is short again" in server.log
        assert log_bytes(server) < ALARM, "the log file was not truncated"
        assert metric(server, "viewtally_store_wal_uncheckpointed_pages") * PAGE < ALARM


def test_idle_server_holds_no_snapshot(make_viewtally):
    """An open snapshot would prevent the log from being restarted."""
    server = make_viewtally({})
    server.import_lines([author("Ada")])
    key = server.create_key(uid("Ada"))
    server.start()
    with server.client(key) as client:
        assert client.get("/books").status == 200
    database = sqlite3.connect(server.settings["store"]["path"], timeout=60, isolation_level=None)
    database.execute("UPDATE authors SET rev = rev + 1")
    database.execute("PRAGMA busy_timeout = 200")
    # The checkpoint is repeated, because the server writes the time of use and makes its own checkpoints.
    wait.until(lambda: database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "a log without readers")
    database.close()
