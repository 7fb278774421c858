"""The admin listener: /metrics counts requests, readings and events; /livez and /readyz report the state of the
process."""
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import uuid

import pytest

from lib import wait
from lib.client import connect
from lib.lines import author, reading, video
from lib.metrics import scrape
from lib.oauth import rows
from lib.spool import Spool
from lib.viewtally import ROOT

PAGE = 4096
REQUESTS = "viewtally_http_requests_total"


@pytest.fixture
def served(viewtally):
    author = viewtally.add_author()
    viewtally.key = viewtally.create_key(author)
    with viewtally:
        yield viewtally


@pytest.fixture(scope="module")
def documented():
    """The table of metrics in docs/metrics.md as {name: (type, labels)}."""
    rows = re.findall(r"^\| `((?:viewtally|process)_[a-z_]+)`(?: \(([a-z_, ]+)\))? \| (counter|gauge|histogram) \| \S.*\|$", (ROOT / "docs/metrics.md").read_text(), re.M)
    table = {name: (kind, set(labels.split(", ")) if labels else set()) for name, labels, kind in rows}
    assert len(table) == len(rows) > 30
    return table


def promtool(text):
    return subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, check=False)


def test_promtool_accepts_the_metrics_page(served):
    client = served.client(served.key)
    for path in ("/account", "/videos", "/events", "/stats", "/books", "/nowhere"):
        client.get(path)
    served.exchange(b"GET nonsense HTTP/1.1\r\nHost: x\r\n\r\n")
    text = scrape(served).text
    checked = promtool(text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    assert promtool(re.sub("# HELP viewtally_http_requests_total .*\n", "", text)).returncode != 0, "promtool checks nothing"


def test_requests_are_counted_once_by_route_and_status_code(served):
    client = served.client(served.key)
    missing = "/videos/00000000-0000-4000-8000-000000000000"
    sent = [("/v1/account", "/account", {}, 200, 7), ("/v1/videos", "/videos", {"limit": "0"}, 400, 3), ("/v1/videos/{id}", missing, {}, 404, 2),
            ("none", "/nowhere", {}, 404, 5), ("/v1/events", "/events", {"after": "latest"}, 200, 4)]
    before = scrape(served)
    for _, path, params, status, times in sent:
        for _ in range(times):
            assert client.get(path, params).status == status
    assert client.request("POST", "/v1/books").status == 405
    assert client.request("HEAD", "/v1/books").status == 200
    assert client.get("/account", key="service_live_nonsense").status == 401
    etag = client.get("/stats").headers["ETag"]
    assert client.get("/stats", headers={"If-None-Match": etag}).status == 304
    assert b" 400 " in served.exchange(b"GET nonsense HTTP/1.1\r\nHost: x\r\n\r\n")
    after = scrape(served)

    def grew(name, **labels):
        return after.get(name, **labels) - before.get(name, **labels)

    for route, _, _, status, times in sent:
        assert grew(REQUESTS, route=route, code=str(status)) == times, route
    for route, code in (("/v1/books", "405"), ("/v1/books", "200"), ("/v1/account", "401"), ("/v1/stats", "200"), ("/v1/stats", "304"), ("none", "400")):
        assert grew(REQUESTS, route=route, code=code) == 1, (route, code)
    assert grew(REQUESTS) == 27
    assert grew("viewtally_http_request_duration_seconds_count") == 27
    assert grew("viewtally_http_request_duration_seconds_bucket", le="+Inf") == 27
    assert grew("viewtally_http_requests_rejected_total") == 1
    assert grew("viewtally_http_connections_accepted_total") == 2
    assert grew("viewtally_http_responses_incomplete_total") == 0
    assert after.get("viewtally_http_connections") == 1 and after.get("viewtally_http_requests_in_flight") == 0
    # Only requests with a known key to an existing route and method count.
    assert grew("viewtally_limiter_decisions_total", decision="admitted", source="off") == 7 + 3 + 2 + 4 + 1 + 2
    assert grew("viewtally_store_read_duration_seconds_count") >= 5, "reads of responses that are not cached"


def test_disconnecting_client_is_counted(served):
    with connect(served.address) as sock:
        sock.sendall(b"GET /v1/events?after=evt_0&wait=50 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + served.key.encode() + b"\r\n\r\n")
        wait.until(lambda: scrape(served).get("viewtally_http_requests_in_flight") == 1, "the request to wait")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wait.until(lambda: scrape(served).get(REQUESTS, route="/v1/events", code="none") == 1, "the request to be counted")
    metrics = scrape(served)
    assert metrics.get("viewtally_http_responses_incomplete_total") == 1 and metrics.get("viewtally_http_requests_in_flight") == 0


def test_admin_listener_serves_only_livez_readyz_and_metrics(served):
    admin = served.admin()
    assert (admin.get("/livez").status, admin.get("/livez").body) == (200, b"alive\n")
    assert (admin.get("/readyz").status, admin.get("/readyz").body) == (200, b"ready\n")
    head = admin.request("HEAD", "/metrics")
    assert head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) > 1000
    assert head.headers["Cache-Control"] == "no-store"
    for path in ("/", "/metrics/", "/v1/account", "/Metrics", "//metrics"):
        assert admin.get(path).status == 404, path
    posted = admin.request("POST", "/readyz", body=b"")
    assert posted.status == 405 and posted.headers["Allow"] == "GET, HEAD"
    assert admin.request("DELETE", "/metrics").status == 405
    assert served.client(served.key).request("GET", "/metrics").status == 404, "the API must not serve the metrics"


@pytest.mark.sqlite_only("reads the size of the database file")
def test_metrics_include_build_info_and_process_figures(served):
    # Wait for the write that the server makes at its start, because this write changes the sizes below.
    wait.until(lambda: rows(served, "SELECT 1 FROM meta WHERE key = 'expiry_floor'"), "the first observation of the clock")
    metrics = scrape(served)
    version = subprocess.run([served.binary, "--version"], capture_output=True, text=True, check=True).stdout
    name, commit, mode = re.match(r"viewtally (\S+) \((\S+), (\S+)\)", version).groups()
    libraries = dict(line.split(" ") for line in version.splitlines()[1:])
    assert metrics.get("viewtally_build_info", version=name, commit=commit, mode=mode, sqlite=libraries["sqlite"],
                       libuv=libraries["libuv"]) == 1
    with open(f"/proc/{served.pid}/statm", encoding="ascii") as f:
        pages = int(f.read().split()[1])
    assert metrics.get("process_resident_memory_bytes") == pytest.approx(pages * 4096, rel=0.2)
    assert 10 < metrics.get("process_open_fds") < 60
    # The wall clock stands still. The server subtracted its age at that time (at most `age` seconds) from the wall
    # clock.
    age = float(pathlib.Path("/proc/uptime").read_text().split()[0]) - int(pathlib.Path(f"/proc/{served.pid}/stat").read_text().split()[21]) / os.sysconf("SC_CLK_TCK")
    assert -age - 5 < metrics.get("process_start_time_seconds") - served.clock.wall_ms / 1000 < 5
    assert metrics.get("process_cpu_seconds_total") > 0
    assert metrics.get("viewtally_store_database_bytes") == (served.directory / "viewtally.db").stat().st_size
    assert metrics.get("viewtally_store_wal_bytes") == (served.directory / "viewtally.db-wal").stat().st_size


@pytest.mark.sqlite_only("creates the database with serve --create")
def test_configured_admin_address_in_use_is_an_error_that_names_the_setting(served, make_viewtally, clock):
    second = make_viewtally({"admin": {"listen": served.admin_addresses[0]}}, clock)
    refused = second.run("serve", "--create", status=3)
    assert f"[admin] listen: {served.admin_addresses[0]}: address already in use" in refused.err and "listening" not in refused.out
    second.configure({"admin": {"listen": "nonsense"}})
    assert "[admin] listen must be addresses such as" in second.run("serve", "--create", status=2).err


def test_default_admin_address_in_use_is_only_a_warning(make_viewtally, clock):
    """A configured address that is in use is an error (above); the default address is only a warning."""
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", 9187))
            sock.listen()
        except OSError:
            pass                # another process already uses the address, which has the same effect
        with make_viewtally({"admin": {"listen": None}}, clock) as instance:
            assert "[admin] listen: 127.0.0.1:9187: address already in use; this process serves no metrics" in instance.log
            assert instance.client().get("/account").status == 401


def test_listener_can_be_disabled_or_bound_to_several_addresses(make_viewtally, clock, tmp_path):
    off = make_viewtally({"admin": {"listen": ""}}, clock)
    with off:
        assert off.admin_addresses == []
    path = tmp_path / "s"
    with make_viewtally({"admin": {"listen": f"unix:{path}, 127.0.0.1:0"}}, clock) as both:
        assert both.admin_addresses[0] == f"unix:{path}" and len(both.admin_addresses) == 2
        assert both.admin().get("/livez").status == 200
    assert not path.exists()


@pytest.mark.sqlite_only("PostgreSQL has other metrics, which test/pg/test_serve.py checks")
def test_docs_list_every_metric(make_viewtally, redis, tmp_path, documented):
    """Compares names, types and labels, with every subsystem configured that has metrics."""
    instance = make_viewtally({"redis": {"url": redis.url}, "refresh": {"source": "spool", "spool_dir": tmp_path}})
    key = instance.create_key(instance.add_author())
    with instance:
        instance.client(key).get("/events")
        metrics = scrape(instance)
    labels = {name: set() for name in metrics.types}
    for name, pairs in metrics.samples:
        family = name if name in labels else re.sub("_(bucket|sum|count)$", "", name)
        labels[family] |= {label for label, _ in pairs} - {"le"}
    assert {name: (kind, labels[name]) for name, kind in metrics.types.items()} == documented


def test_refresh_metrics_count_readings_and_events(viewtally, clock, tmp_path):
    spool = Spool(tmp_path / "spool")
    viewtally.configure({"refresh": {"source": "spool", "spool_dir": spool.path}})
    viewtally.import_lines([author("Ada"), video("a", "Ada", "2026-07-01T08:00:00Z"), video("b", "Ada", "2026-07-01T08:00:00Z", platforms=("tiktok",))])
    with viewtally:
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_runs_total", result="succeeded") == 1, "the run at the start")
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_next_timestamp_seconds") == 1783684800 + 55 * 60, "the next run")
        assert scrape(viewtally).get("viewtally_refresh_last_success_timestamp_seconds") // 60 == 1783684800 // 60, "2026-07-10T12:00:00Z"
        spool.drop("one.ndjson", [reading("a", "2026-07-09T00:00:00Z", 20000), reading("b", "2026-07-09T00:00:00Z", 1500, platform="tiktok"), "{",
                                  reading("a", "2026-07-08T00:00:00Z", 5), reading("c", "2026-07-09T00:00:00Z", 1)])
        wait.until(lambda: spool.bad, "the file to be processed")
        metrics = wait.until(lambda: [m for m in [scrape(viewtally)] if m.get("viewtally_refresh_runs_total") == 2], "the run to be counted")[0]
        accepted = "viewtally_refresh_readings_accepted_total"
        assert metrics.get(accepted, source="spool", platform="youtube") == 2 and metrics.get(accepted, source="spool", platform="tiktok") == 1
        assert metrics.get(accepted) == 3
        assert metrics.get("viewtally_refresh_readings_rejected_total", reason="unknown_post") == 1
        assert metrics.get("viewtally_refresh_readings_rejected_total") == 1 and metrics.get("viewtally_refresh_spool_lines_rejected_total") == 1
        assert metrics.get("viewtally_refresh_spool_unknown_field_lines_total") == 0
        assert metrics.get("viewtally_refresh_events_total", type="video.went_viral") == 1
        assert metrics.get("viewtally_refresh_events_total", type="video.milestone_reached") == 3
        assert metrics.get("viewtally_refresh_runs_total", result="partial") == 1
        assert metrics.get("viewtally_refresh_last_duration_seconds") > 0
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_running") == 0, "the run to end")


def test_overdue_refresh_is_reported_as_degraded(viewtally, clock, tmp_path):
    """A transaction of another process does not end, so no run can start."""
    viewtally.configure({"refresh": {"source": "simulated"}, "store": {"busy_timeout_ms": "0"}})
    viewtally.import_lines([author("Ada")])
    with viewtally:
        wait.until(lambda: scrape(viewtally).get("viewtally_refresh_runs_total") == 1, "the run at the start")
        assert viewtally.admin().get("/readyz").body == b"ready\n"
        with viewtally.write_transaction():
            clock.set_wall("2026-07-10T13:20:00Z")
            assert viewtally.admin().get("/readyz").body == b"ready\n"
            clock.set_wall("2026-07-10T13:26:00Z")
            wait.until(lambda: viewtally.admin().get("/readyz").body == b"degraded: the refresh is overdue\n", "the run to be overdue")
            assert viewtally.admin().get("/readyz").status == 200


def test_server_is_degraded_after_a_failed_write_until_a_write_succeeds(served):
    """The write that fails here records the last use of a key."""
    served.stop()
    served.configure({"store": {"busy_timeout_ms": "0"}})
    served.start()
    admin, client = served.admin(), served.client(served.key)
    wait.until(lambda: scrape(served).get("viewtally_store_write_duration_seconds_count") >= 1, "the time to be stored at the start")
    with served.write_transaction():
        assert client.get("/account").status == 200
        wait.until(lambda: admin.get("/readyz").body == b"degraded: the database cannot be written\n", "the write to fail")
        # On PostgreSQL, the job that reads states for /metrics fails, too.
        assert scrape(served).get("viewtally_store_writes_failed_total") >= 1
    other = served.create_key(served.add_author("Another"))
    assert client.get("/account", key=other).status == 200
    wait.until(lambda: admin.get("/readyz").body == b"ready\n", "a write to succeed")


def test_server_without_redis_is_degraded_and_counts_where_limits_were_checked(make_viewtally, redis):
    instance = make_viewtally({"redis": {"url": redis.url}, "limits": {"requests_per_minute": "5"}})
    key = instance.create_key(instance.add_author())
    with instance:
        admin, client = instance.admin(), instance.client(key)
        wait.until(lambda: admin.get("/readyz").body == b"ready\n", "Redis to be up")
        decisions = "viewtally_limiter_decisions_total"

        def count_decisions():
            """Sends seven requests with a new key. Returns the metrics before and after these requests. Returns False
            if a call to Redis took more than 50 ms on a busy machine, so that the process decided about a request."""
            before = scrape(instance)
            wanted = instance.create_key(instance.add_author())
            assert [client.get("/account", key=wanted).status for _ in range(7)] == [200] * 5 + [429] * 2
            metrics = scrape(instance)
            if metrics.get("viewtally_redis_calls_failed_total") or not metrics.get("viewtally_redis_up"):
                wait.until(lambda: admin.get("/readyz").body == b"ready\n", "Redis to be up")
            return metrics.get(decisions, source="process") == before.get(decisions, source="process") and (before, metrics)

        before, metrics = wait.until(count_decisions, "Redis to reply in time")

        def grew(name, **labels):
            return metrics.get(name, **labels) - before.get(name, **labels)

        assert grew(decisions, decision="admitted", source="redis") == 5 and grew(decisions, decision="rejected", source="redis") == 1
        assert grew(decisions, decision="rejected", source="redis_cached") == 1
        assert metrics.get("viewtally_redis_up") == 1 and grew("viewtally_redis_calls_total") == 6
        assert grew("viewtally_redis_call_duration_seconds_count") == 6 and grew("viewtally_limiter_keys") == 1
        redis.kill()
        wait.until(lambda: admin.get("/readyz").body.startswith(b"degraded: Redis is unavailable ("), "the outage to be detected")
        assert admin.get("/readyz").status == 200 and scrape(instance).get("viewtally_redis_up") == 0
        other = instance.create_key(instance.add_author("Another"))
        before = scrape(instance)
        assert [client.get("/account", key=other).status for _ in range(6)] == [200] * 5 + [429]
        metrics = scrape(instance)
        assert grew(decisions, decision="admitted", source="process") == 5 and grew(decisions, decision="rejected", source="process") == 1
        redis.start()
        wait.until(lambda: admin.get("/readyz").body == b"ready\n", "Redis to be back")


def test_draining_server_is_not_ready(served):
    admin = served.admin()
    with connect(served.address) as sock:
        sock.sendall(b"GET /v1/account HTTP/1.1\r\nHost: x\r\n")     # an unfinished request keeps the server from exiting
        wait.until(lambda: scrape(served).get("viewtally_http_requests_in_flight") == 1, "the request to begin")
        served.signal(signal.SIGTERM)
        wait.until(lambda: admin.get("/readyz").status == 503, "the drain")
        assert admin.get("/readyz").body == b"not ready: shutting down\n" and admin.get("/livez").status == 200
    served.wait_stopped()


def touch(path):
    """Commits without reading data, which makes other connections drop their page caches."""
    database = sqlite3.connect(path)
    with database:
        database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('test', random())")
    database.close()


@pytest.mark.sqlite_only("changes the database file")
def test_server_with_an_unreadable_database_is_not_ready(served):
    path = served.directory / "viewtally.db"
    assert served.client(served.key).get("/account").status == 200
    # Wait until the use of the key is written. A write after the damage below would store an intact copy of the page in
    # the WAL.
    wait.until(lambda: rows(served, "SELECT last_used_at FROM api_keys") != [(None,)], "the use of the key to be written")
    with sqlite3.connect(path) as database:
        pages = database.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'api_keys'").fetchall()
    touch(path)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    database.close()
    whole = path.read_bytes()
    with open(path, "r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * PAGE)
            file.write(b"\xa5" * PAGE)
    admin = served.admin()
    response = wait.until(lambda: [a for a in [admin.get("/readyz")] if a.status == 503], "the damage to be detected")[0]
    assert response.body == b"not ready: the database cannot be read\n"
    assert admin.get("/livez").status == 200
    wait.until(lambda: scrape(served).get("viewtally_loop_lag_seconds_count") > 0, "the loop lag to be measured")
    with open(path, "r+b") as file:
        file.write(whole)
    touch(path)
    wait.until(lambda: admin.get("/readyz").status == 200, "service to come back")


def test_start_time_metric_does_not_change_with_the_wall_clock(served):
    """The start time must not follow adjustments of the wall clock, because Prometheus would count each change as a
    restart."""
    before = scrape(served).get("process_start_time_seconds")
    for ms in (3600_000, -7200_000, 1):
        served.clock.set_wall(served.clock.wall_ms + ms)
        assert scrape(served).get("process_start_time_seconds") == before > 0


@pytest.mark.sqlite_only("a database server is always read by a job")
def test_many_accounts_are_counted_by_a_job(viewtally):
    """The scrape after a change shows the count from the time of the previous scrape, because counting would delay requests."""
    id = viewtally.add_author()

    def link(first, last):
        viewtally.sql("WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO platform_credentials "
                     "(author_id, api, account_id, access_sealed, obtained_at) SELECT (SELECT id FROM authors WHERE uuid = ?), 0, i, x'00', 0 FROM n",
                     first, last, uuid.UUID(id))

    def connected():
        return scrape(viewtally).get("viewtally_platform_accounts", api="tiktok", state="connected")

    link(1, 20_000)
    with viewtally:
        assert connected() == 20_000
        link(20_001, 20_001)
        assert connected() == 20_001
        link(20_002, 20_002)
        assert connected() == 20_001
        wait.until(lambda: connected() == 20_002, "the job")
