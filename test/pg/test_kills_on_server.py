"""viewtally is killed, its sessions are terminated, or PostgreSQL crashes, at random instants of a refresh: no reading is
lost and no event is repeated. test/property/test_kills.py does the same with a database file and explains
the rest.
"""
import os
import signal

import pytest

from lib import postgres, wait
from lib.viewtally import sanitized
from property import test_kills

KILLS = int(os.environ.get("VIEWTALLY_KILLS") or (5 if sanitized() else 20))
SESSIONS, CRASH = "sessions", "crash"
ENDED_SESSIONS = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'viewtally'"


@pytest.fixture
def private():
    """A PostgreSQL for this test alone, because the test crashes it."""
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    with postgres.Postgres(schema="") as made:
        yield made


class World(test_kills.World):
    def __init__(self, directory, seed, cluster):
        self.cluster, self.name = cluster, cluster.database("template0")
        url = cluster.url(self.name)
        test_kills.Viewtally(directory / "migrate", {"store": {"url": url}}).run("migrate")
        super().__init__(directory, seed, url)

    def one(self, sql):
        """Returns the result of a query. Waits while PostgreSQL recovers."""
        def value():
            try:
                return self.cluster.sql(sql, self.name)
            except postgres.SqlError:
                return None
        [[found]] = wait.until(value, "the server to reply")
        return int(found) if found.isdigit() else found

    def version(self):
        return self.one("SELECT pg_snapshot_xmax(pg_current_snapshot())")

    def crash(self):
        """Kills a session, so that PostgreSQL ends all sessions and recovers. Returns during or after the recovery."""
        started = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND pid = "
        checkpointer = self.one("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        os.kill(self.one("SELECT pid FROM pg_stat_activity WHERE application_name = 'viewtally' LIMIT 1"), signal.SIGKILL)
        wait.until(lambda: not self.one(f"{started}{checkpointer}"), "the recovery")

    def kill_one(self):
        kind = self.rng.choice([None, None, SESSIONS, CRASH])
        if not kind:
            return super().kill_one()
        self.clock.advance(test_kills.PAST_LEASE)
        self.feed_spool(self.rng.choice([1, 2, 4]))
        with self.victim:
            name = self.wait_for_kill_condition(self.is_idle)
            run_is_open = self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL")
            self.one(ENDED_SESSIONS) if kind == SESSIONS else self.crash()
            self.killed[kind, name, "during a run" if run_is_open else "outside a run"] += 1
        return None

    def check_database(self):
        assert self.one("SELECT count(*) FROM spool_files") == self.one("SELECT count(*) FROM spool_errors") == 0
        self.reader.run("backup", "copy.db")
        test_kills.check_file(self.reader.directory / "copy.db")


def test_kills_on_postgresql_lose_no_reading_and_repeat_no_event(private, tmp_path):
    print(f"VIEWTALLY_SEED={test_kills.SEED}")
    test_kills.check_kills(World(tmp_path, test_kills.SEED, private), KILLS)
