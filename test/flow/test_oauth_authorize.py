"""The authorization endpoint and its consent page under attack (RFC 6749, 4.1 and 10; RFC 9207; RFC 9700)."""
import html
import re
import sqlite3
import urllib.parse

import pytest

from lib import oauth
from lib.clock import FakeClock
from lib.oauth import REDIRECT, ask, consent_form, decide, request_of, rows, sent_back
from lib.pages import Browser, sign_in, sign_up
from lib.viewtally import Viewtally

PASSWORD = "correct horse battery"
VERIFIER = "v" * 43
ISSUER = "http://stats.example/v1"
NATIVE = "com.example.planner:/connected"
LOOPBACK = "http://127.0.0.1/connected"
LOOPBACK6 = "http://[::1]:7000/connected"
SIX = "https://[2001:db8::1]:8443/connected"
QUERY = "https://app.example/connected?tenant=7"
NASTY = "</h1><script>alert(1)</script>\"'&\u202egnp.exe"
CSRF = "This form did not come from a page of this site"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    directory = tmp_path_factory.mktemp("authorize")
    clock = FakeClock(directory / "clock", 0, 1_000_000)
    viewtally = Viewtally(directory / "viewtally", clock=clock, config={"server": {"base_url": ISSUER}, "store": {"busy_timeout_ms": 200}, "log": {"level": "debug"}})
    viewtally.run("migrate")
    viewtally.author, viewtally.other = viewtally.add_author(NASTY), viewtally.add_author("Bea Author")
    viewtally.app = oauth.add_app(viewtally, REDIRECT, LOOPBACK, LOOPBACK6, SIX, NATIVE, QUERY, name=NASTY, home="https://planner.example/a'b")
    viewtally.second = oauth.add_app(viewtally, "https://second.example/back", name="Second")
    with viewtally:
        viewtally.browser = sign_up(viewtally, viewtally.author, "ann", PASSWORD)
        viewtally.theirs = sign_up(viewtally, viewtally.other, "bea", PASSWORD)
        yield viewtally


@pytest.fixture(autouse=True)
def a_minute_later(world):
    """Each test has all the forms that an author may send within a minute."""
    world.clock.advance(60_000)


@pytest.fixture
def browser(world):
    return world.browser


def codes(world):
    return rows(world, "SELECT count(*) FROM oauth_codes")[0][0]


def asked(world, redirect=REDIRECT, **changes):
    return request_of(world.app, VERIFIER, redirect, **changes)


def is_page(page, status=400):
    """A page, and nobody is sent anywhere."""
    assert page.status == status and "Location" not in page.headers, page
    assert page.headers["Content-Type"].startswith("text/html")
    return page


def exchange(world, code, redirect=REDIRECT):
    return oauth.post(world.client(), "token", {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
                                               "client_id": world.app["client_id"], "code_verifier": VERIFIER})


# -- where it sends -----------------------------------------------------------------------------------------------------

WRONG_REDIRECTS = [
    "https://app.example/Connected", "https://APP.example/connected", "HTTPS://app.example/connected", "http://app.example/connected",
    "https://app.example/connected/", "https://app.example/connected/..", "https://app.example/x/../connected", "https://app.example//connected",
    "https://app.example/./connected", "https://app.example/connecte", "https://app.example/connected%2f", "https://app.example/%63onnected",
    "https://app.example:443/connected", "https://app.example:8443/connected", "https://app.example/connected?", "https://app.example/connected?x=1",
    "https://app.example/connected#", "https://app.example/connected#x", "https://user@app.example/connected", "https://app.example@evil.example/connected",
    "https://app.example.evil.example/connected", "https://evilapp.example/connected", "https://app.example\\@evil.example/connected",
    "https://app.example/connected\r\nSet-Cookie: a=b", "https://app.example/connected\0", " https://app.example/connected", "//app.example/connected",
    "https://app.example./connected", "https://evil.example/?u=https://app.example/connected", "javascript:alert(1)", "data:text/html,x", "",
    "http://127.0.0.1:x/connected", "http://127.0.0.1:/connected", "http://127.0.0.1:0/connected", "http://127.0.0.1:65536/connected",
    "http://127.0.0.1:080000/connected", "http://127.0.0.1:80@evil.example/connected", "http://127.0.0.1.evil.example/connected",
    "http://127.0.0.1:8000/Connected", "http://127.0.0.1:8000/connected?x", "http://127.0.0.2/connected", "http://localhost/connected",
    "http://127.1/connected", "http://2130706433/connected", "https://127.0.0.1/connected", "http://[::1]/connected/", "http://[::2]/connected",
    "http://[0:0:0:0:0:0:0:1]/connected", "http://[::1]evil.example/connected", "http://[::1]:1:2/connected",
    "com.example.planner:/connected/", "com.example.planner://connected", "com.example.planner:/Connected", "com.example.planner.evil:/connected",
    "https://app.example/connected?tenant=8", "https://app.example/connected?tenant=7&x=1", "https://second.example/back", "https://app.example/connected?TENANT=7",
]


