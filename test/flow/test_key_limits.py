"""Limits of an author: forms a minute, live API keys, and keys created on a UTC day; by page, app and command."""
import concurrent.futures
import re
import sqlite3

import pytest

from lib import oauth
from lib.clock import FakeClock, to_ms
from lib.oauth import Grant, error_of
from lib.pages import Browser, session_cookie

NOON = "2026-07-10T12:00:00Z"
FORMS_PER_MINUTE, LIVE_KEYS, KEYS_PER_DAY = 30, 100, 200


@pytest.fixture
def clock(tmp_path):
    """Both clocks stand still: the limits are exact to the millisecond."""
    return FakeClock(tmp_path / "clock", NOON, 1_000_000)


@pytest.fixture
def world(viewtally):
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.app = oauth.add_app(viewtally)
    viewtally.start()
    viewtally.browser = signed_in(viewtally, viewtally.author)
    return viewtally


def signed_in(viewtally, author):
    browser = Browser(viewtally.client())
    browser.cookies["viewtally-session"] = session_cookie(viewtally, author)
    return browser


def put_keys(viewtally, count, created, revoked):
    """Keys of Ann's, as older days or other programs have left them."""
    database = sqlite3.connect(viewtally.settings["store"]["path"], timeout=30)
    at = to_ms(created)
    with database:
        database.executemany(
            "INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, revoked_at) "
            "VALUES (randomblob(16), (SELECT min(id) FROM authors), randomblob(32), 'old', 'abcd', ?, ?)", [(at, at if revoked else None)] * count)
    database.close()


def count_keys(viewtally, where="1"):
    return oauth.rows(viewtally, f"SELECT count(*) FROM api_keys WHERE {where}")[0][0]


def send_key_form(browser, name="Spreadsheet"):
    return browser.send(browser.get("/keys"), "/keys", {"name": name}, follow=False)


def exchange(viewtally):
    with viewtally.client() as client:
        return Grant(viewtally, viewtally.app, viewtally.author, at_ms=viewtally.clock.wall_ms).exchange(client)


def works(viewtally, key):
    with viewtally.client(key) as client:
        return client.get("/account").status == 200


# ---- forms -----------------------------------------------------------------------------------------------------------

def test_thirty_forms_a_minute_and_then_one_per_freed_slot(world, clock):
    page = world.browser.get("/keys")
    fields = page.form("/keys").fields
    assert world.browser.post("/keys", {**fields, "token": "forged"}).status == 403        # does not count
    assert world.browser.post("/keys", {**fields, "name": "first"}).status == 200
    clock.advance(500)
    for _ in range(FORMS_PER_MINUTE - 1):
        assert world.browser.post("/keys", {**fields, "name": ""}).status == 422            # counts, although it creates nothing
    refused = send_key_form(world.browser)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60") and "30 forms within a minute" in refused.text
    assert world.browser.get("/keys").status == 200                                          # reading is not limited
    other = world.add_author("Bea Author")
    assert send_key_form(signed_in(world, other)).status == 200
    clock.advance(59_499)
    refused = send_key_form(world.browser)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    clock.advance(1)
    assert send_key_form(world.browser).status == 200
    assert send_key_form(world.browser).status == 429
    assert count_keys(world) == 3


@pytest.mark.parametrize("path", ["/account/password", "/account/sign-out", "/sign-out"])
def test_every_form_of_an_author_counts(world, path):
    fields = world.browser.get("/keys").form("/keys").fields
    for _ in range(FORMS_PER_MINUTE):
        assert world.browser.post("/keys", {**fields, "name": ""}).status == 422
    assert world.browser.post(path, {"token": fields["token"]}).status == 429
    assert world.browser.get("/account", follow=False).status == 200                         # not carried out


def test_the_consent_of_an_app_counts(world):
    verifier = oauth.make_verifier()
    asked = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, verifier))
    for _ in range(FORMS_PER_MINUTE):
        assert oauth.submit_consent(world.browser, asked, "allow").status == 303
    assert oauth.submit_consent(world.browser, asked, "allow").status == 429
    assert oauth.rows(world, "SELECT count(*) FROM oauth_codes") == [(FORMS_PER_MINUTE,)]


