"""An HTTP client for tests: requests on a persistent connection through http.client, and raw bytes through a socket."""
import http.client
import json
import socket
import urllib.parse


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers          # http.client.HTTPMessage: case-insensitive, get_all()
        self.body = body

    def json(self):
        return json.loads(self.body.decode("utf-8"))

    @property
    def error_code(self):
        return self.json()["error"]["code"]

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """Sends requests on one persistent connection. `address` is "host:port", "[::1]:port" or "unix:/path"."""

    def __init__(self, address, key=None, base="/v1", timeout=30.0):
        self.address = address
        self.key = key
        self.base = base
        self.timeout = timeout
        self.opened = 0                 # connections opened so far
        self._connection = None

    def _open(self):
        self.opened += 1
        if self.address.startswith("unix:"):
            return _UnixConnection(self.address[5:], self.timeout)
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=self.timeout)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def request(self, method, target, headers=None, body=None, key=None):
        """Sends a request; if the server has closed the idle connection, reconnects once."""
        all_headers = {}
        if key or self.key:
            all_headers["Authorization"] = "Bearer " + (key or self.key)
        all_headers.update(headers or {})
        while True:
            fresh = self._connection is None
            try:
                if fresh:
                    self._connection = self._open()
                self._connection.request(method, target, body=body, headers=all_headers)
                answer = self._connection.getresponse()
                response = Response(answer.status, answer.headers, answer.read())
                if answer.will_close:
                    self.close()
                return response
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if fresh:
                    raise
            except Exception:
                self.close()
                raise

    def get(self, path, params=None, headers=None, key=None):
        """GET {base}{path}?{params}; params is a dict or a list of pairs, None values are omitted."""
        target = self.base + path
        pairs = params.items() if isinstance(params, dict) else (params or [])
        query = urllib.parse.urlencode([(name, value) for name, value in pairs if value is not None])
        return self.request("GET", target + ("?" + query if query else ""), headers=headers, key=key)

    def close(self):
        if self._connection:
            self._connection.close()
            self._connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def connect(address, timeout=30.0):
    """Returns a socket that is connected to "host:port", "[::1]:port" or "unix:/path"."""
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout)
        sock.connect(address[5:])
        return sock
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def receive_all(sock):
    """Reads until the server closes or resets the connection."""
    parts = []
    while True:
        try:
            part = sock.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def exchange(address, data, timeout=30.0, half_close=False):
    """Sends raw bytes and returns everything received until the server closes the connection."""
    with connect(address, timeout) as sock:
        sock.sendall(data)
        if half_close:
            sock.shutdown(socket.SHUT_WR)
        return receive_all(sock)
