"""Scheduled backups: when they are made, which are kept, what a crash leaves, and the requests to a dead man's switch."""
import contextlib
import datetime
import re
import signal
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import wait
from lib.clock import FakeClock
from lib.lines import author
from lib.metrics import scrape

NAME = re.compile(r"viewtally-\d{8}T\d{6}Z-[0-9a-f]{8}\.db")
MINUTE = 60 * 1000
HOUR = 60 * MINUTE
KILL_STEPS_MAX = 200       # more than a backup has steps, even on PostgreSQL, which is copied table by table


@pytest.fixture
def time(tmp_path):
    """A fake clock at 12:00 that does not advance by itself."""
    return FakeClock(tmp_path / "clock", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)


@pytest.fixture
def make(make_viewtally, time):
    """make() creates installations that share a database and a directory of backups."""
    first = []

    def create(**config):
        made = make_viewtally({"backup": {"every": "1h", **config}}, clock=time)
        if first:
            made.configure({"store": {"path": str(first[0].database), "url": first[0].settings["store"].get("url")}, "backup": {"directory": first[0].settings["backup"]["directory"]}})
        else:
            first.append(made)
            directory = made.directory / "backups"
            directory.mkdir()
            made.configure({"backup": {"directory": str(directory)}})
            made.import_lines([author("Ada")])
        return made

    return create


def directory(instance):
    return instance.directory / "backups"


def backups(instance):
    """The names of the backups, oldest first. There must be no other file."""
    names = sorted(path.name for path in directory(instance).iterdir())
    assert all(NAME.fullmatch(name) for name in names), names
    return names


