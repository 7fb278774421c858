"""Pollers receive each event exactly once and in order, while the server and the importer are killed with SIGKILL.

Several pollers per author, each with a cursor of its own and pages of random size, read /events while files of readings are
imported. The server, the importer or both are killed after a random number of events; then the server is restarted and the
import repeated. At the end the events of every poller and all responses must equal the model.
"""
import os
import random
import threading
import uuid

import pytest

from property.compare import Comparison
from lib import wait
from lib.clock import FakeClock
from lib.services import free_port
from lib.viewtally import SANITIZER_REPORT, Viewtally, encode_lines, sanitized
from model import Model, Responses, iso, ms
from model.values import DAY, HOUR, MAX_COUNT

START = ms("2026-07-01T00:00:00Z")
NOW = START + 12 * DAY
SEEDS = [int(os.environ["VIEWTALLY_SEED"])] if "VIEWTALLY_SEED" in os.environ else range(1 if sanitized() else 3)
AUTHORS, VIDEOS, FILES, HOURS_A_FILE, POLLERS = 3, 60, 3, 60, 2      # a file has about 7,500 readings, which take several transactions
KILLS_A_FILE = 4


class Feed:
    """Generates authors whose videos reach many milestones, and the lines of each file."""

    def __init__(self, seed):
        self.rng = random.Random(f"events {seed}")
        self.authors = [self.uuid() for _ in range(AUTHORS)]
        self.views = {}

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def first_lines(self, videos=VIDEOS):
        lines = [{"type": "author", "id": author_id, "name": "A"} for author_id in self.authors]
        for author_id in self.authors:
            for _ in range(videos):
                video_id = self.uuid()
                self.views[video_id] = self.rng.randrange(500)
                lines.append({"type": "video", "id": video_id, "author_id": author_id, "title": "T", "posts": [
                    {"platform": "youtube", "post_id": video_id, "posted_at": iso(START - self.rng.randrange(15 * DAY))}]})
        return lines

    def file(self, number):
        lines = []
        for hour in range(number * HOURS_A_FILE, (number + 1) * HOURS_A_FILE):
            for video_id in self.views:
                if self.rng.random() < 0.7:
                    grown = int(self.views[video_id] * self.rng.choice([1, 1.2, 1.6])) + 1
                    self.views[video_id] = min(grown, MAX_COUNT)    # every fourth reading reaches a milestone
                    lines.append({"type": "reading", "platform": "youtube", "post_id": video_id,
                                  "observed_at": iso(START + hour * HOUR + 55 * 60000), "views": self.views[video_id]})
        return lines


class Poller(threading.Thread):
    """A client as in the contract: it polls after its cursor, processes the page, then stores next_cursor."""

    seconds = wait.DEFAULT_SECONDS      # in which a poll must succeed

    def __init__(self, instance, key, seed):
        super().__init__(daemon=True)
        self.rng = random.Random(seed)
        self.client = instance.client(key, timeout=10)
        self.cursor = None
        self.events = []
        self.failure = None
        self.ending = threading.Event()
        self.start()

    def run(self):
        try:
            is_last = False
            while self.poll() or not is_last:
                is_last = self.ending.is_set()      # set before the next poll, so no event is missing
        except Exception as failure:  # noqa: BLE001 - reported by the test
            self.failure = failure

    def poll(self):
        """Reads one page; returns True if there may be further events."""
        params = {"after": self.cursor, "limit": self.rng.choice([1, 2, 3, 10, 50, 100])}
        if not self.ending.is_set() and self.rng.random() < 0.3:
            params["wait"] = 1
        page = wait.until(lambda: self.fetch_page(params), "a response to a poll", self.seconds)
        self.events += page["data"]
        self.cursor = page["next_cursor"] or self.cursor
        return page["has_more"] or bool(page["data"])

    def fetch_page(self, params):
        """Returns the page, or None while the server is down."""
        try:
            response = self.client.get("/events", params)
        except OSError:
            return None
        except Exception as failure:
            if type(failure).__module__ == "http.client":      # a response cut off by kill -9
                return None
            raise
        assert response.status == 200, response
        return response.json()


