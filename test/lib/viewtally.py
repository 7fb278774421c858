"""An installation for a test: a directory with config.ini and database, the command line, and the server process.

VIEWTALLY_BIN is the binary under test (default: the first of build/release, build/debug that exists), VIEWTALLY_SEAMS_BIN
the one with the fake clock (default build/debug/viewtally). VIEWTALLY_TEST_CACHE is the default for [cache] max_bytes.
VIEWTALLY_TEST_STORE=pg gives an installation that does not configure [store] a database of a PostgreSQL server (test/conftest.py).
"""
import contextlib
import functools
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import uuid
import warnings

from . import metrics, wait
from .client import Client, exchange
from .clock import FakeClock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SANITIZER_REPORT = re.compile(r"(Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|runtime error:")
START_SECONDS = 60
STOP_SECONDS = 60
COMMAND_SECONDS = 300


def binary(seams=False):
    """The path of the binary to test; with seams=True the one that supports the fake clock."""
    if seams:
        path = pathlib.Path(os.environ.get("VIEWTALLY_SEAMS_BIN") or ROOT / "build/debug/viewtally")
    elif os.environ.get("VIEWTALLY_BIN"):
        path = pathlib.Path(os.environ["VIEWTALLY_BIN"])
    else:
        candidates = [ROOT / "build" / mode / "viewtally" for mode in ("release", "debug")]
        path = next((candidate for candidate in candidates if candidate.exists()), candidates[0])
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; build it first (make, or make MODE=debug for the fake clock)")
    return str(path.resolve())


@functools.lru_cache(maxsize=None)
def sanitized():
    """Returns True if the binary with the fake clock is the AddressSanitizer build. It is several times slower, so tests run fewer cases."""
    try:
        first = subprocess.run([binary(seams=True), "--version"], capture_output=True, check=True).stdout.split(b"\n")[0]
    except FileNotFoundError:
        return False        # tests that need the binary report the error
    return b"asan" in first


@functools.lru_cache(maxsize=None)
def statically_linked():
    """Returns True for `make static`. LD_PRELOAD has no effect on such a binary."""
    return b"\nmusl " in subprocess.run([binary(), "--version"], capture_output=True, check=True).stdout


def runs_on_postgresql():
    """Returns True in `make test STORE=pg`."""
    store = os.environ.get("VIEWTALLY_TEST_STORE", "sqlite")
    assert store in ("sqlite", "pg"), f"STORE={store} is not supported; use STORE=pg, or omit it for a database file"
    return store == "pg"


# Counts a write transaction like the program does (src/store/pg/pg_writers.h), which looks for changes only after a write transaction.
COUNT_WRITE = ("INSERT INTO barriers (process, n, at) VALUES ('writer test-case', 1, now()) "
               "ON CONFLICT (process) DO UPDATE SET n = barriers.n + 1, at = now()")


@contextlib.contextmanager
def transaction_on_server(url):
    """A transaction, which is committed when the block ends. Yields its cursor."""
    import psycopg2.extras     # here, because only a run on PostgreSQL needs it
    psycopg2.extras.register_uuid()
    with contextlib.closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        yield cursor


def sql_on_server(url, statement, values):
    with transaction_on_server(url) as cursor:
        rows = run_on_server(cursor, statement, values)
        if not statement.upper().startswith("SELECT"):
            cursor.execute(COUNT_WRITE)
    return rows


def run_on_server(cursor, statement, values):
    cursor.execute(statement.replace("%", "%%").replace("?", "%s"), values)
    rows = cursor.fetchall() if cursor.description else []
    return [tuple(as_sqlite(value) for value in row) for row in rows]


def as_sqlite(value):
    """Converts a value from psycopg2 to what sqlite3 returns for the same column."""
    if isinstance(value, uuid.UUID):
        return value.bytes
    return bytes(value) if isinstance(value, memoryview) else value


# What `viewtally restore` prints if another process uses the database file or the database on a server.
IN_USE = re.compile(r"is in use: stop|other viewtally processes use this database")


class Finished:
    """The result of a command."""

    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"<exit {self.status} out={self.out[-500:]!r} err={self.err[-2000:]!r}>"


