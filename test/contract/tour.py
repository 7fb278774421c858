"""Sends requests for every endpoint, parameter, header and error code to running servers, and checks each pair of
request and response."""
import http.client
import io
import urllib.parse

import scene
from checker import Checker
from lib import oauth, wait
from lib.client import Response, connect, receive_all
from lib.clock import FakeClock
from lib.viewtally import Viewtally

LIMIT = 10000
ORIGIN = "https://app.example"


class _Bytes(io.BytesIO):
    """A socket's stand-in for http.client."""

    def makefile(self, *_, **__):
        return self


def parse(data, method="GET"):
    """The first response in `data`."""
    response = http.client.HTTPResponse(_Bytes(data), method=method)
    response.begin()
    return Response(response.status, response.headers, response.read())


class Installation:
    """One server with the scene's data, and a checker."""

    def __init__(self, directory, seen, config=None):
        self.clock = FakeClock(directory / "clock", scene.NOW)
        self.limited = (config or {}).get("limits", {}).get("headers") != "off"
        limits = {"requests_per_minute": LIMIT}
        self.viewtally = Viewtally(directory / "viewtally", {"limits": limits, **(config or {})}, clock=self.clock)
        self.viewtally.run("migrate")
        self.viewtally.import_lines(scene.all_lines())
        self.viewtally.start()
        origin = (config or {}).get("server", {}).get("cors_origins")
        self.checker = Checker(limited=self.limited, seen=seen, origin=origin)
        self.document = self.checker.document
        self.keys = {author: self.viewtally.create_key(author) for author in (scene.FULL, scene.EMPTY, scene.UNPAID)}
        self.key = self.keys[scene.FULL]
        self.client = self.viewtally.client()

    def close(self):
        self.client.close()
        self.viewtally.stop()

    def send(self, method, path, params=None, key=None, headers=None, body=None):
        """Sends one request and checks the pair. `path` is below the base path; `params` is a dict, a list of pairs or an encoded query."""
        query = params if isinstance(params, str) else urllib.parse.urlencode(params or {})
        target = f"/v1{path}" + (f"?{query}" if query else "")
        sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        response = self.client.request(method, target, headers=sent, body=body)
        return self.checker.check(method, target, response, sent)

    def get(self, path, params=None, headers=None, key=None):
        return self.send("GET", path, params, key or self.key, headers)

    def form(self, endpoint, fields, headers=None):
        """Posts a form to an OAuth endpoint."""
        return self.send("POST", f"/oauth/{endpoint}", headers={**oauth.FORM, **(headers or {})}, body=urllib.parse.urlencode(fields))

    def raw(self, head, target="/v1/account", method="GET", body=b""):
        """Sends a request that is rejected as malformed HTTP; `head` is everything after the request line."""
        data = f"{method} {target} HTTP/1.1\r\n".encode() + head + b"\r\n\r\n" + body
        return self.exchange_raw(data, method, target)

    def exchange_raw(self, data, method="GET", target="/v1/account"):
        with connect(self.viewtally.address) as sock:
            sock.sendall(data)
            response = parse(receive_all(sock), method)
        return self.checker.check(method, target, response, malformed=True)

    def targets(self, keyed=None):
        """(operation, a path with a 200) of each operation; keyed=True: only those that need a key."""
        for operation in self.document.operations:
            if operation.method == "HEAD":
                continue  # tour_successes() sends it beside GET
            if keyed is None or operation.keyed == keyed:
                yield operation, operation.template.replace("{id}", scene.VIRAL)


def expect(response, status, code=None):
    assert response.status == status, response
    if code:
        assert response.error_code == code, response
    return response


# -- successes ----------------------------------------------------------------------------------------------------------

