"""One-click connect from the consent page to the key: consent, exchange, use, revocation."""
import os
import uuid

import pytest

from lib import oauth
from lib.pages import Browser, sign_up

PASSWORD = "correct horse battery"


@pytest.fixture
def world(viewtally):
    """A running server, a signed-in author (.author, .browser), and a public app (.app)."""
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.app = oauth.add_app(viewtally, name="Post Planner", home="https://planner.example")
    viewtally.start()
    viewtally.browser = sign_up(viewtally, viewtally.author, "ann", PASSWORD)
    return viewtally


def connect(world, app=None, **changes):
    """Goes through the consent page and returns the response of the token endpoint."""
    verifier = oauth.make_verifier()
    page = oauth.open_consent_page(world.browser, oauth.authorize_params(app or world.app, verifier, **changes))
    assert page.status == 200, page
    response = oauth.redirect_params(oauth.submit_consent(world.browser, page, "allow"))
    fields = {"grant_type": "authorization_code", "code": response["code"], "redirect_uri": oauth.REDIRECT,
              "client_id": (app or world.app)["client_id"], "code_verifier": verifier}
    return oauth.post(world.client(), "token", fields)


def test_app_connects_uses_its_key_and_revokes_it(world):
    verifier = oauth.make_verifier()
    page = oauth.open_consent_page(world.browser, oauth.authorize_params(world.app, verifier))
    assert page.status == 200
    for words in ("Post Planner", "https://planner.example", "app.example", "Ann Author", "your videos"):
        assert words in page.text, words
    response = oauth.redirect_params(oauth.submit_consent(world.browser, page, "allow"))
    assert set(response) == {"code", "state", "iss"} and response["state"] == "st-1"
    fields = {"grant_type": "authorization_code", "code": response["code"], "redirect_uri": oauth.REDIRECT,
              "client_id": world.app["client_id"], "code_verifier": verifier}
    token = oauth.post(world.client(), "token", fields)
    assert token.status == 200 and token.headers["Cache-Control"] == "no-store"
    body = token.json()
    assert set(body) == {"access_token", "token_type", "scope", "key_id", "account"}
    assert body["token_type"] == "Bearer" and body["scope"] == "read"
    assert body["account"] == {"id": world.author, "name": "Ann Author"}

    account = world.client(body["access_token"]).get("/account").json()["data"]
    assert account["id"] == world.author and account["key"]["name"] == "Post Planner"
    assert "Post Planner" in world.browser.get("/apps").text
    assert body["key_id"] in world.run("key", "list", "--author", world.author).out

    gone = oauth.post(world.client(), "revoke", {"token": body["access_token"], "client_id": world.app["client_id"]})
    assert gone.status == 200 and gone.body == b"{}"
    assert world.client(body["access_token"]).get("/account").error_code == "api_key_revoked"
    assert world.log.count("error") == 0


def test_connecting_again_replaces_the_key_and_the_apps_page_revokes_it(world):
    first, second = connect(world).json(), connect(world).json()
    assert world.client(first["access_token"]).get("/account").error_code == "api_key_revoked"
    assert world.client(second["access_token"]).get("/account").status == 200
    assert world.browser.get("/apps").text.count("Home page") == 1
    page = world.browser.get(f"/apps/{second['key_id']}")
    world.browser.send(page, f"/apps/{second['key_id']}")
    assert world.client(second["access_token"]).get("/account").error_code == "api_key_revoked"


def test_two_authors_connect_the_same_app(world):
    bea = world.add_author("Bea Author")
    theirs = sign_up(world, bea, "bea", PASSWORD, Browser(world.client()))
    mine = connect(world).json()
    world.browser = theirs
    response = connect(world).json()
    assert response["account"]["id"] == bea and mine["account"]["id"] == world.author
    assert world.client(mine["access_token"]).get("/account").json()["data"]["id"] == world.author


def test_old_codes_are_deleted(world, clock):
    """Issuing a code deletes codes that expired unused an hour ago and codes that were used 30 days ago."""
    hour, day = 3600 * 1000, 24 * 3600 * 1000
    ages = [2 * hour, hour // 2, 2 * hour, 31 * day]
    grants = [oauth.Grant(world, world.app, world.author, at_ms=clock.wall_ms - age) for age in ages]
    for grant in grants[2:]:
        key, = oauth.rows(world, "INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) "
                          "SELECT ?, id, ?, 'x', 'abcd', 0 FROM authors LIMIT 1 RETURNING id", uuid.uuid4(), os.urandom(32))[0]
        oauth.rows(world, "UPDATE oauth_codes SET used_at = 0, key_id = ? WHERE hash = ?", key, oauth.hash_of(grant.code))
    assert connect(world).status == 200
    left = {code for (code,) in oauth.rows(world, "SELECT hash FROM oauth_codes")}
    assert [oauth.hash_of(grant.code) in left for grant in grants] == [False, True, True, False]


def test_author_signed_in_by_a_proxy_can_connect_an_app(make_viewtally):
    world = make_viewtally({"server": {"trusted_proxies": "127.0.0.1"}, "account": {"auth_header": "X-Remote-User"}})
    world.author, world.app = world.add_author("Ann Author"), oauth.add_app(world)
    world.start()
    world.browser = Browser(world.client(), headers={"X-Remote-User": world.author})
    assert connect(world).json()["account"]["id"] == world.author


def test_restored_database_has_no_unused_codes(viewtally, clock):
    author, app = viewtally.add_author(), oauth.add_app(viewtally)
    grant = oauth.Grant(viewtally, app, author, at_ms=clock.wall_ms)
    viewtally.run("backup", "backup.db")
    viewtally.run("restore", "backup.db")
    assert oauth.rows(viewtally, "SELECT count(*) FROM oauth_codes") == [(0,)]
    viewtally.start()
    assert oauth.error_of(grant.exchange(viewtally.client())) == "invalid_grant"
