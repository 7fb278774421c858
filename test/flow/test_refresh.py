"""The hourly refresh in real servers and commands: schedule, lease, and recovery after a kill, a suspend or a stop."""
import re
import signal

import pytest

from lib import packed_days, wait
from lib.clock import FakeClock
from lib.lines import author, video
from lib.refreshing import SUCCEEDED, ABANDONED, STOPPED, Refreshing
from lib.spool import Spool
from lib.viewtally import COMMAND_SECONDS, ROOT, Viewtally, sanitized

POSTED = "2026-07-09T08:00:00Z"
HOUR = 3600 * 1000
TEN_YEARS = 3652 * 24 * HOUR
AUTHORS, VIDEOS = (20, 200) if sanitized() else (50, 200)


@pytest.fixture(scope="module")
def large_world(tmp_path_factory):
    """A database with so many videos that a run takes many transactions."""
    made = Viewtally(tmp_path_factory.mktemp("large"), clock=FakeClock(tmp_path_factory.mktemp("clock") / "clock", POSTED))
    made.import_lines([author(f"A{a}") for a in range(AUTHORS)] +
                      [video(f"v{a}-{v}", f"A{a}", POSTED, ("youtube", "tiktok")) for a in range(AUTHORS) for v in range(VIDEOS)])
    return made


@pytest.fixture
def time(tmp_path):
    """A fake clock at 12:00 that does not advance by itself."""
    return FakeClock(tmp_path / "clock", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)


@pytest.fixture
def make(make_viewtally, time):
    """make() creates installations that share a database and use the simulated source; make(world) starts from a copy."""
    first = []

    def make(world=None, **config):
        made = make_viewtally({"refresh": {"source": "simulated", **config}}, clock=time)
        if first:
            made.configure({"store": first[0].settings["store"]})
        else:
            first.append(made)
            if world:
                made.copy_database(world)
            else:
                made.import_lines([author("Ada"), video("v", "Ada", POSTED)])
        return made

    return make


def stays(condition, what, seconds=0.4):
    """Asserts that the condition holds for `seconds`. Test builds check the schedule every 50 ms (background_job.c)."""
    with pytest.raises(wait.TimedOut):
        wait.until(lambda: not condition(), what, seconds)


# --- schedule ---

def test_server_catches_up_at_start_and_then_runs_hourly(make, time):
    server = make()
    runs = Refreshing(server)
    with server:
        assert runs.wait_for_runs(1) == (0, SUCCEEDED, time.wall_ms)
        time.set_wall("2026-07-10T12:54:59.999Z")
        stays(lambda: len(runs.runs) == 1, "no run before its minute")
        for hour in (12, 13, 14):
            time.set_wall(f"2026-07-10T{hour}:55:00Z")
            assert runs.wait_for_runs(hour - 10) == (0, SUCCEEDED, time.wall_ms)
    time.set_wall("2026-07-10T15:54:00Z")
    with server:
        stays(lambda: len(runs.runs) == 4, "no second run in the same hour")
    time.set_wall("2026-07-10T19:10:00Z")
    with server:
        assert runs.wait_for_runs(5) == (0, SUCCEEDED, time.wall_ms)
    assert runs.views() > 0


def test_two_servers_make_one_run_per_hour_despite_clock_changes(make, time):
    first, second = make(), make()
    runs = Refreshing(first)
    with first, second:
        runs.wait_for_runs(1)
        for hour in range(12, 18):
            time.set_wall(f"2026-07-10T{hour}:55:00Z")
            runs.wait_for_runs(hour - 10)
        stays(lambda: len(runs.runs) == 7, "no second run")
        time.set_wall("2026-07-10T16:55:30Z")       # back by an hour: already done
        stays(lambda: len(runs.runs) == 7, "no repeated run")
        time.set_wall("2026-07-10T19:00:00Z")       # and forward by two
        runs.wait_for_runs(8)
        now = time.wall_ms
        time.set_wall(now + TEN_YEARS)
        runs.wait_for_runs(9)
        time.set_wall(now)                          # the clock was wrong for a moment
        runs.wait_for_runs(10)
        stays(lambda: len(runs.runs) == 10, "no further run")
    assert set(runs.outcomes) == {SUCCEEDED}
    assert runs.one("SELECT count(*) FROM videos WHERE views_updated_at > ?", now) == 0


def test_simulated_source_runs_at_its_interval(make, time):
    server = make(interval_s=10)
    runs = Refreshing(server)
    with server:
        runs.wait_for_runs(1)
        for count in range(2, 6):
            time.advance(10_000)
            runs.wait_for_runs(count)


