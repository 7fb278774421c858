"""The authors' pages in a real browser: accessibility, color schemes and sizes, without JavaScript, by keyboard."""
import pytest

from lib.lines import uid
from lib.viewtally import sanitized

import stage_scene as scene

VIRAL = f"/videos/{uid(scene.TITLES[11] + ' (again)')}"
PAGES = {
    "sign-in": (None, "/sign-in", 200),
    "dashboard": ("lively", "/dashboard", 200),
    "dashboard-hostile": ("hostile", "/dashboard", 200),
    "dashboard-empty": ("empty", "/dashboard", 200),
    "videos": ("lively", "/videos", 200),
    "videos-viral": ("lively", "/videos?viral=1", 200),
    "videos-hostile": ("hostile", "/videos", 200),
    "videos-empty": ("empty", "/videos", 200),
    "video-viral": ("lively", VIRAL, 200),
    "video-hostile": ("hostile", f"/videos/{uid('hostile-3')}", 200),
    "video-long": ("hostile", f"/videos/{uid('hostile-5')}", 200),
    "keys": ("lively", "/keys", 200),
    "keys-empty": ("empty", "/keys", 200),
    "apps-empty": ("empty", "/apps", 200),
    "account": ("lively", "/account", 200),
    "account-hostile": ("hostile", "/account", 200),
    "webhooks": ("lively", "/webhooks", 200),
    "webhooks-hostile": ("hostile", "/webhooks", 200),
    **{f"webhook-{name}": ("lively", f"/webhooks/{uid(f'webhook {name}')}", 200) for name in ("active", "failed")},
    "webhook-hostile": ("hostile", f"/webhooks/{uid('webhook hostile')}", 200),
    "not-found": ("lively", f"/videos/{uid('nothing')}", 404),
    "docs": (None, "/docs", 200),
    "docs-errors": (None, "/v1/docs/errors", 200),
}


LIGHT, DARK = {"dark": False}, {"dark": True}
DESK, PHONE = {"phone": False}, {"phone": True}


# The sanitized build is slow and renders the same pages, so it runs only a few.
@pytest.mark.parametrize("name", ["dashboard-hostile", "video-viral", "keys"] if sanitized() else PAGES)
def test_pages_are_accessible(browser, stage, name):
    """No violation of axe-core's rules, no horizontal scrolling, one h1, no inline code; desktop in light, phone in dark."""
    who, path, status = PAGES[name]
    sides = [DESK | LIGHT, PHONE | DARK]
    if sanitized():
        sides = [PHONE | LIGHT]
    elif name in ("dashboard", "video-viral"):
        sides += [DESK | DARK, PHONE | LIGHT]
    assert browser.walk("look", name=name, sides=sides, **stage.arguments(who, path=path, status=status)) == []


def test_pages_work_without_javascript(browser, stage):
    for who in ("lively", "hostile", "empty"):
        paths = [path for whose, path, status in PAGES.values() if whose == who and status == 200]
        for seen in browser.walk("readPlain", **stage.arguments(who, paths=paths)):
            assert seen["title"].endswith("viewtally") and len(seen["text"]) > 40
            assert seen["images"] == []


def test_hostile_names_are_shown_as_text(browser, stage):
    paths = ["/dashboard", "/videos", *(f"/videos/{uid(f'hostile-{n}')}" for n in range(len(scene.HOSTILE)))]
    seen = browser.walk("readPlain", **stage.arguments("hostile", paths=paths))
    for page in seen:
        assert not any(link and ("javascript:" in link or "example.org" in link) for link in page["links"])
    assert scene.SCRIPT in seen[1]["text"] and scene.SCRIPT in seen[2]["title"]


