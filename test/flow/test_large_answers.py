"""Large responses from the response cache: each client receives the complete response, also while its entry is evicted."""
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
# Responses of 20 KB and more, all different.
PATHS = [f"/v1/videos?limit={limit}" for limit in range(20, 50)]
# A response may take an eighth of the cache, so a few fit.
CACHE = 8 * 90_000


class Slow:
    """A connection that has pipelined many requests. The test decides when it reads."""

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
                answer = http.client.HTTPResponse(Stream(stream))
                answer.begin()
                yield answer.read()

    def close(self):
        self.sock.close()


class Stream:
    """A file-like socket for HTTPResponse: all responses of a connection come from one buffer."""

    def __init__(self, stream):
        self.stream = stream

    def makefile(self, _):
        return self

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def close(self):
        pass


@pytest.fixture(params=["tcp", "unix"])
def server(make_viewtally, tmp_path, request):
    listen = {"server": {"listen": f"unix:{tmp_path}/api.sock"}} if request.param == "unix" else {}
    made = make_viewtally({"cache": {"max_bytes": CACHE}, **listen})
    made.import_lines(DATA)
    made.key = made.create_key(DATA[0]["id"])
    return made.start()


@pytest.fixture
def expected(make_viewtally, server):
    """The responses of a server without a response cache."""
    makes = make_viewtally({"cache": {"max_bytes": 0}, "store": server.settings["store"]})
    with makes.start().client(server.key) as client:
        bodies = {path: client.request("GET", path).body for path in PATHS}
    assert len(set(bodies.values())) == len(PATHS) and min(map(len, bodies.values())) > 20_000
    return bodies


def test_slow_clients_get_complete_responses_after_eviction(server, expected):
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.client(server.key))
        slow = []
        for path in PATHS:
            for _ in range(7):          # it is cached, and requested often enough for sendfile()
                assert client.request("GET", path).body == expected[path]
            slow.append(Slow(server.address, server.key, path, 60))
            stack.callback(slow[-1].close)
        for path in itertools.islice(itertools.cycle(PATHS), 5 * len(PATHS)):
            assert client.request("GET", path).body == expected[path]
        for path, one in zip(PATHS, slow):
            for body in one.bodies():
                assert body == expected[path], path
        page = scrape(server)
        assert page.get("viewtally_response_cache_hits_total") > 1000
        assert page.get("viewtally_response_cache_evicted_total") > len(PATHS)
        assert page.get("viewtally_response_cache_bytes") <= CACHE


def test_disconnecting_clients_do_not_affect_others(server, expected):
    with server.client(server.key) as client:
        for path in [path for path in PATHS for _ in range(3)]:
            gone = Slow(server.address, server.key, path, 60)
            assert client.request("GET", path).body == expected[path]
            gone.sock.recv(1000)
            gone.close()
        for path in PATHS:
            assert client.request("GET", path).body == expected[path]


def test_head_and_304_of_a_cached_response(server, expected):
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
