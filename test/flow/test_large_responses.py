"""Large responses from the response cache: each client receives its whole response even if the entry is evicted during the transfer."""
import contextlib
import http.client
import itertools
import socket

import pytest

from lib.lines import author, reading, video
from lib.metrics import scrape

VIDEOS = 60
DATA = [
    author("Ada"),
    *(video(f"v{n}", "Ada", f"2026-05-{n % 28 + 1:02}T{n % 24:02}:00:00Z", ("youtube", "tiktok", "instagram")) for n in range(VIDEOS)),
    *(reading(f"v{n}", "2026-05-29T20:00:00Z", 700 * (n + 1)) for n in range(VIDEOS)),
]
# All responses are different and larger than 20 KB.
PATHS = [f"/v1/videos?limit={limit}" for limit in range(20, 50)]
# The limit of an entry is an eighth of the cache, so only a few entries fit.
CACHE = 8 * 90_000


class SlowClient:
    """A connection that has pipelined many requests. It reads no response before bodies()."""

    def __init__(self, address, key, path, times):
        self.sock = socket.socket(socket.AF_UNIX if address.startswith("unix:") else socket.AF_INET)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(60)
        host, _, port = address.rpartition(":")
        self.sock.connect(address.removeprefix("unix:") if self.sock.family == socket.AF_UNIX else (host, int(port)))
        head = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
        self.sock.sendall(head.encode() * times)
        self.times = times

    def bodies(self):
        with self.sock.makefile("rb") as stream:
            for _ in range(self.times):
                response = http.client.HTTPResponse(SharedReader(stream))
                response.begin()
                yield response.read()

    def close(self):
        self.sock.close()


class SharedReader:
    """Stands in for a socket, so that consecutive HTTPResponses share one buffered reader."""

    def __init__(self, stream):
        self.stream = stream

    def makefile(self, _):
        return self

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def close(self):
        pass


@pytest.fixture(params=["tcp", "unix"])
def server(make_viewtally, clock, tmp_path, request):
    # The monotonic clock is real, so the default write_timeout_ms could end a transfer that a test stalls on a slow machine.
    options = {"write_timeout_ms": 3600_000}
    if request.param == "unix":
        options["listen"] = f"unix:{tmp_path}/api.sock"
    instance = make_viewtally({"cache": {"max_bytes": CACHE}, "server": options}, clock)
    instance.import_lines(DATA)
    instance.key = instance.create_key(DATA[0]["id"])
    return instance.start()


@pytest.fixture
def expected(make_viewtally, server):
    """{path: body} of a server without a response cache."""
    uncached = make_viewtally({"cache": {"max_bytes": 0}, "store": server.settings["store"]})
    with uncached.start().client(server.key) as client:
        bodies = {path: client.request("GET", path).body for path in PATHS}
    assert len(set(bodies.values())) == len(PATHS) and min(map(len, bodies.values())) > 20_000
    return bodies


def test_slow_clients_get_complete_responses_after_eviction(server, expected):
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.client(server.key))
        slow = []
        for path in PATHS:
            for _ in range(7):          # often enough that the entry is cached and sent by sendfile()
                assert client.request("GET", path).body == expected[path]
            slow.append(SlowClient(server.address, server.key, path, 60))
            stack.callback(slow[-1].close)
        for path in itertools.islice(itertools.cycle(PATHS), 5 * len(PATHS)):
            assert client.request("GET", path).body == expected[path]
        for path, client_of_path in zip(PATHS, slow):
            for body in client_of_path.bodies():
                assert body == expected[path], path
        page = scrape(server)
        assert page.get("viewtally_response_cache_hits_total") > 1000
        assert page.get("viewtally_response_cache_evicted_total") > len(PATHS)
        assert page.get("viewtally_response_cache_bytes") <= CACHE


def test_disconnecting_clients_do_not_affect_others(server, expected):
    with server.client(server.key) as client:
        for path in [path for path in PATHS for _ in range(3)]:
            disconnecting = SlowClient(server.address, server.key, path, 60)
            assert client.request("GET", path).body == expected[path]
            disconnecting.sock.recv(1000)
            disconnecting.close()
        for path in PATHS:
            assert client.request("GET", path).body == expected[path]


def test_head_and_304_of_a_cached_response_have_no_body(server, expected):
    with server.client(server.key) as client:
        for path in PATHS[:3]:
            for _ in range(4):
                whole = client.request("GET", path)
            head = client.request("HEAD", path)
            again = client.request("GET", path, headers={"If-None-Match": whole.headers["ETag"]})
            last = client.request("GET", path, headers={"Connection": "close"})
            assert (whole.body, last.body) == (expected[path], expected[path])
            assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(whole.body)))
            assert (again.status, again.body) == (304, b"")
