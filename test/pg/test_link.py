"""The PostgreSQL link against a server that follows a script: late, split, wrong, endless and missing messages, errors, death."""
import signal
import socket
import threading

import pytest

from lib import fakepg, wait
from lib.clock import FakeClock
from lib.pgdriver import Driver
from lib.preloading import preloaded


@pytest.fixture
def server():
    with fakepg.FakePostgres() as made:
        yield made


@pytest.fixture
def clock(tmp_path):
    return FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)


def answers(**by_name):
    """Returns a function answer() that sends fixed bytes for some statements."""
    return lambda name, parameters: by_name.get(name)


def test_queries_of_one_iteration_share_one_batch(server):
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send(*(f"q {i} echo {100 + i}" for i in range(20)))
        assert [driver.value(i) for i in range(20)] == list(range(100, 120))
    assert ["echo"] * 20 in server.batches


def test_queries_are_held_until_the_link_is_up(server):
    release = threading.Event()
    server.commit = lambda names: b"" if release.wait(20) else b""
    with Driver(server.url) as driver:
        driver.send("q 1 echo 5", "q 2 echo 6")
        driver.until_state("opening")
        assert driver.status()["held"] == "2" and not driver.replies
        release.set()
        assert (driver.value(1), driver.value(2)) == (5, 6)


def test_split_messages_are_reassembled(server):
    server.send = fakepg.byte_by_byte
    with Driver(server.url) as driver:
        driver.send("q 1 echo 5", "q 2 echo 6")
        assert (driver.value(1), driver.value(2)) == (5, 6)


def test_error_in_a_batch_resends_the_skipped_queries_alone(server):
    server.answer = answers(divide=fakepg.error("22012", "division by zero"))
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 echo 1", "q 2 divide 0", "q 3 echo 3", "q 4 echo 4")
        assert driver.reply(2)[:2] == ["invalid", "22012"]
        assert [driver.value(i) for i in (1, 3, 4)] == [1, 3, 4]
        assert driver.status()["resent"] == "2"
    assert ["echo", "divide"] in server.batches and server.batches.count(["echo"]) == 2


def test_write_is_a_batch_of_its_own(server):
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 echo 1", "q 2 note 2", "q 3 echo 3")
        assert [driver.outcome(i) for i in (1, 2, 3)] == ["ok"] * 3
    at = server.batches.index(["note"])
    assert server.batches[at - 1] == ["echo"] and server.batches[at + 1] == ["echo"]


def test_write_completes_only_when_it_is_committed(server):
    committed = threading.Event()
    server.commit = lambda names: committed.wait(20) and b"" if names == ["note"] else b""
    server.send = lambda connection, data: connection.sendall(data)
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 note 1")
        wait.until(lambda: "note" in server.executed() or ["note"] in server.batches, "the write to be executed")
        assert driver.status()["in_flight"] == "1" and not driver.replies
        committed.set()
        assert driver.outcome(1) == "ok"


def test_failed_commit_fails_the_write(server):
    server.commit = lambda names: fakepg.error("23505", "duplicate key") if names == ["note"] else b""
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 note 1", "q 2 echo 2")
        assert driver.reply(1)[:2] == ["already exists", "23505"]
        assert driver.value(2) == 2


def test_executed_but_uncommitted_barrier_is_not_acknowledged(server, clock):
    """The result of the INSERT arrives before the commit; only ReadyForQuery proves the commit."""
    def commit(names):
        if names == ["vt_barrier"]:
            raise fakepg.Skip
    server.commit = commit
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("opening")
        wait.until(lambda: ["vt_barrier"] in server.batches, "the barrier")
        driver.send("q 1 echo 1")
        driver.tick()
        assert driver.status()["held"] == "1"
        clock.advance(5_001)
        driver.until_state("down")
        assert "no reply within 5000 ms (is the server overloaded, or is its synchronous standby down?)" in driver.until_logged("unavailable")
        assert "up" not in driver.states
        server.commit = lambda names: b""
        clock.advance(5_000)
        assert driver.value(1) == 1


