"""Webhooks, delivered by the running server to an HTTPS receiver: messages, order, retries, states, crashes."""
import collections
import itertools
import random
import re
import signal
import threading
import uuid

import pytest

from lib import pages, wait
from lib.lines import author, reading, uid, video
from lib.receiver import Receiver
from lib.webhooks import PASSWORD, POSTED, World, connect_authors, sql

MINUTE, HOUR = 60_000, 3_600_000
MILESTONES = [1000, 10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000]
KILLS = 12


@pytest.fixture
def receiver(tmp_path):
    made = Receiver(tmp_path / "receiver")
    yield made
    made.close()


@pytest.fixture
def world(make_viewtally, receiver, clock):
    made = World(make_viewtally(clock=clock), receiver, clock)
    made.instance.start()
    return made


# --- messages ---

def test_delivered_message_is_signed_and_contains_the_event(world):
    ident = world.create()
    world.read(10_000)
    first, second = world.receiver.wait_for(2)[:2]
    assert (first.id, second.id) == tuple(f"{ident}.{event}" for event in world.feed()[:2])
    key = world.instance.create_key(uid("Ada"))
    with world.instance.client(key) as client:
        record = client.get("/events").json()["data"][0]
    assert first.json == {"type": "video.milestone_reached", "timestamp": record["occurred_at"], "data": record}
    assert first.signed_with(world.secrets[ident]) and second.signed_with(world.secrets[ident])
    assert first.headers["Content-Type"] == "application/json"
    assert abs(int(first.headers["webhook-timestamp"]) * 1000 - world.clock.wall_ms) < 1000
    world.wait_row(ident, "position", (int(world.feed()[-1][4:]),))
    assert "Delivered status 200" in world.page(ident)


def test_delivery_starts_after_creation_and_history_is_sent_on_request(world):
    world.read(50_000)
    ident = world.create()
    world.read(100_000)
    assert [m.json["data"]["milestone"] for m in world.receiver.wait_for(1)] == [100_000]
    world.wait_row(ident, "position", (int(world.feed()[-1][4:]),))
    assert world.do(ident, "history").status == 303
    world.receiver.wait_for(1 + len(world.feed()))
    assert world.receiver.events() == world.feed()[-1:] + world.feed()


def test_event_of_a_type_that_was_not_chosen_is_not_sent(world):
    world.create("/viral", types=("went_viral",))
    world.create("/milestones", types=("milestone_reached",))
    ident = world.create("/both")
    world.read(100_000)
    count = len(world.feed())
    world.receiver.wait_for(count, "/both")
    world.wait_row(ident, "position", (int(world.feed()[-1][4:]),))
    wait.until(lambda: sql(world.instance, "SELECT count(DISTINCT position) FROM webhook_endpoints") == [(1,)], "all to advance")
    assert [m.json["type"] for m in world.receiver.received("/viral")] == ["video.went_viral"]
    assert len(world.receiver.received("/milestones")) == count - 1
    assert world.receiver.events("/both") == world.feed()


# --- failures ---

def test_failed_event_is_retried_while_later_events_wait(world):
    ident = world.create()
    world.create("/other")
    world.receiver.answers["/hook"] = 503
    world.read(10_000)
    world.wait_row(ident, "failures", (1,))
    world.receiver.wait_for(len(world.feed()), "/other")        # one failing endpoint delays no other
    assert "Retrying" in world.page(ident) and "status 503" in world.page(ident)
    assert world.receiver.events() == world.feed()[:1]
    world.receiver.answers["/hook"] = 200
    world.clock.advance(10_000)
    world.receiver.wait_for(1 + len(world.feed()))
    assert world.receiver.events() == world.feed()[:1] + world.feed()
    world.wait_row(ident, "failures, next_attempt_at", (0, None))


