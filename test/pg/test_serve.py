"""The server on a real PostgreSQL ([store] url)."""
import contextlib
import re
import signal
import threading

import psycopg2
import pytest

from lib import lines, oauth, postgres, wait
from lib.accounts import KEY
from lib.client import connect, receive_all
from lib.metrics import Metrics
from lib.pages import sign_up
from lib.pgstore import StoreDriver
from lib.viewtally import Viewtally

POSTED = "2026-07-01T00:00:00Z"


def world(views, hour=1):
    return [lines.author("Ann"), lines.book("Tides", "Ann"), lines.video("Wave", "Ann", POSTED, book_id=lines.uid("Tides")),
            lines.reading("Wave", f"2026-07-02T{hour:02}:00:00Z", views)]


@pytest.fixture(scope="module")
def private():
    """A PostgreSQL for this file alone, because the tests stop it."""
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    with postgres.Postgres(schema="", tcp=True) as made:
        yield made


@pytest.fixture
def database(private):
    return private.database("template0")


@pytest.fixture
def served(private, database, tmp_path):
    server = Viewtally(tmp_path, {"store": {"url": private.url(database), "hold_ms": "60000"}}, seams=True)
    server.run("migrate")
    server.import_lines(world(25_000))
    with server:
        wait.until(lambda: server.admin().get("/readyz").status == 200, "the server to be ready")
        yield server


@pytest.fixture
def key(served):
    return served.create_key(lines.uid("Ann"))


def gauge(served, name):
    return Metrics(served.admin().get("/metrics").body.decode()).get(f"viewtally_store_server_{name}")


def views(client):
    return client.get("/videos").json()["data"][0]["views"]


def test_import_of_another_process_is_in_the_next_response(served, key):
    client = served.client(key)
    seen = [views(client) for _ in range(3)]                # the second response is stored in the cache, the third one comes from it
    served.import_lines(world(31_000, 2)[-1:])
    assert seen == [25_000] * 3 and views(client) == 31_000
    assert client.get("/account").status == 200
    [event, *_] = client.get("/events").json()["data"]
    assert event["video"]["id"] == lines.uid("Wave")


def test_changed_password_is_used_by_new_connections(private, database, tmp_path):
    """All connections end, as in a failover. A server that used the password of its start would then be unavailable."""
    password = tmp_path / "password"
    private.sql("CREATE ROLE rotated LOGIN SUPERUSER PASSWORD 'old'", database)
    password.write_text("old\n")
    server = Viewtally(tmp_path, {"store": {"url": private.tcp_url(database, "rotated"), "password_file": str(password)}}, seams=True)
    server.run("migrate")
    server.import_lines(world(25_000))
    with server:
        client = server.client(server.create_key(lines.uid("Ann")))
        assert views(client) == 25_000
        private.sql("ALTER ROLE rotated PASSWORD 'new'", database)
        password.write_text("new\n")
        private.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rotated'", database)
        server.import_lines(world(31_000, 2)[-1:])
        wait.until(lambda: server.admin().get("/readyz").status == 200 and views(client) == 31_000, "the server to connect again")


def test_revoked_key_is_rejected_at_the_next_request(served):
    made = served.run("key", "create", "--author", lines.uid("Ann"), "--name", "laptop", "--json").json()
    client = served.client(made["key"])
    assert client.get("/account").status == 200
    served.run("key", "revoke", made["id"])
    assert client.get("/account").status == 401


def test_long_poll_ends_with_the_event_of_another_process(served, key):
    client, found = served.client(key, timeout=90), []
    last = client.get("/events").json()["data"][-1]["id"]
    poll = threading.Thread(target=lambda: found.append(client.get(f"/events?after={last}&wait=55")))
    poll.start()
    served.import_lines(world(150_000, 3)[-1:])
    poll.join()
    assert found[0].json()["data"], found[0]


