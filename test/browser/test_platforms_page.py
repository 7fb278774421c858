"""The platforms page in a real browser: accounts in every state, and the whole flow to a platform and back."""
import pathlib
import sys

import pytest

import stage_scene as scene
from lib.clock import FakeClock
from lib.lines import author, uid
from lib.pages import session_cookie
from lib.services import free_port
from lib.viewtally import Viewtally, sanitized

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "platforms"))
from platformworld import Standins, World           # noqa: E402
from sealing import insert_accounts                          # noqa: E402

SIDES = [{"dark": False, "phone": False}, {"dark": True, "phone": True}][:1 if sanitized() else 2]
# api, name, state, failures, last error, minutes since the last good reading (None: never)
STATES = [("tiktok", "Mara reads aloud", 0, 0, None, 40), ("youtube", scene.SCRIPT, 1, 3, "reconnect invalid_grant", 3000),
          ("pinterest", "Verylongwordwithoutanyspace" * 7, 0, 1, "app_rejected invalid_client", 700), ("facebook", "The page", 0, 1, "insights none", None),
          ("instagram-facebook", "\u05e9\u05dc\u05d5\u05dd", 1, 1, "reconnect 190.460", 900), ("instagram", "word " * 40, 0, 5, "retry timeout", 400),
          ("tiktok", "", 0, 1, "retry 500", 70), ("tiktok", "new", 0, 0, None, None)]


class Stage:
    def __init__(self, instance, standins, port):
        self.instance, self.standins = instance, standins
        world = World(instance, standins)
        world.configure(refresh={"source": "none"}, server={"listen": f"127.0.0.1:{port}", "base_url": f"http://127.0.0.1:{port}/v1"})
        instance.import_lines([author("Mara"), author("Noor")])
        self.insert_accounts()
        standins.command("tiktok", "account", id=World.account_id("tiktok", 1), name="Noor's films")
        instance.start()
        self.base = f"http://127.0.0.1:{port}"

    def insert_accounts(self):
        now = self.instance.clock.wall_ms
        accounts = [(bytes.fromhex(uid("Mara").replace("-", "")), state[0], f"account-{n}", {"access_token": "a", "expires_in": 864_000}) for n, state in enumerate(STATES)]
        insert_accounts(self.instance, accounts, now)
        for n, (_, name, state, failures, error, minutes) in enumerate(STATES):
            self.instance.sql("UPDATE platform_credentials SET account_name = ?, state = ?, failures = ?, last_error = ?, last_error_at = ?, last_ok_at = ? WHERE account_id = ?",
                              name or None, state, failures, error, now - 60_000 if error else None, None if minutes is None else now - minutes * 60_000, f"account-{n}")

    def arguments(self, name, **more):
        return {"base": self.base, "cookie": session_cookie(self.instance, uid(name)), **more}


@pytest.fixture(scope="module")
def linking(tmp_path_factory):
    directory = tmp_path_factory.mktemp("linking")
    clock = FakeClock(directory / "clock", scene.NOW)
    standins = Standins(clock)
    instance = Viewtally(directory / "viewtally", {}, clock)
    try:
        yield Stage(instance, standins, free_port())
        assert standins.violations() == []
    finally:
        instance.stop()
        standins.close()


def test_accounts_in_every_state_are_accessible(browser, linking):
    assert browser.walk("look", name="platforms", sides=SIDES, **linking.arguments("Mara", path="/platforms")) == []
    if not sanitized():                             # the sanitized build is slow and renders the same page
        assert browser.walk("look", name="platforms-empty", sides=SIDES, **linking.arguments("Noor", path="/platforms")) == []


def test_confirmation_and_rejection_pages_are_accessible(browser, linking):
    name = STATES[2][1]
    asked = linking.arguments("Mara", path="/platforms", form=[[f"Disconnect {name}"]])
    assert browser.walk("look", name="platforms-disconnect", sides=SIDES, **asked) == []
    if sanitized():
        return
    refused = linking.arguments("Mara", path="/platforms/callback/tiktok?state=x&code=y", status=400)
    assert browser.walk("look", name="platforms-refused", sides=SIDES, **refused) == []


def test_page_explains_the_state_of_each_account(browser, linking):
    (page,) = browser.walk("readPlain", **linking.arguments("Mara", paths=["/platforms"]))
    for words in ("YouTube requires you to sign in again", "Sign in to YouTube again", "Sign in to Facebook again", "tell the people who run this service",
                  "Facebook shows your posts but not their views", "has been unreadable for some time", "The last attempt to read TikTok failed",
                  "The next refresh reads this account for the first time", "40 minutes ago", scene.SCRIPT, "account-6"):
        assert words in page["text"], words
    assert page["text"].count("Facebook requires you to sign in again") == 1       # the Instagram account was linked through Facebook


def test_account_is_linked_and_disconnected(browser, linking):
    """Without JavaScript. The content security policy lets the form redirect to the platform."""
    browser.walk("linkAccount", platform="TikTok", account="Noor's films", **linking.arguments("Noor"))
    assert linking.standins.count("tiktok", "tiktok.token.authorization_code") == 1
