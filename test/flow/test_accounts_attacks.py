"""Attacks on the web pages: forged forms, guessed passwords, other authors, injected markup, spoofed headers."""
import pathlib
import re
import signal
import sqlite3
import urllib.parse

import pytest

from lib import wait
from lib.accounts import DAY_MS, PASSWORD, accept, connect_app, is_signed_in, make_key, rows, start_with_author
from lib.clock import FakeClock
from lib.pages import Browser, invite, sign_in, sign_up

WRONG = "x" * 801       # longer than any valid password, so that the server rejects it without hashing
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;"


@pytest.fixture
def world(viewtally):
    return start_with_author(viewtally)


def state(viewtally):
    """Everything in the database that a form could change."""
    return [rows(viewtally, f"SELECT * FROM {table} ORDER BY 1") for table in ("logins", "api_keys", "invitations")] + \
        rows(viewtally, "SELECT hash FROM sessions ORDER BY 1")


# ---- forged forms ----------------------------------------------------------------------------------------------------

def every_form(world):
    """(browser, page with the form, action, values) for each form."""
    passwords = {"current": PASSWORD, "password": "another password", "again": "another password"}
    make_key(world.browser)
    world.browser.get("/keys")      # so that the use of the session is recorded before the test compares states
    key = re.search(r"/keys/[0-9a-f-]{36}", world.browser.get("/keys").body).group()
    app = f"/apps/{connect_app(world)}"
    link = invite(world, world.author, "--login", "ann")
    ours = [(action, action if action in (key, app) else page, values) for page, action, values in (
        ("/keys", "/keys", {"name": "forged"}), ("/keys", "/sign-out", {}), ("/account", "/account/sign-out", {}),
        ("/account", "/account/password", passwords), (None, key, {}), (None, app, {}), (link, link, passwords))]
    found = [(world.browser, page, action, values) for action, page, values in ours]
    stranger = Browser(world.client())
    return found + [(stranger, "/sign-in", "/sign-in", {"login": "ann", "password": PASSWORD}), (stranger, link, link, passwords)]