def hold_next_barrier(server, clock):
    """Waits until the next barrier is executed, and prevents its commit. Returns a function that commits it."""
    committed = threading.Event()
    server.commit = lambda names: committed.wait(30) and b"" if names == ["vt_barrier"] else b""
    before = len(server.batches)
    clock.advance(2_000)
    wait.until(lambda: ["vt_barrier"] in server.batches[before:], "the barrier")
    return committed.set


def test_link_is_stale_without_an_acknowledged_barrier(server, clock):
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        commit = hold_next_barrier(server, clock)
        clock.advance(2_999)
        driver.tick()
        assert driver.status()["state"] == "up"
        clock.advance(1)
        driver.until_state("stale")
        driver.send("q 1 echo 1")
        assert driver.status()["held"] == "1" and not driver.replies
        assert "has not committed a write for 5000 ms" in driver.until_logged("unavailable")
        commit()
        driver.until_state("up", times=2)
        assert driver.value(1) == 1


def test_late_acknowledgment_does_not_revive_the_link(server, clock):
    """An acknowledgment proves that the server was the primary when the barrier was sent, here 6 s ago. Only the
    acknowledgment of the next barrier proves that it still is."""
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        before = len(server.batches)
        commit = hold_next_barrier(server, clock)
        clock.advance(6_000)
        driver.until_state("stale")
        commit()
        driver.until_state("up", times=2)
        assert int(driver.status()["age"]) < 2_000
        assert server.batches[before:].count(["vt_barrier"]) == 2


def test_result_that_arrives_when_the_link_is_stale_is_discarded(server, clock):
    """A former primary that was cut off from the others may still reply. Its reply is not used, and the query runs
    again."""
    release = threading.Event()
    executed = []

    def answer(name, parameters):
        if name != "echo":
            return None
        executed.append(name)
        value = len(executed)
        release.wait(20)
        return fakepg.rows((fakepg.bigint(value),))
    server.answer = answer
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        clock.advance(1_500)
        driver.send("q 1 echo 0")
        wait.until(lambda: executed, "the query to be executed")
        clock.advance(3_500)            # the proof is 5 s old, the query 3.5 s
        driver.until_state("stale")
        release.set()
        assert driver.value(1) == 2


def test_stale_link_is_dropped_after_10_s(server, clock):
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        commit = hold_next_barrier(server, clock)
        clock.advance(3_000)
        driver.until_state("stale")
        clock.advance(4_999)
        driver.tick()
        assert driver.status()["state"] == "stale"
        clock.advance(1)
        driver.until_state("down")
        commit()
        clock.advance(100)
        driver.until_state("up", times=2)


def test_unanswered_query_drops_the_link_and_is_sent_again(server, clock):
    def answer(name, parameters):
        if name == "echo" and server.accepted == 1:
            raise fakepg.Skip
    server.answer = answer
    server.commit = lambda names: b""
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        server.commit = skip_if(lambda names: names == ["echo"] and server.accepted == 1)
        driver.send("q 1 echo 7")
        wait.until(lambda: ["echo"] in server.batches, "the query")
        for _ in range(3):     # barriers wait behind the query
            clock.advance(1_600)
        driver.send("s")
        clock.advance(300)
        driver.until_state("down")
        clock.advance(100)
        assert driver.value(1) == 7


def skip_if(condition):
    def commit(names):
        if condition(names):
            raise fakepg.Skip
        return b""
    return commit


@pytest.mark.parametrize("executed", [True, False])
def test_write_in_flight_has_an_unknown_outcome_after_a_loss(server, executed):
    def answer(name, parameters):
        if name == "note" and not executed:
            raise fakepg.Skip
    server.answer = answer
    server.commit = skip_if(lambda names: names == ["note"])
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 note 1")
        wait.until(lambda: ["note"] in server.batches, "the write")
        server.cut_all()
        driver.send("q 2 echo 2")
        assert driver.outcome(1) == "input/output error"
        assert driver.value(2) == 2
    assert server.executed().count("note") == 1