def test_addresses_that_are_nobody_s(world, browser):
    for redirect in WRONG_REDIRECTS:
        page = is_page(ask(browser, asked(world, redirect)))
        assert "redirect_uri" in page.text and not consent_forms(page), redirect
        # Also of one who is not signed in, and with whatever else is wrong: no error is worth a redirect.
    for redirect in WRONG_REDIRECTS[:8]:
        is_page(ask(Browser(world.client()), asked(world, redirect)))
        is_page(ask(browser, asked(world, redirect, response_type=None)))
        page = ask(browser, asked(world))
        form = consent_form(page)
        target = form.action.replace(urllib.parse.quote_plus(REDIRECT), urllib.parse.quote_plus(redirect))
        assert target != form.action
        is_page(browser.post(target, {**form.fields, "decision": "allow"}))


def consent_forms(page):
    return [form for form in page.forms if oauth.AUTHORIZE in form.action]


@pytest.mark.parametrize("redirect", [LOOPBACK, "http://127.0.0.1:1/connected", "http://127.0.0.1:65535/connected", LOOPBACK6,
                                      "http://[::1]/connected", "http://[::1]:51234/connected", NATIVE, REDIRECT])
def test_addresses_that_fit(world, browser, redirect):
    """Exactly, but for the port of a loopback address (RFC 8252, 7.3)."""
    answer = sent_back(decide(browser, ask(browser, asked(world, redirect)), "allow"), redirect)
    assert exchange(world, answer["code"], redirect).status == 200


def test_an_address_with_a_query_keeps_it(world, browser):
    page = decide(browser, ask(browser, asked(world, QUERY)), "deny")
    assert page.headers["Location"].startswith(QUERY + "&error=access_denied&")


def test_apps_that_are_nobody(world, browser):
    removed = oauth.add_app(world)
    world.run("app", "remove", removed["client_id"])
    for name in ("app_nobody", removed["client_id"], world.app["client_id"].upper(), "", "x" * 3000, "\0", "' OR 1=1"):
        for who in (browser, Browser(world.client())):
            assert "client_id" in is_page(ask(who, asked(world, client_id=name))).text, name
    is_page(ask(browser, asked(world, client_id=None)))
    is_page(ask(browser, urllib.parse.urlencode(asked(world)) + "&client_id=" + world.app["client_id"]))
    is_page(ask(browser, urllib.parse.urlencode(asked(world)) + "&redirect_uri=" + urllib.parse.quote(REDIRECT)))
    is_page(ask(browser, urllib.parse.urlencode(asked(world)).replace("code_challenge", "%zz&state=%zz&code_challenge")))
    is_page(ask(browser, ""))
    is_page(ask(browser, urllib.parse.urlencode(asked(world, ignored="x" * 4000))))


# -- what it asks for ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("changes, error", [
    ({"response_type": None}, "invalid_request"), ({"response_type": ""}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"), ({"response_type": "code token"}, "unsupported_response_type"),
    ({"response_type": "CODE"}, "unsupported_response_type"), ({"response_type": "none"}, "unsupported_response_type"),
    ({"response_mode": "fragment"}, "invalid_request"), ({"response_mode": "form_post"}, "invalid_request"),
    ({"scope": "write"}, "invalid_scope"), ({"scope": "read write"}, "invalid_scope"), ({"scope": "READ"}, "invalid_scope"),
    ({"code_challenge": None}, "invalid_request"), ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"), ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": "s256"}, "invalid_request"), ({"code_challenge_method": "S512"}, "invalid_request"),
    ({"code_challenge": "x" * 42}, "invalid_request"), ({"code_challenge": "x" * 44}, "invalid_request"),
    ({"code_challenge": "x" * 42 + "="}, "invalid_request"), ({"code_challenge": "x" * 42 + "+"}, "invalid_request"),
    ({"code_challenge": VERIFIER + "v"}, "invalid_request"), ({"code_challenge": "ä" * 43}, "invalid_request"),
])
def test_requests_that_are_wrong(world, browser, changes, error):
    for who in (browser, Browser(world.client())):
        answer = sent_back(ask(who, asked(world, **changes)))
        assert answer.pop("error") == error and answer.pop("error_description")
        assert answer == {"state": "st-1", "iss": ISSUER}


def test_parameters_that_are_given_twice(world, browser):
    for name, value in asked(world).items():
        query = urllib.parse.urlencode([*asked(world).items(), (name, value)])
        page = ask(browser, query)
        if name in ("client_id", "redirect_uri"):
            is_page(page)
        else:
            answer = sent_back(page)
            assert answer["error"] == "invalid_request" and ("state" in answer) == (name != "state"), name