def test_forged_forms_change_nothing(world):
    forms = every_form(world)
    other = sign_in(world, "ann", PASSWORD)
    tokens = {other: other.get("/keys").form("/keys").fields["token"]}
    before = state(world)
    for browser, page, action, values in forms:
        fields = {**browser.get(page).form(action).fields, **values}
        right = fields["token"]
        wrong = right[:-2] + ("AA" if right[-2:] != "AA" else "BB")
        for name, token in (("missing", None), ("empty", ""), ("wrong", wrong), ("another session's", tokens[other]), ("short", right[:-1])):
            sent = {key: value for key, value in {**fields, "token": token}.items() if value is not None}
            response = browser.post(action, sent)
            assert response.status == 403 and "Nothing was changed" in response.text, (action, name, response)
        for headers in ({"Origin": "https://evil.example.com"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                        {"Origin": f"http://{world.address}.evil.example.com"}, {"Origin": f"http://evil@{world.address}"}):
            assert browser.post(action, fields, headers=headers).status == 403, (action, headers)
        for headers in ({"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data"}):
            assert browser.post(action, fields, headers=headers).status == 400, (action, headers)
        assert browser.request("POST", action, body="token=%zz", headers={"Content-Type": "application/x-www-form-urlencoded"}).status == 400
        assert browser.request("POST", action, body=f"token={right}&token={right}",
                               headers={"Content-Type": "application/x-www-form-urlencoded"}).status == 400
        assert state(world) == before, action
    assert world.log.count("which is not the origin of [server] base_url") == 1
    # An old browser that sends neither Origin nor Sec-Fetch-Site needs only the token.
    page = world.browser.get("/keys")
    assert world.browser.send(page, "/keys", {"name": "x"}, headers={"Origin": None, "Sec-Fetch-Site": None}).status == 200
    assert state(world) != before


def test_login_csrf_fails(world):
    """A form token is valid only together with the cookie that was set with the form."""
    attacker, victim = Browser(world.client()), Browser(world.client())
    fields = {**attacker.get("/sign-in").form("/sign-in").fields, "login": "ann", "password": PASSWORD}
    assert victim.post("/sign-in", fields).status == 403
    victim.get("/sign-in")
    assert victim.post("/sign-in", fields).status == 403 and "viewtally-session" not in victim.cookies
    assert attacker.post("/sign-in", fields).status == 303


def test_each_page_has_its_own_form_token_and_older_tokens_stay_valid(world):
    first, second = (world.browser.get("/keys") for _ in range(2))
    assert first.form("/keys").fields["token"] != second.form("/keys").fields["token"]
    for page in (first, second):
        assert world.browser.send(page, "/keys", {"name": "x"}).status == 200


# ---- guessing passwords --------------------------------------------------------------------------------------------------------

@pytest.fixture
def timed(make_viewtally, tmp_path):
    """A server whose monotonic clock only the test moves."""
    clock = FakeClock(tmp_path / "both", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)
    viewtally = make_viewtally(clock=clock)
    authors = [viewtally.add_author(name) for name in ("Ann", "Bob")]
    viewtally.start()
    for author, login in zip(authors, ("ann", "bob")):
        sign_up(viewtally, author, login, PASSWORD)
    return viewtally


def attempt(viewtally, login, password):
    browser = Browser(viewtally.client())
    return browser.send(browser.get("/sign-in"), "/sign-in", {"login": login, "password": password}, follow=False)


def test_wait_after_failed_sign_ins_to_an_account_doubles(timed):
    for _ in range(5):
        assert attempt(timed, "ann", WRONG).status == 422
    waits = []
    for _ in range(7):
        page = attempt(timed, "ANN ", PASSWORD)     # rejected although the password is correct
        assert page.status == 429 and "Please wait" in page.text
        assert page.form("/sign-in").fields["login"] == "ANN "      # the form keeps its values
        waits.append(int(page.headers["Retry-After"]))
        timed.clock.advance(waits[-1] * 1000 - 1)
        assert attempt(timed, "ann", PASSWORD).status == 429
        timed.clock.advance(1)
        assert attempt(timed, "ann", WRONG).status == 422
    assert waits == [2, 4, 8, 16, 32, 60, 60]
    assert attempt(timed, "bob", PASSWORD).status == 303        # other accounts need not wait
    timed.clock.advance(60_000)
    assert attempt(timed, "ann", PASSWORD).status == 303
    assert attempt(timed, "ann", WRONG).status == 422         # success has cleared the failures
    assert attempt(timed, "ann", PASSWORD).status == 303


def test_unknown_account_gets_the_same_responses_as_a_known_one(timed):
    pages = {login: [attempt(timed, login, WRONG) for _ in range(7)] for login in ("ann", "nobody")}
    shown = {login: [(page.status, page.headers["Retry-After"], page.text.replace(login, "")) for page in found] for login, found in pages.items()}
    assert shown["ann"] == shown["nobody"]


# ---- a browser that has signed in before -----------------------------------------------------------------------------

class Attacked:
    """Ann's account after failures from many networks: it has reached its limit of 100 an hour."""

    def __init__(self, viewtally):
        self.viewtally = viewtally
        for i in range(101):
            self.last = self.attempt(WRONG, f"203.0.113.{i}")

    def attempt(self, password, address, browser=None, login="ann"):
        browser = browser or Browser(self.viewtally.client())
        browser.headers["X-Forwarded-For"] = address
        return browser.send(browser.get("/sign-in"), "/sign-in", {"login": login, "password": password}, follow=False)


@pytest.fixture
def proxied(make_viewtally, tmp_path):
    """Like `timed`, behind a proxy; the browsers with which Ann and Bob signed up are signed out."""
    clock = FakeClock(tmp_path / "both", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)
    viewtally = make_viewtally({"server": {"trusted_proxies": "127.0.0.1"}}, clock=clock)
    authors = [viewtally.add_author(name) for name in ("Ann", "Bob")]
    viewtally.start()
    viewtally.authors = dict(zip(("ann", "bob"), authors))
    viewtally.devices = {}
    for login, author in viewtally.authors.items():
        browser = viewtally.devices[login] = sign_up(viewtally, author, login, PASSWORD)
        browser.send(browser.get("/keys"), "/sign-out")
    return viewtally


def test_failures_from_many_networks_do_not_lock_out_a_known_device(proxied):
    attacked = Attacked(proxied)
    assert attacked.last.status == 429 and attacked.last.headers["Retry-After"] == "36"
    assert attacked.attempt(PASSWORD, "192.0.2.1").status == 429            # an unknown device
    assert attacked.attempt(PASSWORD, "192.0.2.1", proxied.devices["ann"]).status == 303
    assert attacked.attempt(PASSWORD, "192.0.2.1", proxied.devices["bob"]).status == 429     # a device of another account


def test_known_device_has_ten_attempts_then_one_a_minute(proxied):
    attacked, browser = Attacked(proxied), proxied.devices["ann"]
    assert [attacked.attempt(WRONG, "192.0.2.1", browser).status for _ in range(11)] == [422] * 10 + [429]
    proxied.clock.advance(60_000)
    assert [attacked.attempt(WRONG, "192.0.2.1", browser).status for _ in range(2)] == [422, 429]


@pytest.mark.parametrize("end", ["new password", "out everywhere", "sign-out command", "invitation", "400 days"])
def test_known_devices_are_deleted_or_expire(proxied, end):
    old = proxied.devices["ann"]
    browser = sign_in(proxied, "ann", PASSWORD)
    if end == "new password":
        browser.send(browser.get("/account"), "/account/password", {"current": PASSWORD, "password": "another password", "again": "another password"})
    elif end == "out everywhere":
        browser.send(browser.get("/account"), "/account/sign-out")
    elif end == "sign-out command":
        proxied.run("author", "sign-out", proxied.authors["ann"])
    elif end == "invitation":
        path = invite(proxied, proxied.authors["ann"], "--login", "ann")
        stranger = Browser(proxied.client())
        stranger.send(stranger.get(path), path, {"password": "another password", "again": "another password"})
    else:
        for _ in range(401):            # one day at a time, because expiry does not follow a clock that jumps ahead
            proxied.clock.advance(DAY_MS)
            proxied.client().request("GET", "/sign-in")
    assert Attacked(proxied).attempt(PASSWORD if "400" in end or "out" in end else "another password", "192.0.2.1", old).status == 429


def test_account_has_at_most_20_known_devices(proxied):
    for _ in range(25):
        proxied.clock.advance(1000)
        sign_in(proxied, "ann", PASSWORD)
    count = "SELECT count(*) FROM devices d JOIN logins l ON l.author_id = d.author_id WHERE l.name = ?"
    assert rows(proxied, count, "ann") == [(20,)] and rows(proxied, count, "bob") == [(1,)]
    browser = proxied.devices["bob"]
    for _ in range(3):                  # signing in again replaces the device
        browser.send(browser.get("/sign-in"), "/sign-in", {"login": "bob", "password": PASSWORD})
        browser.send(browser.get("/keys"), "/sign-out")
    assert rows(proxied, count, "bob") == [(1,)]


def test_device_cookie_alone_does_not_sign_in(proxied):
    browser = proxied.devices["ann"]
    assert "viewtally-device" in browser.cookies and not is_signed_in(browser)
    hashes = [bytes(found) for found, in rows(proxied, "SELECT hash FROM devices")]
    assert browser.cookies["viewtally-device"].encode() not in b"".join(hashes)


def test_each_ipv4_mapped_address_counts_as_its_own_network(proxied):
    """Behind a dual-stack proxy, all IPv4 clients have such addresses."""
    clients = [Browser(proxied.client(), headers={"X-Forwarded-For": f"::ffff:192.0.2.{i}"}) for i in range(40)]
    assert {client.send(client.get("/sign-in"), "/sign-in", {"login": f"name{i}", "password": WRONG}).status for i, client in enumerate(clients)} == {422}


def test_attempts_from_one_network_are_limited_across_accounts(timed):
    for i in range(30):
        assert attempt(timed, f"name{i}", WRONG).status == 422
    page = attempt(timed, "bob", PASSWORD)
    assert page.status == 429 and page.headers["Retry-After"] == "1"
    timed.clock.advance(1000)
    assert attempt(timed, "bob", PASSWORD).status == 303


def test_limits_behind_a_proxy_apply_per_client(make_viewtally, tmp_path):
    clock = FakeClock(tmp_path / "both", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)
    viewtally = make_viewtally({"server": {"trusted_proxies": "127.0.0.1"}}, clock=clock)
    viewtally.start()

    def attempt_from(address, name):
        browser = Browser(viewtally.client(), headers={"X-Forwarded-For": address})
        return browser.send(browser.get("/sign-in"), "/sign-in", {"login": name, "password": WRONG}).status
    assert {attempt_from(f"2001:db8::{i:x}", f"name{i}") for i in range(30)} == {422}
    assert attempt_from("2001:db8::ffff", "another") == 429
    assert attempt_from("2001:db8:0:1::1", "another") == 422
    assert attempt_from("203.0.113.9, 2001:db8::1", "another") == 429       # the address that the client claims is ignored


def test_guessing_the_current_password_is_limited(timed):
    browser = sign_in(timed, "ann", PASSWORD)
    fields = {**browser.get("/account").form("/account/password").fields, "current": WRONG, "password": "x" * 9 + "y", "again": "x" * 9 + "y"}
    assert [browser.post("/account/password", fields).status for _ in range(11)] == [422] * 10 + [429]


def peak_memory(server, action):
    """Returns by how many bytes action() raises the server's resident memory at its peak, and the result of action()."""
    def status(name):
        return next(int(line.split()[1]) for line in open(f"/proc/{server.pid}/status", encoding="ascii") if line.startswith(name)) * 1024

    pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")      # resets the peak
    before = status("VmRSS:")
    result = action()
    return status("VmHWM:") - before, result


def test_sign_in_uses_as_much_memory_for_an_unknown_login_as_for_a_wrong_password(world):
    """The server runs Argon2id over 64 MiB whether or not the account exists. The test measures memory, because time
    depends on the load of the machine."""
    nobody = world.add_author("No password yet")
    world.run("author", "set-login", nobody, "nopassword")
    responses = set()
    for login in ("ann", "unknown", "nopassword"):
        browser = Browser(world.client())
        page = browser.get("/sign-in")
        peak, response = peak_memory(world, lambda: browser.send(page, "/sign-in", {"login": login, "password": "wrong password"}))
        assert response.status == 422 and peak > 60 << 20, (login, peak)
        responses.add(re.sub(r'value="[^"]*"', "", response.body))
    assert len(responses) == 1
    assert peak_memory(world, lambda: Browser(world.client()).get("/sign-in"))[0] < 20 << 20


# ---- sign-in by a header of a proxy -------------------------------------------------------------------------------------------

def header_world(make_viewtally, clock, **server):
    viewtally = make_viewtally({"server": server, "account": {"auth_header": "X-Remote-User"}}, clock=clock)
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.other = viewtally.add_author("Bob Other")
    viewtally.run("author", "set-login", viewtally.author, "Ann@Example.com")
    return viewtally.start()


def test_trusted_proxy_signs_an_author_in(make_viewtally, clock):
    viewtally = header_world(make_viewtally, clock, trusted_proxies="127.0.0.1")

    def as_user(name, browser=None):
        browser = browser or Browser(viewtally.client())
        browser.headers = {"x-remote-user": name} if name is not None else {}
        return browser
    for name in ("ann@example.com", "ANN@example.com", viewtally.author, viewtally.author.upper()):
        page = as_user(name).get("/account")
        assert page.status == 200 and "Ann Author" in page.text and "Your organization signed you in" in page.text
        assert not any(form.action == "/sign-out" for form in page.forms)
    for name in ("nobody@example.com", "", "ä", "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99"):
        page = as_user(name).get("/account", follow=False)
        assert page.status == (403 if name else 303), (name, page)
    browser = as_user("ann@example.com")
    page = browser.get("/keys")
    assert browser.send(page, "/keys", {"name": "x"}).status == 200
    # A form token is bound to the author, although browser and cookie are the same.
    assert as_user(viewtally.other, browser).send(page, "/keys", {"name": "y"}).status == 403
    assert as_user(None, browser).get("/keys", follow=False).status == 303
    raw = viewtally.exchange(f"GET /account HTTP/1.1\r\nHost: a\r\nX-Remote-User: {viewtally.author}\r\n"
                             f"X-Remote-User: {viewtally.author}\r\nConnection: close\r\n\r\n".encode())
    assert raw.startswith(b"HTTP/1.1 403 ")


def test_sign_in_header_of_an_untrusted_client_is_ignored(make_viewtally, clock):
    viewtally = header_world(make_viewtally, clock, trusted_proxies="10.0.0.0/8")
    browser = Browser(viewtally.client(), headers={"X-Remote-User": viewtally.author, "X-Forwarded-For": "10.0.0.1"})
    for _ in range(3):
        assert browser.get("/account", follow=False).status == 303
    browser = sign_up(viewtally, viewtally.other, "bob", PASSWORD, browser)
    assert "Bob Other" in browser.get("/account").text
    assert viewtally.log.count("ignoring X-Remote-User from 127.0.0.1") == 1


def test_sign_in_header_is_ignored_unless_configured(make_viewtally, clock):
    viewtally = header_world(make_viewtally, clock, trusted_proxies="127.0.0.1")
    viewtally.stop()
    viewtally.configure({"account": {"auth_header": None}})
    viewtally.start()
    browser = Browser(viewtally.client(), headers={"X-Remote-User": viewtally.author})
    assert browser.get("/account", follow=False).status == 303


@pytest.mark.parametrize("name", ["Authorization", "cookie", "X-Forwarded-For", "X Remote", "X:Y"])
def test_invalid_header_name_in_auth_header_is_rejected(make_viewtally, name):
    viewtally = make_viewtally({"account": {"auth_header": name}})
    assert "auth_header" in viewtally.run("check-config", status=2).err


# ---- other authors ---------------------------------------------------------------------------------------------------

def test_two_authors_never_see_each_other(world):
    ann = world.browser
    bob = sign_up(world, world.add_author("Bob Other"), "bob", PASSWORD, Browser(world.client()))
    book, video = "1b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99", "2b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99"
    world.import_lines([
        {"type": "book", "id": book, "author_id": world.author, "title": "Secret book"},
        {"type": "video", "id": video, "author_id": world.author, "book_id": book, "title": "Secret video",
         "posts": [{"platform": "youtube", "post_id": "secret", "posted_at": "2026-07-01T00:00:00Z"}]}])
    make_key(ann, "Secret key")
    app = f"/apps/{connect_app(world, 'Secret app')}"
    key = re.search(r"/keys/[0-9a-f-]{36}", ann.get("/keys").body).group()
    pages = ["/dashboard", "/videos", "/keys", "/apps", "/account", f"/videos/{video}", key, app]
    for path in pages:
        mine, theirs = ann.get(path), bob.get(path)
        assert mine.status == 200 and "Ann Author" in mine.body
        assert "Secret" not in theirs.body and "Ann Author" not in theirs.body, path
        assert theirs.status == (404 if path.count("/") > 1 else 200), path
    before = state(world)
    token = bob.get("/keys").form("/keys").fields["token"]
    for path in (key, app):
        assert bob.post(path, {"token": token}).status == 404
        assert bob.post(path.upper().replace("/KEYS", "/keys").replace("/APPS", "/apps"), {"token": token}).status == 404
    # A form of Ann is rejected in Bob's browser, unless it has a token of Bob.
    form = ann.get("/keys").form("/keys").fields
    assert bob.post("/keys", {**form, "name": "x"}).status == 403
    assert state(world) == before
    assert bob.post("/keys", {**form, "token": token, "name": "Bob's"}).status == 200
    assert rows(world, "SELECT count(*) FROM api_keys WHERE author_id = 1") == [(2,)]


def test_keys_and_apps_are_revoked_on_their_own_pages_only(world):
    """A key that the author created is revoked under /keys, the key of an app under /apps, never the other way round."""
    make_key(world.browser)
    app = connect_app(world).rsplit("/", 1)[-1]
    key = re.search(r"/keys/([0-9a-f-]{36})", world.browser.get("/keys").body).group(1)
    token = world.browser.get("/keys").form("/keys").fields["token"]
    for path in (f"/apps/{key}", f"/keys/{app}", "/keys/x", f"/keys/{key}/x"):
        assert world.browser.get(path).status == 404
        assert world.browser.post(path, {"token": token}).status == 404 or path.endswith("/x")
    assert rows(world, "SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL") == [(0,)]


# ---- markup, headers, addresses --------------------------------------------------------------------------------------

def test_stored_names_are_escaped(viewtally):
    author = viewtally.add_author(MARKUP)
    viewtally.start()
    login = "a<b>'\"&"
    browser = Browser(viewtally.client())
    path = invite(viewtally, author)
    pages = [browser.get(path)]
    pages.append(accept(browser, path, login=login, password="short"))
    assert accept(browser, path, login=login).status == 303
    pages.append(browser.send(browser.get("/keys"), "/keys", {"name": MARKUP}))
    pages.append(browser.send(browser.get("/keys"), "/keys", {"name": MARKUP * 10}))
    app = connect_app(viewtally, MARKUP)
    key = re.search(r"/keys/[0-9a-f-]{36}", browser.get("/keys").body).group()
    pages += [browser.get(path) for path in ("/dashboard", "/keys", "/apps", "/account", key, f"/apps/{app}")]
    stranger = Browser(viewtally.client())
    pages.append(stranger.get('/sign-in?next=/%22%3E%3Cscript%3E'))
    pages.append(stranger.send(stranger.get("/sign-in"), "/sign-in", {"login": MARKUP, "password": "x"}))
    for page in pages:
        assert page.status in (200, 404, 422)
        for bad in ("<script>", "<img", "onerror=alert(1)>", "'\"&<"):
            assert bad not in page.body, (page.url, bad)
    assert sum("&lt;script&gt;alert(1)" in page.body for page in pages) >= 9


HEADERS = {
    "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
}
OPENER_POLICY = "Cross-Origin-Opener-Policy"


def policy_of(page):
    return {part.split()[0]: part.split()[1:] for part in page.headers["Content-Security-Policy"].split("; ")}


def test_every_response_has_security_headers(world):
    make_key(world.browser)
    key = re.search(r"/keys/[0-9a-f-]{36}", world.browser.get("/keys").body).group()
    browser, stranger = world.browser, Browser(world.client())
    form = browser.get("/keys")
    responses = [browser.get(path, follow=False) for path in ("/", "/dashboard", "/videos", "/keys", key, "/apps", "/account", "/sign-in", "/nothing")]
    responses += [stranger.get(path, follow=False) for path in ("/", "/keys", "/sign-in", "/invite/x", "/nothing", "/keys/x")]
    responses += [browser.post("/keys", {}), browser.post("/dashboard", {}), browser.send(form, "/keys", {"name": ""}), browser.send(form, "/keys", {"name": "x"}),
                stranger.send(stranger.get("/sign-in"), "/sign-in", {"login": "x", "password": "x"})]
    for page in responses:
        is_secret = page.url.startswith(("/invite/", "/nothing"))           # an unknown address may be a mistyped secret one
        expected = {**HEADERS, "Referrer-Policy": "strict-origin"} if is_secret else HEADERS
        for name, value in expected.items():
            assert page.headers.get_all(name) == [value], (page, name)
        in_popup = urllib.parse.urlsplit(page.url).path == "/sign-in"       # an app may open it, before the consent page
        assert page.headers.get_all(OPENER_POLICY) == (None if in_popup else ["same-origin"]), page
        policy = policy_of(page)
        scripts = policy.pop("script-src", None)
        assert (scripts == ["'self'"]) == ("<script" in page.body) and page.body.count("<script") <= 1
        assert policy == {"default-src": ["'none'"], "style-src": ["'self'"], "img-src": ["data:"], "form-action": ["'self'"],
                          "base-uri": ["'none'"], "frame-ancestors": ["'none'"]}
        assert page.headers["X-Request-Id"] and "geolocation=()" in page.headers["Permissions-Policy"]
        assert " style=" not in page.body and not re.search(r"\son\w+=", page.body)
    style = world.client().request("GET", re.search(r'href="(/assets/style[^"]*)"', form.body).group(1))
    assert style.headers["Cache-Control"].endswith("immutable") and style.headers["Content-Type"].startswith("text/css")
    assert "Set-Cookie" not in style.headers


def test_rejected_request_with_a_secret_sends_no_referrer(world):
    """Too many cookies, for example: the page loads a style sheet, whose request must not contain the secret."""
    for path in ("/invite/SECRET", "/platforms/callback/tiktok?code=SECRET"):
        page = world.client().request("GET", path, headers={"Cookie": "a=" + "x" * 17000})
        assert page.status == 431 and b'<link rel="stylesheet"' in page.body
        assert page.headers["Referrer-Policy"] == "strict-origin" and b"SECRET" not in page.body


def test_pages_load_images_only_from_configured_sources(make_viewtally, clock):
    viewtally = make_viewtally({"account": {"image_sources": "https://i.ytimg.com, https://*.cdn.example.com"}}, clock=clock)
    viewtally.start()
    policy = policy_of(Browser(viewtally.client()).get("/sign-in"))
    assert policy["img-src"] == ["data:", "https://i.ytimg.com", "https://*.cdn.example.com"]
    viewtally.configure({"account": {"image_sources": None}})
    viewtally.signal(signal.SIGHUP)
    wait.until(lambda: policy_of(Browser(viewtally.client()).get("/sign-in"))["img-src"] == ["data:"], "the new policy")
    for bad in ("'unsafe-inline'", "https://x; script-src *", "data:", "*"):
        other = make_viewtally({"account": {"image_sources": bad}})
        assert "image_sources" in other.run("check-config", status=2).err


def test_cookies_have_security_attributes(make_viewtally, clock, world):
    for name in ("viewtally-form", "viewtally-session", "viewtally-device"):
        morsel = world.browser.attributes[name]
        assert morsel["httponly"] and morsel["samesite"] == "Lax" and morsel["path"] == "/" and not morsel["domain"] and not morsel["secure"]
    secure = make_viewtally({"server": {"base_url": "https://stats.example.com/v1"}}, clock=clock)
    author = secure.add_author()
    secure.start()
    headers = {"Host": "stats.example.com", "Origin": "https://stats.example.com"}
    browser = Browser(secure.client())
    path = invite(secure, author, "--login", "ann")
    page = browser.send(browser.get(path), path, {"password": PASSWORD, "again": PASSWORD}, follow=False, headers=headers)
    assert page.status == 303
    assert set(browser.attributes) == {"__Host-viewtally-form", "__Host-viewtally-session", "__Host-viewtally-device"}
    for morsel in browser.attributes.values():
        assert morsel["httponly"] and morsel["samesite"] == "Lax" and morsel["path"] == "/" and not morsel["domain"] and morsel["secure"]
    assert int(browser.attributes["__Host-viewtally-session"]["max-age"]) == 60 * DAY_MS // 1000
    assert int(browser.attributes["__Host-viewtally-device"]["max-age"]) == 400 * DAY_MS // 1000
    # A cookie without the __Host- prefix, which another host of the domain could have set, is ignored.
    value = browser.cookies["__Host-viewtally-session"]
    assert browser.request("GET", "/account", headers={"Cookie": f"viewtally-session={value}"}).status == 303
    assert is_signed_in(browser)


@pytest.mark.parametrize("login_first", [False, True])
def test_sign_in_redirects_only_within_the_site(world, login_first):
    browser = sign_in(world, "ann", PASSWORD)
    for bad in ("https://evil.example.com/", "//evil.example.com", "/\\evil.example.com", "\\\\evil.example.com", "/\t/evil.example.com", "/\n/evil",
                "javascript:alert(1)", "evil", "", " /keys", "/keys\r\nX-Header: 1", "/" + "x" * 5000, "/ä"):
        if login_first:
            stranger = browser
            page = browser.get("/sign-in?" + f"next={_quote(bad)}", follow=False)
        else:
            stranger = Browser(world.client())
            page = stranger.get("/sign-in?" + f"next={_quote(bad)}")
            assert page.status == 200 and page.form("/sign-in").fields["next"] == ""
        if not login_first:
            continue
        assert page.status == 303 and page.headers["Location"] == "/" and "X-Header" not in page.headers, (bad, page.headers["Location"])
    stranger = Browser(world.client())
    page = stranger.get("/sign-in")
    response = stranger.post("/sign-in", {**page.form("/sign-in").fields, "login": "ann", "password": PASSWORD, "next": "//evil.example.com"})
    assert response.status == 303 and response.headers["Location"] == "/"
    good = "/keys?a=b&c=%26%3D"
    page = Browser(world.client()).get(good, follow=False)
    back = Browser(world.client())
    response = back.send(back.get(page.headers["Location"]), "/sign-in", {"login": "ann", "password": PASSWORD}, follow=False)
    assert response.headers["Location"] == good


def _quote(text):
    return urllib.parse.quote(text, safe="x")


def test_log_has_no_secrets(make_viewtally, clock):
    viewtally = make_viewtally({"log": {"level": "debug"}}, clock=clock)
    author = viewtally.add_author()
    viewtally.start()
    browser = Browser(viewtally.client())
    link = invite(viewtally, author, "--login", "ann")
    browser.get(link + "/more")
    browser.get(link + "?x=y")
    accept(browser, link)
    key = make_key(browser)
    client = viewtally.client()
    client.request("GET", link + "/more")
    client.get("/account", key=key)
    viewtally.stop()
    assert "/v1/account" in viewtally.log and "(secret address)" in viewtally.log
    for secret in (link.rsplit("/", 1)[1], key, PASSWORD, *browser.cookies.values()):
        assert secret not in viewtally.log


def test_restore_does_not_revive_sessions(world):
    link = invite(world, world.author)
    backup = world.directory / "copy.db"
    world.run("backup", backup)
    world.stop()
    world.run("restore", backup)
    world.start()
    browser = Browser(world.client())
    browser.cookies = dict(world.browser.cookies)
    assert not is_signed_in(browser) and browser.get(link).status == 410
    connection = sqlite3.connect(backup)
    assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    connection.close()
    sign_in(world, "ann", PASSWORD)