def test_held_query_fails_after_hold_ms(server, clock):
    server.close()
    with Driver(server.url, hold_ms=25_000, clock=clock) as driver:
        driver.until_logged("unavailable")
        driver.send("q 1 echo 1")
        assert driver.status()["held"] == "1"
        clock.advance(24_999)
        driver.tick()
        assert driver.status()["held"] == "1"
        clock.advance(1)
        assert driver.outcome(1) == "busy"


def test_query_of_a_link_that_is_up_does_not_expire(server):
    """Suspends the driver before each query for longer than a tick, so that the timer for deadlines is due before the
    query is sent."""
    with Driver(server.url, hold_ms=0) as driver, Driver(server.url) as other:
        driver.until_state("up")
        for number in range(10):
            driver.process.send_signal(signal.SIGSTOP)
            driver.send(f"q {number} echo {number}")
            other.tick()
            driver.process.send_signal(signal.SIGCONT)
            assert driver.value(number) == number


def test_at_most_128_queries_are_in_flight(server):
    """With this limit, a barrier never waits for more than 128 queries."""
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send(*(f"q {i} echo {i}" for i in range(1_000)))
        assert [driver.value(i) for i in range(1_000)] == list(range(1_000))
    assert max(map(len, server.batches)) == 128


def test_further_queries_wait_while_128_are_in_flight(server, clock):
    """In two batches, because the limit applies to all queries without a result, not to each batch."""
    def leave_out(name_or_names, *_):
        if "echo" in name_or_names:
            raise fakepg.Skip

    server.answer = server.commit = leave_out
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        for first in (0, 100):
            driver.send(*(f"q {number} echo {number}" for number in range(first, first + 100)))
            driver.tick()
        wait.until(lambda: server.executed().count("echo") >= 128, "the queries in flight")
        driver.tick()
        assert server.executed().count("echo") == 128


def test_query_beyond_the_limit_of_the_queue_fails(server):
    server.close()
    with Driver(server.url) as driver:
        driver.until_logged("unavailable")
        driver.send(*(f"q {i} echo 1" for i in range(1_025)))
        assert driver.outcome(1_024) == "busy"
        assert driver.status()["held"] == "1024" and len(driver.replies) == 1


def test_canceled_query_is_dropped_from_the_queue(server):
    server.close()
    with Driver(server.url) as driver:
        driver.until_logged("unavailable")
        driver.send("q 1 echo 1", "q 2 echo 2", "c 1")
        assert driver.status()["held"] == "1"


def test_late_result_of_a_canceled_query_is_ignored(server):
    release = threading.Event()
    server.commit = lambda names: release.wait(20) and b"" if "echo" in names else b""
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 echo 1", "q 2 echo 2")
        wait.until(lambda: driver.status()["in_flight"] == "2", "queries in flight")
        driver.send("c 1")
        assert driver.status()["in_flight"] == "2"
        release.set()
        assert driver.value(2) == 2
        wait.until(lambda: driver.status()["in_flight"] == "0", "the end")
        assert 1 not in driver.replies


@pytest.mark.parametrize("answer", [
    fakepg.rows((None,)), fakepg.rows((b"a",)), fakepg.rows((b"abc",)), fakepg.rows((b"",)),
    fakepg.message(b"T", b"\0\0") + fakepg.message(b"D", b"\0\0") + fakepg.message(b"C", b"SELECT 1\0"),
], ids=["null", "text_of_one_byte", "three_bytes", "empty", "no_columns"])
def test_value_of_another_type_is_an_error(server, answer):
    server.answer = answers(one=answer)
    with Driver(server.url) as driver:
        driver.send("q 1 one 1", "q 2 echo 2")
        assert driver.outcome(1) == "corrupt" and driver.value(2) == 2


