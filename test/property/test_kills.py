"""200 times `kill -9` at a random instant of a refresh: no reading is lost and no event is repeated.

Files of readings are moved into the spool and applied by a server or by `viewtally refresh`. The process is killed after a random time, after
a commit, while a file is being applied, between applying and moving a file, or after moving it; then the next process continues. Another server
on the same database does not refresh; pollers send their requests to it and to the server that is killed. At the end each file is in the
expected directory, the database is consistent, all responses equal the model, and every poller has received each event once and in order.

VIEWTALLY_SEED=7 repeats the random choices of a seed (the timing differs); VIEWTALLY_KILLS=2000 sets the number of kills.
"""
import collections
import contextlib
import os
import random
import sqlite3
import time

from property.compare import Comparison
from lib import packed_days, wait
from lib.clock import FakeClock
from lib.services import free_port
from lib.spool import Spool
from lib.viewtally import SANITIZER_REPORT, Viewtally, sanitized
from model import Model, Responses, iso
from model.values import HOUR, MAX_COUNT
from property.test_events_once import NOW, START, Feed, Poller, failures, describe_differences

KILLS = int(os.environ.get("VIEWTALLY_KILLS") or (40 if sanitized() else 200))
SEED = int(os.environ.get("VIEWTALLY_SEED") or random.SystemRandom().randrange(10 ** 6))
VIDEOS, POLLERS = 15, 2
STEP_INTERVAL = 3 * 60 * 1000 * 200 // max(KILLS, 200)      # ms between two steps of an author, so that all are in the first 30 days of a video
STEPS_PER_FILE = [1, 3, 5, 5, 60]       # steps per author and file; 60 steps take several transactions
BAD_LINE = ('{"type":"reading"', "not valid JSON")
SERVER, COMMAND = "server", "refresh"
PAST_LEASE = HOUR + 31_000              # after this a run is due and the lease has expired


class Readings(Feed):
    """Generates files of readings in ascending order of time."""

    def __init__(self, seed):
        super().__init__(f"kills {seed}")
        self.at = START
        self.number = 0

    def next_file(self):
        lines = []
        for _ in range(self.rng.choice(STEPS_PER_FILE)):
            self.at += STEP_INTERVAL
            for video_id, views in self.views.items():
                if self.rng.random() < 0.8:
                    self.views[video_id] = min(int(views * self.rng.choice([1, 1.02, 1.1])) + 1, MAX_COUNT)
                    lines.append({"type": "reading", "platform": "youtube", "post_id": video_id, "observed_at": iso(self.at),
                                  "views": self.views[video_id]})
        if self.rng.random() < 0.2:
            lines.insert(self.rng.randrange(len(lines)), BAD_LINE[0])
        self.number += 1
        return f"{self.number:06}.ndjson", lines


class TwoServerPoller(Poller):
    """Polls two servers in random order; one of them may be down.

    A poll may take longer than usual. A PostgreSQL that crashes twice a second is seldom up when a server connects
    again, and the server pauses for up to 5 s between two attempts.
    """

    seconds = 4 * wait.DEFAULT_SECONDS

    def __init__(self, instances, key, seed):
        self.clients = [instance.client(key, timeout=10) for instance in instances]
        super().__init__(instances[0], key, seed)

    def fetch_page(self, params):
        self.client = self.rng.choice(self.clients)
        return super().fetch_page(params)


