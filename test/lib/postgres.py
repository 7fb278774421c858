"""Starts the distribution's PostgreSQL for tests: in its own directory, as an unprivileged user, with fsync, and gives each test a database.

The server listens on a Unix socket, with `tcp` also on a loopback port, and with `network` also on an address of that network. The tests run SQL with psql.
"""
import contextlib
import itertools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from . import wait
from .services import free_port

SUPERUSER = "tester"
UNPRIVILEGED = ("postgres", "nobody")
FAST = signal.SIGINT            # "fast shutdown": ends the sessions
SCHEMA = """
CREATE TABLE barriers (process text PRIMARY KEY, n bigint NOT NULL, at timestamptz NOT NULL);
"""


def programs():
    """Returns the directory with the programs of the newest installed PostgreSQL; None if none is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


def account():
    """Returns the name of the user that runs the server, because PostgreSQL refuses to run as root; None if the caller
    is not root."""
    if os.getuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise AssertionError("no unprivileged user to run PostgreSQL")


class SqlError(Exception):
    pass


class Postgres:
    """A cluster. `settings` are lines of postgresql.conf, `hba` replaces the rules of authentication. With a `network`
    (network.py), the server runs in its namespace and trusts its addresses."""

    def __init__(self, settings=(), hba=("local all all trust", "host all all 127.0.0.1/32 scram-sha-256"), tcp=False, schema=SCHEMA,
                 network=None):
        # The path of a Unix socket is at most 107 bytes long, so pytest's directories are too deep.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="vt-pg-"))
        self.data = self.directory / "data"
        self.port = free_port() if tcp else 5432
        self.host = network.address if network else "127.0.0.1"
        self._prefix = network.command if network else []
        self._user = account()
        self._process = None
        self._numbers = itertools.count(1)
        self._log = self.directory / "log"
        os.chmod(self.directory, 0o755)
        if self._user:
            shutil.chown(self.directory, self._user)
        try:
            self._create(settings, hba, tcp, schema, network)
        except BaseException:
            self.remove()
            raise

    def _create(self, settings, hba, tcp, schema, network):
        self._run("initdb", "-D", self.data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions", "--no-sync")
        of_network = [f"host all all {network.subnet} trust"] if network else []
        (self.data / "pg_hba.conf").write_text("\n".join([*hba, "local replication all trust", *of_network]) + "\n")
        self.configure(f"listen_addresses = '{self.host if tcp or network else ''}'", f"port = {self.port}", f"unix_socket_directories = '{self.directory}'",
                       "fsync = on", "max_connections = 100", "shared_buffers = 32MB", "log_line_prefix = '%m '", *settings)
        self.start()
        self.sql("CREATE DATABASE template", database="postgres")
        self.sql(schema, database="template")

    def configure(self, *lines):
        """Appends to postgresql.conf; valid after reload() or a restart."""
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def own(self, path):
        """Makes the user of the server the owner of a directory."""
        if self._user:
            shutil.chown(path, self._user)

    def install(self, path, name):
        """Copies a file into the data directory, readable only by the server."""
        target = self.data / name
        shutil.copy(path, target)
        target.chmod(0o600)
        if self._user:
            shutil.chown(target, self._user)

    def _command(self, program, *words):
        as_user = ["setpriv", f"--reuid={self._user}", f"--regid={pwd.getpwnam(self._user).pw_gid}", "--clear-groups"] if self._user else []
        return [*as_user, str(programs() / program), *map(str, words)]

    def _run(self, program, *words):
        done = subprocess.run(self._command(program, *words), capture_output=True, text=True, cwd=self.directory, check=False)
        if done.returncode:
            raise AssertionError(f"{program} failed:\n{done.stdout}{done.stderr}")

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen([*self._prefix, *self._command("postgres", "-D", self.data)], stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=log, cwd=self.directory)
        wait.until(lambda: self._process.poll() is not None or self._is_ready(), "PostgreSQL to accept connections")
        assert self._process.poll() is None, f"PostgreSQL did not start:\n{self._log.read_text()}"
        return self

    @contextlib.contextmanager
    def standby(self):
        """Within the block, a standby streams from the server. Yields its data directory, which also contains its socket."""
        data = self.directory / "standby"
        self._run("pg_basebackup", "-D", data, "-h", self.directory, "-p", self.port, "-U", SUPERUSER, "-R", "-c", "fast", "--no-sync")
        with open(self.directory / "standby.log", "wb") as log:
            process = subprocess.Popen(self._command("postgres", "-D", data, "-c", f"unix_socket_directories={data}", "-c", "listen_addresses="),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory)
        try:
            wait.until(lambda: self.sql("SELECT pid FROM pg_stat_replication WHERE state = 'streaming'", "postgres"), "the standby to stream")
            yield data
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(60)

    def promote(self, standby):
        """Makes a standby a primary. The server does not notice it."""
        self._run("pg_ctl", "promote", "-D", standby)

    def _is_ready(self):
        return subprocess.run([programs() / "pg_isready", "-q", "-h", self.directory, "-p", str(self.port)], check=False).returncode == 0

    def stop(self, sig=FAST):
        """Stops the server. SIGQUIT is an immediate shutdown: at the next start the server recovers, as after a
        crash."""
        process, self._process = self._process, None
        if process:
            process.send_signal(sig)
            process.wait(60)

    def begin_timeline(self):
        """Restarts the server as a standby and promotes it, which begins a new timeline."""
        self.stop()
        signal_file = self.data / "standby.signal"
        signal_file.touch()
        self.own(signal_file)
        self.start()
        self._run("pg_ctl", "-D", self.data, "promote")

    def signal_all(self, sig):
        """Sends a signal to the server and its backends: SIGSTOP suspends them, SIGCONT resumes them."""
        children = subprocess.run(["pgrep", "-P", str(self.pid())], capture_output=True, text=True, check=False).stdout.split()
        for pid in (self.pid(), *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)

    def reload(self):
        self._process.send_signal(signal.SIGHUP)

    def pid(self):
        return self._process.pid

    def sql(self, text, database="template", user=SUPERUSER):
        """Runs statements and returns the rows of the last one as lists of strings."""
        done = subprocess.run([programs() / "psql", "-X", "-q", "-At", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.directory, "-p", str(self.port),
                               "-U", user, "-d", database, "-f", "-"], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SqlError(done.stderr.strip())
        return [line.split("\t") for line in done.stdout.splitlines()]

    def checkpointer(self):
        """Returns the process id of the checkpointer, or None during a recovery. A recovery replaces the checkpointer."""
        try:
            rows = self.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        except SqlError:
            return None
        return rows[0] if rows else None

    def crash(self, pid):
        """Kills a backend, so that the server ends all sessions and recovers. Returns when it has recovered."""
        before = self.checkpointer()
        os.kill(pid, signal.SIGKILL)
        self.wait_for_recovery(before)

    def wait_for_recovery(self, before):
        """`before` is the checkpointer before the crash: for a moment after the crash, the server still responds as before."""
        wait.until(lambda: self.checkpointer() not in (None, before), "the recovery")

    def database(self, template="template"):
        """Creates a database from a template and returns its name."""
        name = f"test_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}", database="postgres")
        return name

    def url(self, database, user=SUPERUSER, **parameters):
        """The URL of a database on the Unix socket."""
        extra = "".join(f"&{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}@/{database}?host={self.directory}&port={self.port}{extra}"

    def tcp_url(self, database, user=SUPERUSER, host=None, **parameters):
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}@{host or self.host}:{self.port}/{database}" + (f"?{query}" if query else "")

    def keepalive_seconds(self):
        """The remaining time of the keepalive timer of each TCP connection that the server has accepted."""
        connections = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        timers = [fields[5].split(":") for fields in connections if fields[3] == "01" and int(fields[1].split(":")[1], 16) == self.port]
        return [int(ticks, 16) / os.sysconf("SC_CLK_TCK") for kind, ticks in timers if kind == "02"]

    def log(self):
        return self._log.read_text()

    def version(self):
        return int(re.match(r"\d+", self.sql("SHOW server_version")[0][0]).group())

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