def test_connections_read_at_the_same_time(private, database, served, key):
    """While a lock blocks the read of /videos, the server reads books on its other connection."""
    served.stop()
    served.configure({"store": {"connections": "2"}})
    served.start()
    wait.until(lambda: served.log.count("postgresql: up") == 3, "the connections")
    blocked = []
    with contextlib.closing(psycopg2.connect(private.url(database))) as operator:
        operator.cursor().execute("LOCK TABLE videos")
        request = threading.Thread(target=lambda: blocked.append(served.client(key, timeout=60).get("/videos").status))
        request.start()
        wait.until(lambda: gauge(served, "reads_in_flight") == 1, "the blocked read")
        assert [served.client(key).get(f"/books?limit={limit}").status for limit in range(1, 7)] == [200] * 6
        assert not blocked
    request.join()
    assert blocked == [200]


def test_reads_use_the_connections_that_are_up(private, database, tmp_path):
    """One of two connections is lost and cannot be opened again."""
    private.sql(f"CREATE ROLE limited LOGIN; ALTER DATABASE {database} OWNER TO limited; GRANT ALL ON SCHEMA public TO limited", database)
    server = Viewtally(tmp_path, {"store": {"url": private.url(database, "limited"), "connections": "2", "hold_ms": "60000"}}, seams=True)
    server.run("migrate")
    server.import_lines(world(25_000))
    with server:
        client, limits = server.client(server.create_key(lines.uid("Ann")), timeout=20), iter(range(1, 101))    # a new limit is not in the cache

        def pid():
            """A connection whose latest statement has read a page of books. After two seconds, it is another statement."""
            assert client.get(f"/books?limit={next(limits)}").status == 200
            return private.sql(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND query LIKE '%FROM books b%' AND pid <> pg_backend_pid()")
        [lost] = wait.until(pid, "a connection that has read books")[0]
        private.sql(f"ALTER ROLE limited CONNECTION LIMIT 0; SELECT pg_terminate_backend({lost})", database)
        wait.until(lambda: "postgresql: unavailable" in server.log, "the server to notice the loss")
        assert [client.get(f"/books?limit={next(limits)}").status for _ in range(6)] == [200] * 6
        assert server.admin().get("/readyz").status == 200


def test_outage_holds_requests_and_is_reported(private, served, key):
    client, found = served.client(key, timeout=90), []
    assert views(client) == 25_000
    wait.until(lambda: gauge(served, "up") == 1 and gauge(served, "barrier_age_seconds") < 5, "a connection that is up")
    private.stop()
    try:
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the server to notice")
        line = served.admin().get("/readyz").body.decode()
        assert line.startswith("not ready: the database cannot be read (the connection is ") and ": " in line[60:], line
        assert served.admin().get("/livez").status == 200 and gauge(served, "up") == 0
        request = threading.Thread(target=lambda: found.append(views(client)))
        request.start()
        wait.until(lambda: gauge(served, "reads_held") > 0, "the request to be held")
    finally:
        private.start()
    request.join()
    assert found == [25_000]
    wait.until(lambda: served.admin().get("/readyz").status == 200, "the server to be ready again")


@pytest.mark.parametrize("path", ["/books", "/stats?start_date=2026-07-01&end_date=2026-07-09", "/videos"])
def test_revision_that_recurs_with_other_data_after_a_failover_has_another_etag(private, database, served, key, path):
    """A standby that becomes the primary may lack the newest commits. The next commits then have the same revisions as those."""
    client = served.client(key, timeout=90)
    seen = client.get(path)
    private.sql("UPDATE books SET title = 'Ebbs'; UPDATE videos SET title = 'Surf'", database)      # leaves the revision as it is
    private.stop(signal.SIGQUIT)
    private.start()
    response = client.get(path, headers={"If-None-Match": seen.headers["ETag"]})
    assert response.status == 200 and response.headers["ETag"] != seen.headers["ETag"], response
    assert "Ebbs" in response.body.decode()


def test_outage_longer_than_hold_ms_ends_with_503(private, served, key):
    served.stop()
    served.configure({"store": {"hold_ms": "300"}})
    served.start()
    wait.until(lambda: served.admin().get("/readyz").status == 200, "the server to be ready")
    assert served.client(key).get("/account").status == 200
    private.stop()
    try:
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the server to notice")
        response = served.client(key, timeout=10).get("/account")
        assert response.status == 503 and response.headers["Retry-After"], response
    finally:
        private.start()


@pytest.mark.parametrize("connections", [1, 16])
def test_outage_holds_requests_on_at_most_a_quarter_of_the_connections(private, served, key, connections):
    served.stop()
    served.configure({"server": {"max_connections": "16"}, "store": {"connections": str(connections)}})
    served.start()
    wait.until(lambda: served.admin().get("/readyz").status == 200, "the server to be ready")
    statuses = []
    sockets = [connect(served.address, timeout=90) for _ in range(7)]
    readers = [threading.Thread(target=lambda one=one: statuses.append(receive_all(one).split()[1])) for one in sockets]
    private.stop()
    try:
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the server to notice")
        served.signal(signal.SIGSTOP)       # all requests arrive at once, so that they share one statement
        for one in sockets:
            one.sendall(f"GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode())
        served.signal(signal.SIGCONT)
        for reader in readers:
            reader.start()
        wait.until(lambda: len(statuses) == 3, "the requests that are not held")
        assert statuses == [b"503"] * 3
    finally:
        private.start()
    for reader in readers:
        reader.join()
    assert statuses == [b"503"] * 3 + [b"200"] * 4


def test_postgresql_that_does_not_reply_does_not_delay_the_shutdown(private, served):
    served.stop()
    served.configure({"server": {"drain_ms": "500"}, "store": {"busy_timeout_ms": "60000"}})
    served.start()
    wait.until(lambda: served.admin().get("/readyz").status == 200, "the server to be ready")
    private.signal_all(signal.SIGSTOP)
    try:
        assert served.admin().get("/metrics").status == 200     # starts a job of the writer queue, which reads the database
        served.signal(signal.SIGTERM)
        wait.until(lambda: not served.running, "the process to end", seconds=40)     # a write may wait for 65 s
    finally:
        private.signal_all(signal.SIGCONT)
    assert "stopped" in served.log
    served.wait_stopped()


def test_postgresql_that_does_not_reply_does_not_block_the_event_loop(private, served, key, tmp_path):
    """All parts of the server that use the database wait for it, and the other parts respond."""
    (tmp_path / "backups").mkdir()
    served.stop()
    served.configure({"backup": {"directory": str(tmp_path / "backups")}, "refresh": {"source": "simulated"}})
    served.start()

    def scrape():
        return Metrics(served.admin().get("/metrics").body.decode())

    def is_idle(metrics):
        return metrics.get("viewtally_backups_total", result="succeeded") == 1 and metrics.get("viewtally_refresh_last_success_timestamp_seconds")

    wait.until(lambda: is_idle(scrape()), "the first backup and the first run of the refresh")
    browser = sign_up(served, lines.uid("Ann"), "ann", "correct horse battery")
    document = served.client().get("/openapi.json").body
    statuses = []
    requests = [threading.Thread(target=lambda: statuses.append(browser.get("/account").status)),
                threading.Thread(target=lambda: statuses.append(served.client(key, timeout=90).get("/account").status))]

    def admin(path):
        """Every response must arrive within a few seconds, while a statement may wait for 60 s."""
        return served.admin(timeout=10).get(path)

    private.signal_all(signal.SIGSTOP)
    try:
        for request in requests:
            request.start()
        for state in ("stale", "down"):     # at first the connection is open, and then the server tries to connect
            wait.until(lambda state=state: f"(the connection is {state}" in admin("/readyz").body.decode(), f"a connection that is {state}")
            assert admin("/livez").status == admin("/metrics").status == 200
            assert served.client(timeout=10).get("/openapi.json").body == document
        assert not statuses and gauge(served, "reads_held") <= 4     # those of the requests and of two schedules
        assert scrape().get("viewtally_loop_lag_max_seconds") < 10
    finally:
        private.signal_all(signal.SIGCONT)
    for request in requests:
        request.join()
    assert statuses == [200, 200]
    wait.until(lambda: admin("/readyz").status == 200, "the server to be ready again")


def create_key_on_page(served):
    browser = sign_up(served, lines.uid("Ann"), "ann", "correct horse battery")
    page = browser.get("/keys")
    browser.client = served.client(timeout=120)
    return lambda: browser.send(page, "/keys", {"name": "laptop"}).body


def exchange_code(served):
    grant = oauth.Grant(served, oauth.add_app(served), lines.uid("Ann"))
    return lambda: grant.exchange(served.client(timeout=120)).json()["error_description"]


@pytest.mark.parametrize("prepare", [create_key_on_page, exchange_code])
def test_response_after_an_unknown_outcome_does_not_claim_that_nothing_was_changed(private, database, served, prepare):
    """PostgreSQL crashes during the commit of a new key, and stays down for longer than the 25 s in which the server looks for the outcome."""
    request, responses = prepare(served), []
    private.sql("""CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;
                   CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION delay()""",
                database)
    sender = threading.Thread(target=lambda: responses.append(request()))
    sender.start()
    wait.until(lambda: private.sql(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND wait_event = 'PgSleep'", database),
               "the commit to begin")
    private.stop(signal.SIGQUIT)
    try:
        sender.join()
    finally:
        private.start()
    assert "it is unknown whether" in responses[0].lower() and "Nothing was changed" not in responses[0]


def test_wait_for_the_server_on_the_thread_of_an_event_loop_aborts(private, database):
    """In builds with test seams, so that the tests detect each call that would block the loop."""
    with pytest.raises(AssertionError, match=f"exit status -{int(signal.SIGABRT)}"), StoreDriver(private.url(database)) as driver:
        driver.ok("migrate")
        driver.send("loop")
    assert "waits_are_forbidden" in driver.logged


def test_metrics_show_the_states_that_were_read_for_the_previous_scrape(private, database, served):
    metrics = []

    def scrape():
        metrics[:] = [Metrics(served.admin().get("/metrics").body.decode())]
        return metrics[0]

    def active():
        return scrape().get("viewtally_webhook_endpoints", state="active")

    wait.until(lambda: active() == 0, "the first states")
    assert metrics[0].get("viewtally_platform_accounts", api="tiktok", state="connected") == 0
    private.sql("INSERT INTO webhook_endpoints (uuid, author_id, url, types, created_at, state_at, position) "
                "SELECT uuid, id, 'https://example.com/', 0, 1, 1, 1 FROM authors", database)
    wait.until(lambda: active() == 1, "the new endpoint")
    private.stop()
    try:
        wait.until(lambda: served.admin().get("/readyz").status == 503, "the server to notice")
        wait.until(lambda: "viewtally_webhook_endpoints{" not in served.admin().get("/metrics").body.decode(), "the states to be unknown")
        assert scrape().get("viewtally_webhook_deliveries_in_flight") == 0
    finally:
        private.start()
    wait.until(lambda: active() == 1, "the states to be known again")


@pytest.fixture
def slow_log(served):
    """The server logs statements that take at least 200 ms."""
    served.configure({"log": {"slow_query_ms": 200}})
    served.signal(signal.SIGHUP)
    wait.until(lambda: "configuration reloaded" in served.log, "the reload")


def respond_while_locked(private, database, table, client, path):
    """Sends a request whose read must wait for a lock of the table for about 0.6 s."""
    locking = threading.Thread(target=private.sql, args=(f"BEGIN; LOCK TABLE {table}; SELECT pg_sleep(0.6); COMMIT", database))
    locking.start()
    locked = f"SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = '{table}'::regclass"
    wait.until(lambda: private.sql(locked, database), "the lock")
    assert client.get(path).status == 200
    locking.join()


def test_slow_read_is_logged_with_its_query_plan_and_without_values(served, private, database, key, slow_log):
    client = served.client(key)
    client.get("/account")
    respond_while_locked(private, database, "videos", client, "/videos")
    line = wait.until(lambda: next((line for line in served.log.splitlines() if "slow query: " in line and " videos " in line), None), "the log line")
    assert "SELECT" in line and "$1" in line
    served.client(served.create_key(lines.uid("Ann"))).get("/account")      # the plan is read after a commit, here of the use of this key
    wait.until(lambda: "generic plan of" in served.log, "the plan")
    plan = wait.until(lambda: [line for line in served.log.splitlines() if "slow query: | " in line], "the lines of the plan")
    assert any("Index" in line and "videos" in line for line in plan) and any("$1" in line for line in plan)
    assert "Seq Scan" not in "".join(plan) and "ERROR" not in served.log and " error " not in served.log


def test_slow_read_of_a_key_is_logged(served, private, database, key, slow_log):
    respond_while_locked(private, database, "api_keys", served.client(key), "/account")
    wait.until(lambda: re.search(r"slow query: \d+ ms: SELECT .* WITH ORDINALITY ", served.log), "the log line")


def test_slow_read_of_the_changes_for_long_polls_is_logged(served, private, database, key, slow_log):
    last = served.client(key).get("/events").json()["data"][-1]["id"]

    def poll():
        with contextlib.suppress(OSError):          # at the end of the test, the server stops before the poll ends
            served.client(key).get(f"/events?after={last}&wait=55")

    def is_logged():
        respond_while_locked(private, database, "authors", served.client(key), "/account")
        return re.search(r"slow query: \d+ ms: SELECT id, rev, feed_rev FROM authors ", served.log)

    threading.Thread(target=poll, daemon=True).start()
    wait.until(is_logged, "the log line")


def test_metrics_report_the_load_of_postgresql(served, private, database):
    def shown(name, **labels):
        return Metrics(served.admin().get("/metrics").body.decode()).get(f"viewtally_store_server_{name}", **labels)

    private.sql("UPDATE videos SET views = views; SELECT pg_stat_force_next_flush()", database)
    updates, hot, live = private.sql("SELECT sum(n_tup_upd), sum(n_tup_hot_upd), sum(n_live_tup) FROM pg_stat_user_tables", database)[0]
    wait.until(lambda: (shown("updates_total", hot="true") or 0) >= int(hot), "the statistics of a later scrape")
    assert shown("updates_total", hot="true") + shown("updates_total", hot="false") >= int(updates)
    assert shown("live_rows") >= int(live) > 0 and shown("dead_rows") > 0
    [[most]] = private.sql("SHOW max_connections", database)
    assert shown("connections_max") == int(most) and 3 <= shown("connections") < int(most)
    assert shown("standbys") == 0 and "replication_lag_bytes" not in served.admin().get("/metrics").body.decode()
    before = shown("round_trips_total")
    served.client(served.create_key(lines.uid("Ann"))).get("/account")
    assert shown("round_trips_total") > before
    load = served.run("status", "--json").json()["database"]["server"]
    assert load["connections_max"] == int(most) and load["live_rows"] > 0 and load["standbys"] == 0 and load["lag_bytes"] is None
    assert re.search(rf"^server     connections: \d+ of at most {most}; rows: \d+ live, \d+ dead; standbys: 0$", served.run("status").out, re.M)


def test_server_on_postgresql_creates_no_database_file(served, key):
    assert served.client(key).get("/stats").status == 200
    assert not [path.name for path in served.directory.iterdir() if path.name.startswith("viewtally.db")]
    assert "viewtally_store_wal_bytes" not in served.admin().get("/metrics").body.decode()


def test_reads_leave_a_former_primary_when_a_write_has_left_it(tmp_path):
    """With asynchronous replication, a former primary that was not shut down still commits, so it would serve old data until it is shut
    down. A write leaves it because another transaction blocks it, and finds the new primary; then the reads must leave it, too."""
    with postgres.Postgres(schema="") as former, former.standby() as standby:
        name = former.database("template0")
        url = f"postgresql://{postgres.SUPERUSER}@/{name}?host={former.directory},{standby}&port={former.port},{former.port}"
        server = Viewtally(tmp_path, {"store": {"url": url, "busy_timeout_ms": "5000"}}, seams=True)
        server.run("migrate")
        server.import_lines(world(25_000))
        with server:
            create_key = create_key_on_page(server)
            replicated = former.sql("SELECT pg_current_wal_lsn()", name)[0][0]
            wait.until(lambda: former.sql(f"SELECT replay_lsn >= '{replicated}' FROM pg_stat_replication", name) == [["t"]], "the standby to replay")
            former.promote(standby)
            with psycopg2.connect(host=former.directory, port=former.port, user=postgres.SUPERUSER, dbname=name) as blocking:
                blocking.cursor().execute("SELECT pg_advisory_lock(7239, hashtext('public'))")
                key = KEY.search(create_key())[0]
                wait.until(lambda: server.client(key).get("/account").status == 200, "the new primary, on which the key is, to be read")
            blocking.close()
            assert "the server is a former primary (its timeline is 1, the newest one is 2)" in server.log
