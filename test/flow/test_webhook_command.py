"""viewtally webhook: list, pause, resume, resend; the server acts on what the command writes."""
import pytest

from lib import wait
from lib.lines import uid
from lib.metrics import scrape
from lib.receiver import Receiver
from lib.webhooks import World

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def world(make_viewtally, tmp_path, clock):
    receiver = Receiver(tmp_path / "receiver")
    made = World(make_viewtally(clock=clock), receiver, clock)
    made.instance.start()
    yield made
    receiver.close()


def listed(world, *options):
    return world.instance.run("webhook", "list", "--json", *options).json()


def test_list_prints_each_endpoint_with_its_state(world):
    assert listed(world) == []
    ident, other = world.create(), world.create("/bob", "Bob")
    assert [(e["id"], e["author_id"], e["url"], e["state"], e["events_waiting"]) for e in listed(world)] == [
        (ident, uid("Ada"), world.receiver.url(), "active", False), (other, uid("Bob"), world.receiver.url("/bob"), "active", False)]
    assert [e["id"] for e in listed(world, "--author", uid("Bob"))] == [other] == [e["id"] for e in listed(world, "--author", "Bob")]
    assert "no author" in world.instance.run("webhook", "list", "--author", UNKNOWN, status=1).err
    world.receiver.answers["/hook"] = 500
    world.read(1000)
    world.wait_row(ident, "failures", (1,))
    shown = world.instance.run("webhook", "list").out.splitlines()
    assert shown[0].split()[:4] == ["ID", "AUTHOR", "STATE", "WAITING"] and shown[1].split()[:5] == [ident, uid("Ada"), "active", "yes", "1"]
    # The thread that delivers updates the metrics after its commit.
    wait.until(lambda: scrape(world.instance).get("viewtally_webhook_deliveries_total", result="failed") == 1, "the failure to be counted")
    wait.until(lambda: scrape(world.instance).get("viewtally_webhook_endpoints_failing") == 1, "the failing endpoint to be counted")
    assert scrape(world.instance).get("viewtally_webhook_endpoints", state="active") == 2


def test_paused_endpoint_receives_events_only_after_resuming(world):
    ident = world.create()
    world.instance.run("webhook", "pause", ident)
    world.read(1000)
    assert [e["state"] for e in listed(world)] == ["paused"]
    assert world.receiver.received() == []
    world.instance.run("webhook", "resume", ident)
    world.receiver.wait_for(1)
    wait.until(lambda: scrape(world.instance).get("viewtally_webhook_deliveries_total", result="delivered") == 1, "the delivery to be counted")


def test_resend_repeats_one_event_or_all_events_after_an_event(world):
    ident = world.create()
    world.read(50_000)
    feed = world.feed()
    world.receiver.wait_for(len(feed))
    world.instance.run("webhook", "resend", ident, feed[1])
    world.receiver.wait_for(len(feed) + 1)
    world.instance.run("webhook", "resend", ident, "--after", feed[0])
    world.receiver.wait_for(2 * len(feed))
    assert world.receiver.events() == [*feed, feed[1], *feed[1:]]


def test_wrong_arguments_are_rejected_and_change_nothing(world):
    ident, bobs = world.create(), world.create("/bob", "Bob")
    world.read(1000)
    world.receiver.wait_for(1)
    event, = world.feed()
    for words, status, text in (
            (("pause", UNKNOWN), 1, "no webhook has this id"), (("resume", "x"), 1, "no webhook has this id"), (("resend", UNKNOWN, event), 1, "no webhook has this id"),
            (("resend", ident), 2, "--after"), (("resend", ident, event, "--after", event), 2, "--after"), (("resend", ident, "1"), 2, "evt_"),
            (("resend", ident, "evt_-1"), 2, "evt_"), (("resend", ident, "evt_99999999999999999999"), 2, "evt_"),
            (("resend", ident, "evt_1"), 1, "no such event"), (("resend", bobs, event), 1, "no such event")):
        assert text in world.instance.run("webhook", *words, status=status).err, words
    world.wait_row(ident, "position", (int(event.removeprefix("evt_")),))
    later = event + "0"     # a typing error
    assert f"the events after {event}" in world.instance.run("webhook", "resend", ident, "--after", later, status=1).err
    world.receiver.answers["/hook"] = 410
    world.read(10_000)
    world.wait_row(ident, "state", (3,))
    for words in (("pause", ident), ("resume", ident), ("resend", ident, event), ("resend", ident, "--after", "evt_0")):
        assert "status 410" in world.instance.run("webhook", *words, status=1).err
