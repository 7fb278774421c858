"""Runs build/MODE/pg_driver, which drives the PostgreSQL link (test/pg/pg_driver.c)."""
import os
import pathlib
import queue
import subprocess
import threading
import typing

from . import wait
from .postgres import SCHEMA

SECONDS = 60
# The tables that the statements of the driver need.
TABLES = SCHEMA + """
CREATE TABLE notes (id bigint PRIMARY KEY);
CREATE TABLE deferred_notes (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE heads (author_id bigint PRIMARY KEY, rev bigint NOT NULL DEFAULT 1, feed_rev bigint NOT NULL DEFAULT 1, keys_rev bigint NOT NULL DEFAULT 1,
                    last_event_id bigint NOT NULL DEFAULT 0, views_refreshed_at bigint, plan_active boolean NOT NULL DEFAULT true) WITH (fillfactor = 50);
"""


def path():
    """Returns the path of the driver, which is beside the program with test seams."""
    return pathlib.Path(os.environ["VIEWTALLY_SEAMS_BIN"]).parent / "pg_driver"


class Statement(typing.NamedTuple):
    name: str
    count: int      # number of parameters on PostgreSQL
    postgres: str
    sqlite: str


def statement_texts():
    """The statements of the store that run on PostgreSQL (test/pg/pg_statements.c)."""
    printed = subprocess.run([path().with_name("pg_statements")], capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in printed.splitlines()]
    assert len(lines) > 200
    return [Statement(name, int(count), postgres, sqlite) for name, count, postgres, sqlite in lines]


class Driver:
    def __init__(self, url, hold_ms=25_000, clock=None, password="", env=None):
        environment = {**os.environ, "PG_DRIVER_PASSWORD": password, "PGPASSFILE": "/nonexistent", **(env or {})}
        if clock:
            environment["VIEWTALLY_TEST_CLOCK"] = clock.path
        self.process = subprocess.Popen([path(), url, str(hold_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=environment)
        self.states, self.replies, self.order = [], {}, []
        self.log = []
        self._others = queue.Queue()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_log)]
        for thread in self._threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "state":
                self.states.append(words[1])
            elif words[0] == "r":
                self.order.append(int(words[1]))
                self.replies[int(words[1])] = words[2:]
            else:
                self._others.put(line.strip())

    def _read_log(self):
        self.log.extend(line.replace('\\"', '"') for line in self.process.stderr)

    @property
    def logged(self):
        return "".join(self.log)

    def send(self, *lines):
        """Sends commands, which all run in one loop iteration."""
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()

    def until_state(self, state, times=1):
        wait.until(lambda: self.states.count(state) >= times, f"{times} × state {state}, not {self.states}\n{self.logged}", SECONDS)
        return self

    def until_logged(self, part, seconds=SECONDS):
        return wait.until(lambda: next((line for line in list(self.log) if part in line), None), f"log line with {part!r}", seconds)

    def reply(self, number):
        """Returns [error, SQLSTATE, sum, timeline] of a query."""
        state, value, timeline, *error = wait.until(lambda: self.replies.get(number), f"reply {number}\n{self.logged}", SECONDS)
        return [" ".join(error), state, value, timeline]

    def outcome(self, number):
        return self.reply(number)[0]

    def value(self, number):
        error, _, value, *_ = self.reply(number)
        assert error == "ok", self.reply(number)
        return int(value)

    def line(self):
        return self._others.get(timeout=SECONDS)

    def status(self):
        self.send("s")
        line = self.line()
        head, _, reason = line.partition(" reason=")
        return {**dict(word.split("=", 1) for word in head.split()[1:]), "reason": reason}

    def until_failure(self, name):
        """Waits until the link reports this failure. During an attempt to connect, the link reports the worst failure
        of this attempt so far; after the attempt, it reports the final one."""
        wait.until(lambda: self.status()["failure"] == name, f"the failure {name}, not {self.logged}")

    def tick(self):
        """Returns when the link has checked its deadlines."""
        self.send("t")
        assert self.line() == "ticked"

    def stop(self):
        """Closes the link; fails if the driver leaks, crashes, or leaves a handle open."""
        if self.process.poll() is None:
            self.send("x")
        status = self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        assert status == 0, f"exit status {status}\n{self.logged}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.kill()
        else:
            self.stop()
