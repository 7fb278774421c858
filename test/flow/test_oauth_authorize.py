"""The authorization endpoint and its consent page under attack (RFC 6749, 4.1 and 10; RFC 9207; RFC 9700)."""
import html
import re
import urllib.parse

import pytest

from lib import oauth
from lib.clock import FakeClock
from lib.oauth import REDIRECT, open_consent_page, consent_form, submit_consent, authorize_params, rows, redirect_params
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
    viewtally = Viewtally(directory / "viewtally", clock=clock, config={"server": {"base_url": ISSUER}, "store": {"busy_timeout_ms": 3000}, "log": {"level": "debug"}})
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
    """Advances the clock, so that each test starts with an unused limit of forms per minute."""
    world.clock.advance(60_000)


@pytest.fixture
def browser(world):
    return world.browser


def codes(world):
    return rows(world, "SELECT count(*) FROM oauth_codes")[0][0]


def params_of(world, redirect=REDIRECT, **changes):
    return authorize_params(world.app, VERIFIER, redirect, **changes)


def assert_page(page, status=400):
    """Asserts that the response is a page and not a redirect. Returns it."""
    assert page.status == status and "Location" not in page.headers, page
    assert page.headers["Content-Type"].startswith("text/html")
    return page


def exchange(world, code, redirect=REDIRECT):
    return oauth.post(world.client(), "token", {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
                                               "client_id": world.app["client_id"], "code_verifier": VERIFIER})


# -- redirect addresses -----------------------------------------------------------------------------------------------------

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


def test_unregistered_redirect_addresses_are_rejected_without_redirect(world, browser):
    for redirect in WRONG_REDIRECTS:
        page = assert_page(open_consent_page(browser, params_of(world, redirect)))
        assert "redirect_uri" in page.text and not consent_forms(page), redirect
    # Not even a response to an author who is not signed in, or to a request with other errors, is a redirect.
    for redirect in WRONG_REDIRECTS[:8]:
        assert_page(open_consent_page(Browser(world.client()), params_of(world, redirect)))
        assert_page(open_consent_page(browser, params_of(world, redirect, response_type=None)))
        page = open_consent_page(browser, params_of(world))
        form = consent_form(page)
        target = form.action.replace(urllib.parse.quote_plus(REDIRECT), urllib.parse.quote_plus(redirect))
        assert target != form.action
        assert_page(browser.post(target, {**form.fields, "decision": "allow"}))


def consent_forms(page):
    return [form for form in page.forms if oauth.AUTHORIZE in form.action]


@pytest.mark.parametrize("redirect", [LOOPBACK, "http://127.0.0.1:1/connected", "http://127.0.0.1:65535/connected", LOOPBACK6,
                                      "http://[::1]/connected", "http://[::1]:51234/connected", NATIVE, REDIRECT])
def test_registered_redirect_addresses_are_accepted(world, browser, redirect):
    """The address of a request must equal a registered one, except for the port of a loopback address (RFC 8252,
    7.3)."""
    response = redirect_params(submit_consent(browser, open_consent_page(browser, params_of(world, redirect)), "allow"), redirect)
    assert exchange(world, response["code"], redirect).status == 200


def test_redirect_address_keeps_its_query(world, browser):
    page = submit_consent(browser, open_consent_page(browser, params_of(world, QUERY)), "deny")
    assert page.headers["Location"].startswith(QUERY + "&error=access_denied&")


def test_unknown_apps_are_rejected_without_redirect(world, browser):
    removed = oauth.add_app(world)
    world.run("app", "remove", removed["client_id"])
    for name in ("app_nobody", removed["client_id"], world.app["client_id"].upper(), "", "x" * 3000, "\0", "' OR 1=1"):
        for who in (browser, Browser(world.client())):
            assert "client_id" in assert_page(open_consent_page(who, params_of(world, client_id=name))).text, name
    assert_page(open_consent_page(browser, params_of(world, client_id=None)))
    assert_page(open_consent_page(browser, urllib.parse.urlencode(params_of(world)) + "&client_id=" + world.app["client_id"]))
    assert_page(open_consent_page(browser, urllib.parse.urlencode(params_of(world)) + "&redirect_uri=" + urllib.parse.quote(REDIRECT)))
    assert_page(open_consent_page(browser, urllib.parse.urlencode(params_of(world)).replace("code_challenge", "%zz&state=%zz&code_challenge")))
    assert_page(open_consent_page(browser, ""))
    assert_page(open_consent_page(browser, urllib.parse.urlencode(params_of(world, ignored="x" * 4000))))


# -- other parameters ---------------------------------------------------------------------------------------------------

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
def test_invalid_requests_redirect_with_an_error(world, browser, changes, error):
    for who in (browser, Browser(world.client())):
        response = redirect_params(open_consent_page(who, params_of(world, **changes)))
        assert response.pop("error") == error and response.pop("error_description")
        assert response.pop("error_uri") == f"{world.settings['server']['base_url']}/docs/connect#{error}"
        assert response == {"state": "st-1", "iss": ISSUER}