def tour_successes(installation):
    """Each GET gives 200, its HEAD the same headers, its ETag a 304. A valid request id is returned, an invalid one
    replaced."""
    expect(installation.get("/account"), 200)
    wait.until(lambda: installation.get("/account").json()["data"]["key"]["last_used_at"], "the use of the key to be recorded")
    for operation, path in installation.targets():
        if operation.method != "GET":
            continue
        response = expect(installation.get(path, headers={"X-Request-Id": "tour.1_A-z"}), 200)
        assert response.headers["X-Request-Id"] == "tour.1_A-z"
        head = expect(installation.send("HEAD", path, key=installation.key), 200)
        for name in ("Content-Type", "Content-Length", "Cache-Control", "Vary"):
            assert head.headers[name] == response.headers[name], (path, name)
        for held in (f'"x", W/{head.headers["ETag"]}', "*"):
            not_modified = expect(installation.get(path, headers={"If-None-Match": held}), 304)
            for name in ("ETag", "Cache-Control", "Vary"):
                assert not_modified.headers[name] == head.headers[name], (path, name, not_modified.headers[name])
        expect(installation.send("HEAD", path, key=installation.key, headers={"If-None-Match": "*"}), 304)
        expect(installation.get(path, headers={"If-None-Match": '"another"'}), 200)
        for headers, status in (({}, 200), ({"If-None-Match": "*"}, 304)):
            for method in ("GET", "HEAD"):
                ignored = expect(installation.send(method, path, "utm=1&a%3Ab=2&=x&%FF", installation.key, headers), status)
                assert ignored.headers["X-Unknown-Parameters"] == "utm, a%3Ab, %FF", ignored.headers.items()
        replaced = expect(installation.get(path, headers={"X-Request-Id": "no blanks"}), 200)
        assert replaced.headers["X-Request-Id"] != "no blanks"
    expect(installation.get("/openapi.json"), 200)
    served = installation.get("/openapi.json").json()
    assert served == {**installation.document.raw, "servers": [{"url": "/v1"}]}, served["servers"]
    assert installation.get("").body == installation.get("/").body, "/v1 and /v1/ differ"
    expect(installation.send("HEAD", "/account"), 401)


def tour_account(installation):
    for author in (scene.FULL, scene.EMPTY):
        expect(installation.get("/account", key=installation.keys[author]), 200)
    fresh = installation.viewtally.create_key(scene.FULL, "Zweiter Schlüssel")
    assert installation.get("/account", key=fresh).json()["data"]["key"]["last_used_at"] is None


def follow_links(installation, path, params):
    """Checks that following Link: rel=next gives the same records as following next_cursor. Requests each page fresh,
    from the cache, and with a 304 as the response."""
    cursor_name = "cursor" if path == "/videos" else "before" if "order" in params else "after"
    target, cursor, pages = f"/v1{path}?{urllib.parse.urlencode(params)}", None, 0
    while target:
        query = target.partition("?")[2]
        by_cursor = installation.get(path, {**params, **({cursor_name: cursor} if cursor else {})})
        for status, headers in ((200, {}), (200, {}), (200, {}), (304, {"If-None-Match": "*"})):
            response = expect(installation.get(path, query, headers), status)
            if status == 200:
                assert response.body == by_cursor.body, target
        head = expect(installation.send("HEAD", path, query, installation.key), 200)
        assert expect(installation.send("HEAD", path, query, installation.key, {"If-None-Match": "*"}), 304).headers["Link"] == head.headers["Link"]
        link, page = response.headers["Link"], by_cursor.json()
        assert (link is not None) == page["has_more"] and head.headers["Link"] == link, (target, link)
        target, cursor, pages = link and link[1:link.index(">")], page["next_cursor"], pages + 1
    assert pages > 1


def tour_videos(installation):
    everything = expect(installation.get("/videos"), 200).json()["data"]
    for each in everything:
        assert expect(installation.get(f"/videos/{each['id'].upper()}"), 200).json()["data"] == each
    page = expect(installation.get("/videos", {"limit": 3, "viral": "false"}), 200).json()
    expect(installation.get("/videos", {"limit": 100, "viral": "false", "cursor": page["next_cursor"]}), 200)
    follow_links(installation, "/videos", {"limit": 2, "viral": "false"})
    assert len(installation.get("/videos", {"viral": "true"}).json()["data"]) == 2
    assert installation.get("/videos", {"book_id": scene.BOOK.upper()}).json()["data"]
    assert installation.get("/videos", {"start_date": "2026-06-10", "end_date": "2026-07-10"}).json()["data"]
    assert not installation.get("/videos", key=installation.keys[scene.EMPTY]).json()["data"]
    for platform in {post["platform"] for each in everything for post in each["platforms"]}:
        assert installation.get("/videos", {"platform": platform, "updated_after": "2026-01-01T00:00:00Z"}).json()["data"]
    for video in everything:
        assert video in installation.get("/videos", {"q": video["title"].upper()[:100]}).json()["data"]
    for sort in ("posted_at", "views", "views_7d"):
        follow_links(installation, "/videos", {"limit": 2, "sort": sort})
    assert expect(installation.get("/videos", {"limit": 1, "include": "total"}), 200).json()["total_count"] == len(everything)