class Viewtally:
    """One installation in `directory`. `config` is {section: {key: value}}, merged into the settings that every test needs."""

    # A function that creates a migrated database on a server, or a copy of a database, and returns its URL; None if installations use a
    # database file.
    create_database = None

    def __init__(self, directory, config=None, clock=None, seams=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.clock = clock
        self.binary = binary(seams=clock is not None if seams is None else seams)
        self.config_path = self.directory / "config.ini"
        self.settings = {"server": {"listen": "127.0.0.1:0"}, "store": {"path": str(self.directory / "viewtally.db")},
                         "limits": {"requests_per_minute": "0"}, "admin": {"listen": "127.0.0.1:0"}}
        self.configure(config or {})
        self._process = None
        self._starts = 0
        self._numbers = itertools.count(1)
        self.addresses = []
        self.admin_addresses = []
        self._waits_for_store = bool(Viewtally.create_database) and not {"url", "path"} & (config or {}).get("store", {}).keys()
        if self._waits_for_store:
            self.configure({"store": {"url": Viewtally.create_database()}})

    # -- configuration ---------------------------------------------------------------------------------------------

    def configure(self, config):
        """Merges `config` into the settings and writes config.ini; a value of None removes a key."""
        for section, pairs in config.items():
            section_settings = self.settings.setdefault(section, {})
            for key, value in pairs.items():
                if value is None:
                    section_settings.pop(key, None)
                else:
                    section_settings[key] = str(value)
        text = "".join(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in pairs.items()) + "\n"
                       for section, pairs in self.settings.items() if pairs)
        self.config_path.write_text(text, encoding="utf-8")

    @property
    def is_on_server(self):
        return bool(self.settings["store"].get("url"))

    @property
    def _create(self):
        """The option that creates the database file."""
        return [] if self.is_on_server else ["--create"]

    @property
    def database(self):
        return self.directory / self.settings["store"]["path"]

    def sql(self, statement, *values):
        """Runs a statement that SQLite and PostgreSQL understand, with `?` for each value, and returns its rows.
        Commits.

        A value of a column `uuid` is passed as uuid.UUID, because SQLite and PostgreSQL have different types for it,
        and returned as bytes.
        """
        if self.is_on_server:
            return sql_on_server(self.settings["store"]["url"], statement, values)
        with contextlib.closing(sqlite3.connect(self.database, timeout=30)) as database, database:
            return database.execute(statement, [value.bytes if isinstance(value, uuid.UUID) else value for value in values]).fetchall()

    @contextlib.contextmanager
    def write_transaction(self):
        """A transaction that excludes all other writers; it is committed when the block ends. Yields a function that runs a statement in it,
        with `?` for each value, and returns its rows."""
        if self.is_on_server:
            with transaction_on_server(self.settings["store"]["url"]) as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(7239, hashtext(current_schema()))")    # PG_SQL_LOCK in pg_session.h
                yield lambda statement, *values: run_on_server(cursor, statement, values)
                cursor.execute(COUNT_WRITE)
            return
        with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield lambda statement, *values: database.execute(statement, values).fetchall()
            database.execute("COMMIT")

    def copy_database(self, other):
        """Replaces the database by a copy of the database of an installation that no process uses."""
        if self.is_on_server:
            self.configure({"store": {"url": Viewtally.create_database(other.settings["store"]["url"])}})
        else:
            shutil.copy(other.database, self.database)

    def lose_database(self):
        """Deletes the database file, or sets a URL at which no server listens."""
        if self.is_on_server:
            self.configure({"store": {"url": "postgresql://u@127.0.0.1:1/d"}})
        else:
            self.database.unlink()

    def begin_new_database(self):
        """Replaces the database by a new one without authors."""
        if self.is_on_server:
            self.configure({"store": {"url": Viewtally.create_database()}})
        else:
            self.database.unlink()
            self.run("migrate")

    def replaced_database(self):
        """Returns the path of the only file with the data that a restore has replaced."""
        path, = self.directory.glob("viewtally*.before-*")
        return path

    def as_file(self):
        """Returns the path of a database file with the present data: that of the installation, or on a server a new
        backup."""
        if not self.is_on_server:
            return self.database
        path = self.directory / f"copy-{next(self._numbers)}.backup"
        self.run("backup", path)
        return path

    def tables(self):
        """Returns the names of the tables of the schema, without those of SQLite itself."""
        if self.is_on_server:
            names = self.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        else:
            names = self.sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'")
        return {name for name, in names} - {"barriers"}

    def environment(self, extra=None):
        """Returns the process environment: without the VIEWTALLY_ variables of the caller, except those that select a variant of the
        tests (late reads, size of the cache), and with the clock, the sanitizer options and `extra`."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("VIEWTALLY_")}
        late = os.environ.get("VIEWTALLY_TEST_LATE_READS")     # for a run of the tests with late reads (src/store/late_reads.h)
        if late:
            env["VIEWTALLY_TEST_LATE_READS"] = late
        cache = os.environ.get("VIEWTALLY_TEST_CACHE")
        if cache and "max_bytes" not in self.settings.get("cache", {}):
            env["VIEWTALLY_CACHE_MAX_BYTES"] = cache
        if self.clock:
            env["VIEWTALLY_TEST_CLOCK"] = self.clock.path
        env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0")
        env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
        env.update(extra or {})
        return env

    # -- command line ----------------------------------------------------------------------------------------------

    def command(self, *arguments, env=None):
        """Starts `viewtally ARGUMENTS --config …` and returns the Popen object: stdin, stdout and stderr are pipes."""
        return self._popen(arguments, env, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)

    def background(self, *arguments, env=None):
        """Like command(), but output goes to the file `process.output`, so that no pipe has to be read."""
        path = self.directory / f"background-{next(self._numbers)}.log"
        with open(path, "wb") as output:
            process = self._popen(arguments, env, subprocess.DEVNULL, output, output)
        process.output = path
        return process

    def _popen(self, arguments, env, stdin, stdout, stderr):
        environment = self.environment(env)
        # The search for leaks would take half of the time of a command. The server and the unit tests are searched.
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"
        return subprocess.Popen([self.binary, *map(str, arguments), "--config", str(self.config_path)], stdin=stdin,
                                stdout=stdout, stderr=stderr, cwd=self.directory, env=environment)

    def run(self, *arguments, stdin=b"", status=0, env=None, timeout=COMMAND_SECONDS):
        """Runs a command until it exits. `status` is the expected exit status (None: any)."""
        process = self.command(*arguments, env=env)
        try:
            out, err = process.communicate(stdin if isinstance(stdin, bytes) else stdin.encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"viewtally {' '.join(map(str, arguments))} did not exit within {timeout} s") from None
        except KeyboardInterrupt:
            process.kill()
            process.communicate()
            raise
        finished = Finished(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        assert not SANITIZER_REPORT.search(finished.err), finished.err
        assert status is None or finished.status == status, f"viewtally {' '.join(map(str, arguments))}: {finished}"
        return finished

    def import_lines(self, lines, status=0):
        """Imports lines (objects, JSON texts or bytes) through standard input. Creates the database if missing."""
        return self.run("import", *self._create, "-", stdin=encode_lines(lines), status=status)

    def ensure_database(self):
        """Creates the database unless it exists."""
        if self.is_on_server or not self.database.exists():
            self.run("migrate")

    def add_author(self, name="An Author"):
        """Creates an author, and the database if missing. Returns the id."""
        self.ensure_database()
        return self.run("author", "add", "--name", name, "--json").json()["id"]

    def create_key(self, author_id, name="test"):
        """Creates a key of the author and returns it."""
        return self.run("key", "create", "--author", author_id, "--name", name, "--json").json()["key"]

    # -- server ----------------------------------------------------------------------------------------------------

    @property
    def running(self):
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self):
        return self._process.pid

    @property
    def address(self):
        return self.addresses[0]

    @property
    def log(self):
        """The log of the current (or last) server so far."""
        if self.running:
            wait.until(lambda: not is_writing_log(self.pid), "the server to write its log")
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    def start(self, env=None):
        """Starts the server and returns when it has printed `listening on …` for every listener and, if its database is one of
        create_database(), is connected to it. Creates a missing database file."""
        assert not self.running, "already running"
        self._starts += 1
        self._log_path = self.directory / f"server-{self._starts}.log"
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen([self.binary, "serve", *self._create, "--config", str(self.config_path)],
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                             cwd=self.directory, env=self.environment(env))
        wanted = len(self.settings["server"]["listen"].split(","))
        admin = len([address for address in self.settings["admin"].get("listen", "").split(",") if address])
        reader = _AddressReader(self._process.stdout, wanted, admin)
        try:
            self.addresses = reader.wait(START_SECONDS)
        except KeyboardInterrupt:
            self.kill()
            raise
        self.admin_addresses = reader.admin
        if len(self.addresses) < wanted:
            self._process.kill()
            status = self._process.wait()
            raise AssertionError(f"the server listens on {self.addresses} after {START_SECONDS} s (exit status {status}):\n{self.log}")
        if self._waits_for_store and self.admin_addresses:
            wait.until(lambda: metrics.scrape(self).get("viewtally_store_server_up") == 1, "the server to connect to PostgreSQL")
        return self

    def stop(self):
        """Sends SIGINT, which closes idle connections at once; the server must exit with status 0 and without a sanitizer report."""
        if self._process is not None:
            self.signal(signal.SIGINT)
            self.signal(signal.SIGCONT)     # in case the test has suspended it
            self.wait_stopped()

    def signal(self, sig):
        self._process.send_signal(sig)

    def wait_stopped(self):
        """Waits until the server exits; it must exit with status 0 and without a sanitizer report."""
        process, self._process = self._process, None
        try:
            status = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            threads = describe_threads(process.pid)
            process.kill()
            process.wait()
            # At exit LeakSanitizer traces the process like a debugger and sometimes hangs: google/sanitizers#1330.
            if self.log.endswith(" stopped\n") and "traced by" in threads:
                warnings.warn(f"the leak checker hung:\n{threads}")
                status = 0
            else:
                raise AssertionError(f"the server did not stop within {STOP_SECONDS} s:\n{self.log[-4000:]}\n{threads}") from None
        finally:
            process.stdout.close()
        assert not SANITIZER_REPORT.search(self.log), self.log
        assert status == 0, f"the server exited with status {status}:\n{self.log[-4000:]}"

    def kill(self):
        """Kills the server with SIGKILL, as if it crashed."""
        process, self._process = self._process, None
        process.kill()
        process.wait()
        process.stdout.close()
        assert not SANITIZER_REPORT.search(self.log), self.log

    def client(self, key=None, **options):
        return Client(self.address, key, **options)

    def admin(self, **options):
        """Returns a client of the admin listener, which serves /metrics, /livez and /readyz."""
        return Client(self.admin_addresses[0], base="", **options)

    def exchange(self, data, **options):
        return exchange(self.address, data, **options)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def is_writing_log(pid):
    """Returns True if the thread that writes the log is running. It sleeps after all lines are written."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name, state = re.match(r"\d+ \((.*)\) (.)", (task / "stat").read_text()).groups()
        except (FileNotFoundError, ProcessLookupError):     # the thread has exited
            continue
        if name == "log-writer" and state in "RD":
            return True
    return False