def test_what_is_not_known_is_ignored(world, browser):
    query = urllib.parse.urlencode([*asked(world, scope=None, prompt="none", nonce="1", code="x", iss="https://evil.example", error="x").items(),
                                    ("resource", "a"), ("resource", "b"), ("decision", "allow"), ("request_uri", "https://evil.example")])
    page = ask(browser, query)
    assert page.status == 200
    assert set(sent_back(decide(browser, page, "allow"))) == {"code", "state", "iss"}


# -- state --------------------------------------------------------------------------------------------------------------

STATES = [b"x", b"a b+c", b"%00%0d%0a", b"\r\nSet-Cookie: a=b", b"\x00\x01\x1f\x7f", bytes(range(256)), b"\xff\xfe\xc0\x80\xed\xa0\x80",
          "ünïcödé \U0001f600 \u2028".encode(), b"&code=evil&iss=evil", b"#fragment", b"\"'><script>alert(1)</script>", b"=&=&?;/:@", b"s" * 2048]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_state_comes_back_untouched(world, browser, state):
    """With every answer, through the page and its form, and by way of the sign-in page."""
    base = urllib.parse.urlencode(asked(world, state=None))
    query = base + "&state=" + urllib.parse.quote(state, safe="")
    stranger = Browser(world.client())
    pages = [decide(browser, ask(browser, query), "deny"), ask(browser, query + "&response_type=x")]
    if state in STATES[3:6]:
        sign = ask(stranger, query, follow=True)
        assert sign.url.startswith("/sign-in?next=")
        back = stranger.send(sign, "/sign-in", {"login": "ann", "password": PASSWORD}, follow=False)
        pages.append(decide(stranger, stranger.request("GET", back.headers["Location"]), "deny"))
    for page in pages:
        raw = dict(part.split("=", 1) for part in page.headers["Location"].partition("?")[2].split("&"))["state"]
        assert urllib.parse.unquote_to_bytes(raw) == state
        assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", raw)
        assert page.headers.get("Set-Cookie") is None


def test_state_that_is_too_long_or_missing(world, browser):
    answer = sent_back(ask(browser, asked(world, state="s" * 2049)))
    assert answer["error"] == "invalid_request" and "state" not in answer
    assert "state" not in sent_back(decide(browser, ask(browser, asked(world, state=None)), "allow"))


# -- whose consent it is ------------------------------------------------------------------------------------------------

def test_signing_in_leads_back(world):
    stranger = Browser(world.client())
    page = ask(stranger, asked(world))
    assert page.status == 303 and page.headers["Location"].startswith("/sign-in?next=%2Fv1%2Foauth%2Fauthorize%3F")
    sign = stranger.get(page.headers["Location"], follow=False)
    back = stranger.send(sign, "/sign-in", {"login": "bea", "password": PASSWORD}, follow=True)
    assert "Bea Author" in back.text
    answer = sent_back(decide(stranger, back, "allow"))
    assert exchange(world, answer["code"]).json()["account"]["id"] == world.other


def test_nothing_is_allowed_without_the_form(world, browser):
    before = codes(world)
    page = ask(browser, asked(world))
    form = consent_form(page)
    fields = {**form.fields, "decision": "allow"}
    theirs = consent_form(ask(world.theirs, asked(world))).fields["token"]
    wrong = [({**fields, "token": ""}, {}), ({**fields, "token": theirs}, {}), ({"decision": "allow"}, {}),
             ({**fields, "token": fields["token"][:-2] + "AA"}, {}), (fields, {"Origin": "https://app.example"}), (fields, {"Origin": "null"}),
             (fields, {"Sec-Fetch-Site": "cross-site"}), (fields, {"Sec-Fetch-Site": "same-site"})]
    for sent, headers in wrong:
        assert CSRF in is_page(browser.post(form.action, sent, headers=headers), 403).text, (sent, headers)
    stranger = Browser(world.client())
    assert stranger.post(form.action, fields).status in (303, 403)
    for decision in ("", "yes", "ALLOW"):
        is_page(browser.post(form.action, {**fields, "decision": decision}))
    assert ask(browser, asked(world, decision="allow", token=fields["token"])).status == 200
    assert browser.request("HEAD", form.action).status == 200
    assert browser.request("PUT", form.action).status == 405
    assert codes(world) == before
    assert "code" in sent_back(browser.post(form.action, fields)) and codes(world) == before + 1


def test_denying(world, browser):
    before = codes(world)
    answer = sent_back(decide(browser, ask(browser, asked(world)), "deny"))
    assert answer.pop("error_description") and codes(world) == before
    assert answer == {"error": "access_denied", "state": "st-1", "iss": ISSUER}


