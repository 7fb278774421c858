"""An HTTP/1.1 server for several thousand requests per second: keep-alive, no pipelining, and all kinds of bad responses."""
import asyncio
import gzip
import json
import re
import weakref
from urllib.parse import parse_qsl, unquote

REASONS = {100: "Continue", 200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
HEAD_MOST, BODY_MOST = 64 * 1024, 4 * 1024 * 1024
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
    """({name: value}, names that stand twice, whether it is no list of pairs)"""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    except ValueError:
        return {}, [], True
    found, twice = {}, []
    for name, value in pairs:
        if name in found:
            twice.append(name)
        found[name] = value
    return found, twice, False


class Answer:
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
    """One client. `handle(request) -> Answer`; `over(answer, delivered)` is called when a response was sent, or could not be."""

    def __init__(self, handle, over, opened, of_platform=True):
        self._handle, self._over, self._opened, self.of_platform = handle, over, opened, of_platform
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport = self._answer = self._timer = None
        self._asked_to_go_on = False

    def connection_made(self, transport):
        self._transport = transport
        ALL.add(self)
        self._opened(+1)

    def connection_lost(self, _):
        ALL.discard(self)
        self._opened(-1)
        if self._timer:
            self._timer.cancel()
        self._end(False)

    def leave(self):
        self._transport.abort()

    def data_received(self, data):
        self._buffer += data
        if self._answer is None:
            self._next()

    def _next(self):
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_MOST:
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
            if version != "HTTP/1.1" or "transfer-encoding" in headers or length > BODY_MOST:
                raise ValueError
        except ValueError:
            self._transport.abort()
            return
        if headers.get("expect", "").lower() == "100-continue" and not self._asked_to_go_on:
            self._asked_to_go_on = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4:end + 4 + length])
        del self._buffer[:end + 4 + length]
        self._asked_to_go_on = False
        self._answer = self._handle(Request(method, target, headers, body))
        self._send(self._answer)

    def _end(self, delivered):
        answer, self._answer = self._answer, None
        if answer is not None:
            self._over(answer, delivered)

    def _done(self):
        self._end(True)
        if self._buffer and not self._transport.is_closing():
            self._next()

    def _send(self, answer):
        fault = answer.fault or {}
        if fault.get("latency_ms"):
            self._timer = self._loop.call_later(fault["latency_ms"] / 1000, self._send_now, answer, fault)
        else:
            self._send_now(answer, fault)

    def _send_now(self, answer, fault):
        kind, write = fault.get("kind"), self._transport.write
        if kind == "silent":
            return                                              # the client will have to leave
        if kind == "reset":
            self._transport.abort()
            return
        if kind == "not_http":
            write(b"\x16\x03\x01 this is no HTTP at all\r\n\r\n")
            self._transport.close()
            return
        text = answer.text()
        if kind == "truncated":                                 # announces more bytes than it sends
            write(answer.head(len(text)) + text[:len(text) // 2])
            self._transport.close()
        elif kind == "trickle":
            self._trickle(answer.head(len(text)) + text)
        elif kind == "oversized":
            size = max(fault.get("bytes", 10 * 1024 * 1024), len(text))
            write(answer.head(size) + text)
            self._pour(size - len(text))
        elif kind == "gzip_bomb":
            body = gzip_of_spaces(fault.get("bytes", 64 * 1024 * 1024), text)
            write(answer.head(len(body), [("Content-Encoding", "gzip")]) + body)
            self._done()
        else:
            write(answer.head(len(text)) + text)
            self._done()

    def _trickle(self, data, at=0):
        if at == len(data):
            self._done()
            return
        self._transport.write(data[at:at + 1])
        self._timer = self._loop.call_later(TRICKLE_SECONDS, self._trickle, data, at + 1)

    def _pour(self, left):
        """White space behind what would be right."""
        if self._transport.is_closing():
            return
        if left <= 0:
            self._done()
            return
        chunk = min(left, 65536)
        if self._transport.get_write_buffer_size() > 256 * 1024:
            self._timer = self._loop.call_later(0.001, self._pour, left)
            return
        self._transport.write(b" " * chunk)
        self._timer = self._loop.call_soon(self._pour, left - chunk)


def gzip_of_spaces(size, text):
    return gzip.compress(text + b" " * max(0, size - len(text)), 9)


# ---- answers that are wrong in their body -------------------------------------------------------------------------

def edit(node, name, value):
    """Puts `value` where the count `name` stands, in all shapes the platforms use; a value of `...` takes it away."""
    if isinstance(node, list):
        for item in list(node):
            if isinstance(item, dict) and item.get("name") == name and ("values" in item):
                if value is ...:
                    node.remove(item)
                else:
                    item["values"][0]["value"] = value
            else:
                edit(item, name, value)
    elif isinstance(node, dict):
        for key in list(node):
            if key == name:
                if value is ...:
                    del node[key]
                else:
                    node[key] = value
            else:
                edit(node[key], name, value)


MARK = "@@raw@@"


def spoil(answer, fault):
    """What the faults that change a body do to it. `served` goes: what is in there now is not what the platform meant."""
    kind = fault["kind"]
    if kind == "edit":                                          # one count as this very text
        edit(answer.body, fault["count"], MARK)
        answer.body = answer.text().replace(json.dumps(MARK).encode(), fault["raw"].encode())
    elif kind == "drop":
        edit(answer.body, fault["count"], ...)
        # Everything else is valid.
        if answer.served:
            for counts in answer.served.values():
                counts.pop(fault.get("means", fault["count"]), None)
        return
    elif kind == "raw":
        answer.status = fault.get("status", answer.status)
        body = fault.get("body", "")
        answer.body = body.encode() if isinstance(body, str) else body
        answer.headers += [(name, value) for name, value in fault.get("headers", {}).items()]
    elif kind == "cut_json":
        text = answer.text()
        answer.body = text[:len(text) * 2 // 3]
    elif kind == "garbage":
        answer.body = bytes((i * 73 + 41) % 256 for i in range(fault.get("bytes", 4096)))
    elif kind == "nesting":
        deep = fault.get("deep", 100_000)
        answer.body = b'{"data":' + b"[" * deep + b"]" * deep + b"}"
    elif kind == "utf8":
        answer.body = answer.text().replace(b'"', b'"\xff\xfe', 1)
    elif kind == "duplicate_keys":
        text = answer.text()
        first = re.search(rb'"[a-z_]+":', text)
        answer.body = text[:1] + first.group() + b"0," + text[1:]
    elif kind == "empty":
        answer.body = b""
    elif kind == "html":
        answer.headers.append(("Content-Type", "text/html"))
        answer.body = b"<!doctype html><title>Sorry</title><p>Something went wrong."
    elif kind == "redirect":
        answer.status = 302
        answer.headers.append(("Location", fault.get("location", "https://elsewhere.example/")))
        answer.body = b""
    else:
        raise ValueError(f"no such fault: {kind}")
    answer.served = None


BODY_FAULTS = {"edit", "drop", "raw", "cut_json", "garbage", "nesting", "utf8", "duplicate_keys", "empty", "html", "redirect"}
WIRE_FAULTS = {"slow", "silent", "reset", "not_http", "truncated", "trickle", "oversized", "gzip_bomb"}