def describe_threads(pid):
    """Describes each thread of a hanging process in a line: state, tracer, system call and wait channel."""
    lines = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir()):
        try:
            fields = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
            call = (task / "syscall").read_text().split()
            tracer = "" if fields["TracerPid"] == "0" else f", traced by {fields['TracerPid']}"
            lines.append(f"thread {task.name}: {fields['State']}{tracer}, system call {call[0]} ({call[-1]}), waits in {(task / 'wchan').read_text()}")
        except OSError as error:
            lines.append(f"thread {task.name}: {error}")
    return "\n".join(lines)


class _AddressReader(threading.Thread):
    """Reads the server's standard output to its end, so that the server never blocks, and collects the addresses."""

    def __init__(self, stream, wanted, wanted_admin):
        super().__init__(daemon=True)
        self._stream = stream
        self._wanted = wanted
        self._wanted_admin = wanted_admin
        self._found = []
        self.admin = []
        self._changed = threading.Condition()
        self._ended = False
        self.start()

    def run(self):
        try:
            for line in self._stream:
                match = re.match(rb"(admin )?listening on (\S+)", line)
                if match:
                    with self._changed:
                        (self.admin if match.group(1) else self._found).append(match.group(2).decode())
                        self._changed.notify()
        except ValueError:
            pass                # the stream was closed by stop()
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _complete(self):
        return len(self._found) >= self._wanted and len(self.admin) >= self._wanted_admin

    def wait(self, seconds):
        deadline = time.monotonic() + seconds
        with self._changed:
            while not self._complete() and not self._ended and time.monotonic() < deadline:
                self._changed.wait(max(0.0, deadline - time.monotonic()))
            return list(self._found)


def encode_lines(lines):
    if isinstance(lines, bytes):
        return lines
    if isinstance(lines, str):
        return lines.encode()
    return b"".join(line if isinstance(line, bytes) else
                    (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode() + b"\n"
                    for line in lines)


__all__ = ["FakeClock", "Viewtally", "binary", "encode_lines", "sanitized", "ROOT"]
