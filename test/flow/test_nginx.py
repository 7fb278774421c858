"""The shipped configuration (packaging/nginx) in a real nginx in front of a running server."""
import concurrent.futures
import datetime
import gzip
import http.client
import json
import re
import shutil
import ssl
import subprocess
import time

import pytest

from lib import wait
from lib.client import Client, exchange, connect
from lib.metrics import scrape
from lib.pages import invite
from lib.relay import Relay
from lib.shipped import SHIPPED, nginx_conf as shipped, replace_once

AUTHOR = "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a01"
BOOK = "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7b01"
VIDEOS = 400

# Fields that each server sets for its own connection, and Date.
OWN_FIELDS = {"date", "server", "connection", "keep-alive", "transfer-encoding"}


class Stack:
    """A server with one author and one key, and nginx in front of it."""

    def __init__(self, viewtally, nginx):
        self.viewtally = viewtally
        self.nginx = nginx
        self.key = viewtally.create_key(AUTHOR)

        # /account shows the first use of the key, so wait until it is recorded.
        with self.direct() as client:
            wait.until(lambda: client.get("/account").json()["data"]["key"]["last_used_at"], "the use of the key to be recorded")

    def direct(self):
        return self.viewtally.client(self.key)

    def proxied(self):
        return Client(self.nginx.address, self.key)

    def log_line(self, request_id):
        """Returns the line of the server's log about a request."""
        return wait.until(lambda: next((line for line in self.viewtally.log.splitlines() if line.endswith(request_id)), None),
                          f"the log line of {request_id}")


def video_id(number):
    return f"0b0f3d5e-6f0a-4c39-9a50-{number:012x}"


def days_ago(days):
    when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
    return when.strftime("%Y-%m-%dT12:00:00Z")


def reading(number, days, views):
    return {"type": "reading", "platform": "youtube", "post_id": f"p{number}", "observed_at": days_ago(days), "views": views}


def world():
    """Yields import lines with so many videos that their statistics exceed nginx's buffers."""
    yield {"type": "author", "id": AUTHOR, "name": "Zoë Author"}
    yield {"type": "book", "id": BOOK, "author_id": AUTHOR, "title": "Book"}
    for number in range(VIDEOS):
        yield {"type": "video", "id": video_id(number), "author_id": AUTHOR, "book_id": BOOK if number % 2 else None, "title": f"Video {number}",
               "posts": [{"platform": "youtube", "post_id": f"p{number}", "url": None, "posted_at": days_ago(25)}]}
        yield reading(number, 24, 100 + number)
        yield reading(number, 3, 700 + number)


@pytest.fixture
def server(make_viewtally):
    made = make_viewtally({"log": {"level": "debug"}, "server": {"trusted_proxies": "127.0.0.1"}, "events": {"history_start": "2020-01-01"}})
    made.run("migrate")
    made.import_lines(world())
    return made.start()


@pytest.fixture
def stack(server, make_nginx):
    return Stack(server, make_nginx(shipped(server.address)))


def comparable(response):
    return {name.lower(): value for name, value in response.headers.items() if name.lower() not in OWN_FIELDS}


# -- same responses -------------------------------------------------------------------------------------------------

TARGETS = ["/account", "/books", "/videos", "/videos?limit=2", "/videos?limit=0", "/videos?viral=maybe", "/stats", "/stats?format=csv",
           f"/videos?limit=100&book_id={BOOK}", f"/videos/{video_id(7)}",
           "/stats?start_date=2026-02-30", "/stats?start_date=2020-01-01&end_date=2026-01-01", "/stats?group_by=book",
           "/events", "/events?after=latest", "/events?after=evt_0&limit=1", "/events?after=x", "/openapi.json",
           "/videos/0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99", "/videos/nothing", "//account", "/account/", "/./account", "/videos/../account",
           "/%61ccount", "/account?x=%zz", "/account?x=a+b%20c", "/videos?limit=1&limit=2", "/nothing"]


