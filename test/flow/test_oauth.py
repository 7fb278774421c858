"""One-click connect from the author's click to the key: apps, consent, exchange, revocation."""
import pytest

from lib import oauth
from lib.pages import Browser, sign_up

PASSWORD = "correct horse battery"


@pytest.fixture
def world(viewtally):
    """A running server, an author who is signed in (.author, .browser), and a public app (.app)."""
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.app = oauth.add_app(viewtally, name="Post Planner", home="https://planner.example")
    viewtally.start()
    viewtally.browser = sign_up(viewtally, viewtally.author, "ann", PASSWORD)
    return viewtally


def issuer(world):
    return world.settings["server"]["base_url"]


def connect(world, app=None, **changes):
    """Everything, with the consent page: the token endpoint's answer."""
    verifier = oauth.make_verifier()
    page = oauth.ask(world.browser, oauth.request_of(app or world.app, verifier, **changes))
    assert page.status == 200, page
    answer = oauth.sent_back(oauth.decide(world.browser, page, "allow"))
    fields = {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": oauth.REDIRECT,
              "client_id": (app or world.app)["client_id"], "code_verifier": verifier}
    return oauth.post(world.client(), "token", fields)


def test_from_the_click_to_the_key_and_back(world):
    verifier = oauth.make_verifier()
    page = oauth.ask(world.browser, oauth.request_of(world.app, verifier))
    assert page.status == 200
    for words in ("Post Planner", "https://planner.example", "app.example", "Ann Author", "your videos"):
        assert words in page.text, words
    answer = oauth.sent_back(oauth.decide(world.browser, page, "allow"))
    assert set(answer) == {"code", "state", "iss"} and answer["state"] == "st-1"
    fields = {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": oauth.REDIRECT,
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
    assert gone.status == 200 and gone.body == b""
    assert world.client(body["access_token"]).get("/account").error_code == "api_key_revoked"
    assert world.log.count("error") == 0
