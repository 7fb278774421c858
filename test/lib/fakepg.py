"""A fake PostgreSQL: completes the handshake, and answers the extended protocol as the test chooses."""
import contextlib
import socket
import struct
import threading

PID = 4711
READ_WRITE = {"in_hot_standby": "off", "default_transaction_read_only": "off", "server_version": "17.0", "client_encoding": "UTF8",
              "integer_datetimes": "on", "standard_conforming_strings": "on"}


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def text(value):
    return value.encode() + b"\0"


def error(state, reason, severity="ERROR"):
    return message(b"E", b"".join(field + text(value) for field, value in ((b"S", severity), (b"V", severity), (b"C", state), (b"M", reason))) + b"\0")


def bigint(value):
    return struct.pack("!q", value)


def row_description(columns):
    return message(b"T", struct.pack("!h", columns) + b"".join(text("c") + struct.pack("!ihihih", 0, 0, 20, 8, -1, 1) for _ in range(columns)))


def data_row(values):
    return message(b"D", struct.pack("!h", len(values)) + b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value for value in values))


def rows(*values):
    """The messages of a result: each value is a tuple of columns in the binary format, or None for NULL."""
    return row_description(len(values[0]) if values else 1) + b"".join(map(data_row, values)) + message(b"C", text(f"SELECT {len(values)}"))


class Skip(Exception):
    """`answer` raises it to send nothing for a statement, `commit` to send no ReadyForQuery."""


class FakePostgres:
    """A test replaces the following functions, which are attributes, before a connection is made.

    answer(name, parameters): returns the bytes for a statement, or None for the usual reply. An answer that begins with
        an error aborts its batch.
    parse(statement): returns the error for a statement that is being prepared, or None.
    commit(names): returns the bytes to send before ReadyForQuery of a batch, or None; raises Skip to leave ReadyForQuery
        out.
    send(connection, data): sends the bytes; may split or delay them."""

    def __init__(self, timeline=1, started=1_000_000):
        self.timeline, self.started = timeline, started
        self.parameters = dict(READ_WRITE)
        self.answer = lambda name, parameters: None
        self.commit = lambda names: b""
        self.parse = lambda statement: None
        self.send = lambda connection, data: connection.sendall(data)
        self.authenticate = None            # a function (stream, write) that runs the authentication
        self.backend_pid = lambda: PID
        self.die_after = {}                 # number of the connection -> messages after which it is closed
        self.accepted = 0
        self.batches = []                   # the names of the statements executed between two synchronization points
        self.sent_messages = {}
        self._lock = threading.Lock()
        self._connections = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"postgresql://tester@127.0.0.1:{self.port}/test?sslmode=disable"

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                number = self.accepted
                self.accepted += 1
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection, number):
        with contextlib.suppress(OSError, struct.error, EOFError):
            with connection, connection.makefile("rb") as stream:
                Session(self, connection, stream, number).run()
        with self._lock:
            self._connections.discard(connection)

    def cut_all(self):
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def executed(self):
        """The names of all statements that were executed, without those of the link itself."""
        return [name for batch in list(self.batches) for name in batch if not name.startswith("vt_")]

    def close(self):
        with contextlib.suppress(OSError):
            # Ends the accept() of the thread, which would otherwise accept one more connection.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session:
    def __init__(self, server, connection, stream, number):
        self.server, self.connection, self.stream, self.number = server, connection, stream, number
        self.out, self.aborted, self.names = b"", False, []
        self.bound, self.parameters = None, []
        self.barriers = 0

    def read(self, count):
        data = self.stream.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def run(self):
        size = struct.unpack("!i", self.read(4))[0]
        self.read(size - 4)
        if self.server.authenticate:
            self.server.authenticate(self.stream, self.connection.sendall)
        self.write(message(b"R", struct.pack("!i", 0)))
        for name, value in self.server.parameters.items():
            self.write(message(b"S", text(name) + text(value)))
        self.write(message(b"K", struct.pack("!ii", PID, 1)))
        self.write(message(b"Z", b"I"))
        self.flush()
        while True:
            kind = self.read(1)
            self.handle(kind, self.read(struct.unpack("!i", self.read(4))[0] - 4))

    def write(self, data):
        self.out += data

    def flush(self):
        """Sends message by message if the connection must die in between."""
        data, self.out = self.out, b""
        limit = self.server.die_after.get(self.number)
        while data and limit is not None:
            sent = self.server.sent_messages.get(self.number, 0)
            if sent >= limit:
                self.connection.shutdown(socket.SHUT_RDWR)
                raise EOFError
            size = 1 + struct.unpack("!i", data[1:5])[0]
            self.server.sent_messages[self.number] = sent + 1
            self.connection.sendall(data[:size])
            data = data[size:]
        if data:
            self.server.send(self.connection, data)

    def handle(self, kind, body):
        if kind == b"X":
            raise EOFError
        if kind == b"S":
            self.sync()
        elif self.aborted:
            return
        elif kind == b"P":
            failure = self.server.parse(body)
            self.write(failure or message(b"1"))
            self.aborted = failure is not None
        elif kind == b"B":
            self.bind(body)
            self.write(message(b"2"))
        elif kind == b"E":
            self.execute()

    def bind(self, body):
        _, rest = body.split(b"\0", 1)
        name, rest = rest.split(b"\0", 1)
        self.bound = name.decode()
        formats = struct.unpack("!h", rest[:2])[0]
        rest = rest[2 + 2 * formats:]
        count, rest = struct.unpack("!h", rest[:2])[0], rest[2:]
        self.parameters = []
        for _ in range(count):
            size, rest = struct.unpack("!i", rest[:4])[0], rest[4:]
            self.parameters.append(None if size < 0 else rest[:size])
            rest = rest[max(size, 0):]

    def execute(self):
        self.names.append(self.bound)
        try:
            data = self.server.answer(self.bound, self.parameters)
        except Skip:
            return
        if data is None:
            data = self.usual()
        self.write(data)
        self.aborted = data[:1] == b"E"

    def usual(self):
        if self.bound == "vt_identity":
            return rows((b"\0", bigint(self.server.started), b"%08X" % self.server.timeline, b"\0", struct.pack("!i", self.server.backend_pid())))
        if self.bound == "vt_barrier":
            return rows((struct.pack("!i", self.server.backend_pid()),))
        return rows((self.parameters[0],)) if self.parameters else rows((bigint(1),))

    def sync(self):
        names, self.names = self.names, []
        self.server.batches.append(names)
        self.aborted = False
        try:
            self.write(self.server.commit(names) or b"")
        except Skip:
            self.flush()
            return
        self.write(message(b"Z", b"I"))
        self.flush()


def byte_by_byte(connection, data):
    for at in range(len(data)):
        connection.sendall(data[at:at + 1])