def test_the_form_is_checked_again(world, browser):
    """What the author has seen is what the address says; another address is another request, and is checked as one."""
    form = consent_form(ask(browser, asked(world)))
    fields = {**form.fields, "decision": "allow"}
    path = form.action.partition("?")[0]
    again = f"{path}?{urllib.parse.urlencode(asked(world, code_challenge_method='plain'))}"
    assert sent_back(browser.post(again, fields))["error"] == "invalid_request"
    is_page(browser.post(path, fields))
    # Parameters in the body count for nothing.
    answer = sent_back(browser.post(form.action, {**fields, "redirect_uri": "https://evil.example/", "state": "evil"}))
    assert answer["state"] == "st-1"


def test_a_code_is_bound_to_all_that_was_asked(world, browser):
    for change in ({"client_id": world.second["client_id"]}, {"redirect_uri": LOOPBACK}, {"code_verifier": "w" * 43}):
        code = sent_back(decide(browser, ask(browser, asked(world)), "allow"))["code"]
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "client_id": world.app["client_id"],
                  "code_verifier": VERIFIER, **change}
        assert oauth.error_of(oauth.post(world.client(), "token", fields)) == "invalid_grant", change


def test_the_port_of_a_loopback_address_is_bound_too(world, browser):
    answer = sent_back(decide(browser, ask(browser, asked(world, "http://127.0.0.1:5001/connected")), "allow"), LOOPBACK.replace("1/", "1:5001/"))
    assert oauth.error_of(exchange(world, answer["code"], "http://127.0.0.1:5002/connected")) == "invalid_grant"


def test_an_app_is_removed_while_the_author_reads(world, browser):
    app = oauth.add_app(world)
    page = ask(browser, request_of(app, VERIFIER))
    world.run("app", "remove", app["client_id"])
    is_page(decide(browser, page, "allow"))


def test_a_locked_database_gives_no_code(world, browser):
    page, before = ask(browser, asked(world)), codes(world)
    holder = sqlite3.connect(world.settings["store"]["path"], isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    answer = sent_back(decide(browser, page, "allow"))
    holder.execute("ROLLBACK")
    holder.close()
    assert answer["error"] == "server_error" and answer["state"] == "st-1" and "code" not in answer and codes(world) == before
    assert "code" in sent_back(decide(browser, page, "allow"))


# -- the page -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("redirect, place, target", [
    (REDIRECT, "app.example", "https://app.example"), ("http://127.0.0.1:5000/connected", "127.0.0.1:5000", "http://127.0.0.1:5000"),
    ("http://[::1]:5000/connected", "[::1]:5000", "http:"), (SIX, "[2001:db8::1]:8443", "https:"), (NATIVE, "com.example.planner", "com.example.planner:")])
def test_nothing_stored_gets_out_of_its_place(world, browser, redirect, place, target):
    page = ask(browser, asked(world, redirect, state=NASTY))
    assert "<script" not in page.body.lower() and page.body.count("<h1>") == 1 and "javascript:" not in page.body
    assert html.unescape(page.body).count(NASTY) >= 2                  # the app's name and the author's, in full
    assert place in page.text and "https://planner.example/a'b" in page.text
    policy = {part.split(" ")[0]: part.split(" ")[1:] for part in page.headers["Content-Security-Policy"].split("; ")}
    assert policy["default-src"] == ["'none'"] and policy["frame-ancestors"] == ["'none'"] and policy["base-uri"] == ["'none'"]
    assert policy["form-action"] == ["'self'", target] and "script-src" not in policy
    assert page.headers["X-Frame-Options"] == "DENY" and page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] in ("same-origin", "no-referrer") and page.headers["X-Content-Type-Options"] == "nosniff"


def test_the_answer_leaks_nothing(world, browser):
    page = decide(browser, ask(browser, asked(world)), "allow")
    assert page.headers["Cache-Control"] == "no-store" and page.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert page.body == ""
    assert sent_back(page)["code"][:20] not in world.log


def test_the_session_cookie_stays_with_us(world, browser):
    """SameSite=Lax: the author's click on an app's link is signed in, an app's own form is not."""
    cookie = browser.attributes["viewtally-session"]
    assert cookie["samesite"] == "Lax" and cookie["httponly"]


def test_a_session_that_ended_allows_nothing(world):
    browser = sign_in(world, "bea", PASSWORD, Browser(world.client()))
    page, before = ask(browser, asked(world)), codes(world)
    held = dict(browser.cookies)
    browser.send(browser.get("/apps"), "/sign-out", follow=False)
    browser.cookies = held
    assert decide(browser, page, "allow").status in (303, 403) and codes(world) == before