# --- lease ---

def test_another_server_takes_over_within_a_minute_of_a_kill(make, time, large_world):
    dead, alive = make(large_world), make()
    runs = Refreshing(dead)
    runs.hold_back(time)
    with dead:
        runs.freeze(dead, time)
        with alive:
            dead.kill()
            applied = runs.views()
            time.advance(20_000)
            stays(lambda: runs.outcomes == [None] and runs.views() == applied, "the lease to hold")
            time.advance(15_000)
            _, _, begun = runs.wait_for_runs(2, ticking=time)
            assert runs.outcomes == [ABANDONED, SUCCEEDED]
            assert runs.one("SELECT count(*) FROM videos WHERE views_updated_at = ?", begun) == AUTHORS * VIDEOS
            packed_days.check(alive.as_file())
            dead.start()                                # the run of this hour is done
            stays(lambda: len(runs.runs) == 2, "no further run")


def test_suspended_server_writes_nothing_after_it_resumes(make, time, large_world):
    asleep, awake = make(large_world), make()
    runs = Refreshing(asleep)
    runs.hold_back(time)
    with asleep:
        runs.freeze(asleep, time)
        with awake:
            time.advance(35_000)
            runs.wait_for_runs(2, ticking=time)
            assert runs.outcomes == [ABANDONED, SUCCEEDED]
            written = runs.data()
            asleep.signal(signal.SIGCONT)
            wait.until(lambda: "another process has taken over the lease" in asleep.log, "the suspended server to detect the loss")
            assert runs.data() == written
            assert runs.outcomes == [ABANDONED, SUCCEEDED]
            time.advance(HOUR)                          # in the next hour the server refreshes again
            runs.wait_for_runs(3)


def test_stop_timeout_of_the_systemd_unit_allows_a_token_refresh_to_finish(viewtally):
    """Otherwise systemd could send SIGKILL during a token refresh, and the new tokens would be lost."""
    unit = (ROOT / "packaging/systemd/viewtally@.service").read_text(encoding="utf-8")
    settings = viewtally.run("check-config").out
    request_ms, commit_ms, drain_ms = (int(re.search(rf"^{name} = (\d+)", part, re.M).group(1)) for name, part in (
        ("timeout_ms", settings[settings.index("[platforms]"):]), ("busy_timeout_ms", settings), ("drain_ms", settings)))
    assert int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M).group(1)) * 1000 >= max(request_ms + 3 * commit_ms, drain_ms) + 10_000


def test_refresh_command_waits_for_another_run_or_names_its_process(make, time, large_world):
    server = make(large_world)
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        refused = server.run("refresh", "--wait", "0", status=3)
        assert f":{server.pid}:" in refused.err and "another refresh is running" in refused.err
        time.advance(1000)
        waiting = server.command("refresh")
        assert b"waiting" in waiting.stderr.readline()
        server.signal(signal.SIGCONT)
        out, err = waiting.communicate(timeout=COMMAND_SECONDS)
        assert waiting.returncode == 0, err
        assert b"refresh: succeeded in" in out and b"simulated" in out
        assert [(cause, outcome) for cause, outcome, _ in runs.runs] == [(0, SUCCEEDED), (1, SUCCEEDED)]


def test_stopped_server_ends_its_run_early_and_the_next_server_starts_a_new_run(make, time, large_world):
    server = make(large_world)
    runs = Refreshing(server)
    runs.hold_back(time)
    server.start()
    runs.freeze(server, time)
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGCONT)
    server.wait_stopped()
    assert runs.outcomes == [STOPPED]
    assert runs.holder_pid is None
    with server:                                    # at once, because the lease was released
        runs.wait_for_runs(2)
    assert runs.outcomes == [STOPPED, SUCCEEDED]


def test_restored_backup_that_was_made_during_a_run_does_not_block_the_refresh(make, make_viewtally, time, large_world):
    server = make(large_world)
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        backup = server.directory / "backup.db"
        server.run("backup", backup)
        server.signal(signal.SIGCONT)
        restored = make_viewtally({"refresh": {"source": "simulated"}}, clock=time)
        restored.run("restore", backup)
        status = restored.run("status", "--json").json()
        assert status["refresh"]["running"] is None and status["runs"][0]["result"] == "abandoned"
        restored.run("refresh", "--wait", "0")
        assert Refreshing(restored).outcomes == [ABANDONED, SUCCEEDED]