def test_responses_through_nginx_equal_direct_ones(stack):
    headers = {"X-Request-Id": "same-for-both"}
    with stack.direct() as direct, stack.proxied() as proxied:
        for target in TARGETS:
            for method in ("GET", "HEAD"):
                day = None
                # Repeats the comparison if midnight has passed, because /stats ends today.
                while day != datetime.datetime.now(datetime.timezone.utc).date():
                    day = datetime.datetime.now(datetime.timezone.utc).date()
                    want = direct.request(method, "/v1" + target, headers)
                    got = proxied.request(method, "/v1" + target, headers)
                assert (got.status, got.body, comparable(got)) == (want.status, want.body, comparable(want)), target


def test_long_response_through_nginx_equals_the_direct_one(stack):
    """The response is chunked and exceeds nginx's buffers."""
    query = {"start_date": days_ago(26)[:10]}
    with stack.direct() as direct, stack.proxied() as proxied:
        want = direct.get("/stats", query)
        assert want.headers["Transfer-Encoding"] == "chunked" and len(want.body) > 500_000
        assert len(want.json()["data"]) == VIDEOS
        assert len(direct.get("/stats", {**query, "group_by": "book"}).json()["data"]) == 1
        got = proxied.get("/stats", query)
        assert (got.status, got.body, got.headers["ETag"]) == (200, want.body, want.headers["ETag"])
        packed = proxied.get("/stats", query, headers={"Accept-Encoding": "gzip"})
        assert gzip.decompress(packed.body) == want.body
        again = proxied.get("/stats", query, headers={"If-None-Match": packed.headers["ETag"]})
        assert (again.status, again.body) == (304, b"")


def without_ids(response):
    """Removes request ids, because the server rejects some requests before it has read the client's X-Request-Id."""
    return re.sub(rb'"request_id":"[^"]*"', b"", response.body), {**comparable(response), "x-request-id": None, "content-length": None}


def test_rejections_through_nginx_equal_direct_ones(stack):
    headers = {"X-Request-Id": "same-for-both"}
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    cases = [("GET", "/v1/account", {**headers, "Authorization": "Bearer nothing"}, None),
             ("GET", "/v1/account", {**headers, "Authorization": ""}, None),
             ("DELETE", "/v1/account", headers, None),
             ("POST", "/v1/videos", headers, b"x"),
             ("POST", "/v1/oauth/token", form, b"grant_type=authorization_code&code=x"),
             ("POST", "/v1/oauth/token", form, b"x" * 17_000),
             ("GET", "/v1/account?" + "x" * 9_000, headers, None),
             ("GET", "/v1/account", {**headers, "X-Long": "x" * 17_000}, None)]
    for method, target, fields, body in cases:
        with stack.direct() as direct, stack.proxied() as proxied:
            want = direct.request(method, target, fields, body)
            got = proxied.request(method, target, fields, body)
            assert want.status >= 400
            assert (got.status, without_ids(got)) == (want.status, without_ids(want)), (method, target[:40])


def test_matching_etag_gives_304_through_nginx(stack):
    with stack.proxied() as client:
        first = client.get("/account")
        again = client.get("/account", headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status, again.status, again.body) == (200, 304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]


