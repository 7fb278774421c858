"""The PostgreSQL link against a real server: results, transactions, authentication, TLS, restarts."""
import contextlib
import signal
import threading

import pytest

from lib import wait
from lib.certificates import Authority
from lib.clock import FakeClock
from lib.pgdriver import Driver
from lib.postgres import Postgres, SqlError

PASSWORD = "open sesame"


def test_queries_return_values_and_writes_take_effect(cluster, database):
    with Driver(cluster.url(database)) as driver:
        driver.send("q 1 echo -5", "q 2 series 1000", "q 3 note 7", "q 4 count 7", "q 5 note 7", "q 6 heads 64")
        assert driver.value(1) == -5 and driver.value(2) == 500_500
        assert driver.outcome(3) == "ok" and driver.value(4) == 1
        assert driver.reply(5)[:2] == ["already exists", "23505"] and driver.value(6) == 0
        assert driver.reply(1)[3] == "timeline=1"
    assert cluster.sql("SELECT count(*) FROM notes", database) == [["1"]]


def test_error_skips_the_rest_of_a_batch_which_runs_again(cluster, database):
    with Driver(cluster.url(database)) as driver:
        driver.until_state("up")
        driver.send("q 1 echo 1", "q 2 divide 0", *(f"q {i} echo {i}" for i in range(3, 20)))
        assert driver.reply(2)[:2] == ["invalid", "22012"]
        assert [driver.value(i) for i in range(3, 20)] == list(range(3, 20))
        assert driver.status()["resent"] == "17"


def test_failed_commit_fails_the_write(cluster, database):
    with Driver(cluster.url(database)) as driver:
        driver.until_state("up")
        driver.send("q 1 deferred 1")
        assert driver.outcome(1) == "ok"
        driver.send("q 2 deferred 1", "q 3 note 3")     # the constraint is checked at the end of the transaction
        assert driver.reply(2)[:2] == ["already exists", "23505"] and driver.outcome(3) == "ok"


def test_barriers_are_written(cluster, database):
    with Driver(cluster.url(database)) as driver:
        driver.until_state("up")
        count = int(cluster.sql("SELECT n FROM barriers", database)[0][0])
        wait.until(lambda: int(cluster.sql("SELECT n FROM barriers", database)[0][0]) > count, "the next barrier")
        assert driver.states == ["opening", "up"]


def test_barrier_that_waits_for_another_process_succeeds_with_any_default_isolation(cluster, database):
    """All processes of a machine write the same rows. With REPEATABLE READ, PostgreSQL would end the barrier that waits."""
    waiting = f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"
    cluster.sql(f"ALTER DATABASE {database} SET default_transaction_isolation = 'repeatable read'", "postgres")
    with Driver(cluster.url(database)) as driver:
        driver.until_state("up")
        cluster.sql("BEGIN; UPDATE barriers SET n = n + 1000; DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_get_activity(NULL) "
                    "WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND wait_event_type = 'Lock') "
                    "LOOP PERFORM pg_stat_clear_snapshot(), pg_sleep(0.02); END LOOP; END $$; COMMIT", database)
        wait.until(lambda: not cluster.sql(waiting), "the barrier to end")
        wait.until(lambda: int(cluster.sql("SELECT n FROM barriers", database)[0][0]) > 1001, "the barrier to be committed")
        assert driver.states == ["opening", "up"]


def test_killed_backend_loses_no_read(cluster, database):
    with Driver(cluster.url(database)) as driver:
        driver.until_state("up")
        driver.send("q 1 nap 20000", "q 2 echo 2")
        wait.until(lambda: int(driver.status()["in_flight"]) == 2, "queries in flight")
        wait.until(lambda: cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' "
                                       f"AND state = 'active' AND datname = '{database}' AND pid <> pg_backend_pid()"), "the backend to be terminated")
        driver.send("c 1")
        assert driver.value(2) == 2
        assert "terminating connection due to administrator command" in driver.until_logged("unavailable")


def test_postgresql_probes_an_idle_client_within_10_seconds(cluster, database):
    """So it soon notices that a client has vanished. Otherwise the backend of a client whose machine lost power would stay
    for two hours. test_commands.py checks the same during a transaction."""
    with Driver(cluster.tcp_url(database, "secured"), password=PASSWORD):
        wait.until(lambda: [1 for seconds in cluster.keepalive_seconds() if 0 < seconds <= 10], "the keepalive timer to be set")


def test_backend_that_waits_for_a_lock_ends_with_its_client(cluster, database):
    """Otherwise each connection attempt of a link would leave one more backend, until PostgreSQL accepts no more
    connections."""
    waiting = f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"
    sleeping = f"FROM pg_stat_activity WHERE datname = '{database}' AND wait_event = 'PgSleep'"

    def lock():
        with contextlib.suppress(SqlError):         # terminated at the end of the test
            cluster.sql("BEGIN; LOCK TABLE notes; SELECT pg_sleep(600)", database)

    locking = threading.Thread(target=lock)
    driver = Driver(cluster.url(database))
    driver.until_state("up")
    locking.start()
    try:
        wait.until(lambda: cluster.sql(f"SELECT pid {sleeping}"), "the lock")
        driver.send("q 1 count 7")
        wait.until(lambda: cluster.sql(waiting), "the query to wait")
        driver.kill()
        wait.until(lambda: not cluster.sql(waiting), "the backend to end")
    finally:
        driver.kill()
        cluster.sql(f"SELECT pg_terminate_backend(pid) {sleeping}")
        locking.join()


def test_wrong_password_is_reported(cluster, database):
    with Driver(cluster.tcp_url(database, "secured"), password="wrong guess") as driver:
        line = driver.until_logged("unavailable")
        assert 'password authentication failed for user "secured"); check the user, the database and the password file' in line
        driver.until_failure("auth")
        assert "wrong guess" not in driver.logged