def test_repeated_parameters_are_rejected(world, browser):
    for name, value in params_of(world).items():
        query = urllib.parse.urlencode([*params_of(world).items(), (name, value)])
        page = open_consent_page(browser, query)
        if name in ("client_id", "redirect_uri"):
            assert_page(page)
        else:
            response = redirect_params(page)
            assert response["error"] == "invalid_request" and ("state" in response) == (name != "state"), name


def test_unknown_authorize_parameters_are_ignored(world, browser):
    query = urllib.parse.urlencode([*params_of(world, scope=None, prompt="none", nonce="1", code="x", iss="https://evil.example", error="x").items(),
                                    ("resource", "a"), ("resource", "b"), ("decision", "allow"), ("request_uri", "https://evil.example")])
    page = open_consent_page(browser, query)
    assert page.status == 200
    assert set(redirect_params(submit_consent(browser, page, "allow"))) == {"code", "state", "iss"}


# -- state --------------------------------------------------------------------------------------------------------------

STATES = [b"x", b"a b+c", b"%00%0d%0a", b"\r\nSet-Cookie: a=b", b"\x00\x01\x1f\x7f", bytes(range(256)), b"\xff\xfe\xc0\x80\xed\xa0\x80",
          "ünïcödé \U0001f600 \u2028".encode(), b"&code=evil&iss=evil", b"#fragment", b"\"'><script>alert(1)</script>", b"=&=&?;/:@", b"s" * 2048]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_state_is_returned_unchanged(world, browser, state):
    """Every response contains the state, also after the consent form and the sign-in page."""
    base = urllib.parse.urlencode(params_of(world, state=None))
    query = base + "&state=" + urllib.parse.quote(state, safe="")
    signed_out = Browser(world.client())
    pages = [submit_consent(browser, open_consent_page(browser, query), "deny"), open_consent_page(browser, query + "&response_type=x")]
    if state in STATES[3:6]:
        sign = open_consent_page(signed_out, query, follow=True)
        assert sign.url.startswith("/sign-in?next=")
        back = signed_out.send(sign, "/sign-in", {"login": "ann", "password": PASSWORD}, follow=False)
        pages.append(submit_consent(signed_out, signed_out.request("GET", back.headers["Location"]), "deny"))
    for page in pages:
        raw = dict(part.split("=", 1) for part in page.headers["Location"].partition("?")[2].split("&"))["state"]
        assert urllib.parse.unquote_to_bytes(raw) == state
        assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", raw)
        assert page.headers.get("Set-Cookie") is None


def test_state_may_be_missing_but_not_too_long(world, browser):
    response = redirect_params(open_consent_page(browser, params_of(world, state="s" * 2049)))
    assert response["error"] == "invalid_request" and "state" not in response
    assert "state" not in redirect_params(submit_consent(browser, open_consent_page(browser, params_of(world, state=None)), "allow"))


# -- consent ------------------------------------------------------------------------------------------------

def test_sign_in_returns_to_the_consent_page(world):
    signed_out = Browser(world.client())
    page = open_consent_page(signed_out, params_of(world))
    assert page.status == 303 and page.headers["Location"].startswith("/sign-in?next=%2Fv1%2Foauth%2Fauthorize%3F")
    sign = signed_out.get(page.headers["Location"], follow=False)
    back = signed_out.send(sign, "/sign-in", {"login": "bea", "password": PASSWORD}, follow=True)
    assert "Bea Author" in back.text
    response = redirect_params(submit_consent(signed_out, back, "allow"))
    assert exchange(world, response["code"]).json()["account"]["id"] == world.other


def test_consent_needs_the_form_token(world, browser):
    before = codes(world)
    page = open_consent_page(browser, params_of(world))
    form = consent_form(page)
    fields = {**form.fields, "decision": "allow"}
    theirs = consent_form(open_consent_page(world.theirs, params_of(world))).fields["token"]
    wrong = [({**fields, "token": ""}, {}), ({**fields, "token": theirs}, {}), ({"decision": "allow"}, {}),
             ({**fields, "token": fields["token"][:-2] + "AA"}, {}), (fields, {"Origin": "https://app.example"}), (fields, {"Origin": "null"}),
             (fields, {"Sec-Fetch-Site": "cross-site"}), (fields, {"Sec-Fetch-Site": "same-site"})]
    for sent, headers in wrong:
        assert CSRF in assert_page(browser.post(form.action, sent, headers=headers), 403).text, (sent, headers)
    signed_out = Browser(world.client())
    assert signed_out.post(form.action, fields).status in (303, 403)
    for decision in ("", "yes", "ALLOW"):
        assert_page(browser.post(form.action, {**fields, "decision": decision}))
    assert open_consent_page(browser, params_of(world, decision="allow", token=fields["token"])).status == 200
    assert browser.request("HEAD", form.action).status == 200
    assert browser.request("PUT", form.action).status == 405
    assert codes(world) == before
    assert "code" in redirect_params(browser.post(form.action, fields)) and codes(world) == before + 1


