"""The blocking store with a scripted server that ends the connection after any message, breaks the protocol, or sends
wrong results."""
import os
import struct

import pytest

from lib import fakepg
from lib.clock import FakeClock
from lib.pgstore import StoreDriver
from lib.preloading import preloaded
from test_server_upgrade import NEWEST

COMMANDS = ("open write 1000", "begin", "author Ann", "touch 1", "touch 1", "touch 1", "commit", "authors", "close")
LOST = "input/output error"


def tag(command):
    return fakepg.message(b"C", fakepg.text(command))


class StoreServer(fakepg.FakePostgres):
    """Answers like a server with the current schema and no rows. `answers` replaces the answer of a statement."""

    def __init__(self):
        self.unnamed = b""
        self.number = 0         # of the writer in the table `barriers`
        self.writes = 0         # number of increments of it
        self.state = b"1"       # of all writers
        self.cluster = 7000     # the system identifier, or the SQLSTATE of the error with which it cannot be read
        self.answers = {}
        super().__init__()
        self.parse = self.note
        self.answer = self.reply

    def note(self, body):
        name, text = body.split(b"\0")[:2]
        if not name:
            self.unnamed = text
        return None

    def reply(self, name, _):
        if name in self.answers:
            return self.answers[name]
        if name == "" and b"current_database" in self.unnamed:
            names = tuple(b"name" for _ in range(3))
            return fakepg.rows((*names, fakepg.bigint(9), b"\1", b"\1", b"\1", fakepg.bigint(170000), b"\1"))
        if name == "" and b"pg_control_system" in self.unnamed:
            return fakepg.error(self.cluster, "no identifier") if isinstance(self.cluster, str) else fakepg.rows((fakepg.bigint(self.cluster),))
        if name == "" and b"FROM meta" in self.unnamed:
            return fakepg.rows((fakepg.bigint(NEWEST), fakepg.bigint(0), fakepg.bigint(1)))
        if name == "" and b"sum(hashtextextended(" in self.unnamed:
            return fakepg.rows((self.state,))
        if name == "" and b"INSERT INTO barriers" in self.unnamed:
            self.writes += 1
            return fakepg.rows((fakepg.bigint(self.number), struct.pack("!i", self.backend_pid())))
        if name == "STORE_ID":
            return fakepg.rows((b"0123456789abcdef",))
        if name == "vt_commit":
            return tag("COMMIT")
        if name == "AUTHOR_INSERT":
            return fakepg.rows((fakepg.bigint(1),))
        return None if name == "vt_identity" else fakepg.row_description(1) + tag("SELECT 0")


@pytest.fixture
def server():
    with StoreServer() as made:
        yield made


def test_commands_succeed_without_faults(server):
    with StoreDriver(server.url) as driver:
        driver.ok(*COMMANDS)


def test_loss_of_the_connection_at_any_message_fails_at_most_one_transaction():
    """The store connects again: at most one transaction or one attempt to open fails."""
    failures, messages = [], 0
    while True:
        with StoreServer() as server:
            server.die_after = {0: messages}
            with StoreDriver(server.url) as driver:
                error, text = driver.run("open write 1000")
                failed = [error] if error != "ok" else [error for error, _ in map(driver.run, ("begin", "author Ann", "touch 1", "touch 1", "commit"))]
                assert set(failed) <= {"ok", LOST}, (messages, failed, text)
                failures.append(failed.count(LOST))
                server.die_after = {}
                if error == "ok":
                    driver.ok("begin", "author Ann", "commit", "authors", "close")
            if server.sent_messages.get(0, 0) < messages:
                break
        messages += 1
    assert messages > 40 and failures[0] == 1 and failures[-1] == 0


def test_replies_that_arrive_byte_by_byte_are_read(server):
    server.send = fakepg.byte_by_byte
    with StoreDriver(server.url) as driver:
        driver.ok(*COMMANDS)


def test_commit_that_postgresql_turned_into_a_rollback_is_an_error(server):
    with StoreDriver(server.url) as driver:
        driver.ok("open write 1000", "begin", "author Ann")
        server.answers["vt_commit"] = tag("ROLLBACK")
        assert driver.run("commit")[0] == "internal error"
        driver.until_logged("the server has rolled back")


@pytest.mark.parametrize("name", ["vt_commit", "AUTHOR_INSERT", "vt_transaction_id", "AUTHORS"])
@pytest.mark.parametrize("answer", [b"", fakepg.message(b"I"), fakepg.message(b"?", b"x"), fakepg.rows((b"\0\1\2",)), fakepg.rows((None,))],
                         ids=["nothing", "empty query", "unknown message", "another size", "null"])
def test_wrong_replies_do_no_harm(server, name, answer):
    with StoreDriver(server.url) as driver:
        driver.ok("open write 1000")
        server.answers[name] = answer
        for command in ("begin", "author Ann", "commit", "authors"):
            if driver.run(command)[0] != "ok" and command != "commit":
                driver.run("rollback")
                break
        del server.answers[name]
        driver.ok("begin", "author Ann", "commit", "authors")