def test_endpoint_is_paused_after_three_days_of_failures_until_the_author_resumes_it(world):
    ident = world.create()
    world.receiver.answers["/hook"] = 500
    world.read(1000)
    start, pauses = world.clock.wall_ms, []
    for attempt in range(1, 11):
        world.receiver.wait_for(attempt)
        if attempt < 10:
            world.wait_row(ident, "failures", (attempt,))
            due, = world.row(ident, "next_attempt_at")
            pauses.append(due - world.clock.wall_ms)
            world.clock.set_wall(due - 1)
            assert len(world.receiver.received()) == attempt
            world.clock.set_wall(due)
    world.wait_row(ident, "state, failures, next_attempt_at", (2, 0, None))
    expected = [5000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 20 * HOUR]
    assert all(0.9 * e <= pause <= 1.1 * e for e, pause in zip(expected, pauses)), pauses
    assert 64 * HOUR < world.clock.wall_ms - start < 80 * HOUR
    assert "Paused after failures" in world.page(ident) and "No event is lost" in world.page(ident)
    assert "webhook was paused" in world.browser().get("/dashboard").text
    world.read(10_000)
    world.receiver.answers["/hook"] = 200
    world.do(ident, "resume")
    world.receiver.wait_for(10 + len(world.feed()))
    assert world.receiver.events()[10:] == world.feed()
    assert "webhook was paused" not in world.browser().get("/dashboard").text


def test_status_410_ends_an_endpoint(world):
    ident = world.create()
    world.receiver.answers["/hook"] = 410
    world.read(1000)
    world.wait_row(ident, "state", (3,))
    assert "Ended" in world.page(ident) and "Events waiting" not in world.page(ident)
    token = world.browser().get("/keys").forms[0].fields["token"]
    for action in ("resume", "test", "history"):
        assert world.browser().post(f"/webhooks/{ident}", {"token": token, "action": action}).status == 422, action
    world.read(10_000)
    world.create("/later")
    world.read(50_000)
    world.receiver.wait_for(1, "/later")
    assert len(world.receiver.received()) == 1


def test_receiver_can_extend_the_pause_with_retry_after(world):
    answers = [(503, "3600", 3600), (429, "Fri, 10 Jul 2026 14:00:00 GMT", 7200), (503, "9999999", 5), (503, "-9", 5), (500, "3600", 5),
               (503, "soon", 5), (503, ("3600", "3600"), 5)]
    idents = [world.create(f"/{i}") for i in range(len(answers))]
    for i, (status, value, _) in enumerate(answers):
        world.receiver.answers[f"/{i}"] = (status, {"Retry-After": value}, b"")
    world.read(1000)
    for ident, (_, value, wait_s) in zip(idents, answers):
        world.wait_row(ident, "failures", (1,))
        wait_ms = world.row(ident, "next_attempt_at")[0] - world.clock.wall_ms
        assert (0.9 if wait_s == 5 else 1) * wait_s * 1000 <= wait_ms <= 1.1 * wait_s * 1000, value
    world.clock.advance(2 * HOUR)
    for i in range(len(answers)):
        world.receiver.wait_for(2 if i != 1 else 1, f"/{i}")


@pytest.mark.parametrize("answer, error", [
    ((302, {"Location": "https://localhost:1/"}, b""), "redirects are not followed"),
    ((200, {}, b"x" * 300_000), "exceeds the size limit"),
    (404, "status 404"),
])
def test_redirect_large_response_or_status_404_is_a_failed_delivery(world, answer, error):
    ident = world.create()
    world.receiver.answers["/hook"] = answer
    world.read(1000)
    world.wait_row(ident, "failures", (1,))
    assert error in world.page(ident)
    assert len(world.receiver.received()) == 1


def test_slow_endpoint_delays_no_other(world):
    held = threading.Event()
    world.receiver.answers["/slow"] = held
    slow = [world.create("/slow") for _ in range(3)]
    world.create("/fast", "Bob")
    world.read(10_000)
    world.receiver.wait_for(3, "/slow")
    world.read(1000, "Bob")
    world.receiver.wait_for(1, "/fast")
    assert [world.row(ident, "failures, attempts") for ident in slow] == [(0, 0)] * 3
    held.set()
    world.receiver.wait_for(3 * len(world.feed()), "/slow")


def test_delivery_that_found_no_slot_starts_when_another_ends(make_viewtally, receiver):
    """The dispatcher scans the endpoints once an hour, so only a completed delivery can start one that found no
    slot."""
    instance = make_viewtally(seams=True)
    idents = connect_authors(instance, receiver, 80)
    instance.start(env={"VIEWTALLY_TEST_WEBHOOK_TICK_MS": "3600000"})

    def events_of(ident):
        return [int(message.event[4:]) for message in receiver.received() if message.endpoint == ident]

    def failed():
        """Returns the endpoints with a failed attempt; only the next scan would repeat it. An attempt may fail, because
        64 simultaneous TLS handshakes can take longer than 5 s."""
        return {str(uuid.UUID(bytes=found)) for found, in sql(instance, "SELECT uuid FROM webhook_endpoints WHERE failures > 0")}

    def is_done():
        skipped = failed()
        return all(ident in skipped or len(set(events_of(ident))) == 3 for ident in idents)

    wait.until(is_done, "the deliveries to all endpoints", 240)
    assert len(failed()) < len(idents) / 2
    assert all(events_of(ident) == sorted(events_of(ident)) for ident in idents)


