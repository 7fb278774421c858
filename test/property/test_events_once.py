"""Pollers see each event exactly once, in order, while steps are committed and everything is killed with kill -9.

Several pollers per author, each with pages of random size and a cursor of its own, follow /events while files of readings are
imported. Server and importer are killed at random moments (when so many events have been seen), the server is started again
and the file imported again. In the end every poller has the history that the model gives, and the data is the model's.
"""
import os
import random
import threading
import uuid

import pytest

from compare import Comparison
from lib import wait
from lib.clock import FakeClock
from lib.services import free_port
from lib.viewtally import SANITIZER_REPORT, Viewtally, encode_lines, sanitized
from model import Answers, Model, iso, ms
from model.values import DAY, HOUR, MAX_COUNT

START = ms("2026-07-01T00:00:00Z")
NOW = START + 12 * DAY
SEEDS = [int(os.environ["VIEWTALLY_SEED"])] if "VIEWTALLY_SEED" in os.environ else range(1 if sanitized() else 3)
AUTHORS, VIDEOS, FILES, HOURS_A_FILE, POLLERS = 3, 60, 3, 60, 2      # a file is some 7,500 readings, several transactions
KILLS_A_FILE = 4
STALE = "observed_at is older than the post's last reading"


class Feed:
    """Creates authors whose videos reach many milestones, and the lines of each file."""

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
    """A client as the contract describes it: polls after its cursor, handles the page, then stores next_cursor."""

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
            while self.poll() or not self.ending.is_set():
                pass
        except Exception as failure:  # noqa: BLE001 - told to the test
            self.failure = failure

    def poll(self):
        """Reads one page; returns True if there may be further events."""
        params = {"after": self.cursor, "limit": self.rng.choice([1, 2, 3, 10, 50, 100])}
        if not self.ending.is_set() and self.rng.random() < 0.3:
            params["wait"] = 1
        page = wait.until(lambda: self.ask(params), "an answer to a poll")
        self.events += page["data"]
        self.cursor = page["next_cursor"] or self.cursor
        return page["has_more"] or bool(page["data"])

    def ask(self, params):
        """Returns the page, or None while the server is down."""
        try:
            response = self.client.get("/events", params)
        except OSError:
            return None
        except Exception as failure:
            if type(failure).__module__ == "http.client":      # an answer cut short by kill -9
                return None
            raise
        assert response.status == 200, response
        return response.json()


def run_with_kills(instance, rng, pollers, lines):
    """Imports one file, killing the importer, the server or both, until it succeeds. Returns the number of kills."""
    (instance.directory / "readings.ndjson").write_bytes(encode_lines(lines))
    midway = 0
    for doomed in [rng.choice(["importer", "server", "both"]) for _ in range(KILLS_A_FILE)] + ["nothing"]:
        importer = instance.background("import", "readings.ndjson")
        before = sum(len(poller.events) for poller in pollers)
        wanted = before + rng.choice([1, 1, 10, 50, 200])
        wait.until(lambda: importer.poll() is not None or failures(pollers)
                   or sum(len(poller.events) for poller in pollers) >= wanted, "an import to get on")
        midway += doomed != "nothing" and importer.poll() is None
        if doomed in ("server", "both"):
            instance.kill()
        if doomed in ("importer", "both"):
            importer.kill()
        if doomed in ("server", "both"):
            instance.start()
        status = importer.wait(timeout=wait.DEFAULT_SECONDS * 3)
        check_import(status, importer.output.read_text(), doomed)
    return midway


def check_import(status, err, doomed):
    """Checks that only readings applied before are rejected."""
    assert not SANITIZER_REPORT.search(err), err
    assert status in ((0, 1, -9) if doomed in ("importer", "both") else (0, 1)), err
    whole = err[:err.rfind("\n") + 1] if status == -9 else err      # SIGKILL may cut the last line
    reported = [line for line in whole.splitlines() if line.startswith("readings.ndjson:")]
    assert all(line.endswith(STALE) for line in reported), err


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
    midway = 0
    everyone = [poller for group in pollers.values() for poller in group]
    try:
        for number in range(FILES):
            lines = feed.file(number)
            assert model.import_lines(lines, NOW) == []
            midway += run_with_kills(instance, rng, everyone, lines)
        assert midway, "nothing was killed in the middle of an import"
    finally:
        for poller in everyone:
            poller.ending.set()
        for poller in everyone:
            poller.join(wait.DEFAULT_SECONDS * 3)
    try:
        assert not failures(everyone), f"VIEWTALLY_SEED={seed}: {failures(everyone)}"
        for author_id in feed.authors:
            with instance.client(keys[author_id]) as client:
                answers = Answers(model, author_id, NOW)
                Comparison(client, answers, rng).all()
                history = answers.events({"limit": "100"})["data"]
                while len(history) < len(answers.author.events):
                    history += answers.events({"limit": "100", "after": history[-1]["id"]})["data"]
                assert len(history) > 100
                for poller in pollers[author_id]:
                    assert not poller.is_alive()
                    assert poller.events == history, f"VIEWTALLY_SEED={seed}: {once(poller.events, history)}"
    finally:
        instance.stop()


def once(events, history):
    got, wanted = [event["id"] for event in events], [event["id"] for event in history]
    return (f"twice: {sorted({one for one in got if got.count(one) > 1})[:5]}, "
            f"lost: {[one for one in wanted if one not in got][:5]}, unknown: {[one for one in got if one not in wanted][:5]}")
