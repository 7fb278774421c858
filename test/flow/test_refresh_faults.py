"""The refresh with a full disk or a locked database: it fails with a message, requests are still served, and the next run catches up."""
import os
import resource
import signal

import pytest

from lib import wait
from lib.clock import FakeClock
from lib.lines import author, uid, video
from lib.metrics import scrape
from lib.refreshing import SUCCEEDED, FAILED, ABANDONED, Refreshing

POSTED = "2026-07-09T08:00:00Z"
AUTHORS, VIDEOS = 30, 200


@pytest.fixture
def time(tmp_path):
    return FakeClock(tmp_path / "clock", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)


@pytest.fixture
def server(make_viewtally, time):
    made = make_viewtally({"refresh": {"source": "simulated"}, "admin": {"listen": "127.0.0.1:0"}}, clock=time)
    made.import_lines([author(f"A{a}") for a in range(AUTHORS)] +
                      [video(f"v{a}-{v}", f"A{a}", POSTED) for a in range(AUTHORS) for v in range(VIDEOS)])
    return made


def limit_files(server, size):
    """Limits the file size of the process, which acts like a full disk. None: no limit."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size if size is not None else resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.sqlite_only("limits the size of the write-ahead log")
def test_full_disk_ends_a_run_and_the_next_run_catches_up(server, time):
    key = server.create_key(uid("A0"))
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        applied = runs.views()
        limit_files(server, os.stat(runs.path + "-wal").st_size)
        server.signal(signal.SIGCONT)
        wait.until(lambda: "refresh: failed" in server.log and "retrying in 15 s" in server.log, "the run to fail")
        with server.client(key) as client:
            assert client.get("/videos?limit=50").status == client.get("/events").status == 200
        assert runs.views() == applied                              # only complete transactions
        limit_files(server, None)
        runs.wait_for_runs(2, ticking=time)
        assert runs.outcomes in ([FAILED, SUCCEEDED], [ABANDONED, SUCCEEDED])       # ABANDONED if its outcome could not be written either
        assert runs.one("SELECT count(*) FROM videos WHERE views_updated_at = ?", runs.runs[-1][2]) == AUTHORS * VIDEOS
        assert runs.one("PRAGMA integrity_check") == "ok"
        assert runs.holder_pid is None


def test_run_waits_for_another_writer_until_the_busy_timeout(server, time):
    server.configure({"store": {"busy_timeout_ms": 50}})
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        with server.write_transaction():
            server.signal(signal.SIGCONT)
            wait.until(lambda: "refresh: failed" in server.log and "retrying in 15 s" in server.log, "the run to give up")
        runs.wait_for_runs(2, ticking=time)
        assert runs.outcomes == [ABANDONED, SUCCEEDED]


def test_only_the_failed_source_is_retried(server, time, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "bad").write_text("a file instead of the directory")
    server.configure({"refresh": {"source": "spool,simulated", "spool_dir": spool}})
    runs = Refreshing(server)

    def sources_read():
        return [source for source, in runs.rows("SELECT DISTINCT source FROM refresh_counts WHERE run_id = (SELECT max(id) FROM refresh_runs)")]

    with server:
        runs.wait_for_runs(1)
        assert runs.outcomes == [FAILED] and sources_read() == [1]         # the simulated source succeeded
        assert "spool directory" in server.run("status").out
        runs.wait_for_runs(2, ticking=time)
        assert runs.outcomes == [FAILED, FAILED] and sources_read() == []
        time.advance(55 * 60_000)                                   # the next hour: all sources are due
        runs.wait_for_runs(3, ticking=time)
        assert runs.outcomes[-1] == FAILED and sources_read() == [1]
        (spool / "bad").unlink()
        runs.wait_for_runs(4, ticking=time)
        assert runs.outcomes[-1] == SUCCEEDED and sources_read() == []


def test_overdue_refresh_is_reported(server, time):
    runs = Refreshing(server)
    server.configure({"store": {"busy_timeout_ms": 50}})
    with server:
        runs.wait_for_runs(1)
        with server.write_transaction():
            time.set_wall("2026-07-10T12:55:00Z")
            wait.until(lambda: "refresh: cannot start" in server.log, "an attempt")
            time.set_wall("2026-07-10T13:30:00Z")
            due = 1783688100                                            # 12:55
            wait.until(lambda: scrape(server).get("viewtally_refresh_next_timestamp_seconds") == due, "the metric of the due time")
            assert server.admin().get("/readyz").status == 200
            assert "refresh" in server.admin().get("/readyz").body.decode()
        runs.wait_for_runs(2, ticking=time)
        wait.until(lambda: scrape(server).get("viewtally_refresh_runs_total", result="succeeded") == 2, "the run to be counted")
        assert scrape(server).get("viewtally_refresh_readings_accepted_total", source="simulated", platform="youtube") == 2 * AUTHORS * VIDEOS