def test_all_controls_are_reachable_by_keyboard(browser, stage):
    for path in ("/dashboard", "/videos", VIRAL)[:1 if sanitized() else 3]:
        stops = browser.walk("keyboard", **stage.arguments("lively", path=path))
        assert stops[0]["text"] == "Skip to content"
        browser.walk("skipLink", **stage.arguments("lively", path=path))
    rows = browser.walk("tableByKeyboard", **stage.arguments("lively", path="/dashboard"))
    assert len(rows) == 30 and rows[0].startswith("10 Jul 2026")


def test_authors_do_not_see_each_other(browser, stage):
    lists = ["/dashboard", "/videos"]
    assert not any("Mara Lindqvist" in page["text"] for page in browser.walk("readPlain", **stage.arguments("hostile", paths=lists)))
    assert not any(scene.SCRIPT in page["text"] for page in browser.walk("readPlain", **stage.arguments("lively", paths=lists)))
    for who, path in (("hostile", VIRAL), ("lively", f"/videos/{uid('hostile-0')}")):
        (page,) = browser.walk("readPlain", **stage.arguments(who, paths=[path], status=404))
        assert "Page not found" in page["text"]


def test_new_key_page_is_accessible(browser, stage):
    arguments = stage.arguments("hostile", path="/keys", form=[["What is it for?", scene.HOSTILE[1]], ["Create key"]])
    assert browser.walk("look", name="key-created", sides=[DESK | LIGHT, PHONE | DARK], **arguments) == []


def test_webhook_forms_are_accessible(browser, stage):
    wrong, right = [["URL", "http://planner.example/"], ["Create webhook"]], [["URL", "https://planner.example/new"], ["Create webhook"]]
    for name, form in (("webhook-error", wrong), ("webhook-created", right)):
        assert browser.walk("look", name=name, sides=[DESK | LIGHT, PHONE | DARK], **stage.arguments("empty", path="/webhooks", form=form)) == []


def test_new_key_can_be_copied(browser, stage):
    browser.walk("copyKey", keyName="Notebook", **stage.arguments("hostile"))


def test_confirmation_and_invitation_pages_are_accessible(browser, stage):
    arguments = stage.arguments("lively", path="/keys", form=[["Revoke the key Spreadsheet"]])
    assert browser.walk("look", name="key-revoke", sides=[DESK | LIGHT, PHONE | DARK], **arguments) == []
    invitation = stage.invite("hostile")[len(stage.base):]
    mistyped = [["Sign-in name", "x"], ["Password", "a"], ["Repeat the password", "b"], ["Set password and sign in"]]
    for name, form in (("invitation", []), ("invitation-error", mistyped)):
        assert browser.walk("look", name=name, sides=[DESK | LIGHT, PHONE | DARK], **stage.arguments(path=invitation, form=form)) == []


def test_author_accepts_an_invitation_and_creates_and_revokes_a_key(browser, stage):
    """Without JavaScript: set the password, create a key, use it, revoke it, sign in again."""
    browser.walk("firstDays", invitation=stage.invite("empty"), login="nobody@example.org", password="lighthouse winter bread",
                 keyName=scene.SCRIPT, **stage.arguments())
    browser.walk("signInByKeyboard", login="nobody@example.org", password="lighthouse winter bread", **stage.arguments())


def test_search_of_the_documentation_hides_other_entries(browser, stage):
    """Terms are found in titles, parameter names and the text of guides. Without a script there is no search field."""
    found = browser.walk("searchDocs", **stage.arguments(path="/docs", terms=["occurred_after", "spreadsheet formula", "xyzzy", ""]))
    assert [entry.split("\n")[0] for entry in found["occurred_after"]["shown"]] == ["GET /events Events in pages, oldest first"]
    assert "Charts" in found["spreadsheet formula"]["shown"] and "Errors" not in found["spreadsheet formula"]["shown"]
    assert found["xyzzy"] == {"shown": [], "status": "0 results"} and len(found[""]["shown"]) > 12
    (plain,) = browser.walk("readPlain", **stage.arguments(paths=["/docs"]))
    assert "Search guides" not in plain["text"] and "occurred_after" in plain["text"]
