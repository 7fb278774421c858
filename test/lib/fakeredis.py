"""A Redis that plays a part: it shakes hands as a real one does, and answers the limit's script as a test says."""
import hashlib
import re
import socket
import threading
import time


def is_probe(words):
    """A call of a script by which the server tries the connection."""
    return words[0] == b"EVALSHA" and b":probe:" in words[3]


def asked(words):
    """The keys that a call of the limit's script asks for; of another call or a probe, none."""
    return words[6:] if words[0] == b"EVALSHA" and words[3].endswith(b":rate") and not is_probe(words) else []


def verdict(admitted, remaining, reset_ms):
    """What the script says of one key."""
    return b":%d\r\n" % (admitted + 2 * reset_ms + (remaining << 17))


ADMITTED = b"*1\r\n" + verdict(1, 1, 60000)
REFUSED = b"*1\r\n" + verdict(0, 0, 60000)


class FakeRedis:
    """`reply(words)` gives the bytes that answer an EVALSHA, or an iterator over them; None hangs up. Everything else is answered well. An answer for one
    key (one integer) is given for each key of a call."""

    def __init__(self, reply=lambda words: ADMITTED):
        self.reply = reply
        self.accepted = []              # when (monotonic) each connection came
        self.open = self.most_open = 0
        self.commands, self.times = [], []
        self._lock = threading.Lock()
        self._connections = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(connection)
                self.accepted.append(time.monotonic())
                self.open += 1
                self.most_open = max(self.most_open, self.open)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                while (words := read_command(stream)) is not None:
                    self.commands.append(words)
                    self.times.append(time.monotonic())
                    data = self._answer(words)
                    if data is None:
                        break
                    for piece in [data] if isinstance(data, bytes) else data:
                        connection.sendall(piece)
        except OSError:
            pass
        with self._lock:
            self._connections.discard(connection)
            self.open -= 1

    def _answer(self, words):
        if words[0] == b"EVALSHA":
            data = self.reply(words)
            if not isinstance(data, (bytes, type(None))):
                return data
            one, count = re.fullmatch(rb"\*1\r\n(:-?\d+\r\n)", data or b""), len(asked(words))
            return b"*%d\r\n" % count + one.group(1) * count if one and not is_probe(words) else data
        if words[:2] == [b"SCRIPT", b"LOAD"]:
            return b"$40\r\n%s\r\n" % hashlib.sha1(words[2]).hexdigest().encode()
        return b"+OK\r\n"

    def cut_all(self):
        """Resets every connection."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._listener.close()
        self.cut_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_command(stream):
    line = stream.readline()
    if not line.startswith(b"*"):
        return None
    words = []
    for _ in range(int(line[1:])):
        size = int(stream.readline()[1:])
        words.append(stream.read(size + 2)[:-2])
    return words
