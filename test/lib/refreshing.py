"""What stands in a database about its refresh, and a server caught in the middle of a run."""
import contextlib
import os
import pathlib
import signal
import sqlite3

from . import wait

DONE, PART, FAILED, STOPPED, LOST = range(5)
RUN_SECONDS = 60      # a guard against hanging: a large run under AddressSanitizer on a busy machine takes over 20 s


class Refreshing:
    """A look at the database of an installation, through a connection of its own."""

    def __init__(self, instance):
        self.path = instance.settings["store"]["path"]
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)

    def rows(self, sql, *values):
        return self._db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    @property
    def runs(self):
        """(cause, outcome, started_at) in their order; outcome None: at work."""
        return self.rows("SELECT cause, outcome, started_at FROM refresh_runs ORDER BY id")

    @property
    def outcomes(self):
        return [outcome for _, outcome, _ in self.runs]

    def wait_for_runs(self, count, ticking=None):
        """Waits until `count` runs have ended; there must not be more. Returns the last one.

        `ticking` is a fake clock that is moved on until the last of them has begun, for a server that backs off before it tries
        again. It stands still while the run works: on a busy machine the fake time would outrun the renewals of the lease."""
        def begun():
            if ticking and len(self.runs) < count:
                ticking.advance(500)
            return len(self.runs) >= count

        wait.until(begun, f"run {count} to begin", RUN_SECONDS)
        wait.until(lambda: self.outcomes[count - 1] is not None, f"run {count} to end", RUN_SECONDS)
        assert len(self.runs) == count and None not in self.outcomes[:-1], self.runs
        return self.runs[-1]

    @property
    def holder_pid(self):
        """Of the process that holds the lease; None: nobody does."""
        holder = self.one("SELECT holder FROM refresh_lease")
        return int(holder.split(":")[1]) if holder else None

    def views(self):
        return self.one("SELECT ifnull(sum(views), 0) FROM videos")

    def is_locked(self):
        """Whether somebody is in a write transaction now."""
        other = sqlite3.connect(self.path, isolation_level=None, timeout=0)
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            return False
        except sqlite3.OperationalError:
            return True
        finally:
            other.close()

    def freeze(self, *instances):
        """Stops (SIGSTOP) the one of the servers that runs a refresh, between two transactions of it, with some of it applied
        and some not. Returns (frozen, *others)."""
        before = self.views()

        def caught():
            """Stops it; lets it go on for an instant when that was not the moment."""
            frozen.signal(signal.SIGSTOP)
            wait.until(lambda: is_stopped(frozen.pid), "all threads to stand still", pause_most=0)
            if not self._is_at_work() or (self.views() > before and not self.is_locked()):
                return True
            frozen.signal(signal.SIGCONT)
            return False

        with beside_us(instance.pid for instance in instances):
            wait.until(self._is_at_work, "a run to begin", pause_most=0)
            frozen = next(instance for instance in instances if instance.pid == self.holder_pid)
            wait.until(caught, "the server to stand between two transactions", pause_most=0)
        if not self._is_at_work():
            frozen.signal(signal.SIGCONT)
            raise AssertionError("the run was over too soon: it wants more videos")
        return (frozen, *(instance for instance in instances if instance is not frozen))

    def _is_at_work(self):
        return self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL") > 0


@contextlib.contextmanager
def beside_us(pids):
    """The processes run on the one processor that we run on: who looks at them without a pause has a turn every few milliseconds,
    however busy the machine is."""
    everywhere, pids = os.sched_getaffinity(0), list(pids)
    one = {min(everywhere)}
    try:
        for pid in (os.getpid(), *pids):
            run_on(pid, one)
        yield
    finally:
        for pid in (os.getpid(), *pids):
            run_on(pid, everywhere)


def run_on(pid, processors):
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):       # it has ended
            os.sched_setaffinity(int(task), processors)


def is_stopped(pid):
    """A signal to stop is on its way for a while: a thread that runs may still begin a transaction."""
    states = [pathlib.Path(f"/proc/{pid}/task/{task}/stat").read_text().rpartition(") ")[2][0] for task in os.listdir(f"/proc/{pid}/task")]
    return all(state == "T" for state in states)