def test_compression_changes_only_the_encoding(stack):
    with stack.direct() as direct, stack.proxied() as proxied:
        plain = direct.get("/openapi.json")
        packed = proxied.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert len(packed.body) < len(plain.body) / 3
        assert gzip.decompress(packed.body) == plain.body
        assert packed.headers["ETag"] == "W/" + plain.headers["ETag"]
        assert "Accept-Encoding" in ", ".join(packed.headers.get_all("Vary"))
        again = proxied.get("/openapi.json", headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]})
        assert (again.status, again.body) == (304, b"")
        small = proxied.get("/account", headers={"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in small.headers


# -- client identity---------------------------------------------------------------------------------------------------

def test_request_id_is_passed_on_or_generated(stack):
    with stack.proxied() as client:
        own = client.get("/account", headers={"X-Request-Id": "mine-1"})
        assert own.headers["X-Request-Id"] == "mine-1"
        given = client.get("/account").headers["X-Request-Id"]
        assert re.fullmatch("[0-9a-f]{32}", given)
        assert stack.log_line(given)
        odd = client.get("/account", headers={"X-Request-Id": "no good"}).headers["X-Request-Id"]
        assert re.fullmatch("[0-9a-f]{16}", odd)


def logged_client(address, source, stack, headers):
    """Sends a request from a source address and returns the client address that the server logged."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20, source_address=(source, 0))
    request_id = f"from-{source}-{len(headers)}-{port}"
    connection.request("GET", "/v1/account", headers={"Authorization": "Bearer " + stack.key, "X-Request-Id": request_id, **headers})
    assert connection.getresponse().status == 200
    connection.close()
    return stack.log_line(request_id).split()[2]


def test_forwarded_address_is_trusted_only_from_the_proxy(stack):
    claim = {"X-Forwarded-For": "203.0.113.9"}
    nginx, direct = stack.nginx.address, stack.viewtally.address
    assert logged_client(nginx, "127.0.0.2", stack, {}) == "127.0.0.2"
    assert logged_client(nginx, "127.0.0.2", stack, claim) == "127.0.0.2"
    assert logged_client(direct, "127.0.0.2", stack, claim) == "127.0.0.2"
    assert logged_client(direct, "127.0.0.1", stack, claim) == "203.0.113.9"


def test_proxy_is_logged_as_the_client_if_trusted_proxies_is_not_set(make_viewtally, make_nginx):
    server = make_viewtally({"log": {"level": "debug"}})
    server.import_lines([next(world())])
    stack = Stack(server.start(), make_nginx(shipped(server.address)))
    assert logged_client(stack.nginx.address, "127.0.0.2", stack, {}) == "127.0.0.1"


# -- connections to the server -----------------------------------------------------------------------------------------

def test_upstream_connections_are_reused(server, make_nginx):
    with Relay(server.address) as relay:
        stack = Stack(server, make_nginx(shipped(relay.address)))
        for _ in range(20):
            with stack.proxied() as client:
                assert client.get("/account").status == 200
                assert client.get("/nothing").status == 404
        assert relay.accepted == 1


def test_closed_upstream_connection_is_replaced(server, make_nginx):
    """As after a restart of the server, the next request finds a dead connection and is sent again on a new one."""
    with Relay(server.address) as relay:
        stack = Stack(server, make_nginx(shipped(relay.address)))
        for _ in range(10):
            with stack.proxied() as client:
                assert client.get("/account").status == 200
                relay.cut_all()
                assert client.get("/account").status == 200


def test_nginx_closes_idle_connections_before_the_server_does(server):
    text = SHIPPED.read_text(encoding="utf-8")
    upstream = text[text.index("upstream viewtally {"):text.index("}", text.index("upstream viewtally {"))]
    upstream_idle_s = int(re.search(r"keepalive_timeout (\d+)s;", upstream).group(1))
    idle_ms = int(re.search(r"^idle_timeout_ms = (\d+)", server.run("check-config").out, re.M).group(1))
    assert upstream_idle_s * 1000 + 5000 <= idle_ms
    assert int(re.search(r"proxy_read_timeout (\d+)s;", text).group(1)) >= 55 + 5


def test_long_poll_through_nginx_waits_until_its_deadline(stack):
    with stack.proxied() as client:
        start = time.monotonic()
        response = client.get("/events", {"after": "latest", "wait": 1})
        assert response.status == 200 and response.json()["data"] == []
        assert time.monotonic() - start > 0.9       # a lower bound, so a slow machine cannot fail this


def test_long_poll_through_nginx_ends_when_an_event_occurs(server, make_nginx):
    with Relay(server.address) as relay, concurrent.futures.ThreadPoolExecutor(1) as pool:
        stack = Stack(server, make_nginx(shipped(relay.address)))
        with stack.proxied() as client:
            poll = pool.submit(client.get, "/events", {"after": "latest", "wait": 50})
            wait.until(lambda: in_flight(server) == 1, "the long poll to reach the server")
            server.import_lines([reading(5, 2, 1500)])
            response = poll.result(timeout=60).json()
        assert [(event["video"]["id"], event["milestone"]) for event in response["data"]] == [(video_id(5), 1000)]


def test_long_polls_do_not_block_other_requests(stack):
    def poll(_):
        with stack.proxied() as client:
            return client.get("/events", {"after": "latest", "wait": 50}).status

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        polls = [pool.submit(poll, n) for n in range(50)]
        wait.until(lambda: in_flight(stack.viewtally) == 50, "the long polls to reach the server")
        with stack.proxied() as client:
            assert client.get("/account").status == 200
        assert not any(poll.done() for poll in polls)       # the request above was completed while they wait
        stack.viewtally.import_lines([reading(5, 2, 1500)])
        assert {poll.result() for poll in polls} == {200}


def in_flight(server):
    return scrape(server).get("viewtally_http_requests_in_flight")


def test_client_disconnect_closes_the_connection_to_the_server(server, make_nginx):
    """If nginx kept its connection to the server, each disconnected client would occupy one for up to 55 s."""
    with Relay(server.address) as relay:
        stack = Stack(server, make_nginx(shipped(relay.address)))
        request = (f"GET /v1/events?after=latest&wait=55 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {stack.key}\r\n\r\n")
        with connect(stack.nginx.address) as sock:
            sock.sendall(request.encode())
            wait.until(lambda: relay.accepted == 1, "the long poll to reach the server")
            assert relay.closed_by_client == 0
        wait.until(lambda: relay.closed_by_client == 1, "nginx to close the connection")


# -- contents of the logs ----------------------------------------------------------------------------------------------

CODE, STATE = "code-" + "C" * 30, "state-" + "S" * 30
CALLBACK = f"/platforms/callback/tiktok?code={CODE}&state={STATE}"


def everything_logged(stack):
    """Returns nginx's access log, error log and standard error, and the server's log."""
    files = [path for path in stack.nginx.directory.rglob("*") if path.is_file() and path.name != "nginx.conf"]
    return "".join(path.read_text(errors="replace") for path in files) + stack.viewtally.log


def spellings(path):
    """Returns spellings of one URL that nginx treats as the same, or that a person may type."""
    escaped = "/%" + format(ord(path[1]), "x") + path[2:]
    return [path, escaped, "/" + path, path + ("&" if "?" in path else "?") + "x=%zz", path.replace("/", "/./", 1), path.upper(), path + "/"]


def test_logs_contain_no_invitation_secret_and_no_callback_code(stack):
    secret = invite(stack.viewtally, AUTHOR).rpartition("/")[2]
    with stack.proxied() as client:
        for query in (f"/sign-in?next=/invite/{secret}", f"/v1/oauth/authorize?state={STATE}"):
            client.request("GET", query, headers={"Accept": "text/html"})
    for server_runs in (True, False):
        if not server_runs:
            stack.viewtally.stop()
        with stack.proxied() as client:
            for path in spellings("/invite/" + secret) + spellings(CALLBACK):
                client.request("GET", path, headers={"Accept": "text/html"})
                client.request("POST", path, body=b"x" * 70_000)        # rejected by nginx, with a line in its error log
            client.request("GET", "/v1/account?last=yes")
    logged = wait.until(lambda: (text := everything_logged(stack)).count("/v1/account?last=yes") >= 2 and text, "nginx to write its log")
    assert "/platforms/callback/tiktok " in logged and "[invitation link]" in logged
    for hidden in (secret, CODE, STATE):
        assert hidden.lower() not in logged.lower()


def test_secret_urls_are_not_sent_as_referrer(stack):
    with stack.proxied() as client:
        for path in (invite(stack.viewtally, AUTHOR), "/invite/" + "x" * 43, CALLBACK):
            response = client.request("GET", path, headers={"Accept": "text/html"})
            assert response.headers["Referrer-Policy"] == "strict-origin", path
        assert client.request("GET", "/sign-in").headers["Referrer-Policy"] == "same-origin"


# -- responses of nginx itself -------------------------------------------------------------------------------------------

def test_unavailable_server_gives_a_503_in_api_format(stack):
    stack.viewtally.stop()
    with stack.proxied() as client:
        response = client.get("/account")
    assert response.status == 503
    assert response.headers["Content-Type"] == "application/json"
    assert int(response.headers["Retry-After"]) > 0
    error = response.json()
    assert error["success"] is False and error["error"]["code"] == "internal_error"
    assert error["error"]["request_id"] == response.headers["X-Request-Id"]


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize("accept,is_page", [(BROWSER, True), ("TEXT/HTML", True), ("text/htmlx", False), ("application/json", False),
                                            ("*/*", False), (None, False)])
def test_unavailable_server_gives_a_page_to_browsers_only(stack, accept, is_page):
    stack.viewtally.stop()
    headers = {"Accept": accept} if accept else {}
    with stack.proxied() as client:
        for method, path in (("GET", "/sign-in"), ("HEAD", "/sign-in"), ("POST", "/sign-in"), ("GET", "/invite/" + "x" * 43)):
            response = client.request(method, path, headers)
            assert response.status == 503 and int(response.headers["Retry-After"]) > 0
            assert response.headers["Content-Type"] == ("text/html; charset=utf-8" if is_page else "application/json")
            assert response.headers["Vary"] == "Accept" and response.headers["Cache-Control"] == "no-store"
            if method != "HEAD":
                assert response.body.startswith(b"<!DOCTYPE html>" if is_page else b'{"success":false')
                assert response.headers["X-Request-Id"].encode() in response.body


def test_rejection_by_nginx_gives_a_page_to_browsers(stack):
    with stack.proxied() as client:
        response = client.request("POST", "/sign-in", {"Accept": BROWSER}, b"x" * 70_000)
    assert response.status == 413 and response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"malformed or too large" in response.body and "default-src 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("status,data", [
    (400, b"GET /v1/account HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    (400, b"GET /v1/account HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n"),
    (413, b"POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\nConnection: close\r\n\r\n" + b"x" * 70_000),
    (414, b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
], ids=["two hosts", "long field", "large body", "long target"])
def test_rejections_by_nginx_have_the_api_format(stack, status, data):
    response = exchange(stack.nginx.address, data)
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), head
    assert b"\r\nContent-Type: application/json" in head
    assert json.loads(body)["error"]["code"] == "invalid_parameter"


# -- variants described in the file -------------------------------------------------------------------------------------

def test_nginx_connects_through_a_unix_socket(make_viewtally, make_nginx, tmp_path):
    path = tmp_path / "v.sock"
    server = make_viewtally({"log": {"level": "debug"}, "server": {"listen": f"127.0.0.1:0, unix:{path}", "trusted_proxies": "unix"}})
    server.import_lines([next(world())])
    server.start()
    text = replace_once(shipped("127.0.0.1:1"), "server 127.0.0.1:1;", "")
    text = replace_once(text, "# server unix:/run/viewtally/viewtally.sock;", f"server unix:{path};")
    stack = Stack(server, make_nginx(text))
    with stack.direct() as direct, stack.proxied() as proxied:
        assert proxied.get("/account").body == direct.get("/account").body
    assert logged_client(stack.nginx.address, "127.0.0.2", stack, {}) == "127.0.0.2"


def test_nginx_terminates_tls(server, make_nginx, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, so there is no certificate to test with")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=api.example.com", "-addext", "subjectAltName=DNS:api.example.com",
                    "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    stack = Stack(server, make_nginx(with_tls(shipped(server.address), tmp_path)))
    context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with connect(stack.nginx.address) as plain, context.wrap_socket(plain, server_hostname="api.example.com") as sock:
        sock.sendall(f"GET /v1/account HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer {stack.key}\r\n"
                     "Connection: close\r\n\r\n".encode())
        response = b"".join(iter(lambda: sock.recv(65536), b""))
    assert response.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nStrict-Transport-Security: " in response


def with_tls(text, directory):
    """Returns the configuration with its second TLS block, which is in a comment, in use."""
    start = text.index("# TLS, second block")
    block = text[start:text.index("\n\n", start)]
    lines = [re.sub(r"^\s*#   ", "", line) for line in block.splitlines()[2:]]
    tls = "\n".join(lines)
    tls = replace_once(tls, "listen 443 ssl http2;", "listen 127.0.0.1:@PORT@ ssl http2;")
    tls = replace_once(tls, "listen [::]:443 ssl http2;", "")
    tls = replace_once(tls, "/etc/letsencrypt/live/api.example.com/fullchain.pem", str(directory / "cert.pem"))
    tls = replace_once(tls, "/etc/letsencrypt/live/api.example.com/privkey.pem", str(directory / "key.pem"))
    text = replace_once(text, "listen 127.0.0.1:@PORT@;", tls)
    return replace_once(text, "server_name ~.;", "")