def test_file_that_arrives_during_a_run_is_applied_after_it(make, time, large_world, tmp_path):
    spool = Spool(tmp_path / "spool")
    server = make(large_world, source="spool,simulated", spool_dir=spool.path)
    runs = Refreshing(server)
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)                   # after it has listed the spool
        spool.drop("late.ndjson", [author("Late")])
        server.signal(signal.SIGCONT)
        wait.until(lambda: spool.done == ["late.ndjson"], "the file to be applied")
        wait.until(lambda: [(cause, outcome) for cause, outcome, _ in runs.runs] == [(0, SUCCEEDED), (2, SUCCEEDED)], "two runs")
        stays(lambda: len(runs.runs) == 2, "no further run")


# --- status ---

def test_status_reports_runs_and_overdue_refresh(make, time, large_world):
    server = make(large_world)
    runs = Refreshing(server)
    new = server.run("status", "--json").json()
    assert new["refresh"]["overdue"] and new["refresh"]["last_started_at"] is None and new["runs"] == []
    assert new["videos"] == {"live": AUTHORS * VIDEOS, "stale": AUTHORS * VIDEOS}
    runs.hold_back(time)
    with server:
        runs.freeze(server, time)
        status = server.run("status", "--json").json()
        assert f":{server.pid}:" in status["refresh"]["running"] and not status["refresh"]["overdue"]
        assert status["runs"][0]["result"] == "running"
        assert "in progress since 2026-07-10 12:00:00" in server.run("status").out
        server.signal(signal.SIGCONT)
        runs.wait_for_runs(1)
    status = server.run("status", "--json").json()
    assert status["refresh"] == {"sources": ["simulated"], "overdue": False, "last_started_at": "2026-07-10T12:00:00.000Z",
                                 "last_finished_at": status["runs"][0]["finished_at"], "next_at": "2026-07-10T12:55:00.000Z",
                                 "running": None, "running_since": None}
    assert status["videos"] == {"live": AUTHORS * VIDEOS, "stale": 0}
    run = status["runs"][0]
    assert (run["cause"], run["result"], run["error"]) == ("schedule", "succeeded", None)
    counts = {(count["source"], count["platform"], count["name"]): count["value"] for count in run["counts"]}
    assert counts["simulated", "youtube", "accepted"] == counts["simulated", "tiktok", "accepted"] == AUTHORS * VIDEOS
    assert (status["database"]["bytes"] is None) == server.is_on_server
    text = server.run("status").out
    assert "up to date" in text and "2026-07-10 12:55:00" in text and "0 of them not updated" in text
    assert re.search(r"^STARTED +CAUSE +RESULT +DURATION +COUNTS\n2026-07-10 12:00:00  schedule  succeeded ", text, re.M), text
    time.advance(2 * HOUR + 1)
    assert "OVERDUE" in server.run("status").out
    late = server.run("status", "--json").json()
    assert late["refresh"]["overdue"] and late["videos"]["stale"] == AUTHORS * VIDEOS


@pytest.mark.sqlite_only("begins without a database")
def test_refresh_requires_a_source_and_status_requires_a_database(viewtally):
    assert "nothing to refresh: [refresh] source is" in viewtally.run("refresh", status=2).err
    assert "does not exist" in viewtally.run("status", status=3).err
    viewtally.run("migrate")
    assert "off: [refresh] source = none" in viewtally.run("status").out
    viewtally.configure({"refresh": {"source": "simulated"}})
    assert "--wait must be 0 to 3600 seconds" in viewtally.run("refresh", "--wait", "soon", status=2).err


@pytest.mark.parametrize("settings, message", [
    ({"source": "spool"}, "source = spool requires spool_dir"),
    ({"source": "spool,simulated", "spool_dir": "/s", "interval_s": 5}, "interval_s requires source = simulated"),
    ({"source": "none", "interval_s": 5}, "interval_s requires source = simulated"),
    ({"source": "platforms"}, "source = platforms requires a configured platform"),
    ({"source": "platforms,platforms"}, 'must be "none", or a comma-separated list of "spool"'),
    ({"source": "none,spool"}, 'must be "none", or a comma-separated list of "spool"'),
    ({"source": "simulated, simulated"}, 'must be "none", or a comma-separated list of "spool"'),
    ({"minute": 60}, "must be a whole number from 0 to 59"),
])
def test_contradictory_configuration_is_rejected(viewtally, settings, message):
    viewtally.configure({"refresh": settings})
    assert message in viewtally.run("check-config", status=2).err