@pytest.mark.parametrize("first", ["/lost", "/hook"])
def test_endpoint_whose_secret_cannot_be_decrypted_delays_no_other(make_viewtally, receiver, first):
    """The dispatcher scans the endpoints once an hour, so a pause of the whole dispatcher would be noticed."""
    instance = make_viewtally(seams=True)
    endpoints = {path: connect_authors(instance, receiver, 1, path, path[1].upper())[0]
                 for path in sorted(("/lost", "/hook"), key=lambda path: path != first)}
    secret, = sql(instance, "SELECT webhook_secret FROM apps WHERE name = 'L'")[0]
    sql(instance, "UPDATE apps SET webhook_secret = ? WHERE name = 'L'", bytes(len(secret)))
    sql(instance, "INSERT INTO webhook_requests (endpoint_id, event_id, requested_at) SELECT id, 0, 1 FROM webhook_endpoints WHERE uuid = ?",
        uuid.UUID(endpoints["/lost"]))
    instance.start(env={"VIEWTALLY_TEST_WEBHOOK_TICK_MS": "3600000"})
    receiver.wait_for(3, "/hook")
    assert instance.log.count("cannot sign") == 1 and not receiver.received("/lost")
    instance.stop()
    sql(instance, "UPDATE apps SET webhook_secret = ? WHERE name = 'L'", secret)
    instance.start()
    receiver.wait_for(4, "/lost")
    assert [message.json["type"] for message in receiver.received("/lost")] == ["webhook.test", *["video.milestone_reached"] * 2, "video.went_viral"]


def test_endpoint_with_a_private_address_receives_nothing(make_viewtally, receiver, clock):
    world = World(make_viewtally(clock=clock), receiver, clock)
    world.instance.configure({"webhooks": {"allowed_networks": None}})
    world.instance.start()
    browser = world.browser()
    form = browser.get("/webhooks").form("/webhooks").fields
    page = browser.post("/webhooks", {**form, "url": "https://127.0.0.1/x", "went_viral": "1"})
    assert page.status == 422 and "not public" in page.text
    ident = world.create()      # accepted: the address of a host name is checked when a connection is made
    world.read(1000)
    world.wait_row(ident, "failures", (1,))
    assert "the address of the server is not public" in world.page(ident)
    assert receiver.messages == []


# --- requests of the author ---

def test_paused_endpoint_receives_test_message_and_resent_event(world):
    ident = world.create()
    world.do(ident, "test")
    message, = world.receiver.wait_for(1)
    assert message.event == "test_1" and message.json["type"] == "webhook.test" and message.json["data"]["endpoint_id"] == ident
    assert message.signed_with(world.secrets[ident])
    world.read(1000)
    event = world.receiver.wait_for(2)[1].event
    world.do(ident, "pause")
    world.do(ident, "resend", event=event[4:])
    again = world.receiver.wait_for(3)[2]
    assert again.event == event and again.id == f"{ident}.{event}"
    wait.until(lambda: "(resent)" in world.page(ident), "the attempt to be listed")
    assert sql(world.instance, "SELECT count(*) FROM webhook_requests") == [(0,)]


def test_resending_a_deleted_event_sends_no_other_event(world):
    world.instance.import_lines([video("Ada's second", "Ada", POSTED), reading("Ada's second", POSTED, 1)])
    ident = world.create()
    world.read(1000)
    world.instance.import_lines([reading("Ada's second", "2026-07-09T02:00:00Z", 1000)])
    deleted, _ = world.feed()
    world.receiver.wait_for(2)
    world.instance.run("video", "remove", uid("Ada"))
    world.do(ident, "resend", event=deleted[4:])
    wait.until(lambda: "the event no longer exists" in world.page(ident), "the failed attempt to be listed")
    assert len(world.receiver.messages) == 2


def test_failed_manual_delivery_does_not_delay_later_events(world):
    ident = world.create()
    world.receiver.answers["/hook"] = 500
    world.do(ident, "test")
    world.wait_row(ident, "attempts, failures, state", (1, 0, 0))
    world.receiver.answers["/hook"] = 200
    world.read(1000)
    world.wait_row(ident, "attempts", (2,))