GARBAGE = {
    "unknown_kind": fakepg.message(b"?", b"x"), "negative_length": b"D" + b"\xff" * 4, "huge_length": b"D\x06\x00\x00\x00", "zeros": b"\0" * 100,
    "copy": fakepg.message(b"G", b"\0\0\0"), "row_without_description": fakepg.data_row((b"x",)), "too_many_columns": fakepg.row_description(1) +
    fakepg.data_row((b"x", b"y")), "http": b"HTTP/1.1 400 Bad Request\r\n\r\n", "ready": fakepg.message(b"Z", b"I") * 3,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_wrong_message_drops_the_link(server, name):
    server.answer = lambda statement, _: GARBAGE[name] if statement == "one" and server.accepted == 1 else None
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 one 3", "q 2 echo 2")
        if name == "huge_length":       # the link waits for 100 MB, until the query is late
            driver.send("s")
            assert driver.line().startswith("status state=up")
            server.cut_all()
        assert driver.value(2) == 2 and driver.value(1) in (1, 3)
    assert server.accepted == 2


def test_endless_result_drops_the_link(server):
    """The limit is 64 MiB; up to 16 MiB more are in the buffers of the two sockets."""
    rows = fakepg.data_row((bytes(10_000),)) * 20       # small rows would take longer than the deadline of a query
    sent = [0]

    def send(connection, data):
        connection.sendall(data)
        if server.accepted == 1 and "one" in server.executed():
            while True:
                connection.sendall(rows)
                sent[0] += len(rows)
    server.send = send
    server.commit = skip_if(lambda names: names == ["one"] and server.accepted == 1)
    server.answer = lambda name, _: fakepg.row_description(1) if name == "one" and server.accepted == 1 else None
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 one 1")
        driver.until_logged("a result of the server is too large")
        assert driver.value(1) == 1
    assert 56 << 20 < sent[0] < 80 << 20


def test_query_succeeds_although_the_connection_dies_at_any_message():
    """The first connection dies after n messages, for every n. The query is answered on the next one."""
    for start in range(0, 60, 12):
        servers = [fakepg.FakePostgres() for _ in range(12)]
        for n, server in enumerate(servers):
            server.die_after[0] = start + n
        drivers = [Driver(server.url) for server in servers]
        for driver in drivers:
            driver.send("q 1 echo 1", "q 2 divide 1", "q 3 echo 3")
        for driver, server in zip(drivers, servers):
            with server, driver:
                assert (driver.value(1), driver.value(3)) == (1, 3)
    assert servers[-1].accepted == 1, "the last connection was not interrupted: every message was covered"


def test_fatal_error_in_flight_is_a_lost_connection(server):
    server.answer = lambda name, _: fakepg.error("57P01", "terminating connection due to administrator command", "FATAL") \
        if name == "echo" and server.accepted == 1 else None
    with Driver(server.url) as driver:
        driver.until_state("up")
        driver.send("q 1 echo 1")
        driver.until_logged("terminating connection due to administrator command")
        assert driver.value(1) == 1


def test_incarnation_changes_with_the_timeline(server):
    with Driver(server.url) as driver:
        driver.send("q 1 echo 1")
        assert driver.reply(1)[3] == "timeline=1"
        server.timeline = 2
        server.cut_all()
        driver.until_state("down")
        driver.send("q 2 echo 1")
        assert driver.reply(2)[3] == "timeline=2"


def test_every_failed_allocation_and_loop_call_is_survived(server, clock):
    """Connects again and again while the n-th allocation or call of libuv fails. Each query is answered in the end."""
    with Driver(server.url, hold_ms=1_000_000_000, clock=clock) as driver:
        for n in range(1, 31):
            driver.send(f"fault {n}")
            server.cut_all()
            driver.send(f"q {n} echo {n}")

            def answered(n=n):
                if driver.status()["state"] == "down":
                    clock.advance(5_000)
                return driver.replies.get(n)
            wait.until(answered, f"query {n}\n{driver.logged}")
            assert driver.outcome(n) in ("ok", "out of memory")
        driver.send("fault 0", "q 100 echo 100")
        assert driver.value(100) == 100


# -- set-ups that cannot work ------------------------------------------------------------------------------------------


def test_standby_is_refused(server):
    server.parameters["in_hot_standby"] = "on"
    server.parameters["default_transaction_read_only"] = "on"
    with Driver(server.url) as driver:
        assert f"127.0.0.1:{server.port} is not the primary (read-only)); name all servers" in driver.until_logged("unavailable")
        driver.until_failure("not_primary")


def test_former_primary_is_refused(server):
    """With asynchronous replication, a former primary still commits, so only its older timeline reveals it."""
    server.timeline = 2
    with fakepg.FakePostgres(timeline=1) as former:
        hosts = f"127.0.0.1:{server.port},127.0.0.1:{former.port}"
        with Driver(f"postgresql://tester@{hosts}/test?sslmode=disable") as driver:
            driver.until_state("up")
            server.close()
            assert f"127.0.0.1:{former.port}: the server is a former primary (its timeline is 1, the newest one is 2)" in driver.until_logged("former")
            driver.until_failure("not_primary")
            former.timeline = 3
            driver.until_state("up", times=2)


def test_next_host_of_the_url_is_tried_if_one_cannot_be_used(server):
    standby = fakepg.FakePostgres()
    standby.parameters["in_hot_standby"] = "on"
    with standby, socket.create_server(("127.0.0.1", 0)) as dead:
        ports = f"127.0.0.1:{standby.port},127.0.0.1:{server.port}"
        dead.close()
        with Driver(f"postgresql://tester@{ports}/test?sslmode=disable") as driver:
            driver.send("q 1 echo 1")
            assert driver.value(1) == 1
            assert driver.status()["host"].endswith(str(server.port))
            assert "down" not in driver.states


def test_host_that_does_not_respond_has_its_own_deadline(server, clock):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:{server.port}"
        with Driver(f"postgresql://tester@{hosts}/test?sslmode=disable&connect_timeout=7", clock=clock) as driver:
            driver.until_state("opening")
            connection, _ = silent.accept()
            clock.advance(6_999)
            driver.tick()
            assert driver.status()["state"] == "opening" and server.accepted == 0
            clock.advance(1)
            driver.until_state("up")
            connection.close()


def test_error_for_an_unreachable_server_names_address_and_cause(server):
    server.close()
    with Driver(server.url) as driver:
        line = driver.until_logged("unavailable")
        assert f'"127.0.0.1", port {server.port} failed: Connection refused' in line


@pytest.mark.parametrize(("state", "message"), [
    ("28P01", "Passwort-Authentifizierung für Benutzer »tester« fehlgeschlagen"), ("28000", "Rolle »tester« existiert nicht"),
    ("3D000", "Datenbank »test« existiert nicht"), ("42501", 'permission denied for database "test"')])
def test_refused_login_is_recognized_in_the_language_of_the_server(server, state, message):
    server.authenticate = lambda _, write: write(fakepg.error(state, message, "FATAL"))
    with Driver(server.url) as driver:
        assert f"FATAL:  {message}); check the user, the database and the password file" in driver.until_logged("unavailable")
        driver.until_failure("auth")


@pytest.mark.parametrize(("state", "message"), [
    ("53300", "tut mir leid, schon zu viele Verbindungen"), ("57P03", "das Datenbanksystem startet gerade")])
def test_error_of_a_reachable_server_does_not_say_to_check_host_and_port(server, state, message):
    server.authenticate = lambda _, write: write(fakepg.error(state, message, "FATAL"))
    with Driver(server.url) as driver:
        assert driver.until_logged("unavailable").strip().endswith(f"FATAL:  {message} ({state}))")
        driver.until_failure("connection")
    with fakepg.FakePostgres() as standby:
        standby.parameters["in_hot_standby"] = "on"
        with Driver(server.url.replace(str(server.port), f"{server.port},127.0.0.1:{standby.port}")) as driver:
            line = driver.until_logged("unavailable")
            assert f"({state}); " in line and line.strip().endswith("is not the primary (read-only))")


def test_failures_of_two_addresses_are_logged_once_each(server, clock, tmp_path):
    """The attempts use the addresses of the host in turn, and the server listens only on one of them."""
    server.authenticate = lambda _, write: write(fakepg.error("28P01", "password authentication failed", "FATAL"))
    with Driver(server.url.replace("127.0.0.1", "two.test"), clock=clock, env=preloaded("twoaddresses", tmp_path)) as driver:
        def has_tried(times):
            if driver.status()["state"] == "down":
                clock.advance(5_000)
            return server.accepted >= times
        wait.until(lambda: has_tried(4), "four attempts to log in", 60)
        assert driver.logged.count("password authentication failed") == driver.logged.count("Connection refused") == 1


def test_error_for_an_unknown_host_names_the_host():
    with Driver("postgresql://tester@nothing.invalid/test") as driver:
        assert "cannot resolve nothing.invalid" in driver.until_logged("unavailable")


def test_error_for_a_missing_schema_names_the_command(server):
    server.parse = lambda statement: fakepg.error("42P01", 'relation "barriers" does not exist') if b"barriers" in statement else None
    with Driver(server.url) as driver:
        assert driver.until_logged("unavailable").strip().endswith('relation "barriers" does not exist); run `viewtally migrate`, which creates the tables or names the missing GRANT statements')
        driver.until_failure("schema")


@pytest.mark.parametrize("state", ["26000", "42P05"])
def test_pooler_that_mixes_up_prepared_statements_is_refused(server, state):
    server.answer = lambda name, _: fakepg.error(state, "prepared statement") if name == "vt_barrier" else None
    with Driver(server.url) as driver:
        assert "through a connection pooler in transaction mode" in driver.until_logged("unavailable")
        driver.until_failure("pooler")


def test_pooler_in_transaction_mode_is_refused(server):
    """In this mode, a pooler may give each transaction another backend."""
    pids = iter(range(100, 10_000))
    server.backend_pid = lambda: next(pids)
    with Driver(server.url) as driver:
        assert "through a connection pooler in transaction mode; use session mode" in driver.until_logged("unavailable")
        driver.until_failure("pooler")
        assert "up" not in driver.states


def test_pooler_is_detected_when_a_barrier_runs_on_another_backend(server, clock):
    """While a pooler has only one idle backend, every batch gets this one, so the check at the start finds nothing."""
    with Driver(server.url, clock=clock) as driver:
        driver.until_state("up")
        server.backend_pid = lambda: 999
        clock.advance(2_000)
        driver.until_state("down")
        driver.until_failure("pooler")


URLS = {
    "mysql://a/b": "expected postgresql://", "postgresql://u:secret@h/d": "must not contain a password",
    "postgresql://u@h/d?password=secret": "must not contain a password", "postgresql://u:se?cret@h/d": "after the question mark",
    "postgresql://u@h/d?sslpassword=secret": "must not contain a password", "postgresql://u@h:0/d": "port must be", "postgresql://u@h:x/d": "port must be",
    "postgresql://u@h:70000/d": "port must be", "postgresql://u@h/d?tls=1": "unknown parameter tls", "": "expected postgresql://",
    "postgresql://u@h/d?connect_timeout=0": "connect_timeout must be", "postgresql://u@h/d?connect_timeout=99": "connect_timeout must be",
    "postgresql://u:secret@h/d?connect_timeout=5": "must not contain a password",
    "postgresql://u@h/d?target_session_attrs=any": "must be read-write", "postgresql://u@h/d?hostaddr=1.2.3.4": "hostaddr is not supported",
    "postgresql://u@a,b,c,d,e,f,g,h,i/d": "at most 8 hosts", "postgresql://u@h/%zz": "expected postgresql://", "postgresql:": "expected postgresql://",
    "postgresql://u@[::1/d": "expected postgresql://", "postgresql://u@h/d?service=x": "unknown parameter service",
    "postgresql://u@h/d?sslmode=secret": "sslmode must be verify-full",
}


@pytest.mark.parametrize("url", URLS)
def test_error_for_a_wrong_url_does_not_contain_its_password(url):
    driver = Driver(url)
    assert driver.process.wait(20) == 2
    message = driver.line()
    assert message.startswith("invalid ") and URLS[url] in message
    assert "secret" not in message and "cret" not in message
