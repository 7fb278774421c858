"""The audit log: `viewtally audit`, and the entries that the author sees on the account page."""
import re

import pytest

from lib import oauth, wait
from lib.accounts import PASSWORD, start_with_author
from lib.lines import author as author_line
from lib.lines import uid
from lib.pages import Browser


def audit(instance, *arguments):
    return instance.run("audit", *arguments, "--json").json()


def actions(instance, *arguments):
    return [entry["action"] for entry in audit(instance, *arguments)]


@pytest.fixture
def world(viewtally):
    return start_with_author(viewtally)


def test_creation_use_and_revocation_of_a_key_are_recorded_with_their_actors(world):
    page = world.browser.send(world.browser.get("/keys"), "/keys", {"name": "Sheet <b>"}, follow=False)
    key = re.search(r"service_live_[0-9A-Za-z]{49}", page.body).group()
    assert world.client(key).get("/account").status == 200
    wait.until(lambda: "key.first_used" in actions(world), "the first use of the key in the audit log")
    world.run("key", "revoke", next(e["subject"] for e in audit(world) if e["action"] == "key.first_used"))
    entries = audit(world, "--author", world.author)
    assert [(e["action"], e["actor"], e["details"]) for e in entries] == [
        ("key.revoked", "operator", "Sheet <b>"), ("key.first_used", "key", "Sheet <b>"), ("key.created", "author", "Sheet <b>"),
        ("author.signed_in", "author", None), ("author.password_set", "author", None)]
    assert [e["address"] for e in entries] == [None, *["127.0.0.1"] * 4]
    assert entries[0]["actor_name"] and {e["author_id"] for e in entries} == {world.author}
    assert len({e["subject"] for e in entries[:3]}) == 1
    text = world.run("audit").out
    assert "key.revoked" in text and world.author in text


def test_author_sees_own_entries_without_the_operator_name(world):
    world.run("author", "set-plan", world.author, "inactive")
    world.create_key(world.add_author("Bob"), "Bobs key")
    name = audit(world, "--author", world.author)[0]["actor_name"]
    page = world.browser.get("/account")
    assert "Plan changed: active to inactive" in page.text and "by the operator" in page.text
    assert "Signed in" in page.text and "127.0.0.1" in page.text
    assert "Bobs key" not in page.text and f"operator {name}" not in page.text


def test_connecting_and_disconnecting_an_app_is_recorded(world):
    app = oauth.add_app(world, name="Zap")
    for _ in range(2):
        assert oauth.Grant(world, app, world.author, at_ms=world.clock.wall_ms).exchange(world.client()).status == 200
    entries = audit(world, "--author", world.author)[:3]
    assert [(e["action"], e["actor"], e["actor_name"], e["address"]) for e in entries] == [
        ("app.connected", "app", "Zap", "127.0.0.1"), ("app.disconnected", "app", "Zap", "127.0.0.1"), ("app.connected", "app", "Zap", "127.0.0.1")]
    world.run("app", "remove", app["client_id"])
    assert audit(world, "--author", world.author)[0]["action"] == "app.disconnected"


def test_failed_sign_in_is_not_recorded(world):
    browser = Browser(world.client())
    page = browser.send(browser.get("/sign-in"), "/sign-in", {"login": "ann", "password": "wrong password"}, follow=False)
    assert page.status == 422
    assert actions(world) == ["author.signed_in", "author.password_set"]        # of the invitation


def test_new_password_is_recorded_and_shown_to_the_author(world):
    """A thief of a session cannot change the password unnoticed."""
    form = {"current": PASSWORD, "password": "another lighthouse", "again": "another lighthouse"}
    wrong = world.browser.send(world.browser.get("/account"), "/account/password", {**form, "current": "not the password"})
    assert wrong.status == 422 and actions(world).count("author.password_set") == 1
    assert world.browser.send(world.browser.get("/account"), "/account/password", form, follow=False).status == 303
    entry = audit(world)[1]
    assert (entry["action"], entry["actor"], entry["address"], entry["subject"]) == ("author.password_set", "author", "127.0.0.1", None)
    assert world.browser.get("/account").text.count("New password set") == 2


def test_plan_changed_by_an_import_is_recorded(viewtally):
    viewtally.import_lines([author_line("Ann")])
    viewtally.import_lines([{"type": "author", "id": uid("Ann"), "plan_active": False}])
    viewtally.import_lines([{"type": "author", "id": uid("Ann"), "plan_active": False}])
    entry, = audit(viewtally)
    assert (entry["action"], entry["actor"], entry["details"]) == ("plan.changed", "operator", "active to inactive")


@pytest.mark.parametrize("arguments, status, message", [
    (("--author", "x"), 1, "no author has this id or sign-in name"),
    (("--author", "00000000-0000-4000-8000-000000000009"), 1, "no author has this id"),
    (("--since", "2026-02-30"), 2, "--since must be a date such as 2026-07-01"),
    (("--since", ""), 2, "--since"),
    (("--limit", "0"), 2, "--limit must be a number from 1 to"),
    (("--limit", "-1"), 2, "--limit"),
    (("--limit", "99999999999999999999"), 2, "--limit"),
    (("operand",), 2, ""),
])
def test_error_names_the_wrong_option(viewtally, arguments, status, message):
    viewtally.run("migrate")
    assert message in viewtally.run("audit", *arguments, status=status).err


def test_limit_and_since_select_the_newest_entries(viewtally):
    viewtally.import_lines([author_line("Ann")])
    for plan in ("inactive", "active", "inactive"):
        viewtally.run("author", "set-plan", uid("Ann"), plan)
    assert [e["details"] for e in audit(viewtally, "--limit", "2")] == ["active to inactive", "inactive to active"]
    assert audit(viewtally, "--since", "2999-01-01") == [] and len(audit(viewtally, "--since", "2000-01-01")) == 3
    assert viewtally.run("audit", "--since", "2999-01-01").out.startswith("TIME")


def test_audit_entries_newer_than_the_backup_survive_a_restore(viewtally):
    viewtally.import_lines([author_line("Ann")])
    viewtally.run("author", "set-plan", uid("Ann"), "inactive")
    viewtally.run("backup", "then.db")
    viewtally.run("author", "set-plan", uid("Ann"), "active")
    viewtally.run("author", "set-plan", uid("Ann"), "inactive")
    before = audit(viewtally)
    assert "2 entries of the audit log" in viewtally.run("restore", "then.db").out
    assert sorted(map(str, audit(viewtally))) == sorted(map(str, before))
    assert "audit log" not in viewtally.run("restore", "then.db").out or len(audit(viewtally)) == 3
