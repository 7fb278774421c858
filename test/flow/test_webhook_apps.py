"""Webhooks of apps: the consent page shows them, connecting the app creates an endpoint, disconnecting ends it."""
import re

import pytest

from lib import oauth
from lib.receiver import Receiver
from lib.webhooks import World, sql

HOUR = 3_600_000


@pytest.fixture
def world(make_viewtally, tmp_path, clock):
    receiver = Receiver(tmp_path / "receiver")
    made = World(make_viewtally(clock=clock), receiver, clock)
    made.app = add_app(made, "--webhook-url", receiver.url("/app"))
    made.instance.start()
    yield made
    receiver.close()


def add_app(world, *options):
    return world.instance.run("app", "add", "--name", "Planner", "--redirect-uri", oauth.REDIRECT, *options, "--json").json()


def consent(world, name="Ada", decision="allow", change=lambda: None):
    """Returns (the consent page, the response to the form, the PKCE verifier)."""
    verifier = oauth.make_verifier()
    page = oauth.open_consent_page(world.browser(name), oauth.authorize_params(world.app, verifier))
    change()
    return page, oauth.submit_consent(world.browser(name), page, decision), verifier


def exchange(world, response, verifier):
    fields = {"grant_type": "authorization_code", "code": oauth.redirect_params(response)["code"], "redirect_uri": oauth.REDIRECT,
              "client_id": world.app["client_id"], "code_verifier": verifier}
    with world.instance.client() as client:
        answer = oauth.post(client, "token", fields)
    assert answer.status == 200, answer
    return answer.json()


def connect(world, name="Ada"):
    """The author consents and the app exchanges the code. Returns the response of the token endpoint."""
    _, response, verifier = consent(world, name)
    return exchange(world, response, verifier)


def endpoints(world):
    return [(ident.hex(), *row) for ident, *row in sql(world.instance, "SELECT uuid, url, state FROM webhook_endpoints ORDER BY id")]


def test_connected_app_receives_events_until_it_is_disconnected(world):
    token = connect(world)
    ident = token["webhook_id"]
    world.read(1000)
    message, = world.receiver.wait_for(1, "/app")
    assert message.endpoint == ident and message.signed_with(world.app["webhook_secret"])
    assert "Belongs to the app Planner" in world.browser().get("/webhooks").text
    assert "Secret, history, deletion" not in world.page(ident)
    world.instance.run("key", "revoke", token["key_id"])
    world.create("/own")
    world.read(10_000)
    world.receiver.wait_for(1, "/own")
    assert len(world.receiver.received("/app")) == 1
    assert "Planner" not in world.browser().get("/webhooks").text
    line, = [line for line in world.instance.run("webhook", "list").out.splitlines() if line.startswith(ident)]
    assert line.split()[2:4] == ["disconnected", "no"]
    known = len(world.feed())
    assert connect(world)["webhook_id"] != ident
    world.read(50_000)
    assert world.receiver.wait_for(2, "/app")[1].event == world.feed()[known]      # no events from before the connection


def test_connecting_again_keeps_the_endpoint(world):
    first = connect(world)
    assert connect(world)["webhook_id"] == first["webhook_id"]
    assert connect(world, "Bob")["webhook_id"] != first["webhook_id"]
    assert len(endpoints(world)) == 2


def test_consent_page_shows_the_webhook_url(world):
    page, _, _ = consent(world, decision="deny")
    assert "It is also notified" in page.text and "localhost:" in page.text
    assert endpoints(world) == []
    world.app = add_app(world)
    page, _, _ = consent(world, decision="deny")
    assert "also notified" not in page.text
    assert "webhook_id" not in connect(world)


def test_app_connected_before_it_had_a_webhook_needs_new_consent(world):
    world.app = add_app(world)
    connect(world)
    made = world.instance.run("app", "set-webhook", world.app["client_id"], world.receiver.url("/late"), "--json").json()
    world.create("/own")
    world.read(1000)
    world.receiver.wait_for(1, "/own")
    assert world.receiver.received("/late") == []
    connect(world)
    world.read(10_000)
    assert world.receiver.wait_for(1, "/late")[0].signed_with(made["webhook_secret"])