def is_sound(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",) and database.execute("SELECT name FROM authors").fetchall() == [("Ada",)]


def wait_for_count(instance, count):
    wait.until(lambda: len(list(directory(instance).glob("viewtally-*.db"))) == count, f"{count} backups")


def last_success(instance):
    return scrape(instance).get("viewtally_backup_last_success_timestamp_seconds")


def fill(instance, start, step, count):
    """Creates empty files that are named like backups of the database. Returns the database id in their names."""
    ident = NAME.fullmatch(backups(instance)[0]).group()[-11:-3]
    moment = datetime.datetime.fromisoformat(start)
    for n in range(count):
        (directory(instance) / f"viewtally-{moment + n * datetime.timedelta(hours=step):%Y%m%dT%H%M%SZ}-{ident}.db").write_text("")
    return ident


def test_backup_is_made_when_due_and_reported(make, time):
    service = make()
    with service:
        wait_for_count(service, 1)      # the first one is due at once
        wait.until(lambda: scrape(service).get("viewtally_backups_total", result="succeeded") == 1, "the backup to be counted")
        time.advance(29 * MINUTE)
        assert service.admin().get("/readyz").body == b"ready\n"
        time.advance(61 * MINUTE)       # 13:30
        wait_for_count(service, 2)
        wait.until(lambda: last_success(service) >= time.wall_ms / 1000, "the time of the last backup")
        due = (time.wall_ms + HOUR) / 1000
        metrics, = wait.until(lambda: [m for m in [scrape(service)] if m.get("viewtally_backup_next_timestamp_seconds") == due], "the next backup")
        assert metrics.get("viewtally_backup_last_size_bytes") == (directory(service) / backups(service)[-1]).stat().st_size > 0
        assert metrics.get("viewtally_backup_interval_seconds") == 3600 and metrics.get("viewtally_backup_configured") == 1
    assert backups(service) == sorted(backups(service)) and all(is_sound(directory(service) / name) for name in backups(service))


def test_only_one_of_several_processes_makes_the_scheduled_backup(make, time):
    services = [make(), make(), make()]
    with contextlib.ExitStack() as stack:
        for service in services:
            stack.enter_context(service)
        for n in range(1, 4):
            wait_for_count(services[0], n)
            wait.until(lambda: all(last_success(s) >= time.wall_ms / 1000 for s in services), "all to know it")
            wait.until(lambda n=n: sum(scrape(s).get("viewtally_backups_total") for s in services) == n, "the backup to be counted")
            time.advance(HOUR)
        wait_for_count(services[0], 4)
    assert len(backups(services[0])) == 4


def test_no_directory_means_no_backups(viewtally):
    viewtally.import_lines([author("Ada")])
    with viewtally:
        metrics = scrape(viewtally)
    assert metrics.get("viewtally_backup_configured") == 0 and metrics.get("viewtally_backups_total") == 0


def test_failure_is_reported_and_retried(make, time):
    service = make()
    with service:
        wait_for_count(service, 1)
        directory(service).rename(service.directory / "unmounted")
        time.advance(HOUR)
        wait.until(lambda: scrape(service).get("viewtally_backups_total", result="failed") == 1, "the failure")
        assert "backup: failed: the backup directory" in service.log and "retrying in 60 s" in service.log
        time.advance(MINUTE)
        wait.until(lambda: scrape(service).get("viewtally_backups_total", result="failed") == 2, "the second failure")
        assert "retrying in 120 s" in service.log
        time.advance(31 * MINUTE)
        wait.until(lambda: service.admin().get("/readyz").body == b"degraded: the backup is overdue\n", "the overdue backup")
        (service.directory / "unmounted").rename(directory(service))
        time.advance(HOUR)
        wait_for_count(service, 2)
        wait.until(lambda: service.admin().get("/readyz").body == b"ready\n", "the service to recover")


def test_old_backups_are_pruned_but_not_those_of_another_database(make, time):
    service = make(keep_hourly=3, keep_daily=2, keep_weekly=2)
    with service:
        wait_for_count(service, 1)
    ident = fill(service, "2026-06-01T00:30:00", 1, 24 * 39)      # until 2026-07-09T23:30
    foreign = [f"viewtally-20260601T003000Z-{int(ident, 16) ^ 1:08x}.db", f"viewtally-20260601T003000Z-{ident}.db.txt", "notes", f"viewtally-20269901T003000Z-{ident}.db"]
    for name in foreign:
        (directory(service) / name).write_text("")
    time.advance(HOUR)
    with service:
        wait.until(lambda: len(list(directory(service).iterdir())) == len(foreign) + 4, "old backups to be deleted")
    kept = {path.name for path in directory(service).iterdir()}
    assert kept >= set(foreign)
    times = sorted(name[10:26] for name in kept - set(foreign))
    # Kept by hour: 13:00, 12:00, and 23:30 of 9 July. By day: the newest of 10 and 9 July. By week: the newest of this
    # week and of the week that ends on Sunday, 5 July.
    assert times == ["20260705T233000Z", "20260709T233000Z", "20260710T120000Z", "20260710T130000Z"]


def kill_at(instance, step):
    """Makes a backup and kills the process at the step. Returns False if the backup ended before that step."""
    done = instance.run("backup", "now", status=None, env={"VIEWTALLY_TEST_KILL_AT": str(step)})
    assert done.status in (0, -signal.SIGKILL), done
    return done.status != 0


def test_backup_killed_at_any_step_leaves_no_unfinished_file(make, time):
    service = make()
    step = 1
    while step < KILL_STEPS_MAX and kill_at(service, step):
        found = [path.name for path in directory(service).iterdir()]
        assert all(is_sound(directory(service) / name) for name in found if NAME.fullmatch(name)), found
        assert all(name.startswith(".") for name in found if not NAME.fullmatch(name)), found
        time.advance(MINUTE)            # the lease expires
        step += 1
    assert 3 < step < KILL_STEPS_MAX
    assert backups(service), "the drafts of the killed processes are deleted"


def test_stopped_server_leaves_no_unfinished_file(make):
    service = make()
    with service:
        service.stop()
        backups(service)


class Switch:
    """A dead man's switch: collects the requests and answers with `status`."""

    def __init__(self):
        self.paths, self.status, self.release = [], 200, threading.Event()
        self.release.set()
        switch = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                switch.paths.append(self.path)
                switch.release.wait()
                self.send_response(switch.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def switch():
    made = Switch()
    yield made
    made.release.set()
    made.server.shutdown()
    made.server.server_close()


def test_dead_mans_switch_is_called_after_each_success(make, time, switch):
    service = make(ping_url=f"{switch.url}/ping/s3cret?token=s3cret")
    service.configure({"refresh": {"source": "simulated", "ping_url": f"{switch.url}/refresh-s3cret"}})
    with service:
        wait.until(lambda: sorted(switch.paths) == ["/ping/s3cret?token=s3cret", "/refresh-s3cret"], "both requests")
        wait.until(lambda: scrape(service).get("viewtally_pings_total", result="succeeded") == 2, "both results")
        switch.status = 500
        for n in range(1, 3):
            time.advance(HOUR)
            wait.until(lambda: scrape(service).get("viewtally_pings_total", section="backup", result="failed") == n, "the failure")
        assert service.log.count("backup: the request to ping_url") == 1, "only the first failure is logged"
        assert "status 500" in service.log
        switch.status = 204
        time.advance(HOUR)
        wait.until(lambda: "responds again" in service.log, "the recovery")
        wait.until(lambda: scrape(service).get("viewtally_pings_total") == 2 * 4, "all responses")
    assert "s3cret" not in service.log
    switch.paths.clear()
    done = service.run("refresh")
    assert switch.paths == ["/refresh-s3cret"] and "s3cret" not in done.out + done.err
    switch.status = 404
    done = service.run("backup", "now", status=1)
    assert "ping_url failed" in done.err and "status 404" in done.err and "s3cret" not in done.out + done.err
    done = service.run("backup", "now", status=1, env={"VIEWTALLY_BACKUP_PING_URL": "http://127.0.0.1:1/s3cret"})
    assert "(http://127.0.0.1:1) failed: connect: Failed to connect to 127.0.0.1 port 1 " in done.err and "s3cret" not in done.out + done.err


def test_status_shows_the_last_and_the_next_backup(make, time):
    service = make()
    assert "backup     never made, due since 2026-07-10 12:00:00" in service.run("status").out
    printed = service.run("backup", "now").out
    name = backups(service)[0]
    assert f"{directory(service)}/{name}: complete and verified" in printed
    shown = service.run("status", "--json").json()["backup"]
    assert shown["last_file"] == name and shown["last_started_at"] == "2026-07-10T12:00:00.000Z" and shown["next_at"] == "2026-07-10T12:30:00.000Z"
    assert shown["last_bytes"] == (directory(service) / name).stat().st_size and shown["error"] is None
    assert f"backup     last 2026-07-10 12:00:00 ({name}, {shown['last_bytes']} bytes), next 2026-07-10 12:30:00" in service.run("status").out
    directory(service).rename(service.directory / "unmounted")
    assert "the backup directory" in service.run("backup", "now", status=3).err
    shown = service.run("status").out
    assert "FAILED at 2026-07-10 12:00:00: the backup directory" in shown and "retries" not in shown
    service.configure({"backup": {"directory": None}})
    assert "backup     off" in service.run("status").out and service.run("backup", "now", status=2).err


def test_status_names_no_time_for_the_retry_of_a_failed_backup(make, time):
    """The pause until the retry is known only to the server that waits."""
    service = make()
    with service:
        wait_for_count(service, 1)
        wait.until(lambda: scrape(service).get("viewtally_backups_total", result="succeeded") == 1, "the backup to be recorded")
        directory(service).rename(service.directory / "unmounted")
        assert service.run("status", "--json").json()["backup"]["due"] is False
        time.advance(HOUR)
        wait.until(lambda: "retrying in 60 s" in service.log, "the failure")
        shown = service.run("status").out
        assert "), due since 2026-07-10 12:30:00\n" in shown and "next 2026" not in shown
        assert re.search(r"FAILED at 2026-07-10 13:00:00: the backup directory .*; the server retries after a pause of 1 to 60 minutes\n", shown)
        backup = service.run("status", "--json").json()["backup"]
        assert backup["due"] is True and backup["next_at"] == "2026-07-10T12:30:00.000Z" and backup["failed_at"] == "2026-07-10T13:00:00.000Z"


def test_silent_dead_mans_switch_blocks_nothing(make, switch):
    service = make(ping_url=f"{switch.url}/x")
    switch.release.clear()
    with service:
        wait.until(lambda: switch.paths, "the request")
        assert service.client().get("/openapi.json").status == 200
        service.stop()      # does not wait for the response
    assert service.log.endswith("stopped\n")


@pytest.mark.parametrize("value", ["ftp://host/x", "https://", "https://user:pw@host/x", "https://host/a b", "https:///x", "hc-ping.com/x", "https://host/x#y"])
def test_wrong_ping_urls_are_rejected(viewtally, value):
    viewtally.configure({"backup": {"ping_url": value}})
    assert "[backup] ping_url must be a URL" in viewtally.run("check-config", status=2).err


@pytest.mark.parametrize(("value", "valid"), [("90m", True), ("1d", True), ("60s", True), ("59s", False), ("1", False), ("h", False), ("1 h", False), ("-1h", False),
                                              ("32d", False), ("99999999999999999999d", False), ("1w", False), ("", False)])
def test_interval_must_be_a_duration_from_1m_to_31d(viewtally, value, valid):
    viewtally.configure({"backup": {"every": value}})
    done = viewtally.run("check-config", status=0 if valid else 2)
    assert valid or "[backup] every must be a whole number with s, m, h or d, such as 90m, from 1m to 31d" in done.err