# ---- keys of a day ---------------------------------------------------------------------------------------------------

def test_two_hundred_keys_a_day_for_pages_and_apps(world, clock):
    put_keys(world, KEYS_PER_DAY - 3, NOON, revoked=True)
    first = exchange(world).json()["access_token"]
    assert send_key_form(world.browser).status == 200
    second = exchange(world).json()["access_token"]
    refused = send_key_form(world.browser)
    assert (refused.status, refused.headers["Retry-After"]) == (429, str(12 * 3600)) and "200 keys were created" in refused.text
    answer = exchange(world)
    assert error_of(answer) == "invalid_grant" and "200 API keys" in answer.json()["error_description"]
    assert not works(world, first) and works(world, second)                                  # a refused exchange does not disconnect
    asked = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, oauth.make_verifier()))
    assert oauth.submit_consent(world.browser, asked, "allow").status == 429
    assert count_keys(world) == KEYS_PER_DAY
    world.create_key(world.author)                                                           # the operator is not limited by the day
    clock.set_wall("2026-07-10T23:59:59.999Z")
    refused = send_key_form(world.browser)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    clock.set_wall("2026-07-11T00:00:00Z")
    assert send_key_form(world.browser).status == 200 and exchange(world).status == 200


def test_a_form_that_is_sent_twice_counts_once(world):
    put_keys(world, KEYS_PER_DAY - 1, NOON, revoked=True)
    page = world.browser.get("/keys")
    values = {**page.form("/keys").fields, "name": "twice"}
    shown = [re.search(r"service_live_\w{49}", world.browser.post("/keys", values).body).group() for _ in range(2)]
    assert shown[0] == shown[1] and count_keys(world) == KEYS_PER_DAY


# ---- live keys -------------------------------------------------------------------------------------------------------

def test_a_hundred_live_keys_for_pages_apps_and_commands(world):
    put_keys(world, LIVE_KEYS - 1, "2026-07-01", revoked=False)
    key = exchange(world).json()["access_token"]
    assert send_key_form(world.browser).status == 422
    again = exchange(world).json()["access_token"]                                           # replaces its own key
    assert works(world, again) and not works(world, key)
    refused = world.run("key", "create", "--author", world.author, "--name", "n", status=1)
    assert "100 live keys, which is the maximum: revoke one first" in refused.err
    world.app = oauth.add_app(world, name="Another App")
    answer = exchange(world)
    assert error_of(answer) == "invalid_grant" and "100 API keys" in answer.json()["error_description"]
    asked = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, oauth.make_verifier()))
    page = oauth.submit_consent(world.browser, asked, "allow")
    assert page.status == 422 and "disconnect an app" in page.text
    assert count_keys(world, "revoked_at IS NULL") == LIVE_KEYS and works(world, again)


def test_concurrent_forms_to_two_processes_do_not_exceed_the_limit(make_viewtally, clock):
    first = make_viewtally(clock=clock)
    first.author = first.add_author("Ann Author")
    second = make_viewtally({"store": {"path": first.settings["store"]["path"]}}, clock)
    with first, second:
        put_keys(first, LIVE_KEYS - 4, "2026-07-01", revoked=False)
        browsers = [signed_in(server, first.author) for server in (first, second) * 8]
        forms = [(browser, {**browser.get("/keys").form("/keys").fields, "name": "one of many"}) for browser in browsers]
        with concurrent.futures.ThreadPoolExecutor(len(forms)) as pool:
            statuses = list(pool.map(lambda form: form[0].post("/keys", form[1]).status, forms))
    assert sorted(statuses) == [200] * 4 + [422] * 12
    assert count_keys(first, "revoked_at IS NULL") == LIVE_KEYS


def test_pages_of_an_author_with_many_revoked_keys_stay_short(world):
    put_keys(world, 20_000, "2026-06-01", revoked=True)
    page = world.browser.get("/keys")
    assert page.status == 200 and page.body.count("<li><div>") == 20
    assert send_key_form(world.browser).status == 200
