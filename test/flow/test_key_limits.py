"""Limits per author: forms a minute, live API keys, and keys created per UTC day; through pages, apps and commands."""
import concurrent.futures
import os
import re
import uuid

import pytest

from lib import oauth
from lib.clock import FakeClock, to_ms
from lib.oauth import Grant, error_of
from lib.pages import Browser, session_cookie

NOON = "2026-07-10T12:00:00Z"
FORMS_PER_MINUTE, LIVE_KEYS, KEYS_PER_DAY = 30, 100, 200


@pytest.fixture
def clock(tmp_path):
    """Both clocks stand still, so that limits are exact to the millisecond."""
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


def insert_keys(viewtally, count, created, revoked):
    """Inserts keys of Ann into the database, as if they had been created earlier."""
    at = to_ms(created)
    row = f"(?, (SELECT min(id) FROM authors), ?, 'old', 'abcd', {at}, {at if revoked else 'NULL'})"
    for begin in range(0, count, 1000):         # SQLite allows at most 32,766 values per statement
        rows = min(1000, count - begin)
        viewtally.sql("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, revoked_at) VALUES " + ", ".join([row] * rows),
                      *[value for _ in range(rows) for value in (uuid.uuid4(), os.urandom(32))])


def count_keys(viewtally, where="true"):
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

def test_thirty_forms_a_minute_are_accepted_and_then_one_per_freed_slot(world, clock):
    page = world.browser.get("/keys")
    fields = page.form("/keys").fields
    assert world.browser.post("/keys", {**fields, "token": "forged"}).status == 403        # not counted
    assert world.browser.post("/keys", {**fields, "name": "first"}).status == 200
    clock.advance(500)
    for _ in range(FORMS_PER_MINUTE - 1):
        assert world.browser.post("/keys", {**fields, "name": ""}).status == 422            # counted, although it creates nothing
    rejected = send_key_form(world.browser)
    assert (rejected.status, rejected.headers["Retry-After"]) == (429, "60") and "30 forms within one minute" in rejected.text
    assert world.browser.get("/keys").status == 200                                          # reading is not limited
    other = world.add_author("Bea Author")
    assert send_key_form(signed_in(world, other)).status == 200
    clock.advance(59_499)
    rejected = send_key_form(world.browser)
    assert (rejected.status, rejected.headers["Retry-After"]) == (429, "1")
    clock.advance(1)
    assert send_key_form(world.browser).status == 200
    assert send_key_form(world.browser).status == 429
    assert count_keys(world) == 3


@pytest.mark.parametrize("path", ["/account/password", "/account/sign-out", "/sign-out"])
def test_all_forms_of_an_author_share_the_limit(world, path):
    fields = world.browser.get("/keys").form("/keys").fields
    for _ in range(FORMS_PER_MINUTE):
        assert world.browser.post("/keys", {**fields, "name": ""}).status == 422
    assert world.browser.post(path, {"token": fields["token"]}).status == 429
    assert world.browser.get("/account", follow=False).status == 200                         # the form had no effect


def test_consent_forms_count_toward_the_limit(world):
    verifier = oauth.make_verifier()
    consent = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, verifier))
    for _ in range(FORMS_PER_MINUTE):
        assert oauth.submit_consent(world.browser, consent, "allow").status == 303
    assert oauth.submit_consent(world.browser, consent, "allow").status == 429
    assert oauth.rows(world, "SELECT count(*) FROM oauth_codes") == [(FORMS_PER_MINUTE,)]


# ---- keys per day ---------------------------------------------------------------------------------------------------

def test_pages_and_apps_create_at_most_200_keys_a_day(world, clock):
    insert_keys(world, KEYS_PER_DAY - 3, NOON, revoked=True)
    first = exchange(world).json()["access_token"]
    assert send_key_form(world.browser).status == 200
    second = exchange(world).json()["access_token"]
    rejected = send_key_form(world.browser)
    assert (rejected.status, rejected.headers["Retry-After"]) == (429, str(12 * 3600)) and "200 keys were created" in rejected.text
    response = exchange(world)
    assert error_of(response) == "invalid_grant" and "200 API keys" in response.json()["error_description"]
    assert not works(world, first) and works(world, second)                                  # a rejected exchange revokes nothing
    consent = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, oauth.make_verifier()))
    assert oauth.submit_consent(world.browser, consent, "allow").status == 429
    assert count_keys(world) == KEYS_PER_DAY
    world.create_key(world.author)                                                           # the daily limit does not apply to the operator
    clock.set_wall("2026-07-10T23:59:59.999Z")
    rejected = send_key_form(world.browser)
    assert (rejected.status, rejected.headers["Retry-After"]) == (429, "1")
    clock.set_wall("2026-07-11T00:00:00Z")
    assert send_key_form(world.browser).status == 200 and exchange(world).status == 200


def test_form_sent_twice_creates_one_key(world):
    insert_keys(world, KEYS_PER_DAY - 1, NOON, revoked=True)
    page = world.browser.get("/keys")
    values = {**page.form("/keys").fields, "name": "twice"}
    shown = [re.search(r"service_live_\w{49}", world.browser.post("/keys", values).body).group() for _ in range(2)]
    assert shown[0] == shown[1] and count_keys(world) == KEYS_PER_DAY


# ---- live keys -------------------------------------------------------------------------------------------------------

def test_author_has_at_most_100_live_keys(world):
    insert_keys(world, LIVE_KEYS - 1, "2026-07-01", revoked=False)
    key = exchange(world).json()["access_token"]
    assert send_key_form(world.browser).status == 422
    again = exchange(world).json()["access_token"]                                           # replaces the key of the app
    assert works(world, again) and not works(world, key)
    rejected = world.run("key", "create", "--author", world.author, "--name", "n", status=1)
    assert "100 live keys, which is the maximum: revoke one first" in rejected.err
    world.app = oauth.add_app(world, name="Another App")
    response = exchange(world)
    assert error_of(response) == "invalid_grant" and "100 API keys" in response.json()["error_description"]
    consent = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, oauth.make_verifier()))
    page = oauth.submit_consent(world.browser, consent, "allow")
    assert page.status == 422 and "disconnect an app" in page.text
    assert count_keys(world, "revoked_at IS NULL") == LIVE_KEYS and works(world, again)


def test_concurrent_forms_to_two_processes_do_not_exceed_the_limit(make_viewtally, clock):
    first = make_viewtally(clock=clock)
    first.author = first.add_author("Ann Author")
    second = make_viewtally({"store": first.settings["store"]}, clock)
    with first, second:
        insert_keys(first, LIVE_KEYS - 4, "2026-07-01", revoked=False)
        browsers = [signed_in(server, first.author) for server in (first, second) * 8]
        forms = [(browser, {**browser.get("/keys").form("/keys").fields, "name": "one of many"}) for browser in browsers]
        with concurrent.futures.ThreadPoolExecutor(len(forms)) as pool:
            statuses = list(pool.map(lambda form: form[0].post("/keys", form[1]).status, forms))
    assert sorted(statuses) == [200] * 4 + [422] * 12
    assert count_keys(first, "revoked_at IS NULL") == LIVE_KEYS


def test_page_shows_only_the_newest_revoked_keys(world):
    insert_keys(world, 20_000, "2026-06-01", revoked=True)
    page = world.browser.get("/keys")
    assert page.status == 200 and page.body.count("<li><div>") == 20
    assert send_key_form(world.browser).status == 200