class World:
    """The servers, the spool and the pollers. `url` names a PostgreSQL database; without it, a database file is
    used."""

    def __init__(self, directory, seed, url=None):
        self.rng = random.Random(f"instants {seed}")
        self.clock = FakeClock(directory / "clock", NOW)
        self.spool = Spool(directory / "spool")
        spool = {"refresh": {"source": "spool", "spool_dir": self.spool.path}, "store": {"url": url} if url else {}}
        address = f"127.0.0.1:{free_port()}"
        self.victim = Viewtally(directory / "victim", {"server": {"listen": address}, **spool}, self.clock)
        self.victim.addresses = [address]
        self.reader = Viewtally(directory / "reader", {"store": self.victim.settings["store"]}, self.clock)
        self.feed = Readings(seed)
        self.model = Model()
        self.expected = {"done": [], "bad": []}
        self.errors = {}
        first = self.feed.first_lines(VIDEOS)
        self.reader.import_lines(first)
        assert self.model.import_lines(first, NOW) == []
        self.keys = {author_id: self.reader.create_key(author_id) for author_id in self.feed.authors}
        self.db = None if url else sqlite3.connect(self.victim.database, isolation_level=None, timeout=10)
        self.killed = collections.Counter()

    def feed_spool(self, least):
        while len(self.spool.waiting) < least:
            name, lines = self.feed.next_file()
            rejected = self.model.import_lines(lines, self.clock.wall_ms)
            if rejected:
                self.errors[name] = [number for number, _ in rejected]
                self.expected["bad"] += [name, name + ".errors"]
            else:
                self.expected["done"].append(name)
            self.spool.drop(name, lines)

    # -- kill points -------------------------------------------------------------------------------------------------

    def one(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def version(self):
        return self.one("PRAGMA data_version")

    def kill_conditions(self):
        """Returns {name: function} of the conditions after which a process is killed."""
        version, moved = self.version(), len(self.spool.done) + len(self.spool.bad)
        until = time.monotonic() + self.rng.random() ** 2 * 0.25
        return {
            "after a random time": lambda: time.monotonic() >= until,
            "after a commit": lambda: self.version() != version,
            "while a file is applied": lambda: self.one("SELECT count(*) FROM spool_files WHERE applied_at IS NULL"),
            "after a file is applied": lambda: self.one("SELECT count(*) FROM spool_files WHERE applied_at IS NOT NULL"),
            "after a file is moved": lambda: len(self.spool.done) + len(self.spool.bad) > moved,
        }

    def wait_for_kill_condition(self, is_finished):
        name, is_met = self.rng.choice(list(self.kill_conditions().items()))
        wait.until(lambda: is_met() or is_finished(), f"the kill condition ({name})", pause_most=0.0005)
        until = time.monotonic() + self.rng.random() ** 3 * 0.02
        wait.until(lambda: time.monotonic() >= until, "a random delay", pause_most=0.0005)
        return name

    def is_idle(self):
        return not self.spool.waiting and not self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL")

    # -- killing -----------------------------------------------------------------------------------------------------

    def kill_one(self):
        self.clock.advance(PAST_LEASE)
        self.feed_spool(self.rng.choice([1, 1, 2, 4]))
        process_kind = self.rng.choice([SERVER, COMMAND])
        name = self.kill_server() if process_kind == SERVER else self.kill_command()
        run_is_open = self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL")
        self.killed[process_kind, name, "during a run" if run_is_open else "outside a run"] += 1

    def kill_server(self):
        self.victim.start()
        name = self.wait_for_kill_condition(lambda: self.is_idle() or not self.victim.running)
        assert self.victim.running, self.victim.log
        self.victim.kill()
        return name

    def kill_command(self):
        process = self.victim.background("refresh", "--wait", "0")
        name = self.wait_for_kill_condition(lambda: process.poll() is not None)
        process.kill()
        status, output = process.wait(), process.output.read_text()
        assert status in (-9, 0, 1) and not SANITIZER_REPORT.search(output), output     # 1: partial, because of a bad line
        return name

    def finish(self):
        """Applies the remaining files, so that no further events are added."""
        self.clock.advance(PAST_LEASE)
        with self.victim:
            wait.until(self.is_idle, "the spool to be empty")
            # The run that moved the last file may not have ended yet.
            wait.until(lambda: self.one("SELECT holder FROM refresh_lease") == "", "the lease to be released")

    # -- checks -----------------------------------------------------------------------------------------------------

    def check_files(self):
        assert {"done": self.spool.done, "bad": self.spool.bad} == {name: sorted(files) for name, files in self.expected.items()}
        assert {name: [number for number, _ in self.spool.errors(name)] for name in self.errors} == self.errors
        assert all(reason.startswith(BAD_LINE[1]) for name in self.errors for _, reason in self.spool.errors(name))

    def check_database(self):
        assert self.one("SELECT count(*) FROM spool_files") == self.one("SELECT count(*) FROM spool_errors") == 0
        assert self.one("SELECT count(*) FROM refresh_runs WHERE outcome NOT IN (0, 1, 4)") == 0        # succeeded, partial, abandoned
        check_file(self.reader.database)

    def check_answers(self, pollers):
        for author_id, key in self.keys.items():
            with self.reader.client(key) as client:
                responses = Responses(self.model, author_id, self.clock.wall_ms)
                Comparison(client, responses, self.rng).all()
                history = responses.events({"limit": "100"})["data"]
                while len(history) < len(responses.author.events):
                    history += responses.events({"limit": "100", "after": history[-1]["id"]})["data"]
                for poller in pollers[author_id]:
                    assert not poller.is_alive()
                    assert poller.events == history, describe_differences(poller.events, history)


def check_file(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("SELECT sum(views) - sum(baseline) FROM videos").fetchall() == db.execute("SELECT sum(gained) FROM daily").fetchall()
    packed_days.check(path)


def check_kills(world, kills):
    """Kills processes at random instants while pollers read, then checks files, database, responses and events."""
    with world.reader:
        pollers = {author_id: [TwoServerPoller([world.reader, world.victim], key, f"{SEED} {author_id} {number}") for number in range(POLLERS)]
                   for author_id, key in world.keys.items()}
        all_pollers = [poller for group in pollers.values() for poller in group]
        try:
            while sum(world.killed.values()) < kills and not failures(all_pollers):
                world.kill_one()
            world.finish()
        finally:
            for poller in all_pollers:
                poller.ending.set()
            for poller in all_pollers:
                poller.join(wait.DEFAULT_SECONDS * 3)
        print(*sorted(world.killed.items()), sep="\n")
        assert not failures(all_pollers), failures(all_pollers)
        world.check_files()
        world.check_database()
        world.check_answers(pollers)
    assert sum(count for (_, _, when), count in world.killed.items() if when == "during a run") > kills / 5


def test_kills_lose_no_reading_and_repeat_no_event(tmp_path):
    print(f"VIEWTALLY_SEED={SEED}")
    check_kills(World(tmp_path, SEED), KILLS)
