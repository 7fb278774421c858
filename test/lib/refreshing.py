"""Queries the runs of the refresh, and stops a server in the middle of a run."""
import contextlib
import os
import signal
import sqlite3
from time import monotonic

from . import wait
from .processes import is_stopped

SUCCEEDED, PARTIAL, FAILED, STOPPED, ABANDONED = range(5)       # refresh_runs.outcome
LEASE_MS = 30_000      # jobs/lease.h
RUN_SECONDS = 60      # a large run under AddressSanitizer on a busy machine takes over 20 s


class Refreshing:
    """Queries the database of an installation, through its own connection."""

    def __init__(self, instance):
        self.path = instance.settings["store"]["path"]
        self._instance = instance

    def rows(self, sql, *values):
        return self._instance.sql(sql, *values)

    def one(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    @property
    def runs(self):
        """(cause, outcome, started_at) of each run; the outcome of an unfinished run is None."""
        return self.rows("SELECT cause, outcome, started_at FROM refresh_runs ORDER BY id")

    @property
    def outcomes(self):
        return [outcome for _, outcome, _ in self.runs]

    def wait_for_runs(self, count, ticking=None):
        """Waits until exactly `count` runs have ended. Returns the last one.

        `ticking`: a fake clock, which is advanced until the last run has started, for a server that backs off before it
        retries. It does not advance during the run: on a busy machine the lease would not be renewed in time."""
        def started():
            if ticking and len(self.runs) < count:
                ticking.advance(500)
            return len(self.runs) >= count

        wait.until(started, f"run {count} to start", RUN_SECONDS)
        wait.until(lambda: self.outcomes[count - 1] is not None, f"run {count} to end", RUN_SECONDS)
        assert len(self.runs) == count and None not in self.outcomes[:-1], self.runs
        return self.runs[-1]

    @property
    def holder_pid(self):
        """The pid of the process that holds the lease, or None."""
        holder = self.one("SELECT holder FROM refresh_lease")
        return int(holder.split(":")[1]) if holder else None

    def views(self):
        return self.one("SELECT coalesce(sum(views), 0) FROM videos")

    def data(self):
        """Everything that a run writes, except the lease."""
        return [self.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("authors", "videos", "author_daily", "events", "refresh_runs", "refresh_counts")]

    def is_locked(self):
        """Returns True if a write transaction is open."""
        if self._instance.is_on_server:
            return self.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted") > 0
        other = sqlite3.connect(self.path, isolation_level=None, timeout=0)
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            return False
        except sqlite3.OperationalError:
            return True
        finally:
            other.close()

    def hold_back(self, time):
        """Prevents the next run until freeze(), by a lease of another holder. Call it before the server starts: otherwise the whole
        run could take place before freeze() looks, on a busy machine. `time` is the fake clock of the server."""
        self.rows("UPDATE refresh_lease SET holder = 'test', expires_at = ? WHERE id = 1", time.wall_ms + LEASE_MS)

    def freeze(self, instance, time):
        """Lets the run begin that hold_back() has prevented, and suspends the server (SIGSTOP) between two transactions of that run,
        after some but not all readings are applied. Only the monotonic clock advances."""
        before, advanced_at = self.views(), 0

        def begun():
            """Returns True if the run has begun. Advances the clock every 20 ms, because the server pauses after it found the lease held."""
            nonlocal advanced_at
            if self._is_running():
                return True
            if monotonic() > advanced_at + 0.02:
                advanced_at = monotonic()
                time.set_monotonic(time.monotonic_ms + 1000)
            return False

        def stopped_between_transactions():
            """Suspends the server. Resumes it and returns False if a transaction is open."""
            instance.signal(signal.SIGSTOP)
            wait.until(lambda: is_stopped(instance.pid), "all threads to stop", pause_most=0)
            if not self._is_running() or (self.views() > before and not self.is_locked()):
                return True
            instance.signal(signal.SIGCONT)
            return False

        with pinned_to_our_processor([instance.pid]):
            released = self.rows("UPDATE refresh_lease SET holder = '', expires_at = 0 WHERE id = 1 AND holder = 'test' RETURNING id")
            assert len(released) == 1, "call hold_back() before the server starts"
            wait.until(begun, "a run to start", pause_most=0)
            wait.until(stopped_between_transactions, "the server to stop between two transactions", pause_most=0)
        if not self._is_running():
            instance.signal(signal.SIGCONT)
            raise AssertionError("the run ended before the server was suspended: the test needs more videos")

    def _is_running(self):
        return self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL") > 0


@contextlib.contextmanager
def pinned_to_our_processor(pids):
    """Pins the processes to the processor of this test, so that polling without pauses detects their state on a busy machine."""
    all_processors, pids = os.sched_getaffinity(0), list(pids)
    one = {min(all_processors)}
    try:
        for pid in (os.getpid(), *pids):
            set_processors(pid, one)
        yield
    finally:
        for pid in (os.getpid(), *pids):
            set_processors(pid, all_processors)


def set_processors(pid, processors):
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):       # the thread has exited
            os.sched_setaffinity(int(task), processors)