@pytest.mark.parametrize("action", ["test", "resend"])
def test_requested_message_is_sent_before_the_waiting_events(world, action):
    """The receiver holds the first event back until the server has seen the request: later than that, it sends Bob's event."""
    ident, _ = world.create(), world.create("/bob", "Bob")
    release = world.receiver.answers["/hook"] = threading.Event()
    world.read(MILESTONES[-1])
    world.receiver.wait_for(1)
    feed = world.feed()
    requested = feed[-1] if action == "resend" else "test_2"         # the number of the attempt
    world.do(ident, action, **({"event": feed[-1][4:]} if action == "resend" else {}))
    world.read(1000, "Bob")
    world.receiver.wait_for(1, "/bob")
    release.set()
    world.receiver.wait_for(len(feed) + 1)
    assert world.receiver.events() == [feed[0], requested, *feed[1:]]


def test_paused_endpoint_receives_its_events_after_resuming(world):
    ident = world.create()
    world.do(ident, "pause")
    world.read(10_000)
    world.create("/other")
    world.read(50_000)
    world.receiver.wait_for(1, "/other")
    assert world.receiver.received() == []
    world.do(ident, "resume")
    world.receiver.wait_for(len(world.feed()))
    assert world.receiver.events() == world.feed()


def test_inactive_plan_pauses_delivery(world):
    world.create()
    world.create("/bob", "Bob")
    world.instance.run("author", "set-plan", uid("Ada"), "inactive")
    world.read(1000)
    world.read(1000, "Bob")
    world.receiver.wait_for(1, "/bob")
    assert world.receiver.received() == []
    world.instance.run("author", "set-plan", uid("Ada"), "active")
    world.receiver.wait_for(1)


def test_old_secret_stays_valid_for_a_day_after_a_rotation(world):
    ident = world.create()
    old = world.secrets[ident]
    form = next(form for form in world.browser().get(f"/webhooks/{ident}").forms if "ticket" in form.fields)
    for _ in range(2):      # a double click keeps the old secret valid
        page = world.browser().post(f"/webhooks/{ident}", {**form.fields, "action": "rotate"})
        new = re.search(r'value="(whsec_[^"]+)"', page.body)[1]
    assert new != old
    world.read(1000)
    first = world.receiver.wait_for(1)[0]
    assert first.signed_with(new) and first.signed_with(old)
    world.clock.advance(24 * HOUR + 1)
    world.read(10_000)
    second = world.receiver.wait_for(2)[1]
    assert second.signed_with(new) and not second.signed_with(old)


def test_changes_of_a_webhook_are_in_the_audit_log_with_their_actor(world):
    ident = world.create("/hook?token=s3cret")
    for action in ("pause", "pause", "resume", "resume", "test"):       # repetitions change nothing
        assert world.do(ident, action).status == 303
    world.instance.run("webhook", "pause", ident)
    world.instance.run("webhook", "pause", ident)
    world.instance.run("webhook", "resume", ident)
    form = world.browser().get(f"/webhooks/{ident}").forms[-1].fields
    for _ in range(2):                                                  # the same form twice rotates once
        assert world.do(ident, "rotate", ticket=form["ticket"]).status == 200
    assert world.do(ident, "delete").status == 303
    entries = [e for e in world.instance.run("audit", "--json").json() if e["action"].startswith("webhook.")]
    assert [(e["action"], e["actor"], e["address"]) for e in reversed(entries)] == [
        ("webhook.created", "author", "127.0.0.1"), ("webhook.paused", "author", "127.0.0.1"),
        ("webhook.resumed", "author", "127.0.0.1"), ("webhook.paused", "operator", None), ("webhook.resumed", "operator", None),
        ("webhook.secret_rotated", "author", "127.0.0.1"), ("webhook.deleted", "author", "127.0.0.1")]
    assert {(e["subject"], e["details"]) for e in entries} == {(ident, world.receiver.origin)}
    page = world.browser().get("/account").text
    assert f"Secret of a webhook rotated: {world.receiver.origin}" in page and "s3cret" not in page