def tour_stats(installation):
    ranges = ({}, {"start_date": "2026-06-14", "end_date": "2026-07-10"}, {"end_date": "2026-06-20"},
              {"start_date": "2026-04-15", "end_date": "2026-07-13"}, {"start_date": "2026-07-09"})
    for params in ranges:
        for group in ({}, {"group_by": "video"}, {"group_by": "book"}, {"group_by": "account"}, {"group_by": "platform"},
                      {"granularity": "week"}, {"group_by": "account", "granularity": "month"}):
            expect(installation.get("/stats", {**params, **group}), 200)
            expect(installation.get("/stats", {**params, **group, "format": "json"}, headers={"Accept": "text/csv"}), 200)
            for csv in (installation.get("/stats", {**params, **group, "format": "csv"}),
                        installation.get("/stats", {**params, **group}, headers={"Accept": "text/csv"}),
                        installation.get("/stats.csv", {**params, **group})):
                assert csv.headers["Content-Type"].startswith("text/csv") and csv.headers["Content-Disposition"]
    expect(installation.get("/stats", key=installation.keys[scene.EMPTY]), 200)
    spread_gains(installation)
    shown = expect(installation.get("/stats", {"group_by": "platform"}), 200).json()["data"]
    assert [row["platform"] for row in shown] == ["tiktok", "instagram", "youtube", "facebook", "pinterest", None]


def spread_gains(installation):
    """Gives each platform a gain of one view. All other gains lose their platform, so /stats shows them without one."""
    with installation.viewtally.write_transaction() as execute:
        [(author, day)] = execute("SELECT author_id, day FROM author_daily WHERE gained > 5 ORDER BY day DESC LIMIT 1")
        execute("DELETE FROM author_daily WHERE author_id = ?", author)
        for platform in range(5):
            execute("INSERT INTO author_daily (author_id, day, platform, gained) VALUES (?, ?, ?, 1)", author, day, platform)
        execute("UPDATE authors SET rev = rev + 1")


def tour_events(installation):
    everything = expect(installation.get("/events"), 200).json()
    assert {event["type"] for event in everything["data"]} == {"video.went_viral", "video.milestone_reached"}
    page = expect(installation.get("/events", {"limit": 2}), 200).json()
    assert page["has_more"]
    expect(installation.get("/events", {"limit": 2, "after": page["next_cursor"]}), 200)
    follow_links(installation, "/events", {"limit": 2, "occurred_after": "2026-06-01T00:00:00Z"})
    follow_links(installation, "/events", {"limit": 2, "order": "desc"})
    assert installation.get("/events", {"after": everything["next_cursor"]}).json()["next_cursor"] is None
    assert installation.get("/events", {"after": "latest"}).json()["next_cursor"] == everything["next_cursor"]
    for type_name in ("video.went_viral", "video.milestone_reached", "video.milestone_reached,video.went_viral"):
        expect(installation.get("/events", {"type": type_name}), 200)
    expect(installation.get("/events", {"occurred_after": "2026-07-01T00:00:00Z"}), 200)
    expect(installation.get("/events", {"occurred_after": "2026-07-01T00:00:00.123456789Z", "order": "asc"}), 200)
    newest = expect(installation.get("/events", {"order": "desc", "limit": 1}), 200).json()
    expect(installation.get("/events", {"order": "desc", "before": newest["next_cursor"]}), 200)
    expect(installation.get("/events", {"after": "latest", "wait": 1}), 200)
    expect(installation.get("/events", {"wait": 55}), 200)


# -- errors -----------------------------------------------------------------------------------------------------------

