"""An HTTP/1.1 server for several thousand requests per second, with keep-alive but without pipelining, that can send faulty responses."""
import asyncio
import gzip
import json
import re
import weakref
from urllib.parse import parse_qsl, unquote

REASONS = {100: "Continue", 200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
HEAD_MAX, BODY_MAX = 64 * 1024, 4 * 1024 * 1024
TRICKLE_SECONDS = 0.2


class Request:
    __slots__ = ("method", "target", "path", "query", "headers", "body", "repeated", "broken")

    def __init__(self, method, target, headers, body=b""):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        path, _, query = target.partition("?")
        self.path = unquote(path)
        self.query, self.repeated, self.broken = read_pairs(query)

    def header(self, name):
        return self.headers.get(name, "")

    @property
    def content_type(self):
        return self.header("content-type").partition(";")[0].strip().lower()


def read_pairs(text):
    """Parses name=value pairs. Returns ({name: value}, repeated names, True if malformed)."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    except ValueError:
        return {}, [], True
    found, repeated = {}, []
    for name, value in pairs:
        if name in found:
            repeated.append(name)
        found[name] = value
    return found, repeated, False


class Response:
    """`body` is an object to be sent as JSON, or bytes. `served` lists the counts in this response:
    {post id: {count: value}}."""
    __slots__ = ("status", "headers", "body", "served", "fault", "record")

    def __init__(self, status, body=None, headers=(), served=None):
        self.status, self.body, self.headers, self.served, self.fault = status, body, list(headers), served, None
        self.record = None

    def text(self):
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body, separators=(",", ":")).encode()

    def head(self, length, more=()):
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Other')}", f"Content-Length: {length}"]
        names = {name.lower() for name, _ in (*self.headers, *more)}
        if "content-type" not in names and self.body is not None:
            lines.append("Content-Type: application/json; charset=utf-8")
        lines += [f"{name}: {value}" for name, value in (*self.headers, *more)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


ALL = weakref.WeakSet()


class Connection(asyncio.Protocol):
    """One client connection. `handle(request)` returns a Response; `on_end(response, delivered)` is called after it was sent or the connection was lost."""

    def __init__(self, handle, on_end, count_connection, of_platform=True):
        self._handle, self._on_end, self._count_connection, self.of_platform = handle, on_end, count_connection, of_platform
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport = self._response = self._timer = None
        self._sent_continue = False

    def connection_made(self, transport):
        self._transport = transport
        ALL.add(self)
        self._count_connection(+1)

    def connection_lost(self, _):
        ALL.discard(self)
        self._count_connection(-1)
        if self._timer:
            self._timer.cancel()
        self._end(False)

    def abort(self):
        self._transport.abort()

    def data_received(self, data):
        self._buffer += data
        if self._response is None:
            self._next()

    def _next(self):
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_MAX:
                self._transport.abort()
            return
        try:
            lines = bytes(self._buffer[:end]).decode("ascii").split("\r\n")
            method, target, version = lines[0].split(" ")
            headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            length = int(headers.get("content-length", 0))
            if version != "HTTP/1.1" or "transfer-encoding" in headers or length > BODY_MAX:
                raise ValueError
        except ValueError:
            self._transport.abort()
            return
        if headers.get("expect", "").lower() == "100-continue" and not self._sent_continue:
            self._sent_continue = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4:end + 4 + length])
        del self._buffer[:end + 4 + length]
        self._sent_continue = False
        self._response = self._handle(Request(method, target, headers, body))
        self._send(self._response)

    def _end(self, delivered):
        response, self._response = self._response, None
        if response is not None:
            self._on_end(response, delivered)

    def _done(self):
        self._end(True)
        if self._buffer and not self._transport.is_closing():
            self._next()

    def _send(self, response):
        fault = response.fault or {}
        if fault.get("latency_ms"):
            self._timer = self._loop.call_later(fault["latency_ms"] / 1000, self._send_now, response, fault)
        else:
            self._send_now(response, fault)

    def _send_now(self, response, fault):
        kind, write = fault.get("kind"), self._transport.write
        if kind == "silent":
            return                                              # the client must give up
        if kind == "reset":
            self._transport.abort()
            return
        if kind == "not_http":
            write(b"\x16\x03\x01 this is not HTTP at all\r\n\r\n")
            self._transport.close()
            return
        text = response.text()
        if kind == "truncated":                                 # announces more bytes than it sends
            write(response.head(len(text)) + text[:len(text) // 2])
            self._transport.close()
        elif kind == "trickle":
            self._trickle(response.head(len(text)) + text)
        elif kind == "oversized":
            size = max(fault.get("bytes", 10 * 1024 * 1024), len(text))
            write(response.head(size) + text)
            self._send_white_space(size - len(text))
        elif kind == "gzip_bomb":
            body = gzip_of_spaces(fault.get("bytes", 64 * 1024 * 1024), text)
            write(response.head(len(body), [("Content-Encoding", "gzip")]) + body)
            self._done()
        else:
            write(response.head(len(text)) + text)
            self._done()

    def _trickle(self, data, at=0):
        if at == len(data):
            self._done()
            return
        self._transport.write(data[at:at + 1])
        self._timer = self._loop.call_later(TRICKLE_SECONDS, self._trickle, data, at + 1)

    def _send_white_space(self, left):
        """Sends white space after the valid body."""
        if self._transport.is_closing():
            return
        if left <= 0:
            self._done()
            return
        chunk = min(left, 65536)
        if self._transport.get_write_buffer_size() > 256 * 1024:
            self._timer = self._loop.call_later(0.001, self._send_white_space, left)
            return
        self._transport.write(b" " * chunk)
        self._timer = self._loop.call_soon(self._send_white_space, left - chunk)


def gzip_of_spaces(size, text):
    return gzip.compress(text + b" " * max(0, size - len(text)), 9)


# ---- faults of the body -------------------------------------------------------------------------------------------

def edit_count(node, name, value):
    """Replaces the count `name` by `value` in every format of the platforms; the value `...` removes it."""
    if isinstance(node, list):
        for item in list(node):
            if isinstance(item, dict) and item.get("name") == name and ("values" in item):
                if value is ...:
                    node.remove(item)
                else:
                    item["values"][0]["value"] = value
            else:
                edit_count(item, name, value)
    elif isinstance(node, dict):
        for key in list(node):
            if key == name:
                if value is ...:
                    del node[key]
                else:
                    node[key] = value
            else:
                edit_count(node[key], name, value)


MARK = "@@raw@@"


def corrupt(response, fault):
    """Applies a fault to the body and clears `served`, because the response no longer has the counts of the platform."""
    kind = fault["kind"]
    if kind == "edit":                                          # replaces one count by the given text
        edit_count(response.body, fault["count"], MARK)
        response.body = response.text().replace(json.dumps(MARK).encode(), fault["raw"].encode())
    elif kind == "drop":
        edit_count(response.body, fault["count"], ...)
        # The other counts stay valid.
        if response.served:
            for counts in response.served.values():
                counts.pop(fault.get("means", fault["count"]), None)
        return
    elif kind == "raw":
        response.status = fault.get("status", response.status)
        body = fault.get("body", "")
        response.body = body.encode() if isinstance(body, str) else body
        response.headers += [(name, value) for name, value in fault.get("headers", {}).items()]
    elif kind == "cut_json":
        text = response.text()
        response.body = text[:len(text) * 2 // 3]
    elif kind == "garbage":
        response.body = bytes((i * 73 + 41) % 256 for i in range(fault.get("bytes", 4096)))
    elif kind == "nesting":
        depth = fault.get("depth", 100_000)
        response.body = b'{"data":' + b"[" * depth + b"]" * depth + b"}"
    elif kind == "utf8":
        response.body = response.text().replace(b'"', b'"\xff\xfe', 1)
    elif kind == "duplicate_keys":
        text = response.text()
        first = re.search(rb'"[a-z_]+":', text)
        response.body = text[:1] + first.group() + b"0," + text[1:]
    elif kind == "empty":
        response.body = b""
    elif kind == "html":
        response.headers.append(("Content-Type", "text/html"))
        response.body = b"<!doctype html><title>Sorry</title><p>Something went wrong."
    elif kind == "redirect":
        response.status = 302
        response.headers.append(("Location", fault.get("location", "https://elsewhere.example/")))
        response.body = b""
    else:
        raise ValueError(f"unknown fault: {kind}")
    response.served = None


BODY_FAULTS = {"edit", "drop", "raw", "cut_json", "garbage", "nesting", "utf8", "duplicate_keys", "empty", "html", "redirect"}
WIRE_FAULTS = {"slow", "silent", "reset", "not_http", "truncated", "trickle", "oversized", "gzip_bomb"}