def test_missing_password_is_reported(cluster, database):
    with Driver(cluster.tcp_url(database, "secured")) as driver:
        assert f"127.0.0.1:{cluster.port} requires a password, but none is configured" in driver.until_logged("unavailable")


def test_scram_authentication_succeeds(cluster, database):
    with Driver(cluster.tcp_url(database, "secured", require_auth="scram-sha-256"), password=PASSWORD) as driver:
        driver.send("q 1 echo 1")
        assert driver.value(1) == 1


def test_password_is_read_from_a_passfile(cluster, database, tmp_path):
    """The password file names the host, although the connection is made to its address."""
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"localhost:{cluster.port}:*:secured:{PASSWORD}\n")
    passfile.chmod(0o600)
    with Driver(cluster.tcp_url(database, "secured", host="localhost"), env={"PGPASSFILE": str(passfile)}) as driver:
        driver.send("q 1 echo 1")
        assert driver.value(1) == 1


def test_unknown_database_is_reported(cluster):
    with Driver(cluster.url("nothing")) as driver:
        assert 'database "nothing" does not exist); check the user, the database' in driver.until_logged("unavailable")


def test_database_without_the_tables_is_reported(cluster):
    cluster.sql("CREATE DATABASE other", database="postgres")
    with Driver(cluster.url("other")) as driver:
        assert 'relation "barriers" does not exist); run `viewtally migrate`' in driver.until_logged("unavailable")


def test_role_without_rights_is_reported(cluster, database):
    with Driver(cluster.tcp_url(database, "weak"), password="weak") as driver:
        assert "permission denied for table barriers); run `viewtally migrate`" in driver.until_logged("unavailable")


@pytest.fixture
def tls(tmp_path):
    """A server that accepts TLS only, with a certificate for `localhost`."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.issue("server", "DNS:localhost")
    with Postgres(tcp=True, hba=("local all all trust", "hostssl all all 127.0.0.1/32 scram-sha-256")) as cluster:
        cluster.install(certificate, "server.crt")
        cluster.install(key, "server.key")
        cluster.configure("ssl = on")
        cluster.stop()
        cluster.start()
        cluster.sql(f"CREATE ROLE secured LOGIN SUPERUSER PASSWORD '{PASSWORD}'", database="postgres")
        cluster.authority = authority
        yield cluster


def test_tls_verifies_the_certificate(tls, tmp_path):
    database = tls.database()
    trusted = {"sslmode": "verify-full", "sslrootcert": tls.authority.ca}
    env = {"PG_DRIVER_BARE": "1"}
    with Driver(tls.tcp_url(database, "secured", host="localhost", **trusted), password=PASSWORD, env=env) as driver:
        driver.until_state("up")
        assert tls.sql("SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'viewtally'", database) == [["t"]]
    with Driver(tls.tcp_url(database, "secured", host="127.0.0.1", **trusted), password=PASSWORD, env=env) as driver:
        line = driver.until_logged("unavailable")
        assert 'server certificate for "localhost"' in line and 'does not match host name "127.0.0.1"' in line
        assert "check sslmode and sslrootcert, and that the certificate names the host" in line
    other = Authority(tmp_path / "other", "Other CA")
    with Driver(tls.tcp_url(database, "secured", host="localhost", sslmode="verify-full", sslrootcert=other.ca), password=PASSWORD, env=env) as driver:
        assert "certificate verify failed" in driver.until_logged("unavailable")
        driver.until_failure("tls")
    with Driver(tls.tcp_url(database, "secured", host="localhost", sslmode="disable"), password=PASSWORD, env=env) as driver:
        assert "no encryption" in driver.until_logged("unavailable")


@pytest.mark.parametrize("setting", ["sslrootcert", "sslcert", "sslkey"])
def test_unusable_tls_file_is_reported_as_such(tls, tmp_path, setting):
    file = tmp_path / "file"
    if setting != "sslrootcert":        # otherwise it does not exist
        file.write_text("no certificate")
        file.chmod(0o644)
    parameters = {"sslmode": "verify-full", "sslrootcert": tls.authority.ca, "sslcert": tls.authority.ca, setting: file}
    with Driver(tls.tcp_url(tls.database(), "secured", host="localhost", **parameters), password=PASSWORD) as driver:
        line = driver.until_logged("unavailable")
        assert str(file) in line and "; check sslmode and sslrootcert" in line
        driver.until_failure("tls")


def test_sslmode_that_is_too_weak_is_reported_as_such(tls):
    with Driver(tls.tcp_url("template", "secured", host="localhost", sslmode="require", sslrootcert="system"), password=PASSWORD) as driver:
        assert 'weak sslmode "require"' in driver.until_logged("unavailable") and "; check sslmode and sslrootcert" in driver.logged
        driver.until_failure("tls")


def test_restart_of_postgresql_starts_a_new_incarnation(tmp_path):
    clock = FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)
    with Postgres() as cluster:
        database = cluster.database()
        with Driver(cluster.url(database), clock=clock, env={"PG_DRIVER_BARE": "1"}) as driver:
            driver.until_state("up")
            started = driver.status()["started"]
            cluster.stop(signal.SIGQUIT)
            driver.until_state("down")
            cluster.start()

            def up_again():
                if driver.states[-1] == "down":
                    clock.advance(5_000)        # skips the pause
                return driver.states.count("up") == 2
            wait.until(up_again, "the link to be up again")
            assert int(driver.status()["started"]) > int(started) > 0
            assert cluster.sql("SELECT count(*) FROM barriers", database) == [["1"]]