def test_sqlstates_are_mapped_to_errors_of_the_store(server):
    with StoreDriver(server.url) as driver:
        driver.ok("open write 1000")
        for state, error in (("53100", "no space left"), ("25006", "read-only"), ("40P01", "busy"), ("40001", "busy"), ("XX001", "corrupt")):
            server.answers["AUTHOR_INSERT"] = fakepg.error(state, "failed")
            driver.ok("begin")
            assert driver.run("author Ann")[0] == error
            driver.ok("rollback")


def test_failed_rollback_closes_the_connection(server):
    with StoreDriver(server.url) as driver:
        driver.ok("open write 1000", "begin")
        server.answers["vt_rollback"] = fakepg.error("XX000", "cannot")
        driver.ok("rollback")
        del server.answers["vt_rollback"]
        driver.ok("begin", "commit")
        assert server.accepted == 2


@pytest.mark.parametrize("has_import_lock", [False, True])
def test_pooler_in_transaction_mode_is_detected_by_a_write_transaction(server, has_import_lock):
    """The pooler may have run both checks of a new connection on the same backend."""
    with StoreDriver(server.url) as driver:
        driver.ok("open write 1000", "begin", "commit", *["share"][:has_import_lock])
        server.backend_pid = lambda: fakepg.PID + 1
        assert driver.run("begin")[0] == LOST
        assert "through a connection pooler in transaction mode" in driver.until_logged("pooler")
        if has_import_lock:
            assert driver.run("begin")[0] == LOST       # no new connection
        else:
            driver.ok("begin", "commit")                # the new connection has one backend again
        assert server.accepted == 2 - has_import_lock


# -- an old primary that is cut off from its standbys: it accepts connections, but no commit ends ------------------------------------


LOCKED = fakepg.error("55P03", "canceling statement due to lock timeout")


def url_of(*servers):
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://tester@{hosts}/test?sslmode=disable"


@pytest.fixture
def other():
    with StoreServer() as made:
        yield made


@pytest.fixture
def standby():
    with StoreServer() as made:
        made.parameters["in_hot_standby"] = "on"
        yield made


def silent_write(names):
    """Like a server whose commits wait for a standby."""
    if "vt_lock" in names:
        raise fakepg.Skip
    return b""


@pytest.mark.parametrize("is_new", [False, True])
def test_writer_leaves_a_host_on_which_the_lock_stays_held(server, other, is_new):
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 5000")
        if not is_new:
            driver.ok("begin", "author Ann", "commit")
        server.answers["vt_lock"] = LOCKED
        driver.ok("begin", "author Ann", "commit", "begin", "commit")
        assert (server.accepted, other.accepted) == (1, 1) and "AUTHOR_INSERT" in other.executed()


def test_writer_leaves_a_host_whose_reply_is_late(server, other):
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 1")
        server.commit = silent_write
        driver.ok("begin", "author Ann", "commit")
        assert (server.accepted, other.accepted) == (1, 1)


@pytest.mark.parametrize("number, outcome", [(1, "ok"), (0, LOST)])
def test_outcome_of_a_commit_is_read_from_the_new_primary(server, other, number, outcome):
    server.number, other.number = 1, number
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 1000", "begin", "author Ann")
        server.answers["vt_lock"] = LOCKED
        server.commit = lambda names: server.cut_all() if "vt_commit" in names else b""
        assert driver.run("commit")[0] == outcome
        driver.ok("begin", "commit")
        assert (server.accepted, other.accepted) == (2, 1)


def test_writer_returns_to_the_primary_if_the_other_host_is_a_standby(server, standby):
    """The lock of a long transaction of another process is not a reason to wait twice."""
    with StoreDriver(url_of(server, standby)) as driver:
        driver.ok("open write 5000")
        server.answers["vt_lock"] = LOCKED
        assert driver.run("begin")[0] == "busy"
        assert (server.accepted, standby.accepted) == (2, 1)
        assert sum("vt_lock" in names for names in server.batches) == 1
        del server.answers["vt_lock"]
        driver.ok("begin", "author Ann", "commit")


def test_writer_that_waits_briefly_for_the_lock_stays_on_its_host(server, other):
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 4999")
        server.answers["vt_lock"] = LOCKED
        assert driver.run("begin")[0] == "busy"
        assert (server.accepted, other.accepted) == (1, 0)


def test_busy_lock_moves_a_writer_at_most_once_a_minute(server, standby, tmp_path):
    """Another process may hold the lock for long on a healthy primary."""
    clock = FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)
    with StoreDriver(url_of(server, standby), env={"VIEWTALLY_TEST_CLOCK": clock.path}) as driver:
        driver.ok("open write 5000")
        server.answers["vt_lock"] = LOCKED
        accepted = []
        for _ in range(4):
            assert driver.run("begin")[0] == "busy"
            accepted.append(standby.accepted)
            clock.advance(30_000)
        assert accepted == [1, 1, 2, 2]


def test_import_keeps_its_connection_while_the_lock_is_held(server, other):
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 5000", "share")
        server.answers["vt_lock"] = LOCKED
        assert driver.run("begin")[0] == "busy"
        del server.answers["vt_lock"]
        driver.ok("begin", "author Ann", "commit")
        assert (server.accepted, other.accepted) == (1, 0)


