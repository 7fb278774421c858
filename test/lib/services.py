"""Starts Redis and nginx for tests, on free loopback ports, each in its own directory."""
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import subprocess

from . import wait

STOP_SECONDS = 60
PORT_TRIES = 5


FIXED_PORTS = range(10_000, 32_000)      # below the ephemeral range, from which the kernel assigns ports to clients
_reservations = []


def free_port():
    """Returns a free port outside the ephemeral range, so that it stays free while its server restarts. No other test process gets the
    same port while this one runs: each port has an abstract Unix socket, which is the reservation."""
    while True:
        port = random.choice(FIXED_PORTS)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0viewtally-test-port-{port}")
            with socket.socket() as sock:
                sock.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        _reservations.append(reservation)
        return port


class Service:
    """A child process that listens on self.port. It tries another port if this one is in use."""

    program = ""
    prefix = ()                     # the words before the command: those of a network.Network run the service there
    environment = None              # the environment of the caller
    port_taken = b"ddress already in use"

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._process = None
        self.port = free_port()
        self._log_path = self.directory / f"{self.program}.log"

    @classmethod
    def available(cls):
        return cls._find() is not None

    @classmethod
    def _find(cls):
        return shutil.which(cls.program, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")

    def arguments(self):
        raise NotImplementedError

    def ready(self):
        raise NotImplementedError

    @property
    def running(self):
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """Starts the service on self.port (the same port after stop()) and returns when it accepts requests."""
        for attempt in range(PORT_TRIES):
            with open(self._log_path, "wb") as log:
                self._process = subprocess.Popen([*self.prefix, self._find(), *self.arguments()], stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log, cwd=self.directory,
                                                 env=self.environment)
            try:
                wait.until(lambda: not self.running or self.ready(), f"{self.program} to answer")
            except KeyboardInterrupt:
                self.stop()
                raise
            if self.running:
                return self
            if self.port_taken not in self._log_path.read_bytes() or attempt == PORT_TRIES - 1:
                break
            self.port = free_port()
        raise AssertionError(f"{self.program} did not start:\n{self._log_path.read_text(errors='replace')}")

    def stop(self, sig=signal.SIGTERM):
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGCONT)
        process.send_signal(sig)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self):
        self.stop(signal.SIGKILL)

    def signal(self, sig):
        """Sends a signal: SIGSTOP suspends the process, SIGCONT resumes it."""
        self._process.send_signal(sig)

    def _accepts(self):
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


class Redis(Service):
    program = "redis-server"
    host = "127.0.0.1"

    def __init__(self, directory, *options):
        super().__init__(directory)
        self.options = options
        self.socket_path = str(self.directory / "redis.sock")

    @property
    def url(self):
        return f"redis://{self.host}:{self.port}/0"

    def arguments(self):
        return ["--port", str(self.port), "--bind", self.host, "--unixsocket", self.socket_path, "--save", "",
                "--appendonly", "no", "--dir", str(self.directory), *self.options]

    def ready(self):
        try:
            return self.call("PING") == "PONG"
        except (OSError, RedisError):
            return False

    def call(self, *words):
        """Sends one command on a new connection. Returns the reply as str, int, list or None; raises RedisError on an error reply."""
        data = b"*%d\r\n" % len(words)
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            data += b"$%d\r\n%s\r\n" % (len(word), word)
        with self._connect() as sock:
            sock.sendall(data)
            with sock.makefile("rb") as stream:
                return self._read(stream)

    def _connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def _connect_locally(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(60)
        sock.connect(self.socket_path)
        return sock

    def _read(self, stream):
        line = stream.readline()
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RedisError(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode("utf-8", "surrogateescape")
        if kind == b"*":
            return None if rest == "-1" else [self._read(stream) for _ in range(int(rest))]
        raise RedisError(f"invalid reply: {line!r}")


def with_clock(service, clock):
    """Makes a service that has not been started yet use the wall clock of `clock` (a FakeClock with a wall clock).
    Returns the service."""
    service.environment = {**os.environ, "LD_PRELOAD": preload("wallclock", service.directory), "WALLCLOCK": clock.path}
    return service


def preload(name, directory):
    """Builds test/lib/NAME.c as a library for LD_PRELOAD and returns its path. CC may have arguments: "ccache gcc"."""
    library = pathlib.Path(directory) / f"{name}.so"
    source = pathlib.Path(__file__).parent / f"{name}.c"
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return str(library)


class TlsRedis(Redis):
    """A Redis that accepts TLS only. The test sends its commands to the Unix socket."""

    def __init__(self, directory, certificate, key, *options):
        super().__init__(directory, *options)
        self.certificate = certificate
        self.key = key

    @property
    def url(self):
        return f"rediss://127.0.0.1:{self.port}/0"

    def arguments(self):
        return [*super().arguments()[2:], "--port", "0", "--tls-port", str(self.port), "--tls-cert-file", self.certificate,
                "--tls-key-file", self.key]

    def _connect(self):
        return self._connect_locally()


class DistantRedis(Redis):
    """A Redis in a network.Network. The test sends its commands to the Unix socket, which works while the network is cut."""

    def __init__(self, directory, network):
        super().__init__(directory, "--protected-mode", "no")
        self.host, self.prefix = network.address, network.command

    def _connect(self):
        return self._connect_locally()


class RedisError(Exception):
    pass


class Nginx(Service):
    """An nginx with the given configuration, after `@PORT@` and `@DIR@` are replaced."""

    program = "nginx"

    def __init__(self, directory, configuration):
        super().__init__(directory)
        self.configuration = configuration

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def arguments(self):
        text = self.configuration.replace("@PORT@", str(self.port)).replace("@DIR@", str(self.directory))
        path = self.directory / "nginx.conf"
        path.write_text(text)
        return ["-p", str(self.directory), "-c", str(path), "-e", "stderr", "-g", "daemon off;"]

    def ready(self):
        return self._accepts()

    def print_configuration(self):
        """Returns the output of `nginx -T` for the files that arguments() has written."""
        command = [self._find(), *self.arguments()[:4], "-e", "stderr", "-T", "-q"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