def run_with_kills(instance, rng, pollers, lines):
    """Imports one file KILLS_A_FILE times, each time killing the importer, the server or both, and then once without a kill. Returns how
    many of the kills hit a running import."""
    (instance.directory / "readings.ndjson").write_bytes(encode_lines(lines))
    killed_during_import = 0
    for victim in [rng.choice(["importer", "server", "both"]) for _ in range(KILLS_A_FILE)] + ["nothing"]:
        importer = instance.background("import", "readings.ndjson")
        before = sum(len(poller.events) for poller in pollers)
        wanted = before + rng.choice([1, 1, 10, 50, 200])
        wait.until(lambda: importer.poll() is not None or failures(pollers)
                   or sum(len(poller.events) for poller in pollers) >= wanted, "the import to progress")
        killed_during_import += victim != "nothing" and importer.poll() is None
        if victim in ("server", "both"):
            instance.kill()
        if victim in ("importer", "both"):
            importer.kill()
        if victim in ("server", "both"):
            instance.start()
        status = importer.wait(timeout=wait.DEFAULT_SECONDS * 3)
        check_import(status, importer.output.read_text(), victim)
    return killed_during_import


def check_import(status, err, victim):
    """Checks that nothing is rejected: readings of an earlier attempt are counted as older or unchanged."""
    assert not SANITIZER_REPORT.search(err), err
    assert status in ((0, -9) if victim in ("importer", "both") else (0,)), err
    whole = err[:err.rfind("\n") + 1] if status == -9 else err      # SIGKILL may cut the last line
    assert not any(line.startswith("readings.ndjson:") for line in whole.splitlines()), err


def failures(pollers):
    return [poller.failure for poller in pollers if poller.failure]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_event_is_delivered_exactly_once(seed, tmp_path):
    feed, rng = Feed(seed), random.Random(f"kills {seed}")
    instance = Viewtally(tmp_path / "viewtally", {"server": {"listen": f"127.0.0.1:{free_port()}"}},
                         FakeClock(tmp_path / "clock", NOW))
    model = Model()
    first = feed.first_lines()
    instance.import_lines(first)
    assert model.import_lines(first, NOW) == []
    instance.start()
    keys = {author_id: instance.create_key(author_id) for author_id in feed.authors}
    pollers = {author_id: [Poller(instance, key, f"{seed} {author_id} {number}") for number in range(POLLERS)]
               for author_id, key in keys.items()}
    killed_during_import = 0
    all_pollers = [poller for group in pollers.values() for poller in group]
    try:
        for number in range(FILES):
            lines = feed.file(number)
            assert model.import_lines(lines, NOW) == []
            killed_during_import += run_with_kills(instance, rng, all_pollers, lines)
        assert killed_during_import, "no kill happened during an import"
    finally:
        for poller in all_pollers:
            poller.ending.set()
        for poller in all_pollers:
            poller.join(wait.DEFAULT_SECONDS * 3)
    try:
        assert not failures(all_pollers), f"VIEWTALLY_SEED={seed}: {failures(all_pollers)}"
        for author_id in feed.authors:
            with instance.client(keys[author_id]) as client:
                responses = Responses(model, author_id, NOW)
                Comparison(client, responses, rng).all()
                history = responses.events({"limit": "100"})["data"]
                while len(history) < len(responses.author.events):
                    history += responses.events({"limit": "100", "after": history[-1]["id"]})["data"]
                assert len(history) > 100
                for poller in pollers[author_id]:
                    assert not poller.is_alive()
                    assert poller.events == history, f"VIEWTALLY_SEED={seed}: {describe_differences(poller.events, history)}"
    finally:
        instance.stop()


def describe_differences(events, history):
    got, wanted = [event["id"] for event in events], [event["id"] for event in history]
    return (f"repeated: {sorted({id for id in got if got.count(id) > 1})[:5]}, "
            f"lost: {[id for id in wanted if id not in got][:5]}, unknown: {[id for id in got if id not in wanted][:5]}")
