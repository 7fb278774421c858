"""The author's web pages without JavaScript: invitation, password, sign-in, sessions, API keys, connected apps."""
import os
import re
import threading
import urllib.parse
import uuid

import pytest

from flow import test_poll_positions
from lib import wait
from lib.accounts import DAY_MS, KEY, PASSWORD, accept, connect_app, is_signed_in, make_key, rows, start_with_author
from lib.client import connect
from lib.clock import FakeClock
from lib.metrics import scrape
from lib.pages import Browser, invite, sign_in, sign_up


@pytest.fixture
def world(viewtally):
    """A running server with one author who has signed up: .author, .browser."""
    return start_with_author(viewtally)


# ---- from the invitation to a revoked key ----------------------------------------------------------------------------

def test_author_accepts_an_invitation_and_creates_and_revokes_a_key(viewtally):
    author = viewtally.add_author("Ann Author")
    viewtally.start()
    browser = Browser(viewtally.client())
    path = invite(viewtally, author)
    page = browser.get(path)
    assert "Ann Author" in page.text
    page = browser.send(page, path, {"login": " Ann@Example.com ", "password": PASSWORD, "again": PASSWORD})
    assert page.url == "/dashboard" and page.status == 200
    page = browser.send(page, "/sign-out")
    assert "You are signed out" in page.text and not is_signed_in(browser)

    page = browser.send(browser.get("/keys"), "/sign-in", {"login": "ann@example.COM", "password": PASSWORD})
    assert page.url == "/keys" and "You have no keys" in page.text
    page = browser.send(page, "/keys", {"name": "Spreadsheet"})
    key = KEY.search(page.body).group()
    account = viewtally.client(key).get("/account").json()["data"]
    assert account["id"] == author and account["key"]["name"] == "Spreadsheet"

    page = browser.get("/keys")
    assert key not in page.body and f"service_live_…{key[-4:]}" in page.text and "Spreadsheet" in page.text
    ask = re.search(r"/keys/[0-9a-f-]{36}", page.body).group()
    page = browser.get(ask)
    assert "cannot be undone" in page.text
    assert viewtally.client(key).get("/account").status == 200      # showing the confirmation page revokes nothing
    page = browser.send(page, ask)
    assert page.url == "/keys" and "The key is revoked" in page.text
    assert "The key is revoked" not in browser.get("/keys").text
    assert viewtally.client(key).get("/account").error_code == "api_key_revoked"
    assert browser.get(ask).status == 404
    assert viewtally.log.count("error") == 0