def test_changed_webhook_url_needs_new_consent(world):
    connect(world)
    world.instance.run("app", "set-webhook", world.app["client_id"], world.receiver.url("/moved"))
    world.create("/own")
    world.read(1000)
    world.receiver.wait_for(1, "/own")
    assert world.receiver.received("/app") == world.receiver.received("/moved") == []


def test_changed_url_and_new_endpoint_are_in_the_audit_log_of_each_connected_author(world):
    def entries(name):
        listed = world.instance.run("audit", "--author", name, "--json").json()
        return [(e["action"], e["actor"], e["actor_name"], e["details"]) for e in listed if e["action"].startswith("webhook.")]
    connect(world)
    connect(world, "Bob")
    world.instance.run("key", "revoke", connect(world, "Bob")["key_id"])        # Bob is disconnected, so no entry follows
    created = ("webhook.created", "app", "Planner", world.receiver.origin)
    assert entries("Ada") == entries("Bob") == [created]
    for words, details in (((world.receiver.url("/app"),), None), (("https://moved.example/hook",), "https://moved.example"), (("--remove",), None)):
        world.instance.run("app", "set-webhook", world.app["client_id"], *words)
        if details:
            action, actor, _, found = entries("Ada")[0]
            assert (action, actor, found) == ("webhook.url_changed", "operator", details) and entries("Bob") == [created]
    assert len(entries("Ada")) == 2     # the second change finds no connected endpoint


def test_consent_is_requested_again_if_the_url_changed_after_the_page_was_shown(world):
    """The operator changes the URL after the consent page was shown: before the form is sent, or before the code is exchanged."""
    def change():
        world.instance.run("app", "set-webhook", world.app["client_id"], world.receiver.url("/swapped"))
    _, response, _ = consent(world, change=change)
    assert response.status == 200 and "It is also notified" in response.text
    _, response, verifier = consent(world)
    world.instance.run("app", "set-webhook", world.app["client_id"], world.receiver.url("/third"))
    token = exchange(world, response, verifier)
    assert "webhook_id" not in token and endpoints(world) == []


def test_old_secret_of_an_app_stays_valid_for_a_day_after_a_rotation(world):
    connect(world)
    new = world.instance.run("app", "set-webhook", world.app["client_id"], world.receiver.url("/app")).out.strip()
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", new)
    world.read(1000)
    message, = world.receiver.wait_for(1, "/app")
    assert message.signed_with(new) and message.signed_with(world.app["webhook_secret"])
    world.clock.advance(25 * HOUR)
    world.read(10_000)
    message = world.receiver.wait_for(2, "/app")[1]
    assert message.signed_with(new) and not message.signed_with(world.app["webhook_secret"])


def test_removed_webhook_of_an_app_receives_nothing(world):
    connect(world)
    assert world.instance.run("app", "set-webhook", world.app["client_id"], "--remove").out == ""
    world.create("/own")
    world.read(1000)
    world.receiver.wait_for(1, "/own")
    assert world.receiver.received("/app") == []


def test_wrong_arguments_of_set_webhook_are_rejected(world):
    client_id = world.app["client_id"]
    for words, status, text in (((client_id,), 2, "--remove"), ((client_id, "https://a.example/", "--remove"), 2, "--remove"),
                                ((client_id, "http://a.example/"), 2, "must begin with https://"), ((client_id, "https://10.0.0.1/"), 2, "not public"),
                                (("app_unknown", "https://a.example/"), 1, "no app")):
        assert text in world.instance.run("app", "set-webhook", *words, status=status).err, words
    world.instance.run("app", "remove", client_id)
    assert "the app was removed" in world.instance.run("app", "set-webhook", client_id, "https://a.example/", status=1).err
    world.instance.configure({"secrets": {"key_file": None}})
    assert "secrets init" in world.instance.run("app", "set-webhook", client_id, "https://a.example/", status=2).err