def test_denied_consent_gives_access_denied(world, browser):
    before = codes(world)
    response = redirect_params(submit_consent(browser, open_consent_page(browser, params_of(world)), "deny"))
    assert response.pop("error_description") and codes(world) == before
    assert response == {"error": "access_denied", "error_uri": f"{ISSUER}/docs/connect#access_denied", "state": "st-1", "iss": ISSUER}


def test_submitted_request_is_validated_again(world, browser):
    """The address of the form contains the request. A form that is sent to another address is another request and is validated."""
    form = consent_form(open_consent_page(browser, params_of(world)))
    fields = {**form.fields, "decision": "allow"}
    path = form.action.partition("?")[0]
    again = f"{path}?{urllib.parse.urlencode(params_of(world, code_challenge_method='plain'))}"
    assert redirect_params(browser.post(again, fields))["error"] == "invalid_request"
    assert_page(browser.post(path, fields))
    # Parameters in the body are ignored.
    response = redirect_params(browser.post(form.action, {**fields, "redirect_uri": "https://evil.example/", "state": "evil"}))
    assert response["state"] == "st-1"


def test_code_is_bound_to_client_redirect_and_verifier(world, browser):
    for change in ({"client_id": world.second["client_id"]}, {"redirect_uri": LOOPBACK}, {"code_verifier": "w" * 43}):
        code = redirect_params(submit_consent(browser, open_consent_page(browser, params_of(world)), "allow"))["code"]
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "client_id": world.app["client_id"],
                  "code_verifier": VERIFIER, **change}
        assert oauth.error_of(oauth.post(world.client(), "token", fields)) == "invalid_grant", change


def test_code_is_bound_to_the_port_of_a_loopback_address(world, browser):
    response = redirect_params(submit_consent(browser, open_consent_page(browser, params_of(world, "http://127.0.0.1:5001/connected")), "allow"), LOOPBACK.replace("1/", "1:5001/"))
    assert oauth.error_of(exchange(world, response["code"], "http://127.0.0.1:5002/connected")) == "invalid_grant"


def test_app_removed_during_consent_gets_no_code(world, browser):
    app = oauth.add_app(world)
    page = open_consent_page(browser, authorize_params(app, VERIFIER))
    world.run("app", "remove", app["client_id"])
    assert_page(submit_consent(browser, page, "allow"))


def test_locked_database_gives_no_code(world, browser):
    page, before = open_consent_page(browser, params_of(world)), codes(world)
    with world.write_transaction():
        response = redirect_params(submit_consent(browser, page, "allow"))
    assert response["error"] == "server_error" and response["state"] == "st-1" and "code" not in response and codes(world) == before
    assert "code" in redirect_params(submit_consent(browser, page, "allow"))


# -- the page -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("redirect, display_name, target", [
    (REDIRECT, "app.example", "https:"), ("http://127.0.0.1:5000/connected", "127.0.0.1:5000", "http:"),
    ("http://[::1]:5000/connected", "[::1]:5000", "http:"), (SIX, "[2001:db8::1]:8443", "https:"),
    (NATIVE, "com.example.planner", "com.example.planner:")])
def test_consent_page_escapes_stored_text_and_sends_its_csp(world, browser, redirect, display_name, target):
    page = open_consent_page(browser, params_of(world, redirect, state=NASTY))
    assert "<script" not in page.body.lower() and page.body.count("<h1>") == 1 and "javascript:" not in page.body
    assert html.unescape(page.body).count(NASTY) >= 2                  # the names of the app and of the author, complete
    assert display_name in page.text and "https://planner.example/a'b" in page.text
    policy = {part.split(" ")[0]: part.split(" ")[1:] for part in page.headers["Content-Security-Policy"].split("; ")}
    assert policy["default-src"] == ["'none'"] and policy["frame-ancestors"] == ["'none'"] and policy["base-uri"] == ["'none'"]
    assert policy["form-action"] == ["'self'", target] and "script-src" not in policy
    assert page.headers["X-Frame-Options"] == "DENY" and page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] in ("same-origin", "no-referrer") and page.headers["X-Content-Type-Options"] == "nosniff"
    assert "Cross-Origin-Opener-Policy" not in page.headers             # the page may be in a popup window of the app


def test_redirect_with_the_code_is_not_stored_or_logged(world, browser):
    page = submit_consent(browser, open_consent_page(browser, params_of(world)), "allow")
    assert page.headers["Cache-Control"] == "no-store" and page.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert page.body == ""
    assert redirect_params(page)["code"][:20] not in world.log


def test_session_cookie_is_same_site(world, browser):
    """Because of SameSite=Lax, browsers send the cookie when the author follows an app's link, but not with a form of
    the app."""
    cookie = browser.attributes["viewtally-session"]
    assert cookie["samesite"] == "Lax" and cookie["httponly"]


def test_ended_session_gives_no_code(world):
    browser = sign_in(world, "bea", PASSWORD, Browser(world.client()))
    page, before = open_consent_page(browser, params_of(world)), codes(world)
    held = dict(browser.cookies)
    browser.send(browser.get("/apps"), "/sign-out", follow=False)
    browser.cookies = held
    assert submit_consent(browser, page, "allow").status in (303, 403) and codes(world) == before