def test_root_redirects_to_sign_in_and_unknown_paths_are_not_found(viewtally):
    viewtally.start()
    browser = Browser(viewtally.client())
    page = browser.get("/", follow=False)
    assert page.status == 303 and page.headers["Location"] == "/sign-in?next=%2F"
    assert browser.get("/nothing").status == 404
    assert "text/html" in browser.get("/nothing").headers["Content-Type"]
    assert viewtally.client().request("GET", "/nothing").error_code == "not_found"
    assert viewtally.client().request("GET", "/v1/nothing", headers={"Accept": "text/html"}).error_code == "not_found"
    response = viewtally.client().request("POST", "/keys/x", body="", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert response.status == 303
    response = viewtally.client().request("POST", "/dashboard", body="")
    assert response.status == 405 and response.headers["Allow"] == "GET, HEAD"


def test_pages_work_below_a_base_path(make_viewtally, clock):
    viewtally = make_viewtally({"server": {"base_url": "http://stats.example.com/x/v1"}}, clock=clock)
    author = viewtally.add_author()
    viewtally.start()
    browser = sign_up(viewtally, author, "ann", PASSWORD, Browser(viewtally.client(base="/x/v1"), base="/x"))
    for path in ("/keys", "/apps", "/account", "/dashboard", "/nothing"):
        page = browser.get(path)
        links = re.findall(r' (?:href|action|src)="(/[^"]*)"', page.body)
        assert len(links) > 5 and all(link.startswith("/x/") for link in links), links
        assert browser.client.request("GET", re.search(r'/x/assets/style[^"]*', page.body).group()).status == 200
    assert browser.client.request("GET", "/keys", headers={"Accept": "text/html"}).status == 404


# ---- invitations -----------------------------------------------------------------------------------------------------

def test_invitation_link_works_only_once(viewtally):
    author = viewtally.add_author()
    viewtally.start()
    path = invite(viewtally, author, "--login", "ann")
    browser, late = Browser(viewtally.client()), Browser(viewtally.client())
    form = late.get(path).form(path).fields
    assert accept(browser, path).status == 303
    page = late.post(path, {**form, "password": "another password", "again": "another password"})
    assert page.status == 410 and late.get(path).status == 410
    sign_in(viewtally, "ann", PASSWORD)
    assert rows(viewtally, "SELECT count(*) FROM invitations WHERE used_at IS NULL") == [(0,)]


def test_invitation_expires_after_a_day_or_when_replaced(viewtally, clock):
    clock.set_monotonic(1_000_000)          # stops the monotonic clock, with which expiry would advance
    author = viewtally.add_author()
    viewtally.start()
    browser = Browser(viewtally.client())
    old, new = invite(viewtally, author), invite(viewtally, author)
    assert browser.get(old).status == 410 and browser.get(new).status == 200
    clock.advance(DAY_MS - 1)
    page = browser.get(new)
    clock.advance(1)
    page = browser.send(page, new, {"login": "ann", "password": PASSWORD, "again": PASSWORD})
    assert page.status == 410 and browser.get(new).status == 410
    for wrong in ("x", "A" * 43, "A" * 42 + "B", "%00"):
        assert browser.get("/invite/" + wrong).status == 410
    assert browser.get("/invite/").status == 404
    assert rows(viewtally, "SELECT * FROM logins") == []


def test_invitation_resets_a_forgotten_password_and_ends_older_sessions(world):
    path = invite(world, world.author)
    other = Browser(world.client())
    assert 'value="ann"' in other.get(path).body
    assert accept(other, path, login="other login", password="another password", again="another password").status == 303
    assert is_signed_in(other) and not is_signed_in(world.browser)
    sign_in(world, "ann", "another password")
    page = Browser(world.client())
    assert page.send(page.get("/sign-in"), "/sign-in", {"login": "ann", "password": PASSWORD}).status == 422


REJECTED_CHOICES = [
    ({"password": "short", "again": "short"}, "at least 8 characters"),
    ({"password": "x" * 201 + "y", "again": ""}, "at most 200 characters"),
    ({"password": "password123", "again": "password123"}, "one of the most common"),
    ({"password": "aaaaaaaaaaaa", "again": "aaaaaaaaaaaa"}, "repeats one character"),
    ({"login": "ann-the-author", "password": "Ann-the-Author", "again": "Ann-the-Author"}, "it is your sign-in name"),
    ({"again": PASSWORD + "x"}, "do not match"),
    ({"login": "ann author"}, "The name must be"),
    ({"login": "änn"}, "The name must be"),
    ({"login": "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99"}, "The name must be"),
]


def test_unacceptable_logins_and_passwords_are_rejected(viewtally):
    author = viewtally.add_author()
    viewtally.start()
    browser = Browser(viewtally.client())
    path = invite(viewtally, author)
    for values, sentence in REJECTED_CHOICES:
        page = accept(browser, path, **{"login": "ann", **values})
        assert page.status == 422 and sentence in page.text and 'aria-invalid="true"' in page.body, values
    assert rows(viewtally, "SELECT * FROM logins") == []


def test_passwords_may_have_any_unicode_characters(viewtally):
    author = viewtally.add_author()
    viewtally.start()
    password = "пароль-密码-" + "🐎" * 191
    assert len(password) == 201
    browser = Browser(viewtally.client())
    path = invite(viewtally, author, "--login", "ann")
    assert accept(browser, path, password=password, again=password).status == 422
    assert accept(browser, path, password=password[:-1], again=password[:-1]).status == 303
    sign_in(viewtally, "ann", password[:-1])
    (stored,), = rows(viewtally, "SELECT password FROM logins")
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=1$")


def test_invite_prints_json(world):
    invited = world.run("author", "invite", world.author, "--json").json()
    assert re.fullmatch(r"2026-07-11T12:0\d:\d\d\.\d{3}Z", invited["expires_at"])      # the monotonic clock is real here, and the expiry time advances with it
    assert re.fullmatch(r"http://127\.0\.0\.1:8080/invite/[\w-]{43}", invited["link"])
    assert world.browser.get(invited["link"][len("http://127.0.0.1:8080"):]).status == 200


def test_login_name_cannot_be_used_by_two_authors(world):
    other = world.add_author("Bob")
    assert "another author" in world.run("author", "invite", other, "--login", "ANN", status=1).err
    assert "another author" in world.run("author", "set-login", other, "Ann", status=1).err
    world.run("author", "invite", other, "--login", "a b", status=2)
    world.run("author", "invite", "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99", status=1)
    path = invite(world, other)
    page = accept(Browser(world.client()), path, login="Ann")
    assert page.status == 422 and "name is already taken" in page.text
    assert accept(Browser(world.client()), path, login="Bob").status == 303       # the failed attempt did not use up the link


def test_author_whose_invited_login_name_was_taken_is_told_to_ask_for_a_new_link(world):
    """The field of an invited name is read-only, so the author cannot choose another name."""
    other, third = world.add_author("Bob"), world.add_author("Cid")
    invited = invite(world, other, "--login", "bob")
    assert accept(Browser(world.client()), invite(world, third), login="bob").status == 303
    page = accept(Browser(world.client()), invited)
    assert page.status == 422 and "ask the sender for a new link" in page.text and "choose another" not in page.text
    assert accept(Browser(world.client()), invite(world, other, "--login", "bobby")).status == 303


# ---- sessions --------------------------------------------------------------------------------------------------------

def test_each_sign_in_creates_a_new_session(world):
    browser = world.browser
    first = browser.cookies["viewtally-session"]
    sign_in(world, "ann", PASSWORD, Browser(world.client()))
    page = browser.get("/account")
    browser.send(page, "/sign-out")
    sign_in(world, "ann", PASSWORD, browser)
    second = browser.cookies["viewtally-session"]
    assert second != first and re.fullmatch(r"[\w-]{43}", second)
    browser.cookies["viewtally-session"] = first
    assert not is_signed_in(browser)


def test_session_fixation_fails(world):
    planted = "A" * 42 + "E"
    victim = Browser(world.client())
    victim.cookies["viewtally-session"] = planted
    sign_in(world, "ann", PASSWORD, victim)
    assert victim.cookies["viewtally-session"] != planted and is_signed_in(victim)
    attacker = Browser(world.client())
    attacker.cookies["viewtally-session"] = planted
    assert not is_signed_in(attacker)
    # Signing in again in the same browser ends the live session, even if another author signs in.
    live = victim.cookies["viewtally-session"]
    assert accept(victim, invite(world, world.add_author("Bob")), login="bob").status == 303
    assert is_signed_in(victim) and is_signed_in(world.browser)
    attacker.cookies["viewtally-session"] = live
    assert not is_signed_in(attacker)


def test_request_with_two_session_cookies_is_not_signed_in(world):
    session = world.browser.cookies["viewtally-session"]
    for line in (f"viewtally-session={session}; viewtally-session=x", f"viewtally-session=x; viewtally-session={session}"):
        assert Browser(world.client()).request("GET", "/account", headers={"Cookie": line}).status == 303
    line = f"a=b;viewtally-session={session};c"
    assert Browser(world.client()).request("GET", "/account", headers={"Cookie": line}).status == 200


def use_until_recorded(world, clock):
    """Sends requests until the use of the session is recorded. The server skips a use while it is still writing an
    earlier one."""
    def is_recorded():
        assert is_signed_in(world.browser)
        return rows(world, "SELECT seen_at FROM sessions") == [(clock.wall_ms,)]
    wait.until(is_recorded, "the use to be recorded")


def test_idle_session_expires(world, clock):
    clock.advance(14 * DAY_MS - 1)
    use_until_recorded(world, clock)
    clock.advance(14 * DAY_MS - 1)
    use_until_recorded(world, clock)
    clock.advance(14 * DAY_MS)
    assert not is_signed_in(world.browser)


def test_session_expires_after_60_days_of_use(world, clock):
    for _ in range(5):
        clock.advance(11 * DAY_MS)
        use_until_recorded(world, clock)
    (created, expires), = rows(world, "SELECT created_at, expires_at FROM sessions")
    assert expires == created + 60 * DAY_MS
    clock.set_wall(expires - 1)
    assert is_signed_in(world.browser)
    clock.advance(1)
    assert not is_signed_in(world.browser)
    sign_in(world, "ann", PASSWORD)


def test_session_use_is_recorded_at_most_once_a_minute(world, clock):
    def seen():
        world.browser.get("/account")
        # The server queues the write of the new key after the write of the use. So after the response, the use is stored.
        world.browser.send(world.browser.get("/keys"), "/keys", {"name": "x"})
        return rows(world, "SELECT seen_at FROM sessions")[0][0]
    first = seen()
    clock.set_wall(first + 59_999)
    assert seen() == first
    clock.advance(1)
    assert seen() == clock.wall_ms


def test_secrets_are_stored_as_hashes(world):
    key = make_key(world.browser)
    link = invite(world, world.author)
    secrets = [key, key[13:], PASSWORD, link.rsplit("/", 1)[1], *world.browser.cookies.values()]
    world.stop()
    contents = "".join(repr(world.sql(f"SELECT * FROM {table}")) for table in sorted(world.tables()))
    assert "Ann Author" in contents
    stored = b"".join(path.read_bytes() for path in world.directory.glob("viewtally.db*")) + (contents + world.log).encode()
    for secret in secrets:
        assert secret.encode() not in stored


def test_sign_out_everywhere_ends_all_sessions(world):
    other = sign_in(world, "ann", PASSWORD)
    key = make_key(other)
    page = other.send(other.get("/account"), "/account/sign-out")
    assert "signed out on every device" in page.text
    assert not is_signed_in(other) and not is_signed_in(world.browser)
    assert rows(world, "SELECT count(*) FROM sessions") == [(0,)]
    assert world.client(key).get("/account").status == 200


def test_sign_out_command_ends_sessions_and_invitations(world):
    bob = sign_up(world, world.add_author("Bob"), "bob", PASSWORD)
    link = invite(world, world.author)
    world.run("author", "sign-out", world.author)
    assert not is_signed_in(world.browser) and Browser(world.client()).get(link).status == 410 and is_signed_in(bob)
    sign_in(world, "ann", PASSWORD)
    world.run("author", "sign-out", "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99", status=1)


def test_new_password_invalidates_an_unused_invitation_of_this_author_only(world):
    link, other = invite(world, world.author), invite(world, world.add_author("Bob"))
    form = {"current": PASSWORD, "password": "staple of batteries", "again": "staple of batteries"}
    assert Browser(world.client()).get(link).status == 200
    assert world.browser.send(world.browser.get("/account"), "/account/password", form, follow=False).status == 303
    page = Browser(world.client()).get(link)
    assert page.status == 410 and "before you changed your password" in page.text
    assert Browser(world.client()).get(other).status == 200


def test_new_password_must_differ_from_the_sign_in_name(viewtally):
    world = start_with_author(viewtally)
    world.run("author", "set-login", world.author, "ann@example.com")
    form = {"current": PASSWORD, "password": "ANN@example.com", "again": "ANN@example.com"}
    page = world.browser.send(world.browser.get("/account"), "/account/password", form)
    assert page.status == 422 and "it is your sign-in name" in page.text


def test_changing_the_password_ends_other_sessions(world):
    other = sign_in(world, "ann", PASSWORD)
    page = other.get("/account")
    new = "staple of batteries"
    fields = {"current": "wrong password", "password": new, "again": new}
    response = other.send(page, "/account/password", fields)
    assert response.status == 422 and "not your current password" in response.text and is_signed_in(world.browser)
    assert other.send(page, "/account/password", {**fields, "current": PASSWORD, "again": ""}).status == 422
    assert other.send(page, "/account/password", {**fields, "current": PASSWORD, "password": "12345678", "again": "12345678"}).status == 422
    before = other.cookies["viewtally-session"]
    response = other.send(page, "/account/password", {**fields, "current": PASSWORD})
    assert response.status == 200 and "new password is set" in response.text
    assert other.cookies["viewtally-session"] != before and not is_signed_in(world.browser)
    sign_in(world, "ann", new)


# ---- keys ------------------------------------------------------------------------------------------------------------

def test_form_sent_twice_creates_one_key(world, clock):
    page = world.browser.get("/keys")
    first = world.browser.send(page, "/keys", {"name": "Sheet"})
    again = world.browser.send(page, "/keys", {"name": "Sheet"})
    key = KEY.search(first.body).group()
    assert KEY.search(again.body).group() == key        # after two clicks the browser shows the second response
    clock.advance(60_000)
    late = world.browser.send(page, "/keys", {"name": "Sheet"})
    assert late.status == 422 and key not in late.body and "already sent" in late.text
    assert rows(world, "SELECT count(*) FROM api_keys") == [(1,)]
    assert make_key(world.browser) != key
    # In another session, the same form ticket creates a new key and does not show the first one. So a stolen page does not reveal it.
    other = sign_in(world, "ann", PASSWORD)
    form = other.get("/keys").form("/keys").fields
    foreign = other.post("/keys", {**form, "ticket": page.form("/keys").fields["ticket"], "name": "Sheet"})
    assert KEY.search(foreign.body).group() != key


def test_key_is_shown_only_once(world):
    key = make_key(world.browser)
    for path in ("/keys", "/apps", "/account", "/dashboard"):
        page = world.browser.get(path)
        assert page.status == 200 and key not in page.body
    (row,) = rows(world, "SELECT hash, name, suffix FROM api_keys")
    assert len(row[0]) == 32 and row[1:] == ("Spreadsheet", key[-4:])


def test_key_names_have_1_to_200_characters(world):
    for name, taken in (("", False), ("   ", False), ("x" * 200, True), ("x" * 201, False), ("ж" * 200, True), ("ж" * 201, False)):
        page = world.browser.send(world.browser.get("/keys"), "/keys", {"name": name})
        assert (page.status, "enter a name of 1 to 200 characters" in page.text) == ((200, False) if taken else (422, True)), name
    assert rows(world, "SELECT name FROM api_keys") == [("x" * 200,), ("ж" * 200,)]


def test_page_rejects_a_new_key_of_an_author_with_100_live_keys(world):
    for i in range(99):
        world.sql("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) VALUES (?, 1, ?, ?, 'abcd', 1)",
                  uuid.uuid4(), os.urandom(32), f"key {i}")
    make_key(world.browser)
    page = world.browser.send(world.browser.get("/keys"), "/keys", {"name": "one more"})
    assert page.status == 422 and "already have 100 keys" in page.text
    ask = re.search(r"/keys/[0-9a-f-]{36}", world.browser.get("/keys").body).group()
    world.browser.send(world.browser.get(ask), ask)
    make_key(world.browser)
    page = world.browser.get("/keys")
    assert "Revoked keys" in page.text and page.body.count("<li><div>") == 100 + 1


# ---- connected apps --------------------------------------------------------------------------------------------------

def test_connected_apps_are_listed_and_can_be_disconnected(world):
    key = connect_app(world)
    make_key(world.browser, "by hand")
    page = world.browser.get("/apps")
    assert "Night Owl" in page.text and "by hand" not in page.text and page.text.count("Disconnect") == 1 and 'href="https://owl.example.com/"' in page.body
    assert "Night Owl" not in world.browser.get("/keys").text
    assert world.browser.get(f"/keys/{key}").status == 404      # the key belongs to an app
    ask = world.browser.get(f"/apps/{key}")
    assert "Disconnect Night Owl" in ask.text
    page = world.browser.send(ask, f"/apps/{key}")
    assert page.url == "/apps" and "The app is disconnected" in page.text and "Night Owl" not in page.text
    assert rows(world, "SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL AND app_id IS NOT NULL") == [(1,)]


def test_unsafe_link_of_an_app_is_not_shown(world):
    connect_app(world, home="javascript:alert(1)")
    assert "javascript:" not in world.browser.get("/apps").body


def test_lag_of_an_app_is_shown(make_viewtally, clock, redis):
    feed = test_poll_positions.World(make_viewtally, clock, redis.url)
    browser = sign_up(feed.instance, test_poll_positions.uid("Ada"), "ada", PASSWORD)
    connect_app(feed.instance)
    feed.instance.sql("UPDATE api_keys SET app_id = 1")

    def page_has(*words):
        text = browser.get("/apps").text
        return all(word in text for word in words)
    assert page_has("Night Owl", "Last read never") and not page_has("not read yet")
    ids = feed.ids()
    wait.until(lambda: page_has("Last read just now", "not read yet 6"), "a lag of six")
    feed.get(f"after=evt_{ids[3]}")
    wait.until(lambda: page_has("not read yet 2"), "a lag of two")
    feed.get("after=latest")
    wait.until(lambda: page_has("not read yet none"), "no lag")
    redis.stop()
    wait.until(lambda: page_has("Night Owl") and not page_has("not read yet"), "the page without Redis")


# ---- the database cannot be written -----------------------------------------------------------------------------

def test_page_reports_a_locked_database(make_viewtally, tmp_path):
    viewtally = make_viewtally({"store": {"busy_timeout_ms": "50"}}, clock=FakeClock(tmp_path / "c", "2026-07-10"))
    author = viewtally.add_author()
    viewtally.start()
    browser = sign_up(viewtally, author, "ann", PASSWORD)
    link = invite(viewtally, author)
    forms = {path: browser.get(path) for path in ("/keys", "/account", link)}
    fresh = Browser(viewtally.client())
    forms["/sign-in"] = fresh.get("/sign-in")
    with viewtally.write_transaction():
        passwords = {"current": PASSWORD, "password": "another password", "again": "another password"}
        for who, page, action, values in (
                (browser, "/keys", "/keys", {"name": "x"}), (browser, "/keys", "/sign-out", {}), (browser, "/account", "/account/sign-out", {}),
                (browser, "/account", "/account/password", passwords), (browser, link, link, passwords),
                (fresh, "/sign-in", "/sign-in", {"login": "ann", "password": PASSWORD})):
            response = who.send(forms[page], action, values, follow=False)
            assert response.status == 503 and "cannot reach its data" in response.text and not KEY.search(response.body), (action, response)
            assert "Set-Cookie" not in response.headers
    assert is_signed_in(browser) and not is_signed_in(fresh)
    make_key(browser)
    sign_in(viewtally, "ann", PASSWORD)
    assert rows(viewtally, "SELECT count(*) FROM api_keys") == [(1,)]


def test_request_timeout_is_reported_on_a_page(make_viewtally, tmp_path):
    clock = FakeClock(tmp_path / "both", "2026-07-10T12:00:00Z", monotonic_ms=10_000_000)
    viewtally = make_viewtally(clock=clock)
    author = viewtally.add_author("Ann Author")
    viewtally.start()
    browser = sign_up(viewtally, author, "ann", PASSWORD)
    page = browser.get("/keys")
    with viewtally.write_transaction():
        responses = []
        thread = threading.Thread(target=lambda: responses.append(browser.send(page, "/keys", {"name": "x"}, follow=False)))
        thread.start()
        # If the clock advanced earlier, an idle connection or an unread request would time out instead.
        wait.until(lambda: scrape(viewtally).get("viewtally_http_requests_in_flight") == 1, "the request to wait for the write")

        def advance():
            clock.advance(30_000)
            return responses
        wait.until(advance, "the response")
        thread.join()
    assert responses[0].status == 503 and "text/html" in responses[0].headers["Content-Type"] and "<main" in responses[0].body
    assert "frame-ancestors 'none'" in responses[0].headers["Content-Security-Policy"]


def test_form_completes_after_its_client_disconnects(world):
    """The client disconnects while the server verifies its password or writes. The server completes the work and sends
    no response."""
    def send(browser, page, action, values):
        body = urllib.parse.urlencode({**browser.get(page).form(action).fields, **values}).encode()
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        sock = connect(world.address)
        sock.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nCookie: %s\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (action.encode(), cookie.encode(), len(body), body))
        return sock
    with world.write_transaction():
        socks = [send(world.browser, "/keys", "/keys", {"name": f"key {i}"}) for i in range(3)]
        socks += [send(Browser(world.client()), "/sign-in", "/sign-in", {"login": f"nobody{i}", "password": "wrong"}) for i in range(8)]
        Browser(world.client()).get("/sign-in")         # once this is answered, the server has read the requests above
        for sock in socks:
            sock.close()
    wait.until(lambda: rows(world, "SELECT count(*) FROM api_keys") == [(3,)], "the writes")
    sign_in(world, "ann", PASSWORD)