def test_most_important_failure_of_the_addresses_of_a_host_is_reported(server, tmp_path):
    """The server listens only on the first of two addresses, as on a machine without IPv6."""
    server.authenticate = lambda _, write: write(fakepg.error("28P01", "password authentication failed", "FATAL"))
    url = server.url.replace("127.0.0.1", "two.test")
    with StoreDriver(url, env=preloaded("twoaddresses", tmp_path)) as driver:
        error, text = driver.run("open write 1000")
        assert error == LOST and "password authentication failed; check the user, the database" in text


def record_passwords(server):
    """Makes the server ask for a password in clear text, and returns the list of those that it gets."""
    passwords = []

    def authenticate(stream, write):
        write(fakepg.message(b"R", struct.pack("!i", 3)))
        size, = struct.unpack("!xi", stream.read(5))
        passwords.append(stream.read(size - 4))

    server.authenticate = authenticate
    return passwords


def test_password_file_is_read_again_for_each_connection(server, tmp_path):
    passwords, file = record_passwords(server), tmp_path / "password"
    file.write_text("old\n")
    with StoreDriver(server.url, file) as driver:
        driver.ok("open write 1000")
        for text in ("new\n", ""):          # an unreadable file does not replace the password
            file.write_text(text)
            server.cut_all()
            driver.ok("authors")
    assert passwords == [b"old\0", b"new\0", b"new\0"]


def test_password_is_read_from_a_pipe_only_once(server, tmp_path):
    """For example from a process substitution with several lines."""
    passwords, pipe = record_passwords(server), tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(pipe, "r+b", buffering=0) as writer:
        writer.write(b"old\nuser: tester\n")
        with StoreDriver(server.url, pipe) as driver:
            driver.ok("open write 1000")
    assert passwords == [b"old\0"]


def test_only_host_is_not_left(server):
    with StoreDriver(server.url) as driver:
        driver.ok("open write 5000")
        server.answers["vt_lock"] = LOCKED
        assert driver.run("begin")[0] == "busy"
        del server.answers["vt_lock"]
        driver.ok("begin", "commit")
        assert server.accepted == 1


@pytest.mark.parametrize("cluster, of_former", [(7000, 7000), ("42501", "42501"), (7000, "XX000")])
def test_host_with_an_older_timeline_is_refused(server, other, cluster, of_former):
    """With asynchronous replication, a former primary still accepts commits, so only its older timeline reveals it."""
    server.timeline, other.timeline = 2, 1
    server.cluster, other.cluster = cluster, of_former
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 5000")
        server.answers["vt_lock"] = LOCKED
        assert driver.run("begin")[0] == "busy"
        del server.answers["vt_lock"]
        driver.ok("begin", "author Ann", "commit", "close")
        assert (server.accepted, other.accepted) == (2, 1) and "AUTHOR_INSERT" in server.executed()
        server.close()
        error, text = driver.run("open write 5000")     # also by another connection of the process
        assert error == "read-only" and "the server is a former primary (its timeline is 1, the newest one is 2)" in text, text
        other.timeline = 3
        driver.ok("open write 5000", "begin", "author Ann", "commit")


def test_other_cluster_may_have_an_older_timeline(server, other):
    """pg_upgrade begins with timeline 1 again."""
    server.timeline, other.timeline, other.cluster = 2, 1, 7001
    with StoreDriver(url_of(server, other)) as driver:
        driver.ok("open write 1000")
        server.close()
        driver.ok("begin", "author Ann", "commit")
        assert "AUTHOR_INSERT" in other.executed()


@pytest.mark.parametrize("mode, expected", [("write", [1, 1, 2, 2]), ("read", [0, 0, 0, 0])])
def test_idle_connection_that_may_write_checks_its_host_every_30_seconds(server, tmp_path, mode, expected):
    clock = FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)
    with StoreDriver(server.url, env={"VIEWTALLY_TEST_CLOCK": clock.path}) as driver:
        driver.ok(f"open {mode} 1000", *["begin", "commit"][:2 * (mode == "write")], "changed")
        writes = []
        for _ in range(4):
            assert driver.ok("changed") == "0"
            writes.append(server.writes)
            clock.advance(15_000)
        assert writes == expected


def test_idle_connection_leaves_a_host_that_only_replies_to_reads(server, other, tmp_path):
    def commit(_):
        if b"INSERT INTO barriers" in server.unnamed:
            raise fakepg.Skip
        return b""

    clock = FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)
    with StoreDriver(url_of(server, other), env={"VIEWTALLY_TEST_CLOCK": clock.path}) as driver:
        driver.ok("open write 1000", "begin", "commit", "changed")
        server.commit, other.state = commit, b"2"
        assert driver.ok("changed") == "0" and server.writes == 1
        clock.advance(30_000)
        assert driver.ok("changed") == "0" and server.writes == 2       # the reply is late
        driver.until_logged("check of the primary")
        assert driver.ok("changed") == "1"
        assert (server.accepted, other.accepted) == (1, 1)
