"""The blocking store on a real PostgreSQL: transactions, errors, lost connections, writers side by side."""
import contextlib
import os
import random
import signal
import threading

import pytest

from lib import postgres, wait
from lib.pgstore import StoreDriver

LOST = "input/output error"


@pytest.fixture(scope="session")
def migrated(cluster):
    """Returns the name of a database with the current schema, which each test copies."""
    cluster.sql("CREATE DATABASE migrated", database="postgres")
    with StoreDriver(cluster.url("migrated")) as driver:
        driver.ok("migrate")
    return "migrated"


@pytest.fixture
def database(cluster, migrated):
    return cluster.database(migrated)


@pytest.fixture
def store(cluster, database):
    with StoreDriver(cluster.url(database)) as driver:
        driver.ok("open write 5000")
        yield driver


def backends(cluster, database):
    return [int(pid) for pid, in cluster.sql(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND application_name = 'viewtally'", "postgres")]


def kill_backends(cluster, database):
    killed = set(backends(cluster, database))
    cluster.sql(";".join(f"SELECT pg_terminate_backend({pid})" for pid in killed), "postgres")
    wait.until(lambda: not killed & set(backends(cluster, database)), "the backends to end")


def names(store):
    return sorted(name for name, _ in store.authors().values())


# -- transactions ----------------------------------------------------------------------------------------------------------------


def lock_authors(cluster, database, mode, seconds):
    """Locks the table `authors` in a thread, as soon as no other transaction uses the table. Returns the thread."""
    text = f"BEGIN; LOCK TABLE authors IN {mode} MODE; SELECT pg_sleep({seconds}); COMMIT"
    thread = threading.Thread(target=cluster.sql, args=(text, database))
    thread.start()
    return thread


def locks_of_authors(cluster, database, granted):
    return cluster.sql(f"SELECT mode FROM pg_locks WHERE relation = 'authors'::regclass AND mode LIKE '%ExclusiveLock' AND granted = {granted}", database)


def add_author_slowly(cluster, database, store):
    """Begins a transaction in which adding Ann waits for half a second."""
    store.ok("slow 100", "begin")
    locking = lock_authors(cluster, database, "EXCLUSIVE", 0.5)
    wait.until(lambda: locks_of_authors(cluster, database, True), "the lock")
    store.ok("author Ann")
    locking.join()


def test_query_plan_of_a_slow_write_is_logged(cluster, database, store):
    add_author_slowly(cluster, database, store)
    store.ok("commit")
    store.until_logged("slow query: generic plan of ")
    store.until_logged("slow query: | Insert on authors")
    assert names(store) == ["Ann"]                  # the plan was not executed


def test_explaining_a_slow_statement_on_a_locked_table_delays_no_commit(cluster, database, store):
    """A migration or VACUUM FULL may hold the lock that made the statement slow for minutes. EXPLAIN would wait for
    this lock, too."""
    add_author_slowly(cluster, database, store)
    locking = lock_authors(cluster, database, "ACCESS EXCLUSIVE", 8)
    wait.until(lambda: locks_of_authors(cluster, database, False), "the lock to be requested")
    store.send("commit")
    assert store.answer(seconds=4) == ["ok", ""]
    store.until_logged("canceling statement due to lock timeout")
    locking.join()
    assert names(store) == ["Ann"]


def test_commit_is_visible_and_rollback_is_not(cluster, database, store):
    store.ok("begin", "author Ann", "commit", "begin", "author Bob", "rollback")
    assert names(store) == ["Ann"]
    assert cluster.sql("SELECT name, plan_active, views_refreshed_at IS NULL FROM authors", database) == [["Ann", "1", "t"]]


def test_statements_see_the_rows_of_their_own_transaction(store):
    row = int(store.ok("begin", "author Ann"))
    store.ok(f"touch {row}", f"touch {row}")
    assert store.authors() == {row: ("Ann", 3)}
    store.ok("rollback")
    assert store.authors() == {}


@pytest.mark.parametrize("name", ["Zoë-東京-🎬", "x" * 500_000], ids=["unicode", "long"])
def test_texts_are_stored_byte_for_byte(cluster, database, store, name):
    store.ok("begin", f"author {name}", "commit")
    assert names(store) == [name]
    assert cluster.sql("SELECT octet_length(name) FROM authors", database) == [[str(len(name.encode()))]]


def test_bytes_that_are_not_utf8_are_replaced(store):
    """The name of a file or of a user of the system may have any encoding, but PostgreSQL accepts only UTF-8."""
    store.ok("begin")
    store.process.stdin.buffer.write(b"author caf\xe9\n")
    store.process.stdin.flush()
    assert store.answer()[0] == "ok"
    store.ok("commit")
    assert names(store) == ["caf\ufffd"]


def test_error_of_a_delayed_statement_fails_the_transaction(cluster, database, store):
    row = store.ok("begin", "author Ann")
    store.ok("commit")
    cluster.sql("ALTER TABLE authors ADD CONSTRAINT few_changes CHECK (rev < 4)", database)
    store.ok("begin", f"touch {row}", f"touch {row}", f"touch {row}")
    assert store.run("commit")[0] == "internal error"       # not "invalid", which would have a meaning for the commit
    store.until_logged("store: AUTHOR_TOUCH: ")
    assert store.authors() == {int(row): ("Ann", 1)}
    store.ok("begin", f"touch {row}", f"touch {row}", f"touch {row}")
    assert store.run("author Bob")[0] == "internal error"
    store.ok("rollback", "begin", "author Cid", f"touch {row}", f"touch {row}", "commit")
    store.ok("begin", f"touch {row}", f"touch {row}", "rollback")
    assert sorted(store.authors().values()) == [("Ann", 3), ("Cid", 1)]


def test_failed_delayed_statement_does_not_end_the_connection(cluster, database, store):
    row = store.ok("begin", "author Ann")
    store.ok(f"touch {row}", "commit")
    cluster.sql("ALTER TABLE authors ADD CONSTRAINT few_changes CHECK (rev < 3)", database)
    before = backends(cluster, database)
    store.ok("begin", f"touch {row}", "rollback", "begin", "author Bob", "commit")
    assert backends(cluster, database) == before
    assert names(store) == ["Ann", "Bob"]


def test_many_delayed_statements_take_effect(store):
    row = int(store.ok("begin", "author Ann"))
    store.ok(*[f"touch {row}"] * 350, "commit")
    assert store.authors() == {row: ("Ann", 351)}


def test_violated_unique_constraint_ends_the_transaction(store):
    row = store.ok("begin", "author Ann")
    store.ok(f"key {row} 1")
    assert store.run(f"key {row} 1")[0] == "already exists"
    assert store.run("author Bob")[0] == "internal error"
    assert store.run("commit")[0] == "internal error"
    assert names(store) == []
    assert store.ok("failures") == "0"
    store.ok("begin", "author Cid", "commit")
    assert names(store) == ["Cid"]


def test_repeated_error_of_postgresql_is_logged_once_and_without_values(cluster, database, store):
    cluster.sql("ALTER TABLE authors ADD CONSTRAINT no_secrets CHECK (name NOT LIKE 'secret%')", database)
    store.ok("begin")
    assert store.run("author secret-4711")[0] == "invalid"
    store.ok("rollback", "begin")
    assert store.run("author secret-4711")[0] == "invalid"
    store.ok("rollback")
    assert store.ok("failures") == "2"
    assert store.until_logged("AUTHOR_INSERT").count("23514") == 1
    assert "4711" not in store.logged and store.logged.count("no_secrets") == 1


def test_read_only_store_cannot_write(cluster, database):
    with StoreDriver(cluster.url(database)) as reader:
        reader.ok("open read 0")
        assert reader.run("begin")[0] == "read-only"
        assert names(reader) == []


def test_snapshot_shows_no_later_commit(cluster, database, store):
    with StoreDriver(cluster.url(database)) as reader:
        reader.ok("open read 0")
        reader.send("snapshot")
        assert reader.answer() == ["ok", " ok"]
        store.ok("begin", "author Ann", "commit")
        reader.send("go on")
        assert reader.answer() == ["ok", " ok"]
        assert reader.answer() == ["ok", ""]
        assert names(reader) == ["Ann"]


def test_commit_of_another_process_is_reported_as_a_change(cluster, database, store):
    with StoreDriver(cluster.url(database)) as reader:
        reader.ok("open read 0")
        assert reader.ok("changed") == "1"
        for name in ("Ann", "Bob"):
            store.ok("begin", f"author {name}")
            assert reader.ok("changed") == "0"
            store.ok("commit")
            assert reader.ok("changed") == "1"
        assert reader.ok("changed") == "0"


def test_barriers_and_other_databases_are_not_reported_as_a_change(cluster, database, store):
    def barrier(host):
        cluster.sql(f"INSERT INTO barriers VALUES ('{host} pages', 1, now()) ON CONFLICT (process) DO UPDATE SET n = barriers.n + 1", database)

    store.ok("begin", "author Ann", "commit", "changed")
    for host in ("web1", "writer"):     # a host may have this name
        for _ in range(2):
            barrier(host)
            assert store.ok("changed") == "0"
    cluster.sql("CREATE TABLE other (id int); INSERT INTO other VALUES (1)", cluster.database())
    cluster.sql("INSERT INTO barriers VALUES ('writer a-1', 0, now())", database)       # without a transaction
    assert store.ok("changed") == "0"
    store.ok("begin", "author Bob", "commit")
    assert store.ok("changed") == "1"


# Keeps the table locked until another process has waited for the lock for half a second.
SLOW_LOCK = """
DO $$ BEGIN
    LOCK TABLE authors IN EXCLUSIVE MODE;
    WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'authors'::regclass AND NOT granted) LOOP
        PERFORM pg_sleep(0.02);
    END LOOP;
    PERFORM pg_sleep(0.5);
END $$
"""


def test_slow_statement_is_logged_with_placeholders(cluster, database, store):
    store.ok("slow 200", "begin")
    locking = threading.Thread(target=cluster.sql, args=(SLOW_LOCK, database))
    locking.start()
    wait.until(lambda: cluster.sql("SELECT 1 FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = 'authors'::regclass", database), "the lock")
    store.ok("author secret-4711", "commit")
    locking.join()
    line = store.until_logged("INSERT INTO authors")
    assert "slow query" in line and "$1" in line and "4711" not in store.logged
    assert store.logged.count("INSERT INTO authors") == 1


# -- writers side by side --------------------------------------------------------------------------------------------------------


def is_waiting_for_lock(cluster, database):
    return cluster.sql(f"SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = '{database}' "
                       "AND l.locktype = 'advisory' AND NOT l.granted", "postgres")


def test_write_transactions_run_one_after_the_other(cluster, database, store):
    row = store.ok("begin", "author Ann")
    with StoreDriver(cluster.url(database)) as other:
        other.ok("open write 60000")
        other.send("begin")
        wait.until(lambda: is_waiting_for_lock(cluster, database), "the second writer to wait")
        store.ok(f"touch {row}")
        assert not other.has_answered()
        store.ok("commit")
        assert other.answer() == ["ok", ""]
        # The second writer sees what the first one has committed.
        assert other.authors() == {int(row): ("Ann", 2)}
        other.ok(f"touch {row}", "commit")
    assert store.authors() == {int(row): ("Ann", 3)}


def test_event_ids_of_two_writers_increase_in_the_order_of_their_commits(cluster, database, store):
    row = store.ok("begin", "author Ann")
    store.ok("commit")
    ids = []
    with StoreDriver(cluster.url(database)) as other:
        other.ok("open write 60000")
        for _ in range(10):
            for writer in (store, other):
                ids.append(int(writer.ok("begin", f"event {row}")))
                writer.ok("commit")
    assert ids == sorted(set(ids))


class Interleaved:
    """A writer whose commands are sent one by one, although others may make it wait."""

    def __init__(self, url, row):
        self.driver = StoreDriver(url)
        self.driver.ok("open write 60000")
        self.script = ["begin", f"event {row}", f"event {row}", "commit"] * 3
        self.waits = False

    def send_next(self):
        self.driver.send(self.script.pop(0))
        self.waits = True

    def can_send(self):
        if self.waits and self.driver.has_answered():
            error, text = self.driver.answer()
            assert error == "ok", (error, text, self.driver.logged)
            self.waits = False
        return bool(self.script) and not self.waits


@pytest.mark.parametrize("seed", range(5))
def test_three_writers_of_one_author_never_hide_an_event_from_a_poller(cluster, database, store, seed):
    """The commands of the writers are sent in random order. A poller asks for the events after those that it has seen."""
    rng, seen = random.Random(seed), []
    row = store.ok("begin", "author Ann")
    store.ok("commit")

    def poll():
        seen.extend(int(event) for event, in cluster.sql(f"SELECT id FROM events WHERE author_id = {row} AND id > {max(seen, default=0)} ORDER BY id",
                                                         database))

    with contextlib.ExitStack() as stack:
        writers = [Interleaved(cluster.url(database), row) for _ in range(3)]
        for writer in writers:
            stack.enter_context(writer.driver)
        while any(writer.script or writer.waits for writer in writers):
            ready = [writer for writer in writers if writer.can_send()]
            if ready:
                rng.choice(ready).send_next()
            poll()
    poll()
    assert len(seen) == 18 and cluster.sql(f"SELECT count(*) FROM events WHERE author_id = {row}", database) == [["18"]]


def test_writer_that_waits_too_long_for_another_fails_as_busy(cluster, database, store):
    store.ok("begin")
    with StoreDriver(cluster.url(database)) as other:
        other.ok("open write 200")
        assert other.run("begin") == ["busy", ""]
        other.until_logged("lock timeout")
        store.ok("author Ann", "commit")
        other.ok("begin", "author Bob", "commit")
    with StoreDriver(cluster.url(database)) as other:
        other.ok("open write 0")
        store.ok("begin")
        assert other.run("begin") == ["busy", ""]
        store.ok("rollback")
    assert names(store) == ["Ann", "Bob"]


def test_import_lock_is_shared_or_exclusive(cluster, database, store):
    with StoreDriver(cluster.url(database)) as other:
        other.ok("open write 1000", "share")
        store.ok("share")
        assert store.ok("try") == "0"               # the other import is still running
        assert other.ok("try") == "1"
        store.send("share")
        with pytest.raises(AssertionError):
            store.answer(0.3)                       # waits while the other one is finalizing
        other.ok("release")
        assert store.answer() == ["ok", ""]
        assert other.ok("try") == "0"
        kill_backends(cluster, database)            # the lock of a lost connection is released
        assert other.run("try")[0] == LOST
        assert other.ok("try") == "1"


# -- lost connections ------------------------------------------------------------------------------------------------------------


def test_killed_backend_fails_the_transaction_and_the_next_one_connects_again(cluster, database, store):
    store.ok("begin", "author Ann")
    kill_backends(cluster, database)
    assert store.run("author Bob")[0] == LOST
    assert store.run("touch 1")[0] == LOST          # not sent on a new connection, where it would be committed alone
    assert store.run("commit")[0] == LOST
    assert names(store) == []
    store.ok("begin", "author Cid", "commit")
    assert names(store) == ["Cid"]
    wait.until(lambda: "57P01" in store.logged or "terminating connection" in store.logged, "the reason in the log")


def test_backend_killed_between_transactions_causes_no_error(cluster, database, store):
    store.ok("begin", "author Ann", "commit")
    kill_backends(cluster, database)
    store.ok("begin", "author Bob", "commit")
    kill_backends(cluster, database)
    assert names(store) == ["Ann", "Bob"]           # a read outside of a transaction is sent again
    assert store.ok("failures") == "0"


class Crashing:
    """A PostgreSQL that a test may crash. It has few files, so that its recovery is short."""

    def __init__(self):
        self.cluster = postgres.Postgres(schema="", settings=("checkpoint_timeout = 1h",), tcp=True,
                                         hba=("local all all trust", "host all all 127.0.0.1/32 trust"))
        with StoreDriver(self.cluster.url("template")) as driver:
            driver.ok("migrate")


@pytest.fixture(scope="module")
def crashing():
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    made = Crashing()
    with made.cluster:
        yield made.cluster


@pytest.fixture
def writer(crashing):
    with StoreDriver(crashing.url("template")) as driver:
        driver.ok("open write 5000")
        yield driver
    crashing.sql("TRUNCATE authors CASCADE")


def does_commit_wait(cluster):
    """Commits a transaction. Returns True if the commit waited for the standby; in this case, ends the wait."""
    committing = threading.Thread(target=cluster.sql, args=("SELECT pg_logical_emit_message(true, '', '')",))
    committing.start()
    wait.until(lambda: is_waiting_for_standby(cluster) or not committing.is_alive(), "the commit to wait or to end")
    waited = committing.is_alive()
    cluster.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    committing.join()
    return waited


@pytest.fixture
def no_standby(crashing):
    """Every commit waits for a standby that does not exist, until its backend is terminated. Then it is committed."""
    for value in ("nobody", ""):
        crashing.configure(f"synchronous_standby_names = '{value}'")
        crashing.reload()
        # The checkpointer, not the backend, decides whether commits wait.
        wait.until(lambda value=value: does_commit_wait(crashing) == bool(value), "the setting")
        if value:
            yield


def is_waiting_for_standby(cluster):
    return cluster.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")


def test_commit_succeeds_if_it_took_effect_before_the_connection_was_lost(crashing, writer, no_standby):
    writer.ok("begin", "author Ann")
    writer.send("commit")
    wait.until(lambda: is_waiting_for_standby(crashing), "the commit to wait for the standby")
    kill_backends(crashing, "template")
    assert not writer.has_answered()                # no standby proves that the commit is durable
    crashing.configure("synchronous_standby_names = ''")
    crashing.reload()
    assert writer.answer() == ["ok", ""]
    assert names(writer) == ["Ann"]
    writer.until_logged("the transaction was committed")


def test_slow_commit_is_logged(crashing, writer, no_standby):
    writer.ok("begin", "author Ann", "slow 1")
    writer.send("commit")
    wait.until(lambda: is_waiting_for_standby(crashing), "the commit to wait for the standby")
    crashing.configure("synchronous_standby_names = ''")
    crashing.reload()
    assert writer.answer() == ["ok", ""]
    assert "slow query: " in writer.until_logged(" ms: COMMIT")


def test_commit_fails_if_the_connection_was_lost_before_it_took_effect(crashing, writer):
    writer.ok("begin", "author Ann")
    wait.until(lambda: len(backends(crashing, "template")) == 1, "the backends of earlier tests to end")
    pid, = backends(crashing, "template")
    os.kill(pid, signal.SIGSTOP)                    # the commit arrives in the socket of a backend that does not read it any more
    writer.send("commit")
    os.kill(pid, signal.SIGKILL)                    # all backends end, and the server recovers
    assert writer.answer()[0] == LOST
    writer.until_logged("the transaction was not committed")
    assert names(writer) == []
    writer.ok("begin", "author Bob", "commit")
    assert names(writer) == ["Bob"]


def test_crash_of_another_backend_is_noticed_before_the_deadline(crashing, writer):
    """PostgreSQL ends all sessions: it sends a warning and resets the connection. Both may arrive at the same time."""
    with StoreDriver(f"postgresql://{postgres.SUPERUSER}@127.0.0.1:{crashing.port}/template") as remote:
        wait.until(lambda: len(backends(crashing, "template")) == 1, "the backends of earlier tests to end")
        other, = backends(crashing, "template")
        remote.ok("open write 600000", "begin", "author Ann", "commit")
        remote.process.send_signal(signal.SIGSTOP)      # so that the driver later reads the warning and the reset together
        crashing.crash(other)
        remote.process.send_signal(signal.SIGCONT)
        remote.ok("begin", "author Bob", "commit")      # would fail after the 10 minutes that the driver may wait for its turn


def crash_own_backend(cluster):
    wait.until(lambda: len(backends(cluster, "template")) == 1, "the backends of earlier tests to end")
    cluster.crash(backends(cluster, "template")[0])


def test_crash_between_transactions_is_not_noticed(crashing, writer):
    writer.ok("begin", "author Ann", "commit")
    crash_own_backend(crashing)
    writer.ok("begin", "author Bob", "commit")
    assert names(writer) == ["Ann", "Bob"]


@pytest.mark.parametrize("size", [10, 100_000, 3_000_000])
def test_crash_fails_the_transaction_however_long_the_next_statement_is(crashing, writer, size):
    """libpq sends a long statement while it is appended to the batch, and closes the socket when it sends the rest."""
    writer.ok("begin", "author Ann")
    crash_own_backend(crashing)
    assert writer.run(f"author {'x' * size}")[0] == LOST
    writer.ok("rollback", "begin", "author Bob", "commit")
    assert names(writer) == ["Bob"]


def test_reused_transaction_id_does_not_prove_a_commit(crashing, writer):
    """A crash makes PostgreSQL forget the ids of transactions that it has not logged, and give them to other transactions."""
    writer.ok("begin", "author Ann")
    wait.until(lambda: len(backends(crashing, "template")) == 1, "the backends of earlier tests to end")
    pid, = backends(crashing, "template")
    before = crashing.checkpointer()
    os.kill(pid, signal.SIGSTOP)
    writer.send("commit")
    os.kill(pid, signal.SIGKILL)
    # The driver must ask for the outcome after other transactions were committed.
    writer.process.send_signal(signal.SIGSTOP)
    try:
        crashing.wait_for_recovery(before)
        crashing.sql("SELECT pg_current_xact_id();" * 100)
    finally:
        writer.process.send_signal(signal.SIGCONT)
    assert writer.answer()[0] == LOST
    writer.until_logged("the transaction was not committed")
    assert names(writer) == []


def test_connection_lost_during_a_commit_ends_the_import(crashing, writer, no_standby):
    writer.ok("share", "begin", "author Ann")
    writer.send("commit")
    wait.until(lambda: is_waiting_for_standby(crashing), "the commit to wait for the standby")
    kill_backends(crashing, "template")
    crashing.configure("synchronous_standby_names = ''")
    crashing.reload()
    assert writer.answer() == ["ok", ""]
    assert writer.run("begin")[0] == LOST           # the import lock was lost with the connection
    writer.ok("release", "begin", "author Bob", "commit")
    assert names(writer) == ["Ann", "Bob"]


def test_unknown_outcome_of_a_commit_is_reported(crashing, writer, no_standby):
    writer.ok("begin", "author Ann")
    writer.send("commit")
    wait.until(lambda: is_waiting_for_standby(crashing), "the commit to wait for the standby")
    crashing.stop(signal.SIGQUIT)
    try:
        assert writer.answer()[0] == "unknown outcome of a commit"         # after 25 s
        writer.until_logged("it is unknown whether the transaction")
    finally:
        crashing.start()
    assert names(writer) == ["Ann"]


def test_restart_of_postgresql_between_transactions_is_not_noticed(crashing, writer):
    writer.ok("begin", "author Ann", "commit")
    crashing.stop()
    crashing.start()
    writer.ok("begin", "author Bob", "commit")
    assert names(writer) == ["Ann", "Bob"]


def test_stopped_postgresql_is_an_error_until_it_runs_again(crashing, writer):
    crashing.stop()
    try:
        assert writer.run("begin")[0] == LOST
        assert writer.run("begin")[0] == LOST
        assert writer.run("begin")[0] == LOST
        writer.until_logged("store: begin: ")
    finally:
        crashing.start()
    assert writer.logged.count("(connection") == 1          # not one line for each attempt
    writer.ok("begin", "author Ann", "commit")
    writer.until_logged("store: connected to PostgreSQL again")


def test_import_that_lost_its_lock_with_the_connection_cannot_write(cluster, database, store):
    store.ok("share", "begin", "author Ann", "commit")
    kill_backends(cluster, database)
    assert store.run("begin")[0] == LOST
    assert store.run("begin")[0] == LOST
    store.ok("release", "begin", "author Bob", "commit")
    assert names(store) == ["Ann", "Bob"]
