"""A fake Redis that completes the handshake and replies to the limit script as the test chooses."""
import hashlib
import re
import socket
import threading
import time

from .acceptor import Acceptor


def is_probe(words):
    """Returns True if the command is a call by which the server probes a new connection."""
    return words[0] == b"EVALSHA" and words[3].endswith(b":probe")


def limit_keys(words):
    """Returns the Redis keys in a call of the limit script; a probe and any other command have none."""
    if words[0] != b"EVALSHA" or is_probe(words) or b":poll:" in words[3]:
        return []
    return words[3:3 + int(words[2])]


def verdict(remaining, reset_ms):
    """Encodes the reply of the limit script to one request; a negative `remaining` rejects the request."""
    return b":%d\r\n:%d\r\n" % (remaining, reset_ms)


ADMITTED = b"*2\r\n" + verdict(1, 60000)
REJECTED = b"*2\r\n" + verdict(-1, 60000)
READONLY = b"-READONLY You can't write against a read only replica.\r\n"


class FakeRedis:
    """`reply(words)` returns the bytes that reply to an EVALSHA, or an iterator of bytes, or None to close the connection. A reply for one
    request (two integers) is repeated for each key of the call. Every other command gets a valid reply. fail_over() replaces `reply` for
    the open connections."""

    def __init__(self, reply=lambda words: ADMITTED):
        self.reply = reply
        self.accepted = []              # times (monotonic) of accepted connections
        self.open = self.most_open = 0
        self.commands, self.times = [], []
        self._lock = threading.Lock()
        self._connections, self._to_replica = set(), set()
        self._acceptor = Acceptor(self._accept)
        self.port = self._acceptor.port
        self.url = f"redis://127.0.0.1:{self.port}"

    def _accept(self, connection):
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
                    data = self._reply_to(words, READONLY if connection in self._to_replica else None)
                    if data is None:
                        break
                    for piece in [data] if isinstance(data, bytes) else data:
                        connection.sendall(piece)
        except OSError:
            pass
        with self._lock:
            self._connections.discard(connection)
            self.open -= 1

    def _reply_to(self, words, error):
        if words[0] == b"EVALSHA":
            data = error or self.reply(words)
            if not isinstance(data, (bytes, type(None))):
                return data
            one, count = re.fullmatch(rb"\*2\r\n(:-?\d+\r\n:-?\d+\r\n)", data or b""), len(limit_keys(words))
            return b"*%d\r\n" % (2 * count) + one.group(1) * count if one and not is_probe(words) else data
        if words[:2] == [b"SCRIPT", b"LOAD"]:
            return b"$40\r\n%s\r\n" % hashlib.sha1(words[2]).hexdigest().encode()
        return b"+OK\r\n"

    def fail_over(self):
        """Makes the server of all open connections a replica without closing them. New connections reach the new master."""
        with self._lock:
            self._to_replica = set(self._connections)

    def cut_all(self):
        """Shuts down every connection."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._acceptor.close()
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