def test_pages_show_event_types_in_words_and_by_name(world):
    viral, milestone = "A video goes viral video.went_viral", "A video reaches a milestone video.milestone_reached"
    form = world.browser().get("/webhooks").text
    assert viral in form and milestone in form
    one, both = world.create("/one", types=("went_viral",)), world.create("/both")
    assert f"Events {viral} Created" in world.page(one) and f"{viral} , {milestone}" in world.page(both)
    listed = world.browser().get("/webhooks").text
    assert listed.count(viral) == 3 and listed.count(milestone) == 2


def test_deleted_endpoint_receives_nothing(world):
    ident = world.create()
    world.do(ident, "delete")
    world.create("/other")
    world.read(1000)
    world.receiver.wait_for(1, "/other")
    assert world.receiver.received() == []
    assert world.browser().get(f"/webhooks/{ident}").status == 404
    assert sql(world.instance, "SELECT count(*) FROM webhook_attempts a LEFT JOIN webhook_endpoints e ON e.id = a.endpoint_id WHERE e.id IS NULL") == [(0,)]


def test_pages_reject_invalid_forms_and_endpoints_of_others(world):
    browser, ident = world.browser(), world.create()
    form = browser.get("/webhooks").form("/webhooks").fields
    for url, error in (("", "must begin with https://"), ("http://example.com", "must begin with https://"), ("https://a@b/", "user name"),
                       ("https://example.com:99999/", "port from 1 to 65535"), ("https://example.com/" + "a" * 1000, "1,000 characters")):
        page = browser.post("/webhooks", {**form, "url": url, "went_viral": "1"})
        assert page.status == 422 and error in page.text, (url, page)
    none = {key: value for key, value in form.items() if key not in ("went_viral", "milestone_reached")}
    page = browser.post("/webhooks", {**none, "url": "https://example.com/"})
    assert page.status == 422 and "Choose at least one kind of event." in page.text
    assert 'aria-describedby="types-error"' in page.body and 'id="url-error"' not in page.body and "checked" not in page.body
    page = browser.post("/webhooks", {**none, "went_viral": "1", "url": "http://example.com/"})  # the choice of types is kept
    assert page.body.count("checked") == 1 and re.search(r'<input[^>]* checked name="went_viral"', page.body)
    assert browser.post("/webhooks", {**none, "ticket": "x", "url": "https://example.com/"}).status == 400
    for fields in ({"action": "unknown"}, {}, {"action": "resend"}, {"action": "resend", "event": "-1"}, {"action": "resend", "event": "0"},
                   {"action": "rotate"}):
        assert world.do(ident, fields.get("action", ""), **{k: v for k, v in fields.items() if k != "action"}).status == 400
    assert world.browser("Bob").get(f"/webhooks/{ident}").status == 404
    bob = world.browser("Bob")
    token = bob.get("/webhooks").form("/webhooks").fields["token"]
    for action in ("pause", "test", "history"):
        assert bob.post(f"/webhooks/{ident}", {"token": token, "action": action}).status == 404
    assert world.row(ident, "state")[0] == 0
    assert browser.get("/webhooks/not-a-uuid").status == 404


def test_form_sent_twice_creates_one_endpoint_and_the_eleventh_is_rejected(world):
    browser = world.browser()
    form = browser.get("/webhooks").form("/webhooks").fields
    pages_sent = [browser.post("/webhooks", {**form, "url": world.receiver.url(), "went_viral": "1"}) for _ in range(2)]
    secrets = {re.search(r'value="(whsec_[^"]+)"', page.body)[1] for page in pages_sent}
    assert len(secrets) == 1 and sql(world.instance, "SELECT count(*) FROM webhook_endpoints") == [(1,)]
    world.clock.advance(2 * MINUTE)
    late = browser.post("/webhooks", {**form, "url": world.receiver.url(), "went_viral": "1"})
    assert late.status == 422 and "already sent" in late.text
    for _ in range(9):
        world.create()
    form = browser.get("/webhooks").form("/webhooks").fields
    assert "which is the limit" in browser.post("/webhooks", {**form, "url": world.receiver.url(), "went_viral": "1"}).text


def test_page_without_a_key_file_names_the_command_that_creates_it(viewtally):
    viewtally.import_lines([author("Ada")])
    viewtally.start()
    browser = pages.sign_up(viewtally, uid("Ada"), "ada", PASSWORD)
    page = browser.get("/webhooks")
    assert "viewtally secrets init FILE" in page.text and not [form for form in page.forms if form.action == "/webhooks"]


# --- crashes and several processes ---