def tour_keys(installation):
    """Requests without a valid key or plan: 401 and 403 of each endpoint that needs a key, 200 of the others."""
    revoked = installation.viewtally.run("key", "create", "--author", scene.FULL, "--name", "gone", "--json").json()
    installation.viewtally.run("key", "revoke", revoked["id"])
    unknown = installation.key[:-1] + ("a" if installation.key[-1] != "a" else "b")
    for operation, path in installation.targets(keyed=True):
        for headers in ({}, {"Authorization": ""}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}):
            expect(installation.send(operation.method, path, headers=headers), 401, "missing_api_key")
        expect(installation.send(operation.method, path, key=unknown), 401, "invalid_api_key")
        expect(installation.send(operation.method, path, key="x"), 401, "invalid_api_key")
        expect(installation.send(operation.method, path, key=revoked["key"]), 401, "api_key_revoked")
        expect(installation.send(operation.method, path, key=installation.keys[scene.UNPAID]), 403, "plan_inactive")
    for operation, path in installation.targets(keyed=False):
        if operation.method == "GET":
            expect(installation.send("GET", path), 200)


def tour_oauth(installation):
    """The token and the revocation endpoint: each success and each error except that of an unavailable database."""
    public, confidential = (oauth.add_app(installation.viewtally, confidential=kind) for kind in (False, True))
    for app in (public, confidential):
        grant = oauth.Grant(installation.viewtally, app, scene.FULL, at_ms=installation.clock.wall_ms)
        if app is public:       # an app with a webhook, to which the author has consented
            oauth.rows(installation.viewtally, "UPDATE apps SET webhook_url = 'https://app.example/hook' WHERE client_id = ?", app["client_id"])
            oauth.rows(installation.viewtally, "UPDATE oauth_codes SET webhook_url = 'https://app.example/hook' WHERE hash = ?", oauth.hash_of(grant.code))
        response = expect(installation.form("token", grant.fields(), {"X-Request-Id": "token-1"}), 200).json()
        expect(installation.get("/account", key=response["access_token"]), 200)
        gone = {name: value for name, value in app.items() if name.startswith("client_") and value}
        expect(installation.form("revoke", {**gone, "token": response["access_token"], "token_type_hint": "access_token"},
                          {"X-Request-Id": "revoke-1"}), 200)
        expect(installation.get("/account", key=response["access_token"]), 401, "api_key_revoked")
        for name, error in (("code", "invalid_request"), ("grant_type", "invalid_request")):
            assert oauth.error_of(installation.form("token", grant.fields(**{name: None}))) == error
        assert oauth.error_of(installation.form("token", grant.fields(grant_type="password"))) == "unsupported_grant_type"
        assert oauth.error_of(installation.form("token", grant.fields())) == "invalid_grant"
        assert oauth.error_of(installation.form("revoke", gone)) == "invalid_request"
        assert oauth.error_of(installation.form("revoke", {**gone, "token": installation.key})) == "invalid_grant"
    unknown_client = {"grant_type": "authorization_code", "client_id": "app_nobody", "token": "x"}
    assert oauth.error_of(installation.form("revoke", unknown_client), 401) == "invalid_client"
    responses = [installation.form("token", unknown_client) for _ in range(40)]
    assert {oauth.error_of(each, each.status) for each in responses} == {"invalid_client", "slow_down"}
    rejected = installation.form("revoke", unknown_client)
    assert oauth.error_of(rejected, 429) == "slow_down" and 1 <= int(rejected.headers["Retry-After"]) <= 60


def expect_wrong_method(response, path):
    if path.startswith("/oauth/"):
        assert oauth.error_of(response, 405) == "invalid_request"
    else:
        expect(response, 405, "not_found")


def tour_unknown_paths_and_methods(installation):
    """Unknown paths and videos give 404, other methods 405."""
    for path in ("/nothing", "/videos/", "/accounts", "/oauth/token/x", "/openapi", "/Account", "/%61ccount", "/books/x"):
        expect(installation.get(path), 404, "not_found")
    for unknown in (scene.name_uuid("nobody's"), "not-a-uuid", scene.VIRAL[:-1], "%00", "%", "x" * 3000):
        expect(installation.get(f"/videos/{unknown}"), 404, "not_found")
    expect(installation.get(f"/videos/{scene.VIRAL}", key=installation.keys[scene.EMPTY]), 404, "not_found")
    for operation, path in installation.targets():
        for method in ("DELETE", "PUT", "PATCH", "OPTIONS", "GET" if operation.method == "POST" else "POST"):
            expect_wrong_method(installation.send(method, path, key=installation.key), path)
        if operation.method == "POST":
            expect(installation.send("HEAD", path, key=installation.key), 405)


def tour_protocol(installation):
    """Sends requests with a protocol error to each path. The errors of the OAuth endpoints have the format of OAuth."""
    for operation, path in installation.targets():
        target, method = f"/v1{path}", operation.method

        def rejected(response, status, code="invalid_parameter", path=path):
            if path.startswith("/oauth/"):
                assert oauth.error_of(response, status) == "invalid_request"
            else:
                expect(response, status, code)

        rejected(installation.raw(b"A: b", target, method), 400)
        rejected(installation.raw(b"Host: x\r\nHost: y", target, method), 400)
        rejected(installation.raw(b"Host: x", f"{target}?{'x' * 9000}", method), 414)
        rejected(installation.raw(b"Host: x\r\nA: " + b"x" * 17000, target, method), 431)
        rejected(installation.raw(b"Host: x\r\nContent-Length: 20000", target, method), 413)
        rejected(installation.raw(b"Host: x\r\nExpect: magic", target, method), 417)
        rejected(installation.raw(b"Host: x\r\nTransfer-Encoding: gzip, chunked", target, method), 501, "internal_error")
        rejected(installation.exchange_raw(f"{method} {target} HTTP/2.0\r\nHost: x\r\n\r\n".encode(), method, target), 505)


def tour_parameters(installation):
    """A 400 of each endpoint that has parameters (for all parameters see test_parameters.py)."""
    for path in ("/videos", "/events"):
        expect(installation.get(path, {"limit": 101}), 400, "invalid_parameter")
    for path in ("/stats", "/stats.csv"):
        expect(installation.get(path, {"group_by": "author"}), 400, "invalid_parameter")
    for path in ("/stats", "/stats.csv"):
        for params, param in (({"start_date": "2026-01-01", "end_date": "2026-04-01"}, "end_date"), ({"start_date": "2026-01-01"}, "start_date")):
            assert expect(installation.get(path, params), 400, "range_too_long").json()["error"]["param"] == param


def tour_browser(installation):
    """Requests of an allowed origin, of other origins and without an origin; an allowed origin can read errors too."""
    for headers in ({"Origin": ORIGIN}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {}):
        for operation, path in installation.targets():
            expect(installation.send(operation.method, path, key=installation.key, headers=headers), 400 if operation.method == "POST" else 200)
            expect(installation.send("DELETE", path, headers=headers), 405)
        expect(installation.send("GET", "/account", headers=headers), 401)
        expect(installation.get("/videos", {"limit": 0}, headers=headers), 400)
        expect(installation.get("/stats", {"format": "csv"}, headers=headers), 200)
        expect(installation.get("/books", headers={**headers, "If-None-Match": "*"}), 304)


def tour_limit(installation):
    """Each endpoint gives 429. The server admits one request per minute."""
    for operation, path in installation.targets(keyed=True):
        key = installation.viewtally.create_key(scene.FULL)
        expect(installation.send(operation.method, path, key=key), 200)
        rejected = expect(installation.send(operation.method, path, key=key), 429, "rate_limited")
        assert 1 <= int(rejected.headers["Retry-After"]) <= 60


def tour_slow_head(installation):
    """A head that is not complete within 200 ms gives 408."""
    expect(installation.exchange_raw(b"GET /v1/account HTTP/1.1\r\nHost: x\r\n"), 408, "invalid_parameter")


def tour_broken_store(installation):
    """Each endpoint that reads data gives 503: first the tables of the data are renamed while the server runs, then
    those of the keys."""
    app = oauth.add_app(installation.viewtally)
    for changes in (("videos RENAME TO videos_gone", "books RENAME TO books_gone", "authors RENAME COLUMN created_at TO made_at"),
                    ("api_keys RENAME TO keys_gone", "apps RENAME TO apps_gone")):
        for change in changes:
            installation.viewtally.sql("ALTER TABLE " + change)
        for operation, path in installation.targets(keyed=True):
            rejected = expect(installation.get(path), 503, "internal_error")
            assert int(rejected.headers["Retry-After"]) >= 1
    for operation, path in installation.targets(keyed=False):
        if operation.method == "GET":
            expect(installation.send("GET", path), 200)
    rest = {"client_id": app["client_id"], "code": "x", "redirect_uri": "x", "code_verifier": "v" * 43, "token": oauth.make_code("service_live_")}
    for endpoint in ("token", "revoke"):
        rejected = installation.form(endpoint, {"grant_type": "authorization_code", **rest})
        assert oauth.error_of(rejected, 503) == "server_error" and int(rejected.headers["Retry-After"]) >= 1