def test_kill_9_loses_no_event_and_keeps_the_order(world):
    """Kills the server at random instants. Every event arrives; only events that were in flight arrive twice."""
    ident = world.create()
    views = iter(MILESTONES)
    rng = random.Random(7)
    for _ in range(KILLS):
        goal = next(views, None)
        if goal:
            world.read(goal)
        else:
            sql(world.instance, "UPDATE webhook_endpoints SET position = 0")    # sends the history again
        seen = len(world.receiver.received())
        wait.until(lambda: len(world.receiver.received()) > seen or world.row(ident, "position")[0] >= int(world.feed()[-1][4:]), "progress")
        for _ in range(rng.randrange(4)):       # let a few more deliveries pass
            world.row(ident)
        world.instance.kill()
        world.receiver.wait_until_idle()
        world.clock.advance(31_000)             # the lease expires
        world.instance.start()
    wait.until(lambda: world.row(ident, "position")[0] == int(world.feed()[-1][4:]), "all events to be delivered")
    last, repeated, restarts = -1, 0, 0
    feed = world.feed()
    for event in world.receiver.events():
        at = feed.index(event)
        assert at <= last + 1, (event, "arrived before an earlier event")
        restarts += at == 0 and last > 0
        repeated += at == last
        assert at >= last or at == 0, (event, "arrived again although it was not in flight")
        last = at
    assert last == len(feed) - 1 and repeated <= KILLS and restarts <= KILLS


def test_kill_9_at_every_step_of_a_delivery_repeats_at_most_the_event_in_flight(world):
    """The steps: lease acquired, before sending, after the response, before and after the commit of the position, lease released."""
    ident = world.create()
    world.read(10_000)
    before, *feed = world.feed()
    last = int(feed[-1][4:])
    world.wait_row(ident, "position", (last,))
    world.instance.stop()
    repeated = set()
    for step in itertools.count(1):
        world.clock.advance(31_000)             # the lease expires
        seen = len(world.receiver.received())
        world.instance.start(env={"VIEWTALLY_TEST_KILL_AT": str(step)})
        sql(world.instance, "UPDATE webhook_endpoints SET position = ?", int(before[4:]))
        wait.until(lambda: not world.instance.running or is_delivered_and_released(world, ident, last), "the kill or the end")
        was_killed = not world.instance.running
        world.instance.kill()
        world.receiver.wait_until_idle()
        if not was_killed:
            break
        world.clock.advance(31_000)
        world.instance.start()
        world.wait_row(ident, "position", (last,))
        world.instance.stop()
        events = world.receiver.events()[seen:]
        doubled = [event for event, count in collections.Counter(events).items() if count > 1]
        assert [event for event, _ in itertools.groupby(events)] == feed, (step, events)
        assert len(events) <= len(feed) + 1, (step, events)
        repeated.update(doubled)
    assert step > 2 + 4 * len(feed)             # every step of every event was reached
    assert repeated == set(feed)                # a kill between response and commit repeats each of them


def is_delivered_and_released(world, ident, last):
    lease = sql(world.instance, "SELECT holder FROM leases WHERE name = 'webhooks'")
    return lease == [("",)] and world.row(ident, "position") == (last,)


def test_only_one_of_several_processes_delivers_webhooks(make_viewtally, receiver, clock):
    world = World(make_viewtally(clock=clock), receiver, clock)
    other = make_viewtally(clock=clock)
    other.configure({**world.instance.settings, "server": other.settings["server"], "admin": other.settings["admin"]})
    world.instance.start()
    with other:
        ident = world.create()
        for goal in MILESTONES[:4]:
            world.read(goal)
        receiver.wait_for(len(world.feed()))
        world.wait_row(ident, "position", (int(world.feed()[-1][4:]),))
        assert receiver.events() == world.feed()
        world.instance.stop()
        world.read(MILESTONES[5])
        wait.until(lambda: receiver.events() == world.feed(), "the other process to deliver")


def test_stop_waits_for_a_delivery_in_flight(world):
    held = threading.Event()
    world.receiver.answers["/hook"] = held
    ident = world.create()
    world.read(1000)
    world.receiver.wait_for(1)
    world.instance.signal(signal.SIGTERM)
    held.set()
    world.instance.wait_stopped()
    assert world.row(ident, "position, attempts") == (int(world.feed()[0][4:]), 1)
    assert sql(world.instance, "SELECT holder FROM leases WHERE name = 'webhooks'") == [("",)]
